"""The rows of a violation: found by what is known of them, by one evaluation of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.results import Witness
from refute.relation.shown import shown_row
from refute.spark.worker import RESERVED

Conditions = tuple[SparkColumn, SparkColumn]  # what is true of the row `s`, and of the row `t`
_NUMBER = RESERVED + "number"


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


def clash_of(frame: DataFrame, names: Sequence[str], conditions: Conditions) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two distinct rows of the frame, the first true to one condition, the second to the other: there must be such.

    One job numbers the rows and keeps the first and the last that are `s`, `t` or both: some two of these are a pair.
    """
    is_s, is_t = (F.coalesce(one, F.lit(False)) for one in conditions)
    known = [name for name in names if name in frame.columns]
    rows = frame.where(is_s | is_t).select(
        is_s.alias("is_s"), is_t.alias("is_t"), F.struct(*known).alias("row"), _number()
    )
    ends = [end("row", _NUMBER).alias(name) for name, end in (("first", F.min_by), ("last", F.max_by))]
    numbers = [F.min(_NUMBER).alias("least"), F.max(_NUMBER).alias("most")]
    counted = rows.groupBy("is_s", "is_t").agg(*ends, *numbers).toArrow()
    found = [shown_row(counted, place) for place in range(counted.num_rows)]
    by_role: dict[str, dict[int, dict[str, Any]]] = {"is_s": {}, "is_t": {}}
    for group in found:
        for role, known_rows in by_role.items():
            if group[role]:
                known_rows |= {group["least"]: group["first"], group["most"]: group["last"]}
    pairs = ((s, t) for i, s in by_role["is_s"].items() for j, t in by_role["is_t"].items() if i != j)
    return next(pairs)


def one_of(frame: DataFrame, names: Sequence[str]) -> dict[str, Any] | None:
    """Some row of the frame; None where it has none."""
    known = [name for name in names if name in frame.columns]
    found = frame.select(*known).limit(1).toArrow()
    return shown_row(found, 0) if found.num_rows else None


def _number() -> SparkColumn:
    return F.monotonically_increasing_id().alias(_NUMBER)
