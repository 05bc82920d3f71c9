"""The Spark engine: the same questions as in process, answered where the data is."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from refute.detect.local import BREACHES
from refute.detect.results import Timed, Verdict
from refute.errors import DataError, SchemaError
from refute.language.conditions import Condition, columns_of
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.spark.budget import Budget
from refute.spark.expressions import all_of, literal, quoted
from refute.spark.failures import plain_failures
from refute.spark.gathering import Gathering
from refute.spark.ordered_answers import OrderedAnswers
from refute.spark.pairing import Pairing
from refute.spark.renaming import plain_names, renamed
from refute.spark.rule import SparkRule, plain_id
from refute.spark.schema import bind, empty_relation
from refute.spark.sharing import SharedShuffle, shared_key
from refute.spark.single import chosen_rows
from refute.spark.source import Source, open_source
from refute.spark.strategy import SparkPlan, Strategy, plan_of
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
        self.key = tuple(key)
        with plain_failures():
            self.source: Source = open_source(table, key=key, session=session, schema=schema)
            self.types = empty_relation(self.source.frame)
            self.names = plain_names(self.source.frame.columns)
            self.plain = self.source.frame.toDF(*self.names.values())
            self.plain_types = empty_relation(self.plain)
            self.gathering = Gathering(self.source, self.types, self.budget, method)
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
            listed = self._prepared(rule).pairs(limit)
            return SparkViolations(listed, rule, limit, self.key, self.source.identified())

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

        def run_sharing(prepared: list[SparkRule]) -> list[Timed]:
            started = time.perf_counter()
            with plain_failures(self.source.name):
                shared = self._shared(prepared) if counts else []
            spent = (time.perf_counter() - started) / max(len(shared), 1)
            found = [run(one) for one in prepared]
            return [
                replace(timed, seconds=timed.seconds + spent) if one in shared else timed
                for one, timed in zip(prepared, found, strict=True)
            ]

        with plain_failures(self.source.name):
            self._check_fit(rules)
            prepared = [self._prepared(rule) for rule in rules]
            together = tuple(dict.fromkeys(name for one in prepared for name in one.columns))
            # One fetch for all rules, where it may be; else each rule fetches what it reads, or nothing.
            self.gathering.whole(self.gathering.worthwhile(together), identified=True)
            units: dict[Hashable, list[SparkRule]] = {}
            for number, one in enumerate(prepared):
                units.setdefault(shared_key(one.pairing) or number, []).append(one)
            with ThreadPoolExecutor(_RULES_AT_ONCE) as pool:
                answered = list(pool.map(run_sharing, units.values()))
            measured = {
                one: timed
                for unit, found in zip(units.values(), answered, strict=True)
                for one, timed in zip(unit, found, strict=True)
            }
            return self._with_values([measured[one] for one in prepared])

    def _shared(self, rules: list[SparkRule]) -> list[SparkRule]:
        """Answer those of these rules that go through one shuffle, and say which."""
        if shared_key(rules[0].pairing) is None:
            return []
        distributed = [one for one in rules if one.strategy is Strategy.DISTRIBUTE]
        pairings = [one.pairing for one in distributed if one.pairing is not None]
        if not pairings:
            return []
        shuffle = SharedShuffle(pairings, self.plain, rows=self.n_rows, tasks=self._tasks, method=self._method)
        extents = shuffle.extents()
        if extents is None:
            return []
        for one, extent in zip(distributed, extents, strict=True):
            one.shared_extent = extent
        return distributed

    def _check_fit(self, rules: Sequence[Rule]) -> None:
        """Raise one SchemaError for all rules that do not fit the table, before any of them is run."""
        problems: list[str] = []
        for rule in rules:
            try:
                bind(self.types, rule)
            except SchemaError as error:
                problems.append(str(error))
        if problems:
            raise SchemaError("\n".join(problems))

    def _with_values(self, measured: list[Timed]) -> list[Timed]:
        """The findings with the values of all witness rows that are not known yet: one job for all of them."""
        open_ids = [one.finding.witness for one in measured if one.finding.witness is not None and one.values is None]
        known = self.values_of([row_id for witness in open_ids for row_id in witness if row_id is not None])
        return [
            one
            if one.finding.witness is None or one.values is not None
            else replace(
                one,
                values={
                    role: None if row_id is None else known.get(_hashable(row_id))
                    for role, row_id in zip(("s", "t"), one.finding.witness, strict=True)
                },
            )
            for one in measured
        ]

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
            return joined.select(*columns, F.coalesce(shown, empty).alias(self._breaches))

    def split(self, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Annotated rows split into those that break nothing and those that do, without the added column."""
        broken = F.size(self._breaches) > 0
        return rows.where(~broken).drop(self._breaches), rows.where(broken).drop(self._breaches)

    @property
    def _breaches(self) -> str:
        name = BREACHES
        while name in self.columns:
            name += "_"
        return name

    def explain(self, rules: Sequence[Rule]) -> SparkPlan:
        """How the rules would be answered; nothing but a count of the rows is run."""
        with plain_failures(self.source.name):
            rows = self.source.n_rows()
            return SparkPlan(tuple(plan_of(rule, self._prepared(rule).strategy_for(rows), rows) for rule in rules))

    def ordered(self, pairing: Pairing, frame: DataFrame) -> OrderedAnswers:
        """The answers of tasks to a rule over the frame."""
        rows = self.source.n_rows()
        return OrderedAnswers(pairing, frame, rows=rows, tasks=self._tasks, method=self._method)

    def with_rows(self, rule: Rule) -> DataFrame:
        """The plain frame with `__row`: the table's ids, else the values that the rule reads."""
        if self.source.has_identity:
            return self.source.identified().toDF(*self.names.values(), ROW_COLUMN)
        values = [F.col(name).alias(original) for original, name in self.names.items() if name in _columns(rule)]
        return self.plain.withColumn(ROW_COLUMN, F.struct(*values))

    def filtered(self, where: Condition) -> DataFrame:
        """The rows of the plain frame that a condition selects."""
        return chosen_rows(self.plain, self.plain_types, where)

    def values_of(self, row_ids: Sequence[Any]) -> dict[Hashable, dict[str, Any]]:
        """All values of the rows with these ids, by id; ids that are values already stand for themselves."""
        if not self.source.has_identity:
            return {_hashable(row_id): row_id for row_id in row_ids if isinstance(row_id, dict)}
        if not row_ids:
            return {}
        frame = self.source.identified()
        kind = frame.schema[ROW_COLUMN].dataType
        wanted = []
        for row_id in row_ids:
            parts = [(F.col(ROW_COLUMN), row_id, kind)]
            if isinstance(row_id, dict):
                assert isinstance(kind, StructType)
                parts = [
                    (F.col(ROW_COLUMN).getField(name), value, kind[name].dataType) for name, value in row_id.items()
                ]
            wanted.append(all_of([part == literal(value, one.simpleString()) for part, value, one in parts]))
        found = frame.where(reduce(or_, wanted)).limit(len(row_ids)).collect()
        return {_hashable(plain_id(row[ROW_COLUMN])): {name: row[name] for name in self.columns} for row in found}

    def columns_known(self, values: dict[str, dict[str, Any] | None]) -> bool:
        """Whether the values of rows are those of all columns."""
        return all(row is None or row.keys() >= set(self.columns) for row in values.values())

    def without_id(self, row: dict[str, Any]) -> dict[str, Any]:
        """The values of a row in the order of the table's columns, without what stands for its id."""
        return {name: row[name] for name in self.columns if name in row}

    @cached_property
    def _tasks(self) -> int:
        return self.budget.tasks(self.source.frame.sparkSession, self.source.n_rows())

    def _prepared(self, rule: Rule) -> SparkRule:
        bind(self.types, rule)
        return SparkRule(self, rule, renamed(rule, self.names))

    def _require_identity(self, what: str) -> None:
        if not self.source.has_identity:
            raise DataError(
                f"{what} needs row ids, and {self.source.name} has none: it is no plain scan of files. "
                "Name the columns that identify a row: key=[...], or --key on the command line."
            )


def _hashable(row_id: Any) -> Hashable:
    return tuple(sorted(row_id.items())) if isinstance(row_id, dict) else row_id


def _columns(rule: Rule) -> tuple[str, ...]:
    """The columns that a rule and its `where` read."""
    chosen = () if rule.where is None else columns_of(rule.where)
    return tuple(dict.fromkeys((*rule.constraint.columns, *chosen)))
