"""Ways that Spark goes by itself, without a Python worker: a filter, counts of groups, counts of distinct rows."""

from __future__ import annotations

from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.spark.answer.native import summary
from refute.spark.answer.native.aggregates import GroupCounts
from refute.spark.answer.native.summary import LEAST_REPEATS, MOST_DISTINCT, DistinctRows, RuleSummary
from refute.spark.answer.way import Extent, Way
from refute.spark.answer.witness import Clash
from refute.spark.workers.worker import ROW_COLUMN


class Filter(Way):
    """A rule about one row is a condition on it."""

    name = "filter"
    steps = ("filter the rows",)
    worst = "one scan"

    def suits(self, rows: int) -> bool:
        """Whether the rule is about one row, and the rows are more than a few."""
        bound = self._bound
        return bound.pairing is None and not bound.comes_here(rows, below=bound.engine.budget.native_bytes)

    def count(self) -> int:
        """The exact number of violations."""
        return self._bound.rows.violating(identified=False).count()

    def clash(self, *, counted: bool) -> Clash | None:
        """Some row that breaks the rule."""
        return self._bound.rows.some_violating()

    def extent(self, *, counts: bool) -> Extent:
        """How many rows break the rule."""
        number, clash = self._bound.rows.count_violating()
        return Extent(number, number, self._bound.rows.skipped(), clash)

    def partners(self) -> DataFrame:
        """The rows that break the rule: each has one partner, as `s`."""
        one, none = (F.lit(number).cast("bigint") for number in (1, 0))
        broken = self._bound.rows.violating(identified=True)
        return broken.select(ROW_COLUMN, one.alias("as_s"), none.alias("as_t"))

    def pairs(self, limit: int | None) -> DataFrame:
        """The rows that break the rule, in a column `s`."""
        listed = self._bound.rows.violating(identified=True).select(F.col(ROW_COLUMN).alias("s"))
        return listed if limit is None else listed.limit(limit)


class Aggregate(Way):
    """The sizes of groups answer rules of equalities and few differences."""

    name = "aggregate"
    steps = ("group the rows by the compared columns", "compare the sizes of the groups")
    worst = "one scan and two shuffles of group counts, no Python worker"

    def suits(self, rows: int) -> bool:
        """Whether the sizes of groups alone answer the rule, and the rows are more than a few."""
        bound = self._bound
        return bound.counts_groups and not bound.comes_here(rows, below=bound.engine.budget.native_bytes)

    def count(self) -> int:
        """The exact number of violations."""
        return self._groups(self._bound.engine.plain).violations()

    def clash(self, *, counted: bool) -> Clash | None:
        """The rows of some violation, or None where the rule holds."""
        return self._bound.rows.looked_up(self._groups(self._bound.rows.frame).conditions(), counted=counted)

    def extent(self, *, counts: bool) -> Extent:
        """How far the rule is violated."""
        rows = self._bound.rows
        found = self._groups(self._bound.engine.plain).extent()
        clash = None
        if found.violations:
            conditions = found.conditions
            if conditions is None:
                conditions = self._groups(rows.frame).conditions()
            clash = rows.looked_up(conditions, counted=True)
        return Extent(found.violations, found.rows, rows.skipped(found.admitted), clash)

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        pairing = self._bound.pairing
        assert pairing is not None
        if not pairing.possible:
            return super().partners()
        counted = self._groups(self._bound.rows.frame).annotated().select(ROW_COLUMN, "as_s", "as_t")
        return counted.where((F.col("as_s") > 0) | (F.col("as_t") > 0))

    def _groups(self, frame: DataFrame) -> GroupCounts:
        assert self._bound.pairing is not None
        return GroupCounts(self._bound.pairing, frame, self._bound.spread)


class Summarise(Way):
    """Where rows have few distinct values, these and their numbers answer."""

    name = "summarise"
    steps = ("count the rows of each distinct combination of values", "answer from these counts alone")
    worst = "one scan and one shuffle of counts, no Python worker"

    def suits(self, rows: int) -> bool:
        """Whether distinct values can answer the rule, and the first rows let expect few of them."""
        bound = self._bound
        if bound.shared.values is not None:
            return True
        if bound.counts_groups or not summary.suits(bound.pairing):
            return False
        if bound.comes_here(rows, below=bound.engine.budget.counted_bytes):
            return False
        return bound.spread.distinct(bound.rows.plain_columns) < min(MOST_DISTINCT, bound.spread.rows / LEAST_REPEATS)

    @property
    def is_open(self) -> bool:
        """Whether the distinct values are few indeed."""
        return self._summary.table is not None

    def count(self) -> int:
        """The exact number of violations."""
        return self._summary.partners.violations

    def clash(self, *, counted: bool) -> Clash | None:
        """The rows of some violation, or None where the rule holds."""
        return self._bound.rows.looked_up(self._summary.conditions(), counted=counted)

    def extent(self, *, counts: bool) -> Extent:
        """How far the rule is violated."""
        found, rows = self._summary.partners, self._bound.rows
        if self._summary.n_rows is not None:
            self._bound.engine.source.learn_rows(self._summary.n_rows)
        clash = rows.looked_up(self._summary.conditions()) if found.violations else None
        return Extent(found.violations, found.rows, self._summary.skipped(rows.barred), clash)

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        return self._summary.annotated(self._bound.rows.frame)

    @cached_property
    def _summary(self) -> RuleSummary:
        bound, names = self._bound, self._bound.rows.plain_columns
        values = bound.shared.values
        if values is None:
            values = DistinctRows(names, bound.engine.plain_types, bound.engine.plain)
        return RuleSummary(bound.plain, names, values)
