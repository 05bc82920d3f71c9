"""The rows that a rule is about: which columns of them it reads, how many a null keeps out, and how one is shown."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.detect.local import LocalEngine
from refute.detect.results import Witness
from refute.faults import naming_rule
from refute.language.conditions import InTable
from refute.language.form import Form
from refute.language.rulebook import Rule
from refute.relation.shown import shown_row
from refute.spark.answer.native.single import violates, violating_rows
from refute.spark.answer.referring import within_the_table
from refute.spark.answer.witness import (
    Clash,
    Conditions,
    FoundRow,
    Totals,
    clash_of,
    count_and_find,
    count_rows,
    found_row,
    one_of,
)
from refute.spark.expressions import column, condition_expression
from refute.spark.grid.answers import Answers
from refute.spark.workers.worker import ROW_COLUMN

if TYPE_CHECKING:
    from refute.spark.engine import SparkEngine


class RuleRows:
    """The rows of a table as a rule sees them. What one job counts beside its answer is kept for the next question."""

    def __init__(self, engine: SparkEngine, rule: Rule, plain: Rule) -> None:
        self._engine = engine
        self._rule = rule
        self._plain = plain
        self._totals: Totals | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule and its `where` read."""
        return self._rule.read

    @property
    def plain_columns(self) -> tuple[str, ...]:
        """The same under their plain names."""
        return tuple(self._engine.names[name] for name in self.columns)

    @cached_property
    def frame(self) -> DataFrame:
        """The plain frame with `__row`: the table's ids, else nothing."""
        return self._engine.with_rows()

    @property
    def barred(self) -> list[str]:
        """The plain names of the columns in which a null keeps a row from standing on some side."""
        return sorted(Form.of(self._plain).barred())

    # Numbers alone need no row ids, which may cost a pass over the files.
    def violating(self, *, identified: bool) -> DataFrame:
        """The rows that violate a rule about one row."""
        frame = self.frame if identified else self._engine.plain
        types, added = self._engine.plain_types, self._plain.added
        if isinstance(added, InTable):
            present = violating_rows(frame, types, within_the_table(self._plain))
            with naming_rule(self._plain.name):
                return self._engine.others.lacking(present, types, added)
        return violating_rows(frame, types, self._plain)

    def count_violating(self) -> tuple[int, Clash | None]:
        """How many rows break a rule about one row, and one of them; in one pass where Spark can do it by itself."""
        condition = violates(self._engine.plain_types, self._plain)
        if condition is None or self._out is None:
            return self.violating(identified=False).count(), self.some_violating()
        number, row, totals = count_and_find(self.frame, self._shown, condition, self._out)
        self.learn(totals)
        return number, None if row is None else Clash(self._row(row))

    def some_violating(self) -> Clash | None:
        """Some row that breaks a rule about one row."""
        found = one_of(self.violating(identified=True), self._shown)
        return None if found is None else Clash(self._row(found))

    def looked_up(self, conditions: Conditions | None, *, counted: bool = False) -> Clash | None:
        """The rows of a violation, found by what is known of them: one pass for both, and for what is to count."""
        if conditions is None:
            return None
        wanted = counted and self._totals is None and (self.barred or not self._engine.source.is_counted)
        *rows, totals = clash_of(self.frame, self._shown, conditions, self._out if wanted else None)
        if totals is not None:
            self.learn(totals)
        return Clash(*map(self._row, rows))

    def found_by_tasks(self, answers: Answers) -> Clash | None:
        """The rows of a violation that tasks find."""
        found = answers.witness()
        self.learn(answers.surveyed.totals)
        return None if found is None else Clash(*map(self._row, answers.rows(found)))

    def found_here(self, local: LocalEngine) -> Clash | None:
        """The rows of a violation among fetched rows, if there is one among them."""
        witness = local.verify(self._rule).witness
        return None if witness is None else self.named(local, witness)

    def named(self, local: LocalEngine, witness: Witness) -> Clash:
        """The rows of a witness among fetched rows."""
        table = local.relation.arrow
        rows = [None if row is None else shown_row(table, row) for row in witness]
        return Clash(*(None if row is None else self._row(row, plain=False) for row in rows))

    def skipped(self, admitted: int | None = None) -> int:
        """How many rows a null keeps from standing as `s` or as `t`; counted, unless the number of those that do not
        tells."""
        if self._totals is not None:
            return self._totals.skipped
        if not self.barred:
            return 0
        whole = self._rule.where is None and all(one.is_two_row for one in self._rule.constraint.predicates)
        if whole and admitted is not None:
            return self._engine.n_rows - admitted
        if self._out is None:
            assert self._plain.scope is not None
            return count_rows(self._engine.filtered(self._plain.scope), self._is_missing).skipped
        self.learn(count_rows(self._engine.plain, self._out))
        return self.skipped()

    @cached_property
    def _out(self) -> SparkColumn | None:
        """True of the rows that the rule is about and that a null keeps out; None where Spark cannot tell exactly."""
        if self._plain.scope is None:
            return self._is_missing
        chosen = condition_expression(self._engine.plain_types, self._plain.scope)
        return None if chosen is None else chosen & self._is_missing

    @property
    def _is_missing(self) -> SparkColumn:
        missing = F.lit(False)
        for name in self.barred:
            missing = missing | column(self._engine.plain_types.type_of(name)).isNull()
        return missing

    def learn(self, totals: Totals) -> None:
        """Take note of what a job has counted."""
        self._totals = totals
        self._engine.source.learn_rows(totals.rows)

    @property
    def _shown(self) -> list[str]:
        """The plain columns that name and show a row."""
        return [*self.plain_columns, ROW_COLUMN]

    def _row(self, values: dict[str, Any], *, plain: bool = True) -> FoundRow:
        """A row found, by its id and the values that the rule reads; plain names or those of the table."""
        names = {name: self._engine.names[name] if plain else name for name in self._rule.columns}
        shown = {name: values[source] for name, source in names.items()}
        return found_row(shown, values[ROW_COLUMN] if self._engine.source.has_identity else shown, self._engine.key)
