"""Names that the driver and Spark's Python workers share."""

from __future__ import annotations

from collections.abc import Callable

from refute.spark.blocks import Batches

Task = Callable[[Batches], Batches]
ROW_COLUMN = "__row"  # the id of a row, when ids are shipped
RESERVED = "__refute_"  # how columns begin that Refute adds to those of the user
WITNESS_COLUMNS = ("s", "t")
