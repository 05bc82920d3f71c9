"""The rows of a Spark table that stay: all but the suspects, with what each rule is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.spark.answer.pairing import Pairing
from refute.spark.blame.marks import admission
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_SUSPECT = RESERVED + "gone"
_SMALL = 100_000  # rows that are sent to every executor


class StayingRows:
    """A frame of the rows that stay, under plain names and with their ids."""

    def __init__(self, engine: SparkEngine, names: list[str], suspects: pa.Array | pa.ChunkedArray) -> None:
        """`names` are plain; suspects are given by their ids."""
        self.engine = engine
        every = engine.with_rows().select(*names, ROW_COLUMN)
        gone = frame_of(pa.table([suspects], names=[_SUSPECT]), every.sparkSession)
        gone = F.broadcast(gone) if len(suspects) <= _SMALL else gone
        self.frame: DataFrame = every.join(gone, F.col(ROW_COLUMN) == F.col(_SUSPECT), "left_anti")
        self._flags: dict[tuple[str, Row], str] = {}

    def about(self, rule: Rule, row: Row) -> str:
        """The column, which the frame then has, that says which rows may stand as `row` under a rule; it has plain
        names."""
        known = self._flags.get((rule.name, row))
        if known is None:
            known = f"{RESERVED}about_{len(self._flags)}"
            pairing = Pairing.of(rule, self.engine.plain_types)
            self.frame, admitted = admission(self.frame, pairing, row, f"{known}_chosen")
            self.frame = self.frame.withColumn(known, F.coalesce(admitted, F.lit(False)))
            self._flags[rule.name, row] = known
        return known
