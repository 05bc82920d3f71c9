"""The rows of a violation: found by what is known of them, by one evaluation of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.results import Witness
from refute.relation.shown import shown_row
from refute.spark.workers.worker import RESERVED

Conditions = tuple[SparkColumn, SparkColumn]  # what is true of the row `s`, and of the row `t`
_NUMBER = RESERVED + "number"
_ENDS = ("min_by", "max_by")


class Totals(NamedTuple):
    """How many rows a table has, and how many of those that a rule is about a null keeps out."""

    rows: int
    skipped: int


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One row of a violation: its id, and the values to show, by column."""

    id: Any
    values: dict[str, Any]


def found_row(values: dict[str, Any], row_id: Any, key: Sequence[str]) -> FoundRow:
    """A row with its id; the columns of its key are shown too."""
    parts = {} if not key else row_id if isinstance(row_id, dict) else {key[0]: row_id}
    return FoundRow(row_id, parts | values)


@dataclass(frozen=True, slots=True)
class Clash:
    """The rows of a violation; `t` is None for a rule about one row."""

    s: FoundRow | None
    t: FoundRow | None = None

    @property
    def witness(self) -> Witness:
        """Both by their ids."""
        return Witness(*(None if row is None else row.id for row in (self.s, self.t)))

    @property
    def values(self) -> dict[str, dict[str, Any] | None]:
        """The values of both."""
        return {side: None if row is None else row.values for side, row in (("s", self.s), ("t", self.t))}


def clash_of(
    frame: DataFrame, names: Sequence[str], conditions: Conditions, out: SparkColumn | None = None
) -> tuple[dict[str, Any], dict[str, Any], Totals | None]:
    """Two distinct rows of the frame, the first meets one condition, the second the other: they must exist.

    One job numbers the rows and keeps the first and the last that are `s`, and those that are `t`: some two of these
    are a pair. With `out`, true of rows that a null keeps out, the same job counts all rows, and those.
    """
    is_s, is_t = (F.coalesce(one, F.lit(False)) for one in conditions)
    known = F.struct(*(name for name in names if name in frame.columns))
    chosen = frame.where(is_s | is_t) if out is None else frame
    rows = chosen.select(is_s.alias("s"), is_t.alias("t"), known.alias("row"), _number(), *_alias(out))
    ends = [
        F.expr(f"{end}(struct({_NUMBER}, row), {_NUMBER}) filter (where {side}) as {side}_{end}")
        for side in ("s", "t")
        for end in _ENDS
    ]
    found = shown_row(rows.agg(*ends, *([] if out is None else _totals())).toArrow(), 0)
    s_rows, t_rows = ([found[f"{side}_{end}"] for end in _ENDS] for side in ("s", "t"))
    s_row, t_row = next((s, t) for s in s_rows for t in t_rows if s[_NUMBER] != t[_NUMBER])
    return s_row["row"], t_row["row"], None if out is None else Totals(found["rows"], found["out"])


def count_rows(frame: DataFrame, out: SparkColumn) -> Totals:
    """How many rows there are, and how many a null keeps out, in one pass."""
    found = frame.select(out.alias("out")).agg(*_totals()).collect()[0]
    return Totals(found["rows"], found["out"])


def count_and_find(
    frame: DataFrame, names: Sequence[str], violates: SparkColumn, out: SparkColumn
) -> tuple[int, dict[str, Any] | None, Totals]:
    """How many rows a condition is true of, one of them, and how many there are in all: in one pass.

    The row is in a list, empty where there is none: Arrow refuses a null row whose columns are declared without null.
    """
    known = F.struct(*(name for name in names if name in frame.columns))
    rows = frame.select(violates.alias("violates"), known.alias("row"), out.alias("out"))
    found = [
        F.expr("count_if(violates) as number"),
        F.expr("coalesce(any_value(array(row)) filter (where violates), array()) as rows_found"),
    ]
    counted = shown_row(rows.agg(*found, *_totals()).toArrow(), 0)
    return counted["number"], next(iter(counted["rows_found"]), None), Totals(counted["rows"], counted["out"])


def one_of(frame: DataFrame, names: Sequence[str]) -> dict[str, Any] | None:
    """Some row of the frame; None where it has none."""
    known = [name for name in names if name in frame.columns]
    found = frame.select(*known).limit(1).toArrow()
    return shown_row(found, 0) if found.num_rows else None


def _totals() -> list[SparkColumn]:
    return [F.count(F.lit(1)).alias("rows"), F.count_if("out").alias("out")]


def _alias(out: SparkColumn | None) -> list[SparkColumn]:
    return [] if out is None else [out.alias("out")]


def _number() -> SparkColumn:
    return F.monotonically_increasing_id().alias(_NUMBER)
