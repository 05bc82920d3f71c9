"""Tables of few distinct values: Spark counts them natively, and the counts alone answer the rule."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.weighted import MOST_DIFFERENCES, MOST_ORDERS, WeightedPartners, weighted_partners
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation
from refute.spark.expressions import column
from refute.spark.frames import frame_of
from refute.spark.pairing import Pairing
from refute.spark.worker import ROW_COLUMN

MOST_DISTINCT = 500_000
LEAST_REPEATS = 8  # rows per distinct value below which a summary saves nothing
_COUNT = "__count"


class Summary:
    """The distinct values that a rule reads, with how many rows have each."""

    def __init__(self, rule: Rule, names: tuple[str, ...], types: Relation, frame: DataFrame) -> None:
        self._rule = rule
        self._frame = frame
        self._columns = {name: column(types.type_of(name)).cast(frame.schema[name].dataType) for name in names}

    @cached_property
    def table(self) -> pa.Table | None:
        """The distinct values and their counts; None where they are too many."""
        keyed = self._frame.select(*(value.alias(name) for name, value in self._columns.items()))
        counted = keyed.groupBy(*self._columns).agg(F.count(F.lit(1)).alias(_COUNT))
        found = counted.limit(MOST_DISTINCT + 1).toArrow()
        return None if found.num_rows > MOST_DISTINCT else found

    @cached_property
    def partners(self) -> WeightedPartners:
        """Each distinct value's partners."""
        assert self.table is not None
        weights = self.table.column(_COUNT).to_numpy().astype(np.int64)
        compiled = compile_rule(
            Relation.of(self.table.drop_columns([_COUNT])), self._rule.constraint, self._rule.nulls, self._rule.where
        )
        if compiled.problem is None:
            none = np.zeros(len(weights), np.int64)
            return WeightedPartners(none, none, weights)
        return weighted_partners(compiled.problem, weights)

    def skipped(self, names: list[str]) -> int:
        """How many of the rows that the rule is about have a null in one of these columns."""
        assert self.table is not None
        skipped = np.zeros(self.table.num_rows, np.bool_)
        for name in names:
            skipped |= pc.is_null(self.table.column(name), nan_is_null=True).to_numpy()
        if self._rule.where is not None:
            skipped &= Relation.of(self.table.drop_columns([_COUNT])).condition_mask(self._rule.where)
        return int(self.table.column(_COUNT).to_numpy()[skipped].sum())

    def annotated(self, frame: DataFrame) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`; the frame is the summarised one with `__row`."""
        assert self.table is not None
        broken = (self.partners.as_s > 0) | (self.partners.as_t > 0)
        counts = self.table.drop_columns([_COUNT]).append_column("as_s", pa.array(self.partners.as_s))
        counts = counts.append_column("as_t", pa.array(self.partners.as_t)).filter(pa.array(broken))
        renamed = counts.rename_columns(
            [f"__{name}" if name in self._columns else name for name in counts.column_names]
        )
        small = F.broadcast(frame_of(renamed, self._frame.sparkSession))
        same = F.lit(True)
        for name, value in self._columns.items():
            same = same & value.eqNullSafe(F.col(f"__{name}"))
        return frame.join(small, same).select(ROW_COLUMN, "as_s", "as_t")


def suits(pairing: Pairing | None) -> bool:
    """Whether a rule can be answered from distinct values."""
    return (
        pairing is not None
        and pairing.possible
        and 0 < len(pairing.order) <= MOST_ORDERS
        and len(pairing.differ) <= MOST_DIFFERENCES
    )
