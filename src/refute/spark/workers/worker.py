"""Names that the driver and Spark's Python workers share."""

from __future__ import annotations

import gc
from collections.abc import Callable

from pyspark import TaskContext

from refute.spark.workers.blocks import Batches

Task = Callable[[Batches], Batches]
ROW_COLUMN = "__row"  # the id of a row, when ids are shipped
RESERVED = "__refute_"  # how columns begin that Refute adds to those of the user
HASHED_ID = RESERVED + "id"  # a hash of it
WITNESS_COLUMNS = ("s", "t")


def settle() -> None:
    """Let the collection of garbage that follows each task pass over what this worker held before: it takes longer than
    a small task where Numba is loaded."""
    if TaskContext.get() is not None:
        gc.freeze()
