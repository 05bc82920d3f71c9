"""One rule over one Spark table: verified, counted and listed by the strategy that suits it."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import LocalEngine
from refute.detect.results import Finding, Verdict, Witness
from refute.language.conditions import columns_of
from refute.language.predicate import Row
from refute.language.rulebook import Rule
from refute.plan.compile import barred_columns
from refute.spark.aggregates import GroupCounts
from refute.spark.expressions import column, condition_expression
from refute.spark.ordered_answers import OrderedAnswers
from refute.spark.pairing import Pairing
from refute.spark.single import violating_rows
from refute.spark.strategy import Strategy, choose
from refute.spark.summary import LEAST_REPEATS, MOST_DISTINCT, Summary, distinct_rows, suits
from refute.spark.worker import ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine


class SparkRule:
    """A bound rule. Ids are the table's own where it has any; else a row is named by the values that the rule reads."""

    def __init__(self, engine: SparkEngine, rule: Rule, plain: Rule) -> None:
        self.rule = rule
        self._engine = engine
        self._plain = plain

    @cached_property
    def strategy(self) -> Strategy:
        """How the rule is answered."""
        small = self._local is not None
        repetitive = not small and self._seems_repetitive() and self._summary.table is not None
        return choose(self._pairing, small=small, repetitive=repetitive)

    def strategy_for(self, rows: int) -> Strategy:
        """How the rule would be answered for this many rows, without looking at any."""
        types = [self._engine.types.type_of(name).arrow_type for name in self._columns]
        small = self._engine.budget.fits(rows, types)
        return choose(self._pairing, small=small, repetitive=not small and self._seems_repetitive())

    def verify(self) -> Verdict:
        """Whether the rule holds; badly broken rules are told by the first rows alone."""
        if self._local is not None:
            return self._named(self._local.verify(self.rule))
        verdict = self._first_rows.verify(self.rule)
        if not verdict.holds:
            return self._named(verdict, self._first_rows)
        if self.strategy is Strategy.FILTER:
            found = self._single().select(ROW_COLUMN).limit(1).collect()
            return Verdict(False, Witness(_plain(found[0][0]))) if found else Verdict(True)
        if self.strategy is Strategy.AGGREGATE:
            return self._verify_groups()
        if self.strategy is Strategy.SUMMARISE and self._summary.partners.violations == 0:
            return Verdict(True)
        witness = self._ordered().witness()
        return Verdict(True) if witness is None else Verdict(False, Witness(*map(_plain, witness)))

    def count(self) -> int:
        """The exact number of violations."""
        if self._local is not None:
            return self._local.count(self.rule)
        if self.strategy is Strategy.FILTER:
            return self._single(self._engine.plain).count()
        if self.strategy is Strategy.AGGREGATE:
            return self._groups(self._engine.plain).violations()
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.partners.violations
        return self._ordered(self._engine.plain).count()

    def measure(self, counts: bool) -> tuple[Finding, dict[str, dict[str, Any] | None] | None]:
        """The verdict, with `counts` the exact numbers, and the values of the witness rows."""
        method = self.strategy.value
        if self._local is not None:
            (timed,) = self._local.measure([self.rule], counts=counts)
            found = timed.finding
            named = self._named(Verdict(found.holds, found.witness)).witness
            values = timed.values
            if values is not None:
                values = {role: None if row is None else self._shown(row) for role, row in values.items()}
            return replace(found, witness=named, method=method), values
        violations: int | None
        rows: int | None
        if counts:
            violations, rows = self._extent()
            verdict = Verdict(True) if violations == 0 else self.verify()
        else:
            verdict = self.verify()
            violations, rows = (0, 0) if verdict.holds else (None, None)
        finding = Finding(verdict.holds, violations, rows, self.skipped_nulls(), verdict.witness, method)
        return finding, None if verdict.witness is None else self._values(verdict.witness)

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, `as_s` and `as_t`."""
        if self.strategy is Strategy.FILTER:
            return self._single().select(
                ROW_COLUMN, F.lit(1).cast("bigint").alias("as_s"), F.lit(0).cast("bigint").alias("as_t")
            )
        assert self._pairing is not None
        if self.strategy is Strategy.AGGREGATE and self._pairing.possible:
            found = self._groups().annotated().select(ROW_COLUMN, "as_s", "as_t")
            return found.where((F.col("as_s") > 0) | (F.col("as_t") > 0))
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.annotated(self._frame)
        return self._ordered().partners()

    def pairs(self, limit: int | None) -> DataFrame:
        """The violations by row id, in columns `s` and `t`; only `s` for a rule about one row."""
        if self._pairing is None:
            listed = self._single().select(F.col(ROW_COLUMN).alias("s"))
            return listed if limit is None else listed.limit(limit)
        return self._ordered().pairs(limit)

    def skipped_nulls(self) -> int:
        """How many rows a null keeps from standing as `s` or as `t`."""
        names = sorted(set().union(*(barred_columns(self._plain.constraint, row, self.rule.nulls) for row in Row)))
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

    def _values(self, witness: Witness) -> dict[str, dict[str, Any] | None]:
        return {
            role: None if row_id is None else self._engine.values_of(row_id)
            for role, row_id in zip(("s", "t"), witness, strict=True)
        }

    @staticmethod
    def _shown(values: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if name != ROW_COLUMN}

    def _extent(self) -> tuple[int, int]:
        if self.strategy is Strategy.FILTER:
            found = self._single(self._engine.plain).count()
            return found, found
        if self.strategy is Strategy.AGGREGATE:
            return self._groups(self._engine.plain).extent()
        if self.strategy is Strategy.SUMMARISE:
            return self._summary.partners.violations, self._summary.partners.rows
        return self._ordered_extent()

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
        groups, pairing = self._groups(), self._pairing
        assert pairing is not None
        if not pairing.possible:
            return Verdict(True)
        if pairing.aligned:
            keys = groups.witness_keys()
        else:
            found = groups.with_keys(groups.annotated()).where(F.col("as_s") > 0).limit(1).collect()
            keys = found[0].asDict() if found else None
        if keys is None:
            return Verdict(True)
        s_row, *_ = pairing.side(self._frame, Row.S).where(groups.has_values(keys)).limit(1).collect()
        # Two candidates, because the first might be the row itself.
        t_rows = pairing.side(self._frame, Row.T).where(groups.clashes_with(keys)).limit(2).collect()
        s_id, t_ids = _plain(s_row[ROW_COLUMN]), [_plain(row[ROW_COLUMN]) for row in t_rows]
        return Verdict(False, Witness(s_id, next((t_id for t_id in t_ids if t_id != s_id), t_ids[-1])))

    @cached_property
    def _pairing(self) -> Pairing | None:
        if self.rule.constraint.is_single_row:
            return None
        return Pairing.of(self._plain, self._engine.plain_types)

    @cached_property
    def _local(self) -> LocalEngine | None:
        return self._engine.gathered(self.rule)

    @cached_property
    def _first_rows(self) -> LocalEngine:
        return self._engine.first_rows(self.rule)

    @cached_property
    def _summary(self) -> Summary:
        names = tuple(self._engine.names[name] for name in self._columns)
        return Summary(self._plain, names, self._engine.plain_types, self._engine.plain)

    @property
    def _columns(self) -> tuple[str, ...]:
        chosen = () if self.rule.where is None else columns_of(self.rule.where)
        return tuple(dict.fromkeys((*self.rule.constraint.columns, *chosen)))

    def _seems_repetitive(self) -> bool:
        """Whether the rule can be answered from distinct values, and the first rows let expect few."""
        if not suits(self._pairing):
            return False
        fetched = "_first_rows" in self.__dict__
        first = self._first_rows if fetched else self._engine.first_rows(self.rule, identified=False)
        expected = distinct_rows(first.relation.arrow.select(list(self._columns)))
        most = min(MOST_DISTINCT, self._engine.n_rows / LEAST_REPEATS)
        return expected < most

    @cached_property
    def _frame(self) -> DataFrame:
        """The plain frame with `__row`: the table's ids, else the values that the rule reads."""
        return self._engine.with_rows(self._plain)

    # Numbers alone need no row ids, which may cost a pass over the files: `frame` is then the plain one.
    def _single(self, frame: DataFrame | None = None) -> DataFrame:
        return violating_rows(self._frame if frame is None else frame, self._engine.plain_types, self._plain)

    def _groups(self, frame: DataFrame | None = None) -> GroupCounts:
        assert self._pairing is not None
        return GroupCounts(self._pairing, self._frame if frame is None else frame)

    def _ordered(self, frame: DataFrame | None = None) -> OrderedAnswers:
        assert self._pairing is not None
        return self._engine.ordered(self._pairing, self._frame if frame is None else frame)

    def _named(self, verdict: Verdict, engine: LocalEngine | None = None) -> Verdict:
        """The verdict of a gathered table with its row numbers as ids."""
        if verdict.witness is None:
            return verdict
        local = engine or self._local
        assert local is not None
        ids = (None if row is None else self._engine.id_of(local, row) for row in verdict.witness)
        return Verdict(False, Witness(*ids))


def _plain(value: Any) -> Any:
    """A row id as plain values: a struct becomes a mapping."""
    return value.asDict(recursive=True) if hasattr(value, "asDict") else value
