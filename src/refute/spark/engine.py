"""The Spark engine: the same questions as in process, answered where the data is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import BREACHES
from refute.detect.results import Timed, Verdict
from refute.errors import DataError
from refute.language.conditions import Condition, columns_of
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.spark.budget import Budget
from refute.spark.expressions import quoted
from refute.spark.failures import CUTS_TRIED, LayoutChangedError, plain_failures
from refute.spark.gathering import Gathering
from refute.spark.measuring import measure
from refute.spark.ordered_answers import OrderedAnswers
from refute.spark.pairing import Pairing
from refute.spark.renaming import by_code_point, plain_names, renamed
from refute.spark.rule import SparkRule
from refute.spark.schema import bind, empty_relation
from refute.spark.single import chosen_rows
from refute.spark.source import Source, open_source
from refute.spark.strategy import SparkPlan, plan_of
from refute.spark.violations import SparkViolations
from refute.spark.worker import RESERVED, ROW_COLUMN

Answer = TypeVar("Answer")
_BROKEN, _FOUND = RESERVED + "broken", RESERVED + "breaches"


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
        self.method = method
        with plain_failures():
            self.source: Source = open_source(table, key=key, session=session, schema=schema)
            self.key = self.source.key
            self._know_columns()
            if key:
                self.source.check_key()

    def _know_columns(self) -> None:
        """Take note of the columns that the source has now."""
        self.types = empty_relation(self.source.frame)
        self.names = plain_names(self.source.frame.columns)
        self.plain_types = Relation.of(self.types.arrow.rename_columns(list(self.names.values())))
        self.gathering = Gathering(self.source, self.types, self.budget, self.method)
        self.__dict__.pop("plain", None)  # which has the columns of before

    def fitted(self, rules: Sequence[Rule]) -> list[Rule]:
        """The rules with the table's own spelling of names; fields that they name are columns from now on."""
        with plain_failures(self.source.name):
            known = len(self.source.frame.columns)
            names = {name: self.source.spelled(name) for rule in rules for name in _columns(rule)}
            if len(self.source.frame.columns) > known:
                self._know_columns()
        changed = {name for name, spelled in names.items() if name != spelled}
        return [renamed(rule, names) if changed.intersection(_columns(rule)) else rule for rule in rules]

    @property
    def columns(self) -> list[str]:
        """The names of the columns that rules can read: the table's own, and the fields inside them named so far."""
        return list(self.source.frame.columns)

    @property
    def own_columns(self) -> list[str]:
        """The names of the table's columns."""
        return list(self.source.own_columns)

    @property
    def n_rows(self) -> int:
        """The number of rows of the table."""
        with plain_failures(self.source.name):
            return self.source.n_rows()

    def verify(self, rule: Rule) -> Verdict:
        """Whether the rule holds, with a witness by row id. The first rows are looked at first."""
        return self._answered(lambda: self.prepared(rule).verify())

    def count(self, rule: Rule) -> int:
        """The exact number of violations."""
        return self._answered(lambda: self.prepared(rule).count())

    def violations(self, rule: Rule, limit: int | None) -> SparkViolations:
        """The violations, as a DataFrame of row ids when asked for."""
        with plain_failures(self.source.name):
            self._require_identity("listing violations")
        return self._answered(lambda: SparkViolations(self, self.fitted([rule])[0], limit))

    def measure(
        self, rules: Sequence[Rule], *, counts: bool, progress: Callable[[Rule], None] | None = None
    ) -> list[Timed]:
        """A finding for each rule, in order. Jobs of several rules run side by side."""
        return self._answered(lambda: measure(self, self.fitted(rules), counts=counts, progress=progress))

    def annotated(self, rules: Sequence[Rule]) -> DataFrame:
        """The table with one more column: per row, the rules it breaks, in which role, with how many partners."""
        with plain_failures(self.source.name):
            self._require_identity("marking the rows that break rules")
            parts = []
            for number, rule in enumerate(rules):
                partners = self.prepared(rule).partners()
                for role, name in (("s", "as_s"), ("t", "as_t")):
                    breach = F.struct(
                        F.lit(number).alias("n"),
                        F.lit(rule.name).alias("rule"),
                        F.lit(role).alias("role"),
                        F.col(name).alias("partners"),
                    )
                    parts.append(
                        partners.where(F.col(name) > 0).select(F.col(ROW_COLUMN).alias(_BROKEN), breach.alias("breach"))
                    )
            everything = parts[0]
            for part in parts[1:]:
                everything = everything.unionByName(part)
            breaches = everything.groupBy(_BROKEN).agg(F.sort_array(F.collect_list("breach")).alias(_FOUND))
            shown = F.transform(
                _FOUND,
                lambda one: F.struct(
                    one["rule"].alias("rule"), one["role"].alias("role"), one["partners"].alias("partners")
                ),
            )
            joined = self.source.identified().join(breaches, F.col(ROW_COLUMN) == F.col(_BROKEN), "left")
            empty = F.array().cast("array<struct<rule:string,role:string,partners:bigint>>")
            columns = [F.col(quoted(name)) for name in self.own_columns]
            return joined.select(*columns, F.coalesce(shown, empty).alias(self._breaches))

    def split(self, rows: DataFrame) -> tuple[DataFrame, DataFrame]:
        """Annotated rows split into those that break nothing and those that do, without the added column."""
        broken = F.size(self._breaches) > 0
        return rows.where(~broken).drop(self._breaches), rows.where(broken).drop(self._breaches)

    @property
    def _breaches(self) -> str:
        name, taken = BREACHES, {column.lower() for column in self.columns}
        while name in taken:
            name += "_"
        return name

    def explain(self, rules: Sequence[Rule]) -> SparkPlan:
        """How the rules would be answered; nothing but a count of the rows is run."""
        with plain_failures(self.source.name):
            rows = self.source.n_rows()
            return SparkPlan(tuple(plan_of(rule, self.prepared(rule).strategy_for(rows), rows) for rule in rules))

    def task_rows(self, rule: Rule) -> list[int]:
        """How many rows each task gets where the rule is answered by tasks: how even they are."""
        with plain_failures(self.source.name):
            prepared = self.prepared(rule)
            assert prepared.pairing is not None
            return self.ordered(prepared.pairing, self.plain).task_rows()

    def ordered(self, pairing: Pairing, frame: DataFrame) -> OrderedAnswers:
        """The answers of tasks to a rule over the frame."""
        rows = self.source.most_rows()
        return OrderedAnswers(pairing, frame, rows=rows, tasks=self.tasks, method=self.method)

    def with_rows(self, rule: Rule) -> DataFrame:
        """The plain frame with `__row`: the table's ids, else the values that the rule reads."""
        if self.source.has_identity:
            identified = by_code_point(self.source.identified(), self.source.frame.schema)
            return identified.toDF(*self.names.values(), ROW_COLUMN)
        values = [F.col(name).alias(original) for original, name in self.names.items() if name in _columns(rule)]
        return self.plain.withColumn(ROW_COLUMN, F.struct(*values))

    def filtered(self, where: Condition) -> DataFrame:
        """The rows of the plain frame that a condition selects."""
        return chosen_rows(self.plain, self.plain_types, where)

    def columns_known(self, values: dict[str, dict[str, Any] | None]) -> bool:
        """Whether the values of rows are those of all columns."""
        return all(row is None or row.keys() >= set(self.columns) for row in values.values())

    def without_id(self, row: dict[str, Any]) -> dict[str, Any]:
        """The values of a row in the order of the table's columns, without what stands for its id."""
        return {name: row[name] for name in self.columns if name in row}

    @cached_property
    def plain(self) -> DataFrame:
        """The table under names that need no care, with texts that compare by code point."""
        return by_code_point(self.source.frame, self.source.frame.schema).toDF(*self.names.values())

    @cached_property
    def tasks(self) -> int:
        """The number of tasks that shuffled rows go to."""
        return self.budget.tasks(self.source.frame.sparkSession, self.source.most_rows())

    def prepared(self, rule: Rule) -> SparkRule:
        """The rule bound to this table."""
        (fitted,) = self.fitted([rule])
        bind(self.types, fitted)
        return SparkRule(self, fitted, renamed(fitted, self.names))

    def _answered(self, ask: Callable[[], Answer]) -> Answer:
        """The answer; asked for again where Spark meanwhile cut the files into other tasks, as it does when it loses
        or wins executors: positions are the same for any cut, only learnt by one."""
        for _ in range(CUTS_TRIED - 1):
            try:
                with plain_failures(self.source.name):
                    return ask()
            except LayoutChangedError:
                self.forget_layout()
        with plain_failures(self.source.name):
            return ask()

    def forget_layout(self) -> None:
        """Learn anew where rows are in their files when that is next needed."""
        self.source.forget_layout()
        self.gathering.forget()

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
