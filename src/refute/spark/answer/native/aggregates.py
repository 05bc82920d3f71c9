"""Rules without order predicates as plain Spark aggregates: no Python worker runs, and groups of any size are fine."""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Window
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F

from refute.language.form import operands as column_operands
from refute.language.logic.differences import subsets
from refute.language.predicate import Row
from refute.spark.answer.pairing import Pairing
from refute.spark.answer.spread import Spread
from refute.spark.answer.witness import Conditions
from refute.spark.expressions import all_of, literal

MOST_DIFFERENCES = 6  # inclusion and exclusion doubles with each `!=`
_WIDE = "decimal(38,0)"


class GroupedExtent(NamedTuple):
    """How far a rule is violated, how many rows stood on both sides, and what is true of the rows of a violation; None
    where that was not seen along the way."""

    violations: int
    rows: int
    admitted: int | None = None
    conditions: Conditions | None = None


class GroupCounts:
    """How many rows of each side share each combination of compared values, and what follows from it.

    Where the spread says that most rows have values of their own, they are shuffled before they are counted: counting
    first would build as many groups as there are rows, to no gain.
    """

    def __init__(self, pairing: Pairing, frame: DataFrame, spread: Spread) -> None:
        assert not pairing.order
        self._pairing = pairing
        self._frame = frame
        self._spread = spread
        # Without any comparison between the rows, all of them are one group.
        self._equal = [f"e{i}" for i in range(max(len(pairing.equal), not pairing.differ))]
        self._differ = [f"d{i}" for i in range(len(pairing.differ))]

    def violations(self) -> int:
        """The exact number of ordered pairs."""
        if not self._pairing.possible:
            return 0
        if self._pairing.aligned:
            return self._aligned_extent().violations if len(self._differ) <= 1 else self._included_and_excluded()
        pairs = self._total(f"{self._wide('cs')} * {self._wide('ps')}")
        ((total,),) = self._with_partners().selectExpr(pairs).collect()
        return int(total or 0) - self._self_pairs()

    def extent(self) -> GroupedExtent:
        """The number of violations and of rows in some violation."""
        if not self._pairing.possible:
            return GroupedExtent(0, 0)
        if self._pairing.aligned:
            return self._aligned_extent()
        measures = (self._total("as_s"), "count(case when as_s > 0 or as_t > 0 then 1 end)")
        ((violations, rows),) = self.annotated().selectExpr(*measures).collect()
        return GroupedExtent(int(violations or 0), int(rows))

    def annotated(self) -> DataFrame:
        """The frame with two more columns, `as_s` and `as_t`: each row's number of partners in each role."""
        keys = self._equal + self._differ
        groups = self._with_partners().select(*keys, "ps", "pt")
        found = self._frame
        own = F.when(self._pairing.pairs_with_itself(), 1).otherwise(0) if self._pairing.self_pairs else F.lit(0)
        found = found.withColumn("__self", own)
        alone = None if self._pairing.equal + self._pairing.differ else groups.first() or {"ps": 0, "pt": 0}
        for row, count, name in ((Row.S, "ps", "as_s"), (Row.T, "pt", "as_t")):
            mine = self._keys(row)
            renamed = groups.select(*(F.col(key).alias(f"__{name}_{key}") for key in keys), F.col(count).alias(name))
            condition = self._pairing.filters(row)
            assert condition is not None
            if alone is not None:  # no key to join by, and one group only
                found = found.withColumn(
                    name, F.when(condition, F.lit(alone[count]) - F.col("__self")).otherwise(F.lit(0))
                )
                continue
            for key, value in zip(keys, mine, strict=True):
                condition = condition & value.eqNullSafe(F.col(f"__{name}_{key}"))
            found = found.join(renamed, condition, "left")
            found = found.drop(*(f"__{name}_{key}" for key in keys))
            found = found.withColumn(name, F.coalesce(F.col(name), F.lit(0)).cast("long"))
            found = found.withColumn(name, F.when(F.col(name) > 0, F.col(name) - F.col("__self")).otherwise(F.lit(0)))
        return found.drop("__self")

    def conditions(self) -> Conditions | None:
        """What is true of the rows of some violation, of `s` and of `t`; None where the rule holds."""
        if not self._pairing.possible:
            return None
        if self._pairing.aligned:
            return self._aligned_extent().conditions
        # Rows of the same values may have no partner but themselves, so the values are those of a row that has.
        found = self.with_keys(self.annotated()).where(F.col("as_s") > 0).limit(1).collect()
        return self._clash(found[0]) if found else None

    def _clash(self, keys: SparkRow) -> Conditions:
        """The `s` rows with these compared values, and the `t` rows that clash with them."""
        return self._has(Row.S, keys), self._clashes_with(keys)

    def _has(self, row: Row, keys: SparkRow) -> SparkColumn:
        """Whether a row of this side has these compared values; those that are not given do not matter."""
        same = [
            self._same(key, keys[name])
            for key, name in zip(self._keys(row), self._equal + self._differ, strict=True)
            if name in keys
        ]
        return all_of([self._pairing.admits(row), *same])

    def _clashes_with(self, keys: SparkRow) -> SparkColumn:
        """True for a `t` row that clashes with an `s` row of these compared values."""
        same = [
            self._same(key, keys[name]) for key, name in zip(self._keys(Row.T), self._equal + self._differ, strict=True)
        ]
        first = len(self._equal)
        return all_of([self._pairing.admits(Row.T), *same[:first], *(~one for one in same[first:])])

    def with_keys(self, frame: DataFrame) -> DataFrame:
        """The frame with the compared values of side s as columns of their own."""
        names = self._equal + self._differ
        return frame.withColumns(dict(zip(names, self._keys(Row.S), strict=True)))

    def _same(self, key: SparkColumn, value: Any) -> SparkColumn:
        """Whether a compared value is this one, null being a value too."""
        kind = self._frame.select(key.alias("key")).schema["key"].dataType.simpleString()
        return key.eqNullSafe(literal(value, kind))

    def _aligned_extent(self) -> GroupedExtent:
        """The extent of a rule with the same columns and conditions on both sides, and values that clash."""
        kept = [*self._equal, *self._differ]
        if len(self._differ) > 1:
            groups = self._with_partners().withColumnRenamed("cs", "c")
            pairs, clash = f"{self._wide('c')} * {self._wide('ps')}", "ps > 0"
        elif self._differ:
            groups = self._by_value(self._equal, self._differ[0])
            pairs, clash, kept = self._apart, "values > 1", [*self._equal, "low", "high"]
        else:
            groups = self._groups().withColumnRenamed("cs", "c")
            pairs, clash = f"{self._wide('c')} * ({self._wide('c')} - 1)", "c > 1"
        broken = (self._total(f"case when {clash} then {pairs} end"), f"sum(case when {clash} then c end)", "sum(c)")
        some = f"any_value(struct({', '.join(kept)})) filter (where {clash})"
        (found,) = groups.selectExpr(*broken, some).collect()
        violations, rows, admitted = (int(number or 0) for number in found[:3])
        return GroupedExtent(violations, rows, admitted, None if found[3] is None else self._found_clash(found[3]))

    def _found_clash(self, values: SparkRow) -> Conditions:
        """What is true of the rows of a violation among those with these values."""
        if len(self._differ) == 1:
            shared = {name: values[name] for name in self._equal}
            low, high = ({**shared, self._differ[0]: values[end][0]} for end in ("low", "high"))
            return self._has(Row.S, SparkRow(**low)), self._has(Row.T, SparkRow(**high))
        return self._clash(values)

    def _included_and_excluded(self) -> int:
        """The violations of a rule with several `!=`: the pairs that differ in the last one, whatever the others are,
        minus those with some of the others equal. The last has fewest values, so counts by it are few."""
        *others, last = sorted(self._differ, key=lambda name: -self._spread.distinct(self._sources([name])))
        parts = []
        for sign, same in subsets(others):
            groups = self._by_value([*self._equal, *same], last)
            parts.append(groups.selectExpr(f"{'-' if sign < 0 else ''}{self._total(self._apart)} as n"))
        return sum(int(number or 0) for (number,) in reduce(DataFrame.unionByName, parts).collect())

    def _keys(self, row: Row) -> list[SparkColumn]:
        """The compared values of one side: equalities first, then differences."""
        sides = [self._pairing.operands(one) for one in self._pairing.equal + self._pairing.differ]
        keys = [pair[0] if row is Row.S else pair[1] for pair in sides if pair is not None]
        return keys or [F.lit(0)]

    def _groups(self) -> DataFrame:
        """One row per combination of compared values: `cs` rows of side s and `ct` rows of side t have it."""
        names = self._equal + self._differ
        if self._pairing.aligned:
            return self._counted(names)
        parts = []
        for row in Row:
            roles = {"is_s": F.lit(int(row is Row.S)), "is_t": F.lit(int(row is Row.T))}
            parts.append(self._keyed(row).withColumns(roles))
        both = parts[0].unionByName(parts[1])
        if self._spread.is_scattered(self._spread.sample.column_names):
            both = both.repartition(self._spread.tasks, *names)
        return both.groupBy(*names).agg(F.sum("is_s").alias("cs"), F.sum("is_t").alias("ct"))

    def _keyed(self, row: Row, names: list[str] | None = None) -> DataFrame:
        """The compared values of the rows of one side, all or those named."""
        made = zip(self._keys(row), self._equal + self._differ, strict=True)
        keys = [key.alias(name) for key, name in made if names is None or name in names]
        return self._pairing.side(self._frame, row).select(*keys)

    def _counted(self, names: list[str], whole: list[str] | None = None) -> DataFrame:
        """The number of rows, `cs`, of each combination of these compared values, where both sides have the same ones;
        with all rows of `whole` values in one task where that costs nothing."""
        keyed = self._keyed(Row.S, names)
        if self._spread.is_scattered(self._sources(names)):
            together = whole if whole and self._spread.is_even(self._sources(whole)) else names
            keyed = keyed.repartition(self._spread.tasks, *together)
        return keyed.groupBy(*names).agg(F.expr("count(1) as cs"))

    def _by_value(self, keys: list[str], value: str) -> DataFrame:
        """One row per combination of keys: its rows `c`, the pairs of these with the `same` value, its number of
        `values`, and the least and the greatest of them, null being one."""
        same = f"{self._wide('cs')} * {self._wide('cs')}"
        ends = (f"min(struct({value})) as low", f"max(struct({value})) as high")
        measures = ("sum(cs) as c", f"sum({same}) as same", "count(1) as values", *ends)
        return self._counted([*keys, value], keys).groupBy(*keys).agg(*map(F.expr, measures))

    @property
    def _apart(self) -> str:
        """The pairs of a row of `_by_value` that differ in the value."""
        return f"({self._wide('c')} * {self._wide('c')} - same)"

    def _sources(self, names: list[str]) -> list[str]:
        """The columns of the table behind compared values, where both sides have the same ones."""
        compared = dict(zip(self._equal + self._differ, self._pairing.equal + self._pairing.differ, strict=False))
        return [column_operands(compared[name])[0] for name in names if name in compared]

    def _wide(self, name: str) -> str:
        """A count in a type in which the product of two is exact."""
        return name if self._spread.is_narrow else f"cast({name} as decimal(18,0))"

    def _total(self, values: str) -> str:
        """The sum, wide enough for the square of the number of rows."""
        return f"sum({values})" if self._spread.is_narrow else f"sum(cast({values} as {_WIDE}))"

    def _with_partners(self) -> DataFrame:
        """The groups with `ps` and `pt`: the partners that an s row, and a t row, of the group has; itself included."""
        groups = self._groups()
        if self._pairing.aligned:
            groups = groups.withColumn("ct", F.col("cs"))
        ps, pt = F.lit(0).cast("long"), F.lit(0).cast("long")
        for sign, chosen in subsets(self._differ):
            same = Window.partitionBy(*self._equal, *chosen) if self._equal or chosen else Window.partitionBy(F.lit(0))
            whole = len(chosen) == len(self._differ)
            ps = ps + F.lit(sign) * (F.col("ct") if whole else F.sum("ct").over(same))
            pt = pt + F.lit(sign) * (F.col("cs") if whole else F.sum("cs").over(same))
        return groups.withColumn("ps", ps).withColumn("pt", pt)

    def _self_pairs(self) -> int:
        if not self._pairing.self_pairs:
            return 0
        return self._frame.where(self._pairing.pairs_with_itself()).count()
