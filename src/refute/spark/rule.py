"""One rule over one Spark table: verified, counted and listed by the strategy that suits it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import LocalEngine
from refute.detect.results import Finding, Verdict, Witness
from refute.language.conditions import columns_of
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.compile import barred_columns
from refute.relation.shown import shown
from refute.spark import extremes, labelled
from refute.spark.aggregates import Extent, GroupCounts
from refute.spark.expressions import column, condition_expression
from refute.spark.extremes import Extremes
from refute.spark.frames import frame_of
from refute.spark.labelled import LabelledExtremes
from refute.spark.ordered_answers import OrderedAnswers
from refute.spark.pairing import Pairing
from refute.spark.schema import plain_value
from refute.spark.single import violating_rows
from refute.spark.spread import Spread
from refute.spark.strategy import Strategy, choose, is_native
from refute.spark.summary import LEAST_REPEATS, MOST_DISTINCT, DistinctRows, Summary, suits
from refute.spark.worker import ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine

Numbers = NDArray[np.int64]
_FEW_PAIRS = 1_000_000  # violations that are listed here and sent back


class SparkRule:
    """A bound rule. Ids are the table's own where it has any; else a row is named by the values that the rule reads."""

    def __init__(self, engine: SparkEngine, rule: Rule, plain: Rule) -> None:
        self.rule = rule
        self.shared_extent: Extent | None = None  # what a shuffle shared with other rules has told
        self.shared_values: DistinctRows | None = None  # the columns of this rule counted with those of others
        self._strategy: Strategy | None = None
        self._engine = engine
        self._plain = plain

    @property
    def strategy(self) -> Strategy:
        """How the rule is answered. Rules are asked side by side, so that none may wait for what another looks up."""
        if self._strategy is None:
            small = self._is_small(self._most_rows)
            repetitive = not small and self._seems_repetitive() and self._summary.table is not None
            shared = repetitive and self.shared_values is not None
            found = choose(self.pairing, small=small, repetitive=repetitive, fetched=self._is_fetched(self._most_rows))
            self._strategy = Strategy.SUMMARISE if shared else found
        return self._strategy

    @property
    def may_share_values(self) -> bool:
        """Whether counts of distinct values, also of columns that other rules read, would answer the rule."""
        return suits(self.pairing) and not self._is_small(self._most_rows)

    @property
    def _most_rows(self) -> int:
        return self._engine.source.most_rows()

    def strategy_for(self, rows: int) -> Strategy:
        """How the rule would be answered for this many rows, without looking at any."""
        small = self._is_small(rows)
        repetitive = not small and self._seems_repetitive()
        return choose(self.pairing, small=small, repetitive=repetitive, fetched=self._is_fetched(rows))

    def verify(self) -> Verdict:
        """Whether the rule holds; badly broken rules are told by the first rows alone."""
        local = self._local(identified=True)
        if local is not None:
            return self._named(local.verify(self.rule), local)
        first = self._engine.gathering.first(self.columns, identified=True)
        verdict = first.verify(self.rule)
        if not verdict.holds:
            return self._named(verdict, first)
        by_extremes = self._extremes
        if by_extremes is not None:
            return self._verdict(by_extremes.witness(self._frame))
        if self.strategy is Strategy.FILTER:
            found = self._single().select(ROW_COLUMN).limit(1).collect()
            return Verdict(False, Witness(self._id(found[0][0]))) if found else Verdict(True)
        if self.strategy is Strategy.SUMMARISE and self._summary.partners.violations == 0:
            return Verdict(True)
        if is_native(self.pairing):
            return self._verify_groups()
        if self.strategy is Strategy.GATHER:
            with self._engine.gathering.fetched(self.columns) as fetched:
                if fetched.verify(self.rule).holds:
                    return Verdict(True)
        return self._verdict(self._ordered().witness())

    def count(self) -> int:
        """The exact number of violations."""
        local = self._local(identified=False)
        if local is not None:
            return local.count(self.rule)
        if self.strategy is Strategy.FILTER:
            return self._single(self._engine.plain).count()
        if self.strategy is Strategy.AGGREGATE:
            return self._groups().violations()
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.partners.violations
        if self.strategy is Strategy.GATHER:
            with self._engine.gathering.fetched(self.columns) as fetched:
                return fetched.count(self.rule)
        return self._ordered(self._engine.plain).count()

    def measure(self, counts: bool) -> tuple[Finding, dict[str, dict[str, Any] | None] | None]:
        """The verdict, with `counts` the exact numbers, and the values of the witness rows where they are known."""
        local = self._local(identified=True)
        if local is not None:
            (timed,) = local.measure([self.rule], counts=counts)
            found = timed.finding
            named = self._named(Verdict(found.holds, found.witness), local).witness
            return replace(found, witness=named, method=Strategy.GATHER.value), self._shown(timed.values)
        violations: int | None
        rows: int | None
        skipped: int | None = None
        if counts:
            violations, rows, skipped = self._extent()
            verdict = Verdict(True) if violations == 0 else self.verify()
            method = self.strategy.value
        else:
            verdict = self.verify()
            violations, rows = (0, 0) if verdict.holds else (None, None)
            method = Strategy.AGGREGATE.value if self._extremes is not None else self.strategy.value
        nulls = self.skipped_nulls() if skipped is None else skipped
        return Finding(verdict.holds, violations, rows, nulls, verdict.witness, method), None

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        local = self._local(identified=True)
        if local is not None:
            counts = local.partners(self.rule)
            broken = np.flatnonzero(counts.in_violation)
            return self._sent_back(local, {ROW_COLUMN: broken}, as_s=counts.as_s[broken], as_t=counts.as_t[broken])
        if self.pairing is None:
            return self._single().select(
                ROW_COLUMN, F.lit(1).cast("bigint").alias("as_s"), F.lit(0).cast("bigint").alias("as_t")
            )
        if is_native(self.pairing) and self.pairing.possible:
            found = self._groups(self._frame).annotated().select(ROW_COLUMN, "as_s", "as_t")
            return found.where((F.col("as_s") > 0) | (F.col("as_t") > 0))
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.annotated(self._frame)
        return self._ordered().partners()

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        local = self._local(identified=True) if limit is not None and limit <= _FEW_PAIRS else None
        if local is not None:
            found = pa.Table.from_batches(local.batches(self.rule, limit), local.schema(self.rule))
            return self._sent_back(local, {side: found.column(side).to_numpy() for side in found.column_names})
        if self.pairing is None:
            listed = self._single().select(F.col(ROW_COLUMN).alias("s"))
            return listed if limit is None else listed.limit(limit)
        return self._ordered().pairs(limit)

    def _sent_back(self, local: LocalEngine, rows: dict[str, Numbers], **beside: Numbers) -> DataFrame:
        """A DataFrame of ids, for rows of what was gathered, and of numbers beside them."""
        ids = local.relation.arrow.column(ROW_COLUMN)
        named = {name: ids.take(pa.array(places, pa.int64())) for name, places in rows.items()}
        return frame_of(pa.table(named | beside), self._engine.source.frame.sparkSession)

    def skipped_nulls(self) -> int:
        """How many rows a null keeps from standing as `s` or as `t`."""
        names = self._barred
        if not names:
            return 0
        missing = F.lit(False)
        for name in names:
            missing = missing | column(self._engine.plain_types.type_of(name)).isNull()
        frame = self._engine.plain
        if self._plain.where is not None:
            chosen = condition_expression(self._engine.plain_types, self._plain.where)
            if chosen is None:
                frame = self._engine.filtered(self._plain.where)
            else:
                frame = frame.where(chosen)
        return frame.where(missing).count()

    def _shown(self, values: dict[str, dict[str, Any] | None] | None) -> dict[str, dict[str, Any] | None] | None:
        """The values of gathered rows, without ids, where they are those of all columns."""
        if values is None or (self._engine.source.has_identity and not self._engine.columns_known(values)):
            return None
        return {role: None if row is None else self._engine.without_id(row) for role, row in values.items()}

    def _extent(self) -> tuple[int, int, int | None]:
        """Violations, rows in some violation, and rows that a null keeps out where that is told along the way."""
        if self.strategy is Strategy.FILTER:
            found = self._single(self._engine.plain).count()
            return found, found, None
        if self.strategy is Strategy.AGGREGATE:
            return self._with_skipped(self._groups().extent())
        if self.strategy is Strategy.SUMMARISE:
            partners = self._summary.partners
            rows = self._summary.n_rows
            if rows is not None:
                self._engine.source.learn_rows(rows)
            return partners.violations, partners.rows, self._summary.skipped(self._barred)
        if self.strategy is Strategy.GATHER:
            with self._engine.gathering.fetched(self.columns) as fetched:
                (timed,) = fetched.measure([self.rule], counts=True)
            finding = timed.finding
            assert finding.violations is not None
            assert finding.rows is not None
            return finding.violations, finding.rows, finding.skipped_nulls
        if self.shared_extent is not None:
            return self._with_skipped(self.shared_extent)
        return (*self._ordered_extent(), None)

    def _with_skipped(self, extent: Extent) -> tuple[int, int, int | None]:
        whole = self.rule.where is None and all(one.is_two_row for one in self.rule.constraint.predicates)
        known = whole and extent.admitted is not None
        return extent.violations, extent.rows, self._engine.n_rows - (extent.admitted or 0) if known else None

    def _ordered_extent(self) -> tuple[int, int]:
        counts = self._ordered().partners()
        found = counts.agg(F.sum(F.col("as_s").cast("decimal(38,0)")), F.count("*")).first()
        assert found is not None
        violations = int(found[0] or 0)
        if self._engine.source.has_identity or violations == 0:
            return violations, int(found[1])
        # Rows of equal values share their fate, so the broken values tell the broken rows.
        broken = counts.select(F.col(ROW_COLUMN).alias("broken"))
        rows = self._frame.join(broken, F.col(ROW_COLUMN).eqNullSafe(F.col("broken")), "left_semi").count()
        return violations, rows

    def _verify_groups(self) -> Verdict:
        """The verdict by native aggregates, with a witness looked up by its values."""
        groups, pairing = self._groups(), self.pairing
        assert pairing is not None
        if not pairing.possible:
            return Verdict(True)
        if pairing.aligned:
            keys = groups.witness_keys()
            if keys is None:
                return Verdict(True)
            (s_row,) = pairing.side(self._frame, Row.S).where(groups.has_values(keys)).limit(1).collect()
        else:  # a row of the same values may have no partner but itself, so the row found is the one to name
            groups = self._groups(self._frame)
            found = groups.with_keys(groups.annotated()).where(F.col("as_s") > 0).limit(1).collect()
            if not found:
                return Verdict(True)
            s_row, keys = found[0], found[0].asDict()
        # Two candidates, because the first might be the row itself.
        t_rows = pairing.side(self._frame, Row.T).where(groups.clashes_with(keys)).limit(2).collect()
        s_id, t_ids = self._id(s_row[ROW_COLUMN]), [self._id(row[ROW_COLUMN]) for row in t_rows]
        return Verdict(False, Witness(s_id, next((t_id for t_id in t_ids if t_id != s_id), t_ids[-1])))

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
        return self._engine.gathering.whole(self.columns, identified=identified)

    def _is_small(self, rows: int) -> bool:
        return self._engine.gathering.fits(self.columns, rows)

    def _is_fetched(self, rows: int) -> bool:
        return self._engine.gathering.is_fetched(self.columns, rows)

    @cached_property
    def _summary(self) -> Summary:
        values = self.shared_values
        if values is None:
            values = DistinctRows(self._plain_columns, self._engine.plain_types, self._engine.plain)
        return Summary(self._plain, self._plain_columns, values)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule and its `where` read."""
        chosen = () if self.rule.where is None else columns_of(self.rule.where)
        return tuple(dict.fromkeys((*self.rule.constraint.columns, *chosen)))

    @property
    def _plain_columns(self) -> tuple[str, ...]:
        """The same under their plain names."""
        return tuple(self._engine.names[name] for name in self.columns)

    @property
    def _barred(self) -> list[str]:
        """The plain names of the columns in which a null keeps a row from standing on some side."""
        return sorted(set().union(*(barred_columns(self._plain.constraint, row, self.rule.nulls) for row in Row)))

    def _seems_repetitive(self) -> bool:
        """Whether the rule can be answered from distinct values, and the first rows let expect few."""
        if self.shared_values is not None:
            return True
        if not suits(self.pairing) or is_native(self.pairing):
            return False
        return self._spread.distinct(self._plain_columns) < min(MOST_DISTINCT, self._spread.rows / LEAST_REPEATS)

    @cached_property
    def _spread(self) -> Spread:
        """What some rows let expect of the columns that the rule reads, under their plain names."""
        sample = self._engine.gathering.glimpse(self.columns).rename_columns(list(self._plain_columns))
        return Spread(self._engine.source.most_rows(), sample, lambda: self._engine.tasks)

    @cached_property
    def _frame(self) -> DataFrame:
        """The plain frame with `__row`: the table's ids, else the values that the rule reads."""
        return self._engine.with_rows(self._plain)

    # Numbers alone need no row ids, which may cost a pass over the files: `frame` is then the plain one.
    def _single(self, frame: DataFrame | None = None) -> DataFrame:
        return violating_rows(self._frame if frame is None else frame, self._engine.plain_types, self._plain)

    def _groups(self, frame: DataFrame | None = None) -> GroupCounts:
        assert self.pairing is not None
        chosen = self._engine.plain if frame is None else frame
        return GroupCounts(self.pairing, chosen, self._spread)

    def _ordered(self, frame: DataFrame | None = None) -> OrderedAnswers:
        assert self.pairing is not None
        return self._engine.ordered(self.pairing, self._frame if frame is None else frame)

    def _verdict(self, witness: tuple[Any, Any] | None) -> Verdict:
        return Verdict(True) if witness is None else Verdict(False, Witness(*map(self._id, witness)))

    def _id(self, value: Any) -> Any:
        """The id of a row as it is listed."""
        return plain_value(value, self._frame.schema[ROW_COLUMN].dataType)

    def _named(self, verdict: Verdict, local: LocalEngine) -> Verdict:
        """The verdict of gathered rows with their ids; without ids, with the values that the rule reads."""
        if verdict.witness is None:
            return verdict
        table = local.relation.arrow
        ids = (
            None
            if row is None
            else shown(table.column(ROW_COLUMN)[row])
            if self._engine.source.has_identity
            else {name: shown(table.column(name)[row]) for name in self.columns}
            for row in verdict.witness
        )
        return Verdict(False, Witness(*ids))
