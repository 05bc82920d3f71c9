"""Verification of rules with one order predicate as plain Spark aggregates: the least and the greatest of each group.

A group holds a pair with `s.a < t.b` exactly when its least `a` is below its greatest `b`, unless these two are of one
row and of no other: such groups are looked at again without that row. No Python worker runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import ClassVar

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Row
from refute.spark.answer.pairing import Pairing
from refute.spark.answer.witness import Conditions
from refute.spark.expressions import all_of, compare, literal

BEST = {Row.S: "__s_best", Row.T: "__t_best"}
NEXT = {Row.S: "__s_next", Row.T: "__t_next"}
CASE = "__case"
# Which extremes of a group are a pair: the best of both sides, or one of them with the next of the other.
PAIRS = ((BEST[Row.S], BEST[Row.T]), (BEST[Row.S], NEXT[Row.T]), (NEXT[Row.S], BEST[Row.T]))


class Extremes:
    """The extremes of the groups of one rule."""

    steps: ClassVar[tuple[str, ...]] = (
        "aggregate the minimum and maximum of each group natively; a group in which they clash breaks the rule",
        "look up the rows of one such group",
    )

    @staticmethod
    def suits(pairing: Pairing) -> bool:
        """Whether a rule can be verified by the extremes of its groups."""
        return len(pairing.order) == 1 and not pairing.differ and pairing.exact

    def __init__(self, pairing: Pairing, frame: DataFrame) -> None:
        self._pairing = pairing
        self._frame = frame
        self._keys = [f"__e{i}" for i in range(len(pairing.equal))]
        ascending = pairing.order[0].op in (Operator.LT, Operator.LE)
        self._best = {Row.S: F.min if ascending else F.max, Row.T: F.max if ascending else F.min}
        sides = [frame.select(*self._columns(row)).schema for row in Row]
        self._types = {row: [one.dataType.simpleString() for one in side] for row, side in zip(Row, sides, strict=True)}

    def conditions(self) -> Conditions | None:
        """What is true of the rows of some violation, of `s` and of `t`; None where the rule holds."""
        if not self._pairing.possible:
            return None
        for groups in self.broken_groups():
            found = groups.limit(1).collect()
            if found:
                s_rows, t_rows = (self._has_extreme(row, found[0]) for row in Row)
                return s_rows, t_rows
        return None

    def broken_groups(self) -> Iterator[DataFrame]:
        """Frames of groups with a violation: those that the extremes show, then those found without one row each."""
        crossed = self._groups().where(self._crosses(*PAIRS[0]))
        if not self._pairing.self_pairs:
            yield crossed.withColumn(CASE, F.lit(0))
            return
        yield crossed.where("__own = 0").withColumn(CASE, F.lit(0))
        # A row that satisfies the rule with itself may be both extremes; where it is alone there is no pair.
        unclear = crossed.where("__own > 0 and not (__s_rows = 1 and __t_rows = 1)")
        again = self._looked_at_again(unclear)
        if again is not None:
            rows_at_best = F.col("__s_hits") + F.col("__t_hits") - F.col("__both_hits")
            case = F.when(rows_at_best > 1, 0).when(self._crosses(*PAIRS[1]), 1).when(self._crosses(*PAIRS[2]), 2)
            yield again.withColumn(CASE, case).where(F.col(CASE).isNotNull())

    def _groups(self) -> DataFrame:
        """One row per group: the extremes, the rows of each side, and the rows that pair with themselves."""
        measures = [self._best[row](f"__{row.value}").alias(BEST[row]) for row in Row]
        if self._pairing.self_pairs:
            measures += [F.count(f"__{row.value}").alias(f"__{row.value}_rows") for row in Row]
            measures.append(F.count("__own_t").alias("__own"))
        return self._rows().groupBy(*self._keys).agg(*measures)

    def _looked_at_again(self, unclear: DataFrame) -> DataFrame | None:
        """Groups with how many rows have the extremes, and with the next ones; None where there is no group."""
        if self._keys:
            renamed = unclear.select(*(F.col(key).alias(f"{key}_") for key in self._keys), *BEST.values())
            rows = self._rows().join(renamed, all_of([F.col(key).eqNullSafe(F.col(f"{key}_")) for key in self._keys]))
        else:
            found = unclear.collect()
            if not found:
                return None
            best = {name: literal(found[0][name], self._types[row][-1]) for row, name in BEST.items()}
            rows = self._rows().withColumns(best)
        hits = {row: F.col(f"__{row.value}") == F.col(BEST[row]) for row in Row}
        measures = [F.count(F.when(hits[row], 1)).alias(f"__{row.value}_hits") for row in Row]
        measures += [self._best[row](F.when(~hits[row], F.col(f"__{row.value}"))).alias(NEXT[row]) for row in Row]
        both = hits[Row.S] & (F.col("__own_t") == F.col(BEST[Row.T]))
        measures.append(F.count(F.when(both, 1)).alias("__both_hits"))
        return rows.groupBy(*self._keys, *BEST.values()).agg(*measures)

    def _rows(self) -> DataFrame:
        """Keys, the value as `s` and as `t` (null where a row does not stand there), and as its own `t`."""
        own = F.when(self._pairing.pairs_with_itself(), self._value(Row.T)).alias("__own_t")
        admits = {row: self._admits(row) for row in Row}
        values = {row: F.when(admits[row], self._value(row)).alias(f"__{row.value}") for row in Row}
        if not any(one.is_cross_column for one in self._pairing.equal):
            kept = self._frame.where(admits[Row.S] | admits[Row.T])
            return kept.select(*self._key(Row.S), *values.values(), own)
        nothing = {row: literal(None, self._types[row][-1]) for row in Row}
        as_s = (values[Row.S], nothing[Row.T].alias("__t"), own)
        as_t = (nothing[Row.S].alias("__s"), values[Row.T], nothing[Row.T].alias("__own_t"))
        parts = [
            self._frame.where(admits[row]).select(*self._key(row), *shown)
            for row, shown in ((Row.S, as_s), (Row.T, as_t))
        ]
        return reduce(DataFrame.unionByName, parts)

    def _has_extreme(self, row: Row, group: SparkRow) -> SparkColumn:
        """Whether a row of this side has the group's extreme."""
        same = [
            column.eqNullSafe(literal(value, kind))
            for column, value, kind in zip(self._columns(row), self._wanted(row, group), self._types[row], strict=True)
        ]
        return all_of([self._admits(row), *same])

    def _columns(self, row: Row) -> list[SparkColumn]:
        """What rows of a side are looked up by: keys first, the compared value last."""
        return [*self._key(row), self._value(row)]

    def _wanted(self, row: Row, group: SparkRow) -> list[object]:
        """The values of these that a group with a violation names."""
        return [*(group[key] for key in self._keys), group[PAIRS[group[CASE]][0 if row is Row.S else 1]]]

    def _crosses(self, s_name: str, t_name: str) -> SparkColumn:
        return compare(F.col(s_name), self._pairing.order[0].op, F.col(t_name), Nulls.SQL)

    def _admits(self, row: Row) -> SparkColumn:
        condition = self._pairing.filters(row)
        assert condition is not None
        return condition

    def _key(self, row: Row) -> list[SparkColumn]:
        sides = [self._pairing.operands(one) for one in self._pairing.equal]
        keys = [pair[0 if row is Row.S else 1] for pair in sides if pair is not None]
        return [key.alias(name) for key, name in zip(keys, self._keys, strict=True)]

    def _value(self, row: Row) -> SparkColumn:
        sides = self._pairing.operands(self._pairing.order[0])
        assert sides is not None
        return sides[0 if row is Row.S else 1]
