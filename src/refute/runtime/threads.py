"""Calls that run side by side: kernels let go of the interpreter, so threads are enough."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
State = TypeVar("State")
Task = TypeVar("Task")

_lock = threading.Lock()
_MOST_THREADS = 256
_BEAT = 0.05  # seconds between two looks of a thread that watches others
_UNDISTURBED = "refute-undisturbed"
_pool: ThreadPoolExecutor | None = None


def together(threads: int, calls: Sequence[Callable[[], T]]) -> list[T]:
    """What each call gives, in order; on up to `threads` threads, of which the caller is one.

    The other threads belong to a pool that all callers share, and help as far as they are free: a call may therefore
    use `together` itself.
    """
    if threads <= 1 or len(calls) <= 1:
        return [call() for call in calls]
    results: list[Any] = [None] * len(calls)

    def run(_: None, number: int) -> None:
        results[number] = calls[number]()

    carried(min(threads, len(calls)), range(len(calls)), lambda: None, run)
    return results


def carried(
    threads: int, tasks: Iterable[Task], start: Callable[[], State], work: Callable[[State, Task], State]
) -> list[State]:
    """The states in which threads end that take tasks in turn, each carrying a state of its own from task to task.

    The threads are those of `together`, and tasks are drawn as threads get to them, one at a time.
    """
    line = _Line(tasks, start, work)
    helpers = [_shared_pool().submit(line.drain) for _ in range(threads - 1)]
    try:
        own = line.drain()
    finally:
        line.stop()
        begun = [helper for helper in helpers if not helper.cancel()]
        for helper in begun:
            helper.exception()
    return [own, *(helper.result() for helper in begun)]


class Guard(Protocol):
    """What a thread does that only waits for others."""

    def look(self) -> None:
        """Called again and again while they work."""

    def interrupt(self) -> None:
        """Called on Ctrl-C, after which no task is begun; the states that there are then are the answer."""


def watched(
    threads: int, tasks: Iterable[Task], start: Callable[[], State], work: Callable[[State, Task], State], watch: Guard
) -> list[State]:
    """The same on threads that no others share, while the caller's keeps watch: a kernel that runs hears nothing of the
    clock or of Ctrl-C, unless another thread leaves it a word."""
    line = _Line(tasks, start, work)
    with ThreadPoolExecutor(threads, thread_name_prefix="refute-watched") as pool:
        running: list[Future[State]] = [pool.submit(line.drain) for _ in range(threads)]
        try:
            while wait(running, timeout=_BEAT).not_done:
                watch.look()
        except KeyboardInterrupt:
            line.stop()
            watch.interrupt()
            wait(running)
        except BaseException:
            line.stop()
            raise
    return [one.result() for one in running]


def undisturbed(call: Callable[[], T], interrupt: Callable[[], None]) -> T:
    """What a call gives, made by another thread, so that Ctrl-C does not end it: `interrupt` hears of the first one. A
    second one is raised, and neither it nor the end of the process waits for the call."""
    answer: Future[T] = Future()
    once = threading.Lock()

    def work() -> None:
        if once.acquire(blocking=False):
            try:
                answer.set_result(call())
            except BaseException as error:  # noqa: BLE001  the caller raises it
                answer.set_exception(error)

    def begin() -> None:
        threading.Thread(target=work, name=_UNDISTURBED, daemon=True).start()

    try:
        begin()
        return answer.result()
    except KeyboardInterrupt:
        interrupt()
        if not once.locked():  # it came before the thread began
            begin()
        return answer.result()


def is_left_at_work() -> bool:
    """Whether a call still runs for which nobody waits: Python must not be taken down beneath it."""
    return any(thread.name == _UNDISTURBED for thread in threading.enumerate())


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def chosen_threads(asked: int | None) -> int:
    """The number of threads to use: as many as cores where none is asked for, and never more than machines have."""
    return available_cores() if asked is None else min(asked, _MOST_THREADS)


class _Line(Generic[State, Task]):
    """Tasks that threads take one after the other; one that fails is the last."""

    def __init__(self, tasks: Iterable[Task], start: Callable[[], State], work: Callable[[State, Task], State]) -> None:
        self._tasks = iter(tasks)
        self._start = start
        self._work = work
        self._lock = threading.Lock()
        self._stopped = False

    def drain(self) -> State:
        """The state after the last task that this thread takes."""
        try:
            state = self._start()
            while True:
                with self._lock:
                    if self._stopped:
                        return state
                    try:
                        task = next(self._tasks)
                    except StopIteration:
                        self._stopped = True
                        return state
                state = self._work(state, task)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Let nobody take another task."""
        self._stopped = True


def _shared_pool() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(max(2, os.cpu_count() or 1), thread_name_prefix="refute")
        return _pool


def _forget_pool() -> None:
    """A child process has none of its parent's threads."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
