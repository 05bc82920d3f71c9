"""Calls that run side by side: kernels let go of the interpreter, so threads are enough."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

_lock = threading.Lock()
_MOST_THREADS = 256
_pool: ThreadPoolExecutor | None = None


def together(threads: int, calls: Sequence[Callable[[], T]]) -> list[T]:
    """What each call gives, in order; on up to `threads` threads, of which the caller is one.

    The other threads belong to a pool that all callers share, and help as far as they are free: a call may therefore
    use `together` itself.
    """
    if threads <= 1 or len(calls) <= 1:
        return [call() for call in calls]
    work = _Work(calls)
    helpers = [_shared_pool().submit(work.drain) for _ in range(min(threads, len(calls)) - 1)]
    try:
        work.drain()
    finally:
        work.stop()
        started = [helper for helper in helpers if not helper.cancel()]
        for helper in started:
            helper.exception()
    for helper in started:
        helper.result()
    return work.results


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)


def chosen_threads(asked: int | None) -> int:
    """The number of threads to use: as many as cores where none is asked for, and never more than machines have."""
    return available_cores() if asked is None else min(asked, _MOST_THREADS)


class _Work:
    """Calls that threads take one after the other."""

    def __init__(self, calls: Sequence[Callable[[], Any]]) -> None:
        self.results: list[Any] = [None] * len(calls)
        self._calls = calls
        self._next = 0
        self._lock = threading.Lock()

    def drain(self) -> None:
        """Take calls until none is left; a call that fails is the last one."""
        while True:
            with self._lock:
                taken = self._next
                self._next += 1
            if taken >= len(self._calls):
                return
            try:
                self.results[taken] = self._calls[taken]()
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """Let nobody take another call."""
        with self._lock:
            self._next = len(self._calls)


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
