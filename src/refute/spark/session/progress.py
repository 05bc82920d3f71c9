"""How far Spark is: the stages and tasks of the jobs under way, shown while they run."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

from refute.display.plurals import plural
from refute.spark.session.session import is_connect, running_session

_PAUSE = 0.3  # seconds between two looks


@dataclass(frozen=True, slots=True)
class Stages:
    """The stages that run, their tasks, how many of these are done, and the bytes read so far, where known."""

    running: int
    tasks: int
    done: int
    read_bytes: int = 0

    def __str__(self) -> str:
        said = f"{plural(self.running, 'stage')}, {self.done} of {self.tasks} tasks"
        return f"{said}, {self.read_bytes / 2**20:,.0f} MB read" if self.read_bytes else said


@contextlib.contextmanager
def watching(show: Callable[[Stages], None], session: SparkSession | None = None) -> Iterator[None]:
    """Shows how far Spark is, again and again, from another thread.

    Only for a session that is the caller's own: a classic one is asked through its context's status tracker, a Connect
    session through its progress handler. Nothing is shown where there is no session.
    """
    chosen = session if session is not None else running_session()
    if chosen is None:
        yield
    elif is_connect(chosen):
        with _handled(chosen, show):
            yield
    else:
        with _polled(chosen, show):
            yield


@contextlib.contextmanager
def _handled(session: SparkSession, show: Callable[[Stages], None]) -> Iterator[None]:
    def handle(*, stages: Iterable[Any] | None, inflight_tasks: int, operation_id: str | None, done: bool) -> None:
        known = list(stages or ())
        tasks = sum(stage.num_tasks for stage in known)
        finished = sum(stage.num_completed_tasks for stage in known)
        running = sum(stage.num_completed_tasks < stage.num_tasks for stage in known)
        if running and not done:
            show(Stages(running, tasks, finished, sum(stage.num_bytes_read for stage in known)))

    handler: Any = handle  # Spark calls it by keyword, and needs no more than that
    session.registerProgressHandler(handler)
    try:
        yield
    finally:
        session.removeProgressHandler(handler)


@contextlib.contextmanager
def _polled(session: SparkSession, show: Callable[[Stages], None]) -> Iterator[None]:
    tracker = session.sparkContext.statusTracker()
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(_PAUSE):
            try:
                found = _active_stages(tracker)
            except Py4JError:  # Spark has ended meanwhile
                return
            if found.running:
                show(found)

    thread = threading.Thread(target=poll, name="refute-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _active_stages(tracker: StatusTracker) -> Stages:
    """The stages that a session of this process runs now."""
    found = map(tracker.getStageInfo, tracker.getActiveStageIds())
    known = [stage for stage in found if stage is not None]
    return Stages(len(known), sum(one.numTasks for one in known), sum(one.numCompletedTasks for one in known))
