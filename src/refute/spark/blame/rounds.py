"""Rows that go before all others are looked at, where too many clash for this process: by rounds of partner counts.

In each round the rows with more than half of the most partners go, and partners are counted again, where the rows are,
until those that are left in a violation may come here. So what goes is not always the fewest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.language.rulebook import Rule
from refute.spark.blame.marks import BlameShape
from refute.spark.source.frames import frame_of
from refute.spark.source.keeping import Kept
from refute.spark.worker import RESERVED, ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

_DEGREE = RESERVED + "degree"


@dataclass(frozen=True, slots=True)
class GoneRows:
    """Rows that one rule put aside: their ids, their violations, and those of them with rows that stay."""

    rule: Rule
    ids: pa.ChunkedArray
    violations: pa.ChunkedArray
    clears: pa.ChunkedArray


class Rounds:
    """A table without the rows that some rules put aside, in the order in which they did."""

    def __init__(self, engine: SparkEngine, place: Kept) -> None:
        self._whole = engine
        self._place = place
        self._gone: list[tuple[Rule, DataFrame]] = []
        self.left = engine

    def put_aside(self, rules: Sequence[Rule], names: tuple[str, ...]) -> bool:
        """Put rows aside until few enough are in a violation of each rule; whether any were."""
        for rule in rules:
            shape = BlameShape.of(rule)
            if rule.constraint.is_single_row or shape.is_key or (shape.says_alike and not shape.is_order):
                continue
            while self._round(rule, names):
                pass
        return bool(self._gone)

    def _round(self, rule: Rule, names: tuple[str, ...]) -> bool:
        degrees = self._place.keep(_degrees(self.left, rule))
        ((rows, most),) = degrees.agg(F.count("*"), F.max(_DEGREE)).collect()
        if self.left.gathering.fits(names, rows):
            return False
        worst = self._place.keep(degrees.where(F.col(_DEGREE) > most // 2).select(ROW_COLUMN))
        worst.count()
        self._gone.append((rule, worst))
        self.left = self.left.over(self.left.source.chosen(worst, there=False))
        return True

    def gone(self, suspects: pa.ChunkedArray) -> list[GoneRows]:
        """The rows that went, with their violations; `suspects` are those that were found after them."""
        every = reduce(DataFrame.union, (rows for _, rows in self._gone))
        others = frame_of(pa.table([suspects], names=[ROW_COLUMN]), self._whole.source.frame.sparkSession)
        staying = self._whole.over(self._whole.source.chosen(others, there=False))  # and what went
        among = self._whole.over(self._whole.source.chosen(every, there=True))
        found = []
        for rule in dict.fromkeys(rule for rule, _ in self._gone):
            own = reduce(DataFrame.union, (rows for other, rows in self._gone if other is rule))
            counted = own
            for number, engine in enumerate((self._whole, staying, among)):
                name = f"{RESERVED}{number}"
                other = _degrees(engine, rule).toDF(f"{name}_row", name)
                counted = counted.join(other, F.col(ROW_COLUMN) == F.col(f"{name}_row"), "left")
            degree, of_staying, of_gone = (F.coalesce(F.col(f"{RESERVED}{number}"), F.lit(0)) for number in range(3))
            summed = counted.select(ROW_COLUMN, degree.alias("violations"), (of_staying - of_gone).alias("clears"))
            table = summed.toArrow()
            found.append(GoneRows(rule, *(table.column(name) for name in table.column_names)))
        return found


def _degrees(engine: SparkEngine, rule: Rule) -> DataFrame:
    """The rows in a violation, and in how many each is."""
    degree = (F.col("as_s") + F.col("as_t")).cast("bigint").alias(_DEGREE)
    return engine.prepared(rule).partners().select(ROW_COLUMN, degree).where(F.col(_DEGREE) > 0)
