"""Work split over threads that can be stopped: by a time limit, by Ctrl-C, and with what was done kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import numpy as np

from refute.discovery.options import Options, Progress
from refute.runtime.compiling import Stopwatch
from refute.runtime.threads import chosen_threads, undisturbed, watched

State = TypeVar("State")
Task = TypeVar("Task")
T = TypeVar("T")


Look = Callable[[], None]
"""What long work calls now and then, and what may end it by an error."""


def unhurried() -> None:
    """What lets work take its time."""


class TimeIsUpError(Exception):
    """Ends work of which a part is of no use; caught by whoever asked for it, and never seen by users."""


class Budget:
    """The time a discovery may take and the threads it may use, and where its progress is reported.

    Kernels that are compiled meanwhile cost the limit nothing: with them, a first search would end before it began.
    """

    def __init__(self, options: Options) -> None:
        self.threads = chosen_threads(options.threads)
        self._report = options.progress
        self._watch = Stopwatch()
        self._limit = options.time_limit
        self._stop = threading.Event()
        self.halt = np.zeros(2, np.int64)  # what kernels look at while they run, and how much they have found
        self._phase = ""
        self._share = 1.0
        self._patient = False
        self.evidences = self.candidates = self.verified = 0

    @property
    def expired(self) -> bool:
        """Whether to stop: the user interrupted, or this phase's share of the time is used up."""
        if self._patient:
            return False
        if self._stop.is_set():
            return True
        return self._limit is not None and self._watch.seconds > self._limit * self._share

    @property
    def is_limited(self) -> bool:
        """Whether there is a time limit."""
        return self._limit is not None

    @property
    def late(self) -> float:
        """By how many seconds the time limit has passed."""
        return 0.0 if self._limit is None else max(0.0, self._watch.seconds - self._limit)

    @property
    def interrupted(self) -> bool:
        """Whether the user asked to stop."""
        return self._stop.is_set()

    def raise_if_interrupted(self) -> None:
        """Raises KeyboardInterrupt where the user asked to stop: for work of which a part is of no use."""
        if self._stop.is_set():
            raise KeyboardInterrupt

    def raise_if_expired(self) -> None:
        """Raises TimeIsUpError where it is time to stop: for work of which a part is of no use."""
        if self.expired:
            raise TimeIsUpError

    def interrupt(self) -> None:
        """Let all work stop after the task at hand."""
        self._stop.set()

    @contextmanager
    def heeding(self) -> Iterator[None]:
        """Within this block Ctrl-C ends the block, and all work after the task at hand."""
        try:
            yield
        except KeyboardInterrupt:
            self.interrupt()

    @contextmanager
    def within(self, share: float) -> Iterator[None]:
        """Within this block only the given share of the whole time limit may pass."""
        before, self._share = self._share, share
        try:
            yield
        finally:
            self._share = before

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Within this block nothing expires: what little is left to do with the rules found gets done."""
        self._patient = True
        try:
            yield
        finally:
            self._patient = False

    def finished(self, call: Callable[[], T]) -> T:
        """What a call gives that nothing stops: Ctrl-C ends all that comes after it; a second one is not caught."""
        with self.patiently():
            return undisturbed(call, self.interrupt)

    def beat(self, done: int, tasks: int) -> None:
        """Report how far a search is whose kernels run: the tasks done of so many, and what was found by now."""
        phase, _, _ = self._phase.partition(",")
        part = f", {done:,} of {tasks:,} parts" if tasks > 1 else ""
        self.report(phase + part, candidates=int(self.halt[1]))

    def report(
        self, phase: str, *, evidences: int | None = None, candidates: int | None = None, verified: int | None = None
    ) -> None:
        """Report the phase and whichever numbers changed."""
        self.evidences = self.evidences if evidences is None else evidences
        self.candidates = self.candidates if candidates is None else candidates
        self.verified = self.verified if verified is None else verified
        self._phase = phase
        if self._report is not None:
            self._report(Progress(phase, self.evidences, self.candidates, self.verified))


class Crew(Generic[State, Task]):
    """Threads that take tasks from one queue, each carrying a state of its own from task to task."""

    def __init__(
        self,
        budget: Budget,
        start: Callable[[], State],
        work: Callable[[State, Task], State],
        *,
        tasks: int = 0,
    ) -> None:
        """With `tasks`, the number of tasks there are, it is reported how far they are."""
        self._budget = budget
        self._start = start
        self._work = work
        self._tasks = tasks
        self._done = 0
        self._told: tuple[int, int] | None = None

    def run(self, tasks: Iterable[Task]) -> tuple[list[State], bool]:
        """The final state of every thread, and whether all tasks were done."""
        left = threading.Event()

        def in_time() -> Iterator[Task]:
            for task in tasks:
                if self._budget.expired:
                    left.set()
                    return
                yield task

        try:
            states = watched(self._budget.threads, in_time(), self._start, self._working, self)
        finally:
            halted = bool(self._budget.halt[0])
            self._budget.halt[0] = 0
        return states, not (halted or left.is_set())

    def _working(self, state: State, task: Task) -> State:
        state = self._work(state, task)
        self._done += 1
        return state

    def look(self) -> None:
        """Tell the kernels that run whether to go on, and the user how far they are."""
        self._budget.halt[0] = self._budget.expired
        now = self._done, int(self._budget.halt[1])
        if self._tasks and now != self._told:
            self._told = now
            self._budget.beat(self._done, self._tasks)

    def interrupt(self) -> None:
        """Let kernels stop at once, and all other work after the task at hand."""
        self._budget.interrupt()
        self._budget.halt[0] = 1
