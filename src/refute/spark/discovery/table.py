"""A Spark table as discovery sees it: counted by native aggregates, of which only totals come to the driver."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.discovery.options import Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.rank import states_of_column
from refute.discovery.result.support import premise
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Look, unhurried
from refute.language.form import Form
from refute.language.predicate import Constant
from refute.relation import Family
from refute.relation.types import ColumnType
from refute.spark.budget import cores
from refute.spark.discovery.coding import COLUMN, TIMES, VALUE
from refute.spark.discovery.jobs import unless_expired
from refute.spark.discovery.pairs import SparkPairs, pairs_of
from refute.spark.discovery.tuning import SPARK_STANDARD, SparkTuning
from refute.spark.expressions import column, not_null, quoted
from refute.spark.source.keeping import Kept
from refute.spark.source.renaming import by_code_point, plain_names
from refute.spark.source.types import empty_relation

T = TypeVar("T")

_UNNAMED = (Family.TIME, Family.DURATION)  # values that no rule can write down


@dataclass(frozen=True, slots=True)
class Basics:
    """What one pass over the rows shows about a column."""

    nulls: int
    low: int | None  # of whole numbers
    high: int | None
    mean: float


@dataclass(frozen=True, slots=True)
class ValueSpread:
    """How the values of a column are spread: how many distinct ones, and the sum of their squared counts."""

    distinct: int
    squares: float


class SparkTable:
    """A DataFrame whose rules are searched; `columns` are those looked at, None for all."""

    def __init__(
        self,
        frame: DataFrame,
        place: Kept,
        columns: Sequence[str] | None = None,
        tuning: SparkTuning = SPARK_STANDARD,
        numbers: str | None = None,
    ) -> None:
        """`numbers` is a column that is no part of the table: numbers by which evidence names its pairs of rows."""
        self._place = place
        self.tuning = tuning
        self.numbers = numbers
        self.plain_of = plain_names([name for name in frame.columns if name != numbers])
        kept = [F.col(quoted(name)).alias(plain) for name, plain in self.plain_of.items()]
        renamed = frame.select(*kept, *(() if numbers is None else [F.col(quoted(numbers))]))
        self.frame = by_code_point(renamed, renamed.schema)
        self.types = empty_relation(frame)
        self.plain_types = empty_relation(self.frame)
        self._wanted = [name for name in self.plain_of if columns is None or name in columns]
        self._counted: dict[Family, DataFrame] = {}
        self._spreads: dict[Family, dict[str, ValueSpread]] = {}
        self._pairs: SparkPairs | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._basics[0]

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return list(self.plain_of)

    def type_of(self, name: str) -> ColumnType:
        """The type of a column."""
        return self.types.type_of(name)

    def null_count(self, name: str) -> int:
        """How many rows are null or NaN in a column."""
        return self.basics(name).nulls

    def mean(self, name: str) -> float:
        """The average of a column of numbers; 0 where it has none."""
        return self.basics(name).mean

    def basics(self, name: str) -> Basics:
        """What one pass over the rows shows about a column."""
        return self._basics[1][name]

    @cached_property
    def cores(self) -> int:
        """How many tasks Spark runs at once."""
        return cores(self.frame.sparkSession)

    def value(self, name: str) -> SparkColumn:
        """The column, with NaN as null and one zero."""
        return column(self.plain_types.type_of(self.plain_of[name]))

    @cached_property
    def _basics(self) -> tuple[int, dict[str, Basics]]:
        asked: list[SparkColumn] = [F.count(F.lit(1))]
        readable = [name for name in self._wanted if self.type_of(name).family is not Family.UNSUPPORTED]
        nothing = F.lit(None).cast("bigint")
        for name in readable:
            value, family = self.value(name), self.type_of(name).family
            whole = value.cast("bigint") if family is Family.INTEGER else nothing
            number = value.cast("double") if family.is_number else F.lit(None).cast("double")
            asked += [F.count(value), F.min(whole), F.max(whole), F.avg(number)]
        found = self.frame.agg(*(one.alias(f"a{place}") for place, one in enumerate(asked))).collect()[0]
        rows = int(found[0])
        groups = (found[1 + 4 * place : 5 + 4 * place] for place in range(len(readable)))
        return rows, {
            name: Basics(rows - known, low, high, mean or 0.0)
            for name, (known, low, high, mean) in zip(readable, groups, strict=True)
        }

    def counted(self, family: Family) -> DataFrame:
        """The distinct values of all columns of a type, each with its column's place in the table and its count."""
        if family not in self._counted:
            names = self._of_family(family)
            kind = _common_type([self.type_of(name) for name in names])
            entries = []
            for name in names:
                value = self.value(name) if kind is None else self.value(name).cast(kind)
                entries.append(F.struct(F.lit(self.names.index(name)).alias(COLUMN), value.alias(VALUE)))
            cells = self.frame.select(F.explode(F.array(*entries)).alias("cell")).select("cell.*")
            grouped = cells.where(F.col(VALUE).isNotNull()).groupBy(COLUMN, VALUE)
            counted = grouped.agg(F.count(F.lit(1)).alias(TIMES)).coalesce(4 * self.cores)
            self._counted[family] = self._place.keep(counted)
        return self._counted[family]

    def spread(self, name: str) -> ValueSpread:
        """How the values of a column are spread."""
        family = self.type_of(name).family
        if family not in self._spreads:
            square = F.col(TIMES).cast("double") * F.col(TIMES)
            found = self.counted(family).groupBy(COLUMN).agg(F.count(F.lit(1)), F.sum(square)).collect()
            known = {self.names[place]: ValueSpread(distinct, squares) for place, distinct, squares in found}
            self._spreads[family] = {one: known.get(one, ValueSpread(0, 0.0)) for one in self._of_family(family)}
        return self._spreads[family][name]

    def shared_values(self, names: Sequence[str], look: Look = unhurried) -> Mapping[tuple[str, str], float]:
        """How many values each two of the columns of one type share."""
        # One sum for each column: Spark's hash aggregation keeps numbers in place, and sorts rows to collect lists.
        places = [self.names.index(name) for name in names]
        of_column = [F.sum(F.when(F.col(COLUMN) == place, F.col(TIMES))).alias(f"n{place}") for place in places]
        totals = self.counted(self.type_of(names[0]).family).groupBy(VALUE).agg(*of_column)
        entries = F.array(*(F.struct(F.lit(place).alias("c"), F.col(f"n{place}").alias("n")) for place in places))
        held = totals.select(F.filter(entries, lambda entry: entry["n"].isNotNull()).alias("held"))
        met = held.where(F.size("held") > 1).select(F.explode("held").alias("a"), "held")
        met = met.select("a", F.explode("held").alias("b"))
        ours, theirs = F.col("a.n"), F.col("b.n")
        found = (
            met.where(F.col("a.c") < F.col("b.c"))
            .groupBy(F.col("a.c").alias("a"), F.col("b.c").alias("b"))
            .agg(F.sum(F.least(ours, theirs)), F.sum(F.greatest(ours, theirs) - ours))
            .collect()
        )
        together = {(self.names[a], self.names[b]): (least, more) for a, b, least, more in found}
        out: dict[tuple[str, str], float] = {}
        for place, a in enumerate(names):
            for b in names[place + 1 :]:
                least, more = together.get((a, b), (0, 0))
                largest = self.n_rows - self.null_count(a) + more
                out[a, b] = least / largest if largest else 0.0
        return out

    def frequent(self, name: str, most: int, least: float) -> list[Constant]:
        """The most frequent values of a column, those that at least so many rows hold."""
        kind = self.type_of(name)
        if kind.family in _UNNAMED:
            return []
        own = self.counted(kind.family).where(F.col(COLUMN) == self.names.index(name))
        often = own.where(F.col(TIMES) >= least).orderBy(F.desc(TIMES), VALUE).limit(most)
        values = often.select(F.col(VALUE).cast(self.frame.schema[self.plain_of[name]].dataType)).toArrow().column(0)
        return [Constant(value) for value in values.to_pylist()]

    def state_shares(self, slot: Slot) -> list[float]:
        """The share of ordered pairs in each state of a slot.

        Exact where one column is compared across rows, else that of some rows.
        """
        if slot.is_pair and len(slot.columns) == 1:
            (name,) = slot.columns
            return states_of_column(slot, self.n_rows, self.null_count(name), self.spread(name).squares)
        assert self._pairs is not None
        return self._pairs.shares_nearby(slot)

    def support(self, form: Form) -> int:
        """How many rows have a partner that the rule speaks about."""
        silent = [self.plain_of[name] for name in sorted(form.barred())]
        rows = self.frame.where(not_null(self.plain_types, silent)) if silent else self.frame
        if form.rule.constraint.is_single_row:
            return rows.count()
        keys = [self.value(name).alias(self.plain_of[name]) for name in premise(form)]
        sizes = rows.groupBy(*keys).agg(F.count(F.lit(1)).alias(TIMES)).where(F.col(TIMES) > 1)
        return int(sizes.agg(F.coalesce(F.sum(TIMES), F.lit(0))).collect()[0][0])

    def unless_expired(self, budget: Budget, run: Callable[[], T]) -> T | None:
        """What `run` gives, which counts and packs the rows; None where the user, or the time limit, ended it."""
        return unless_expired(self.frame.sparkSession, budget, run)

    def pairs(self, space: PredicateSpace, options: Options, tuning: Tuning = STANDARD) -> Pairs:
        """The pairs of rows in this space."""
        made: Any = pairs_of(self, space, options, self._place, tuning)
        self._pairs = made if isinstance(made, SparkPairs) else None
        return made  # type: ignore[no-any-return]

    def _of_family(self, family: Family) -> list[str]:
        return [name for name in self._wanted if self.type_of(name).family is family]


def _common_type(kinds: list[ColumnType]) -> str | None:
    """The Spark type in which columns of one family are counted together; None where they have one type already."""
    family = kinds[0].family
    if family is Family.INTEGER:
        return "bigint"
    if family is Family.DECIMAL:
        whole = max(kind.arrow_type.precision - kind.arrow_type.scale for kind in kinds)
        scale = max(kind.arrow_type.scale for kind in kinds)
        return f"decimal({whole + scale},{scale})" if whole + scale <= 38 else "double"
    return None
