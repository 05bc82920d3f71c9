"""Verification of rules with one order predicate and one `!=` as plain Spark aggregates.

What stands under `!=` is a row's label. The extremes of a group's labels show whether any pair is in order; where the
best of both sides have the same label, the best among all other labels decide: whoever pairs with another label pairs
with one of these. No Python worker runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import ClassVar

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from refute.language.predicate import Row
from refute.spark.answer.native.extremes import BEST, CASE, NEXT, PAIRS, Extremes
from refute.spark.answer.pairing import Pairing
from refute.spark.expressions import all_of, literal

_LABEL = "__label"


class LabelledExtremes(Extremes):
    """The extremes of the groups of one rule, and of the labels within each group."""

    steps: ClassVar[tuple[str, ...]] = (
        "aggregate the minimum and maximum for each value under `!=` natively, then for each group",
        "look up the rows of one group in which they clash",
    )

    @staticmethod
    def suits(pairing: Pairing) -> bool:
        """Whether a rule can be verified by the extremes of its groups and labels."""
        return len(pairing.order) == len(pairing.differ) == 1 and not pairing.self_pairs and pairing.exact

    def broken_groups(self) -> Iterator[DataFrame]:
        """Frames of groups with a violation: those whose extremes differ in their labels, then those found by the
        extremes among all other labels."""
        labels = self._by_label()
        crossed = self._extremes(labels, self._keys, BEST).where(self._crosses(*PAIRS[0]))
        same = F.col(_label(BEST[Row.S])).eqNullSafe(F.col(_label(BEST[Row.T])))
        yield crossed.where(~same).withColumn(CASE, F.lit(0))
        again = self._without_label(labels, crossed.where(same))
        if again is not None:
            known = [*self._keys, *BEST.values(), *(_label(name) for name in BEST.values())]
            case = F.when(self._crosses(*PAIRS[1]), 1).when(self._crosses(*PAIRS[2]), 2)
            found = self._extremes(again, known, NEXT).withColumn(CASE, case)
            yield found.where(F.col(CASE).isNotNull())

    def _by_label(self) -> DataFrame:
        """One row per group and label: the extremes of both sides."""
        admits = {row: self._admits(row) for row in Row}
        values = {row: F.when(admits[row], self._value(row)).alias(_side(row)) for row in Row}
        if not any(one.is_cross_column for one in self._pairing.equal + self._pairing.differ):
            kept = self._frame.where(admits[Row.S] | admits[Row.T])
            rows = kept.select(*self._key(Row.S), self._label(Row.S).alias(_LABEL), *values.values())
        else:
            parts = []
            for row, other in ((Row.S, Row.T), (Row.T, Row.S)):
                nothing = literal(None, self._types[other][-1]).alias(_side(other))
                shown = (*self._key(row), self._label(row).alias(_LABEL), values[row], nothing)
                parts.append(self._frame.where(admits[row]).select(*shown))
            rows = reduce(DataFrame.unionByName, parts)
        measures = [self._best[row](_side(row)).alias(_side(row)) for row in Row]
        return rows.groupBy(*self._keys, _LABEL).agg(*measures)

    def _extremes(self, labels: DataFrame, keys: list[str], names: dict[Row, str]) -> DataFrame:
        """The extremes of both sides over the labels of each group, each with a label that has it."""
        by = {row: F.min_by if self._best[row] is F.min else F.max_by for row in Row}
        measures = [self._best[row](_side(row)).alias(names[row]) for row in Row]
        measures += [by[row](_LABEL, _side(row)).alias(_label(names[row])) for row in Row]
        return labels.groupBy(*keys).agg(*measures)

    def _without_label(self, labels: DataFrame, unclear: DataFrame) -> DataFrame | None:
        """The other labels of groups whose extremes have one label, beside these; None where there is no group."""
        known = [*BEST.values(), *(_label(name) for name in BEST.values())]
        if self._keys:
            renamed = unclear.select(*(F.col(key).alias(f"{key}_") for key in self._keys), *known)
            rows = labels.join(renamed, all_of([F.col(key).eqNullSafe(F.col(f"{key}_")) for key in self._keys]))
        else:
            found = unclear.collect()
            if not found:
                return None
            best = {BEST[row]: literal(found[0][BEST[row]], self._types[row][-1]) for row in Row}
            best |= {_label(name): literal(found[0][_label(name)], self._types[Row.S][-2]) for name in BEST.values()}
            rows = labels.withColumns(best)
        return rows.where(~F.col(_LABEL).eqNullSafe(F.col(_label(BEST[Row.S]))))

    def _columns(self, row: Row) -> list[SparkColumn]:
        return [*self._key(row), self._label(row), self._value(row)]

    def _wanted(self, row: Row, group: SparkRow) -> list[object]:
        name = PAIRS[group[CASE]][0 if row is Row.S else 1]
        return [*(group[key] for key in self._keys), group[_label(name)], group[name]]

    def _label(self, row: Row) -> SparkColumn:
        sides = self._pairing.operands(self._pairing.differ[0])
        assert sides is not None
        return sides[0 if row is Row.S else 1]


def _side(row: Row) -> str:
    return f"__{row.value}"


def _label(name: str) -> str:
    """The column that holds the label of an extreme."""
    return f"{name}_label"
