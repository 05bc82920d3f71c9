"""A two-row rule over a DataFrame: who may stand as `s` and as `t`, and what is compared, as Spark's expressions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from refute.language.form import Form
from refute.language.form import operands as column_operands
from refute.language.predicate import Predicate, Row
from refute.language.rulebook import Rule
from refute.relation import Family, Relation
from refute.relation.types import ColumnType
from refute.spark.expressions import (
    all_of,
    as_number,
    column,
    compare,
    filter_expressions,
    not_null,
    operand,
)


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """The form of a rule over columns of some types; `relation` has no rows."""

    form: Form
    relation: Relation
    _made: dict[Row | Predicate, Any] = field(init=False, repr=False, default_factory=dict)  # expressions made before

    @classmethod
    def of(cls, rule: Rule, relation: Relation) -> Pairing:
        """The pairing of a rule that mentions both rows."""
        return cls(Form.of(rule), relation)

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.form.rule

    @property
    def equal(self) -> tuple[Predicate, ...]:
        """The equalities."""
        return self.form.equal

    @property
    def order(self) -> tuple[Predicate, ...]:
        """The predicates that ask for an order."""
        return tuple(one.predicate for one in self.form.order)

    @property
    def differ(self) -> tuple[Predicate, ...]:
        """The differences."""
        return self.form.differ

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All two-row predicates."""
        return self.form.predicates

    @property
    def possible(self) -> bool:
        """Whether no two predicates exclude each other."""
        return self.form.possible

    @property
    def aligned(self) -> bool:
        """Whether both rows are judged alike."""
        return self.form.aligned

    @property
    def self_pairs(self) -> bool:
        """Whether a row might satisfy all predicates with itself."""
        return self.form.self_pairs

    @property
    def exact(self) -> bool:
        """Whether Spark can compare all of it without rounding."""
        return (
            self.filters(Row.S) is not None
            and self.filters(Row.T) is not None
            and all(self.operands(predicate) is not None for predicate in self.predicates)
        )

    def operands(self, predicate: Predicate) -> tuple[SparkColumn, SparkColumn] | None:
        """The columns of both sides in a type in which they compare exactly; None where there is none."""
        if predicate not in self._made:
            self._made[predicate] = self._operands(predicate)
        found: tuple[SparkColumn, SparkColumn] | None = self._made[predicate]
        return found

    def _operands(self, predicate: Predicate) -> tuple[SparkColumn, SparkColumn] | None:
        s_name, t_name = column_operands(predicate)
        s_kind, t_kind = self.relation.type_of(s_name), self.relation.type_of(t_name)
        if s_name == t_name:
            same = own_operand(s_kind)
            return same, same
        first, second = operand(s_kind, t_kind), operand(t_kind, s_kind)
        if first is None or second is None:
            return None
        return _numbered(first, s_kind, t_kind), _numbered(second, s_kind, t_kind)

    def filters(self, row: Row) -> SparkColumn | None:
        """The condition under which a row may stand on this side; None where Spark cannot tell exactly."""
        if row not in self._made:
            self._made[row] = self._filters(row)
        found: SparkColumn | None = self._made[row]
        return found

    def _filters(self, row: Row) -> SparkColumn | None:
        side = self.form.side(row)
        found = filter_expressions(self.relation, side, self.form.nulls)
        return None if found is None else all_of([*found, not_null(self.relation, sorted(side.barred))])

    def side(self, frame: DataFrame, row: Row) -> DataFrame:
        """The rows that may stand on this side."""
        return frame.where(self.admits(row))

    def admits(self, row: Row) -> SparkColumn:
        """The condition under which a row may stand on this side, of a pairing that is exact."""
        condition = self.filters(row)
        assert condition is not None
        return condition

    def pairs_with_itself(self) -> SparkColumn:
        """True for a row that satisfies the whole rule with itself."""
        conditions = [self.filters(Row.S), self.filters(Row.T)]
        for predicate in self.predicates:
            sides = self.operands(predicate)
            assert sides is not None
            conditions.append(compare(sides[0], predicate.op, sides[1], self.rule.nulls))
        return all_of([condition for condition in conditions if condition is not None])


def own_operand(kind: ColumnType) -> SparkColumn:
    """A column as it compares with itself."""
    return _numbered(column(kind), kind, kind)


def _numbered(value: SparkColumn, kind: ColumnType, other: ColumnType) -> SparkColumn:
    """A side of a comparison, days and moments as numbers; a day beside a moment is one."""
    families = {kind.family, other.family} - {Family.NULL}
    if families == {Family.DATE, Family.TIMESTAMP}:
        return as_number(value, Family.TIMESTAMP)
    return as_number(value, families.pop()) if len(families) == 1 else value
