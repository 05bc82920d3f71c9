"""DataFrames that are kept on the executors while questions are asked, and let go in the end."""

from __future__ import annotations

import atexit
import contextlib
import gc
import weakref
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame


class Kept:
    """DataFrames that are kept on the executors, in memory or on disk, until all of them are let go."""

    def __init__(self) -> None:
        self._frames: list[DataFrame] = []

    def keep(self, frame: DataFrame, where: StorageLevel = StorageLevel.MEMORY_AND_DISK) -> DataFrame:
        """The frame, kept from its first use on; one that somebody else keeps already is his to let go."""
        level = frame.storageLevel
        if level.useMemory or level.useDisk:
            return frame
        kept = frame.persist(where)
        self._frames.append(kept)
        return kept

    def release(self) -> None:
        """Let all of them go; a session that is gone has let them go already."""
        while self._frames:
            with contextlib.suppress(PySparkException, Py4JError, OSError):
                self._frames.pop().unpersist()


_HOLDERS: weakref.WeakSet[Any] = weakref.WeakSet()


def forgotten_at_exit(holder: object) -> None:
    """Have an object let go of its DataFrames before the interpreter shuts down.

    Connect tells its server when a DataFrame that was evaluated once and for all is garbage-collected. A program whose
    last such DataFrame outlives its modules would wait for that call for ever.
    """
    if not _HOLDERS:
        atexit.unregister(_forget)
        atexit.register(_forget)
    _HOLDERS.add(holder)


def _forget() -> None:
    for holder in list(_HOLDERS):
        vars(holder).clear()
    gc.collect()


@contextlib.contextmanager
def kept() -> Iterator[Kept]:
    """A place to keep frames in while a block runs."""
    place = Kept()
    try:
        yield place
    finally:
        place.release()
