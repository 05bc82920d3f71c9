"""Spark jobs that end when the time is up or the user says so, and what they keep meanwhile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from refute.discover.work import Budget

_BEAT = 0.05  # seconds between looks at the clock
T = TypeVar("T")


def unless_expired(session: SparkSession, budget: Budget, run: Callable[[], T]) -> T | None:
    """What `run` gives; None once the budget has expired, when the jobs it started are cancelled."""
    tag = f"refute-{uuid4().hex}"

    def tagged() -> T:
        session.addTag(tag)
        try:
            return run()
        finally:
            session.removeTag(tag)

    stopped = False
    with ThreadPoolExecutor(1) as pool:
        future: Future[T] = pool.submit(tagged)
        while True:
            try:
                if not wait([future], timeout=_BEAT).not_done:
                    break
                if budget.expired:
                    stopped = True
                    session.interruptTag(tag)
            except KeyboardInterrupt:
                budget.interrupt()
        try:
            return future.result()
        except PySparkException:
            if stopped:
                return None
            raise


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
