"""One rule over one Spark table: verified, counted and listed by the strategy that suits it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import LocalEngine
from refute.detect.results import Finding, Verdict
from refute.language.rulebook import Rule
from refute.spark import extremes, labelled
from refute.spark.aggregates import GroupCounts
from refute.spark.extremes import Extremes
from refute.spark.frames import frame_of
from refute.spark.grid.answers import Answers
from refute.spark.grid.packing import Blocks
from refute.spark.labelled import LabelledExtremes
from refute.spark.pairing import Pairing
from refute.spark.rows import RuleRows
from refute.spark.spread import Spread
from refute.spark.strategy import Strategy, choose, is_native
from refute.spark.summary import LEAST_REPEATS, MOST_DISTINCT, DistinctRows, Summary, suits
from refute.spark.witness import Clash
from refute.spark.worker import ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

Numbers = NDArray[np.int64]
_FEW_PAIRS = 1_000_000  # violations that are listed here and sent back


class Measured(NamedTuple):
    """How far a rule is violated, how many rows a null keeps out, and a clash if it is violated."""

    violations: int
    rows: int
    skipped: int
    clash: Clash | None


class SparkRule:
    """A bound rule. Ids are the table's own where it has any; else a row is named by the values that the rule reads."""

    def __init__(self, engine: SparkEngine, rule: Rule, plain: Rule) -> None:
        self.rule = rule
        self.shared_values: DistinctRows | None = None  # the columns of this rule counted with those of others
        self.shared_blocks: Blocks | None = None  # the columns of this rule in blocks with those of others
        self._strategy: Strategy | None = None
        self._engine = engine
        self._plain = plain
        self._rows = RuleRows(engine, rule, plain)

    @property
    def strategy(self) -> Strategy:
        """How the rule is answered. Rules are asked side by side, so that none may wait for what another looks up."""
        if self._strategy is None:
            small = self._is_small(self._most_rows)
            repetitive = not small and self.seems_repetitive and self._summary.table is not None
            shared = repetitive and self.shared_values is not None
            found = choose(self.pairing, small=small, repetitive=repetitive, fetched=self._is_fetched(self._most_rows))
            self._strategy = Strategy.SUMMARISE if shared else found
        return self._strategy

    @property
    def may_share_values(self) -> bool:
        """Whether counts of distinct values, also of columns that other rules read, would answer the rule."""
        return suits(self.pairing) and not self._is_small(self._most_rows)

    @property
    def may_share_blocks(self) -> bool:
        """Whether tasks will probably answer the rule from blocks of rows."""
        return self.strategy_for(self._most_rows) is Strategy.DISTRIBUTE

    @property
    def _most_rows(self) -> int:
        return self._engine.source.most_rows()

    def strategy_for(self, rows: int) -> Strategy:
        """How the rule would be answered for this many rows, without looking at any."""
        small = self._is_small(rows)
        repetitive = not small and self.seems_repetitive
        return choose(self.pairing, small=small, repetitive=repetitive, fetched=self._is_fetched(rows))

    def verify(self) -> Verdict:
        """Whether the rule holds; badly broken rules are told by the first rows alone."""
        clash = self.clash()
        return Verdict(True) if clash is None else Verdict(False, clash.witness)

    def clash(self, *, counted: bool = False) -> Clash | None:
        """The rows of some violation, or None where the rule holds; with `counted` rows that are looked up are counted
        by the same pass."""
        early = None if self._engine.source.is_sizable() else self._found_early()
        if early is not None:
            return early
        local = self._local(identified=True)
        if local is not None:
            return self._rows.found_here(local)
        early = self._found_early()
        if early is not None:
            return early
        by_extremes = self._extremes
        if by_extremes is not None:
            return self._rows.looked_up(by_extremes.conditions(), counted=counted)
        if self.strategy is Strategy.FILTER:
            return self._rows.some_violating()
        if self.strategy is Strategy.SUMMARISE:
            return self._rows.looked_up(self._summary.conditions(), counted=counted)
        if is_native(self.pairing):
            return self._rows.looked_up(self._groups(self._rows.frame).conditions(), counted=counted)
        if self.strategy is Strategy.GATHER:
            with self._engine.gathering.fetched(self.columns, identified=True) as fetched:
                if fetched is not None:
                    return self._rows.found_here(fetched)
        with self._answers(named=True) as answers:
            return self._rows.found_by_tasks(answers)

    def _found_early(self) -> Clash | None:
        """A clash among the first rows."""
        return self._rows.found_here(self._engine.gathering.first(self.columns, identified=True))

    def count(self) -> int:
        """The exact number of violations."""
        local = self._local(identified=False)
        if local is not None:
            return local.count(self.rule)
        if self.strategy is Strategy.FILTER:
            return self._rows.violating(identified=False).count()
        if self.strategy is Strategy.AGGREGATE:
            return self._groups().violations()
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.partners.violations
        if self.strategy is Strategy.GATHER:
            with self._engine.gathering.fetched(self.columns, identified=False) as fetched:
                if fetched is not None:
                    return fetched.count(self.rule)
        with self._answers(named=False) as answers:
            return answers.count()

    def measure(self, counts: bool) -> tuple[Finding, dict[str, dict[str, Any] | None] | None]:
        """The verdict, with `counts` the exact numbers, and the values of the witness rows."""
        local = self._local(identified=True)
        if local is not None:
            return self._measured_here(local, counts)
        if not counts:
            clash = self.clash(counted=True)
            number = 0 if clash is None else None
            method = Strategy.AGGREGATE if self._extremes is not None else self.strategy
            return self._finding(clash, number, number, self._rows.skipped(), method)
        if self.strategy is Strategy.GATHER:
            with self._engine.gathering.fetched(self.columns, identified=True) as fetched:
                if fetched is not None:
                    return self._measured_here(fetched, counts)
        found = self._measured()
        return self._finding(found.clash, found.violations, found.rows, found.skipped, self._used)

    def _measured(self) -> Measured:
        """The extent of the rule where Spark has the rows."""
        if self.strategy is Strategy.FILTER:
            number, clash = self._rows.count_violating()
            return Measured(number, number, self._rows.skipped(), clash)
        if self.strategy is Strategy.AGGREGATE:
            groups = self._groups()
            extent = groups.extent()
            clash = None
            if extent.violations:
                conditions = extent.conditions
                if conditions is None:
                    conditions = self._groups(self._rows.frame).conditions()
                clash = self._rows.looked_up(conditions, counted=True)
            return Measured(extent.violations, extent.rows, self._rows.skipped(extent.admitted), clash)
        if self.strategy is Strategy.SUMMARISE:
            partners = self._summary.partners
            rows = self._summary.n_rows
            if rows is not None:
                self._engine.source.learn_rows(rows)
            clash = self._rows.looked_up(self._summary.conditions()) if partners.violations else None
            return Measured(partners.violations, partners.rows, self._summary.skipped(self._rows.barred), clash)
        with self._answers(named=True) as answers:
            counted = answers.partners().agg(F.sum(F.col("as_s").cast("decimal(38,0)")), F.count("*")).first()
            assert counted is not None
            clash = self._rows.found_by_tasks(answers) if counted[0] else None
            self._rows.learn(answers.surveyed.totals)
            return Measured(int(counted[0] or 0), int(counted[1]), self._rows.skipped(), clash)

    @property
    def _used(self) -> Strategy:
        """The way that was gone: what could not be fetched went to tasks."""
        return Strategy.DISTRIBUTE if self.strategy is Strategy.GATHER else self.strategy

    def _measured_here(
        self, local: LocalEngine, counts: bool
    ) -> tuple[Finding, dict[str, dict[str, Any] | None] | None]:
        (timed,) = local.measure([self.rule], counts=counts)
        found = timed.finding
        clash = None if found.witness is None else self._rows.named(local, found.witness)
        return self._finding(clash, found.violations, found.rows, found.skipped_nulls, Strategy.GATHER)

    def _finding(
        self, clash: Clash | None, violations: int | None, rows: int | None, skipped: int, method: Strategy
    ) -> tuple[Finding, dict[str, dict[str, Any] | None] | None]:
        witness = None if clash is None else clash.witness
        values = None if clash is None else clash.values
        return Finding(clash is None, violations, rows, skipped, witness, method.value), values

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        local = self._local(identified=True)
        if local is not None:
            counts = local.partners(self.rule)
            broken = np.flatnonzero(counts.in_violation)
            return self._sent_back(local, {ROW_COLUMN: broken}, as_s=counts.as_s[broken], as_t=counts.as_t[broken])
        if self.pairing is None:
            return self._rows.violating(identified=True).select(
                ROW_COLUMN, F.lit(1).cast("bigint").alias("as_s"), F.lit(0).cast("bigint").alias("as_t")
            )
        if is_native(self.pairing) and self.pairing.possible:
            found = self._groups(self._rows.frame).annotated().select(ROW_COLUMN, "as_s", "as_t")
            return found.where((F.col("as_s") > 0) | (F.col("as_t") > 0))
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.annotated(self._rows.frame)
        return self._lazy_answers().partners()

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        local = self._local(identified=True)
        are_few = limit is not None and limit <= _FEW_PAIRS
        if local is not None and not are_few and local.count(self.rule) > _FEW_PAIRS:
            local = None
        if local is not None:
            found = local.clashes(self.rule, limit).table()
            return self._sent_back(local, {side: found.column(side).to_numpy() for side in found.column_names})
        if self.pairing is None:
            listed = self._rows.violating(identified=True).select(F.col(ROW_COLUMN).alias("s"))
            return listed if limit is None else listed.limit(limit)
        return self._lazy_answers().pairs(limit)

    def task_rows(self) -> list[int]:
        """How many rows each task gets where the rule is answered by tasks: how even they are."""
        with self._answers(named=False) as answers:
            return answers.task_rows()

    def _sent_back(self, local: LocalEngine, rows: dict[str, Numbers], **beside: Numbers) -> DataFrame:
        """A DataFrame of ids, for rows of what was gathered, and of numbers beside them."""
        ids = local.relation.arrow.column(ROW_COLUMN)
        named = {name: ids.take(pa.array(places, pa.int64())) for name, places in rows.items()}
        return frame_of(pa.table(named | beside), self._engine.source.frame.sparkSession)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule and its `where` read."""
        return self._rows.columns

    @property
    def reads_often(self) -> bool:
        """Whether Spark would evaluate the table more than twice for an answer of its own."""
        found = self.pairing
        if found is None or not found.possible or not (self.is_native or self._extremes is not None):
            return False
        return not found.aligned or len(found.differ) > 2

    @cached_property
    def pairing(self) -> Pairing | None:
        """The rule's comparisons between two rows; None for a rule about one row."""
        if self.rule.constraint.is_single_row:
            return None
        return Pairing.of(self._plain, self._engine.plain_types)

    @cached_property
    def _extremes(self) -> Extremes | None:
        """The extremes of groups, where they verify the rule."""
        for suits_rule, made in ((extremes.suits, Extremes), (labelled.suits, LabelledExtremes)):
            if self.pairing is not None and suits_rule(self.pairing):
                return made(self.pairing, self._engine.plain)
        return None

    def _local(self, *, identified: bool) -> LocalEngine | None:
        return self._engine.gathering.whole(self.columns, identified=identified, native=self.is_native)

    @property
    def is_native(self) -> bool:
        """Whether Spark answers the rule by itself."""
        return self.pairing is None or is_native(self.pairing)

    @property
    def is_small(self) -> bool:
        """Whether the rows come to this process for the rule."""
        return self._is_small(self._most_rows)

    def _is_small(self, rows: int) -> bool:
        return self._engine.gathering.fits(self.columns, rows, native=self.is_native)

    def _is_fetched(self, rows: int) -> bool:
        return not self.is_native and self._engine.gathering.is_fetched(self.columns, rows)

    @cached_property
    def _summary(self) -> Summary:
        values = self.shared_values
        if values is None:
            values = DistinctRows(self._rows.plain_columns, self._engine.plain_types, self._engine.plain)
        return Summary(self._plain, self._rows.plain_columns, values)

    @cached_property
    def seems_repetitive(self) -> bool:
        """Whether the rule can be answered from distinct values, and the first rows let expect few."""
        if self.shared_values is not None:
            return True
        if not suits(self.pairing) or is_native(self.pairing):
            return False
        return self._spread.distinct(self._rows.plain_columns) < min(MOST_DISTINCT, self._spread.rows / LEAST_REPEATS)

    @cached_property
    def _spread(self) -> Spread:
        """What some rows let expect of the columns that the rule reads, under their plain names."""
        sample = self._engine.gathering.glimpse(self.columns).rename_columns(list(self._rows.plain_columns))
        return Spread(self._engine.source.most_rows(), sample, lambda: self._engine.tasks)

    def _groups(self, frame: DataFrame | None = None) -> GroupCounts:
        assert self.pairing is not None
        chosen = self._engine.plain if frame is None else frame
        return GroupCounts(self.pairing, chosen, self._spread)

    @contextmanager
    def _answers(self, *, named: bool) -> Iterator[Answers]:
        """The answers of tasks, whose rows are kept meanwhile: the table is read once for all of them."""
        assert self.pairing is not None
        if self.shared_blocks is not None:
            yield self._engine.answers(self.pairing.form, self.shared_blocks)
            return
        with self._engine.kept_blocks([self], named=named) as blocks:
            yield self._engine.answers(self.pairing.form, blocks)

    def _lazy_answers(self) -> Answers:
        """The answers of tasks that read the table when they are evaluated."""
        assert self.pairing is not None
        return self._engine.answers(self.pairing.form, self._engine.blocks([self], named=True))
