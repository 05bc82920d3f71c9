"""The Spark engine: the same questions as in process, answered where the data is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import BREACHES, LocalEngine
from refute.detect.results import Timed, Verdict
from refute.errors import DataError
from refute.language.conditions import Condition, columns_of
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.spark.budget import Budget
from refute.spark.expressions import quoted
from refute.spark.failures import plain_failures
from refute.spark.frames import first_rows
from refute.spark.ordered_answers import OrderedAnswers
from refute.spark.pairing import Pairing
from refute.spark.renaming import plain_names, renamed
from refute.spark.rule import SparkRule
from refute.spark.schema import bind, empty_relation
from refute.spark.single import chosen_rows
from refute.spark.source import Source, open_source
from refute.spark.strategy import SparkPlan, plan_of
from refute.spark.violations import SparkViolations
from refute.spark.worker import ROW_COLUMN

_RULES_AT_ONCE = 4


class SparkEngine:
    """Answers rules about one Spark table. What comes to the driver is bounded by the budget, never by the data."""

    def __init__(
        self,
        table: Any,
        *,
        key: Sequence[str] = (),
        method: MethodName = MethodName.AUTO,
        session: Any = None,
        schema: Any = None,
        budget: Budget | None = None,
    ) -> None:
        self.budget = budget or Budget()
        self._method = method
        self._lock = threading.Lock()
        self._gathered: dict[frozenset[str], LocalEngine] = {}
        self.key = tuple(key)
        with plain_failures():
            self.source: Source = open_source(table, key=key, session=session, schema=schema)
            self.types = empty_relation(self.source.frame)
            self.names = plain_names(self.source.frame.columns)
            self.plain = self.source.frame.toDF(*self.names.values())
            self.plain_types = empty_relation(self.plain)
            if key:
                self.source.check_key()

    @property
    def columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self.source.frame.columns)

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        with plain_failures(self.source.name):
            return self.source.n_rows()

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with a witness by row id. The first rows are looked at first."""
        with plain_failures(self.source.name):
            return self._prepared(rule).verify()

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        with plain_failures(self.source.name):
            return self._prepared(rule).count()

    def violations(self, rule: Rule, limit: int | None) -> SparkViolations:
        """The violations, as a DataFrame of row ids when asked for."""
        with plain_failures(self.source.name):
            self._require_identity("listing violations")
            return SparkViolations(self._prepared(rule).pairs(limit), rule, limit, self.key)

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order. Jobs of several rules run side by side."""

        def run(prepared: SparkRule) -> Timed:
            started = time.perf_counter()
            with plain_failures(self.source.name):
                finding, values = prepared.measure(counts)
            if progress is not None:
                progress(prepared.rule)
            return Timed(finding, values, time.perf_counter() - started)

        with plain_failures(self.source.name):
            prepared = [self._prepared(rule) for rule in rules]
        with ThreadPoolExecutor(_RULES_AT_ONCE) as pool:
            return list(pool.map(run, prepared))

    def annotated(self, rules: Sequence[Rule]) -> DataFrame:
        """The table with one more column: per row, the rules it breaks, in which role, with how many partners."""
        with plain_failures(self.source.name):
            self._require_identity("marking the rows that break rules")
            parts = []
            for number, rule in enumerate(rules):
                partners = self._prepared(rule).partners()
                for role, name in (("s", "as_s"), ("t", "as_t")):
                    breach = F.struct(
                        F.lit(number).alias("n"),
                        F.lit(rule.name).alias("rule"),
                        F.lit(role).alias("role"),
                        F.col(name).alias("partners"),
                    )
                    parts.append(
                        partners.where(F.col(name) > 0).select(
                            F.col(ROW_COLUMN).alias("__broken"), breach.alias("breach")
                        )
                    )
            everything = parts[0]
            for part in parts[1:]:
                everything = everything.unionByName(part)
            breaches = everything.groupBy("__broken").agg(F.sort_array(F.collect_list("breach")).alias("breaches"))
            shown = F.transform(
                "breaches",
                lambda one: F.struct(
                    one["rule"].alias("rule"), one["role"].alias("role"), one["partners"].alias("partners")
                ),
            )
            joined = self.source.identified().join(breaches, F.col(ROW_COLUMN) == F.col("__broken"), "left")
            empty = F.array().cast("array<struct<rule:string,role:string,partners:bigint>>")
            columns = [F.col(quoted(name)) for name in self.columns]
            return joined.select(*columns, F.coalesce(shown, empty).alias(BREACHES))

    def split(self, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Annotated rows split into those that break nothing and those that do, without the added column."""
        broken = F.size(BREACHES) > 0
        return rows.where(~broken).drop(BREACHES), rows.where(broken).drop(BREACHES)

    def explain(self, rules: Sequence[Rule]) -> SparkPlan:
        """How the rules would be answered; nothing but a count of the rows is run."""
        with plain_failures(self.source.name):
            rows = self.source.n_rows()
            return SparkPlan(tuple(plan_of(rule, self._prepared(rule).strategy_for(rows), rows) for rule in rules))

    def ordered(self, pairing: Pairing, frame: DataFrame) -> OrderedAnswers:
        """The answers of tasks to a rule over the frame."""
        rows = self.source.n_rows()
        return OrderedAnswers(pairing, frame, rows=rows, tasks=self._tasks, method=self._method)

    def gathered(self, rule: Rule) -> LocalEngine | None:
        """The table in this process, or what the rule reads of it, where that is small; else None."""
        rows = self.source.n_rows()
        for names in (tuple(self.columns), _columns(rule)):
            if self.budget.fits(rows, [self.types.type_of(name).arrow_type for name in names]):
                with self._lock:
                    known = self._gathered.get(frozenset(names))
                    if known is None:
                        known = self._fetched(names, None)
                        self._gathered[frozenset(names)] = known
                    return known
        return None

    def first_rows(self, rule: Rule, *, identified: bool = True) -> LocalEngine:
        """The first rows of what the rule reads, in this process; with their ids where they have any."""
        return self._fetched(_columns(rule), self.budget.sample_rows, identified)

    def id_of(self, local: LocalEngine, row: int) -> Any:
        """The id of a row of a gathered table; without ids, its values."""
        table = local.relation.arrow
        if ROW_COLUMN in table.column_names:
            return table.column(ROW_COLUMN)[row].as_py()
        return {name: table.column(name)[row].as_py() for name in table.column_names}

    def with_rows(self, rule: Rule) -> DataFrame:
        """The plain frame with `__row`: the table's ids, else the values that the rule reads."""
        if self.source.has_identity:
            return self.source.identified().toDF(*self.names.values(), ROW_COLUMN)
        values = [F.col(name).alias(original) for original, name in self.names.items() if name in _columns(rule)]
        return self.plain.withColumn(ROW_COLUMN, F.struct(*values))

    def filtered(self, where: Condition) -> DataFrame:
        """The rows of the plain frame that a condition selects."""
        return chosen_rows(self.plain, self.plain_types, where)

    def values_of(self, row_id: Any) -> dict[str, Any] | None:
        """All values of the row with this id; None where ids are values already."""
        if not self.source.has_identity:
            return row_id if isinstance(row_id, dict) else None
        if isinstance(row_id, dict):
            conditions = [F.col(f"{ROW_COLUMN}.{quoted(name)}") == F.lit(value) for name, value in row_id.items()]
        else:
            conditions = [F.col(ROW_COLUMN) == F.lit(row_id)]
        frame = self.source.identified()
        for condition in conditions:
            frame = frame.where(condition)
        found = frame.drop(ROW_COLUMN).limit(1).collect()
        return dict(zip(self.columns, found[0], strict=True)) if found else None

    @cached_property
    def _tasks(self) -> int:
        return self.budget.tasks(self.source.frame.sparkSession, self.source.n_rows())

    def _prepared(self, rule: Rule) -> SparkRule:
        bind(self.types, rule)
        return SparkRule(self, rule, renamed(rule, self.names))

    def _fetched(self, names: tuple[str, ...], limit: int | None, identified: bool = True) -> LocalEngine:
        identified = identified and self.source.has_identity
        frame = self.source.identified() if identified else self.source.frame
        columns = [F.col(quoted(name)) for name in names]
        chosen = frame.select(*columns, *([ROW_COLUMN] if identified else []))
        table = chosen.toArrow() if limit is None else first_rows(chosen, limit)
        return LocalEngine(table, method=self._method)

    def _require_identity(self, what: str) -> None:
        if not self.source.has_identity:
            raise DataError(
                f"{what} needs row ids, and {self.source.name} has none: it is no plain scan of files. "
                "Name the columns that identify a row: key=[...], or --key on the command line."
            )


def _columns(rule: Rule) -> tuple[str, ...]:
    """The columns that a rule and its `where` read."""
    chosen = () if rule.where is None else columns_of(rule.where)
    return tuple(dict.fromkeys((*rule.constraint.columns, *chosen)))
