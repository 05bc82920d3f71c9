"""Spark jobs that end when the time is up or the user says so, and what they keep meanwhile."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from multiprocessing.pool import ThreadPool
from typing import TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from refute.discover.work import Budget
from refute.spark.session import OUR_NAME

_BEAT = 0.05  # seconds between looks at the clock
_GRACE = 3.0  # seconds that cancelled jobs are waited for
T = TypeVar("T")


def unless_expired(session: SparkSession, budget: Budget, run: Callable[[], T]) -> T | None:
    """What `run` gives; None once the budget has expired, when the jobs it started are cancelled.

    Jobs that cannot be cancelled are left to end by themselves, without anybody waiting for them.
    """
    tag = f"refute-{uuid4().hex}"

    def tagged() -> T:
        session.addTag(tag)
        try:
            return run()
        finally:
            session.removeTag(tag)

    pool = ThreadPool(1)  # whose thread, unlike that of an executor, no exit of the process waits for
    running = pool.apply_async(tagged)
    pool.close()
    expired: float | None = None
    while expired is None or time.monotonic() - expired < _GRACE:
        try:
            running.wait(_BEAT)
            if running.ready():
                break
            if budget.expired:
                expired = expired or time.monotonic()
                _cancel(session, tag)
        except KeyboardInterrupt:
            budget.interrupt()
    if not running.ready():
        return None
    try:
        return running.get()
    except (PySparkException, Py4JError):
        if expired is None:
            raise
        return None


def _cancel(session: SparkSession, tag: str) -> None:
    """Cancel the jobs of a tag. A classic session finds none: if it is one of our own, all its jobs are cancelled."""
    if not session.interruptTag(tag) and session.conf.get("spark.app.name", "") == OUR_NAME:
        session.interruptAll()


class Kept:
    """DataFrames that are kept on the executors, in memory or on disk, until all of them are let go."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def keep(self, frame: DataFrame) -> DataFrame:
        """The frame, kept from its first use on."""
        kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._frames.append(kept)
        return kept

    def release(self) -> None:
        """Let all of them go; a session that is gone has let them go already."""
        for frame in self._frames:
            with contextlib.suppress(PySparkException, ConnectionError):
                frame.unpersist()
        self._frames.clear()


@contextlib.contextmanager
def kept() -> Iterator[Kept]:
    """A place to keep frames in while a block runs."""
    place = Kept()
    try:
        yield place
    finally:
        place.release()
