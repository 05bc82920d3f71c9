"""Work on several threads: all of it is done once, nested or not, and a failure or Ctrl-C ends it."""

from __future__ import annotations

import _thread
import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from refute.runtime.threads import carried, is_left_at_work, together, undisturbed, watched


class Looking:
    """A watch that interrupts its own thread after some looks, and notes that it heard of it."""

    def __init__(self, looks: int | None = None) -> None:
        self.looks = 0
        self.most = looks
        self.interrupted = threading.Event()

    def look(self) -> None:
        self.looks += 1
        if self.looks == self.most:
            _thread.interrupt_main()

    def interrupt(self) -> None:
        self.interrupted.set()


def test_calls_run_side_by_side_and_may_do_so_themselves() -> None:
    gate = threading.Barrier(2, timeout=20)

    def meet() -> int:
        return gate.wait()

    assert sorted(together(2, [meet, meet])) == [0, 1]
    nested = together(4, [lambda: sum(together(4, [lambda: 1] * 8))] * 16)
    assert nested == [8] * 16


def test_a_failing_call_ends_the_others_and_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        together(2, [fail] * 50)


@pytest.mark.parametrize("threads", [1, 2, 7, 40])
def test_every_task_is_carried_by_one_state(threads: int) -> None:
    def take(state: list[int], task: int) -> list[int]:
        return [*state, task]

    for states in (
        carried(threads, iter(range(300)), list, take),
        watched(threads, iter(range(300)), list, take, Looking()),
    ):
        assert len(states) <= threads
        assert sorted(task for state in states for task in state) == list(range(300))


def test_tasks_are_drawn_one_at_a_time_and_no_sooner_than_they_are_taken() -> None:
    drawing, taken = threading.Lock(), 0

    def tasks() -> Iterator[int]:
        nonlocal taken
        for number in range(200):
            assert drawing.acquire(blocking=False)
            assert number - taken <= 3
            drawing.release()
            yield number

    def take(state: int, _: int) -> int:
        nonlocal taken
        with counting:
            taken += 1
        return state + 1

    counting = threading.Lock()
    assert sum(carried(3, tasks(), int, take)) == 200


def test_those_who_watch_may_be_helpers_themselves() -> None:
    def count(_: int, __: int) -> int:
        return sum(watched(2, range(20), int, lambda state, _: state + 1, Looking()))

    assert max(carried(8, range(16), int, count)) == 20


@pytest.mark.parametrize("watching", [False, True], ids=["carried", "watched"])
def test_a_failing_task_or_a_failing_draw_is_the_last(watching: bool) -> None:
    begun: list[int] = []

    def take(state: int, task: int) -> int:
        begun.append(task)
        if task == 5:
            raise ValueError("task")
        return state

    def tasks() -> Iterator[int]:
        yield from range(5)
        raise ValueError("draw")

    for given, message in ((iter(range(10**9)), "task"), (tasks(), "draw")):
        with pytest.raises(ValueError, match=message):
            watched(3, given, int, take, Looking()) if watching else carried(3, given, int, take)
    assert len(begun) < 10_000


def test_ctrl_c_is_heard_while_others_work_and_what_was_done_is_kept() -> None:
    watch = Looking(looks=2)

    def take(state: int, _: int) -> int:
        if not watch.interrupted.wait(0.01):  # as a kernel would, which hears of nothing else
            time.sleep(0)
        return state + 1

    states = watched(2, iter(range(10**9)), int, take, watch)
    assert watch.interrupted.is_set()
    assert 0 < sum(states) < 10**6


def test_a_second_ctrl_c_leaves_the_call_at_work() -> None:
    heard, may_end = threading.Event(), threading.Event()

    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(30)
        os.kill(os.getpid(), signal.SIGINT)
        assert may_end.wait(30)

    assert not is_left_at_work()
    with pytest.raises(KeyboardInterrupt):
        undisturbed(call, heard.set)
    assert is_left_at_work()
    may_end.set()
    while is_left_at_work():
        time.sleep(0.01)


def test_one_ctrl_c_does_not_disturb_the_call() -> None:
    heard = threading.Event()

    def call() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        assert heard.wait(30)
        return "done"

    assert undisturbed(call, heard.set) == "done"
