"""A two-row rule over a DataFrame: who may stand as `s` and as `t`, and what is compared."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.compile import barred_columns, merge_predicates
from refute.relation import Relation
from refute.spark.expressions import (
    all_of,
    column,
    column_operands,
    compare,
    condition_expression,
    not_null,
    operand,
    predicate_expression,
)


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """The two-row predicates of a rule (those over the same columns made one), by kind."""

    rule: Rule
    relation: Relation  # without rows: names and types only
    equal: tuple[Predicate, ...]
    order: tuple[Predicate, ...]
    differ: tuple[Predicate, ...]
    possible: bool  # False when two predicates exclude each other
    barred: dict[Row, set[str]]  # the columns in which a row of each side must not be null
    _made: dict[Row | Predicate, Any] = field(init=False, repr=False, default_factory=dict)  # expressions made before

    @classmethod
    def of(cls, rule: Rule, relation: Relation) -> Pairing:
        """The pairing of a rule that mentions both rows."""
        merged = merge_predicates([predicate for predicate in rule.constraint.predicates if predicate.is_two_row])
        kept = merged or []
        return cls(
            rule,
            relation,
            equal=tuple(one for one in kept if one.op is Operator.EQ),
            order=tuple(one for one in kept if one.op.is_order),
            differ=tuple(one for one in kept if one.op is Operator.NE),
            possible=merged is not None,
            barred={row: barred_columns(rule.constraint, row, rule.nulls) for row in Row},
        )

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All two-row predicates."""
        return self.equal + self.order + self.differ

    def with_predicates(
        self, equal: tuple[Predicate, ...], order: tuple[Predicate, ...], differ: tuple[Predicate, ...]
    ) -> Pairing:
        """The same rows and one-row predicates with other two-row predicates."""
        one_row = tuple(one for one in self.rule.constraint.predicates if not one.is_two_row)
        constraint = DenialConstraint(one_row + equal + order + differ)
        rule = replace(self.rule, constraint=constraint)
        added = {row: barred_columns(constraint, row, rule.nulls) for row in Row}
        barred = {row: self.barred[row] | added[row] for row in Row}
        return replace(self, rule=rule, equal=equal, order=order, differ=differ, barred=barred)

    @property
    def aligned(self) -> bool:
        """Whether both rows are judged alike: same columns on both sides and the same one-row predicates."""
        one_row = {row: set[Predicate]() for row in Row}
        for predicate in self.rule.constraint.predicates:
            if not predicate.is_two_row:
                (row,) = predicate.rows
                one_row[row].add(predicate if row is Row.S else predicate.swapped())
        return one_row[Row.S] == one_row[Row.T] and not any(one.is_cross_column for one in self.predicates)

    @property
    def self_pairs(self) -> bool:
        """Whether a row might satisfy all predicates with itself."""
        return not any(not one.is_cross_column and one.op.is_strict for one in self.predicates)

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
            same = column(s_kind)
            return same, same
        first, second = operand(s_kind, t_kind), operand(t_kind, s_kind)
        return None if first is None or second is None else (first, second)

    def filters(self, row: Row) -> SparkColumn | None:
        """The condition under which a row may stand on this side; None where Spark cannot tell exactly."""
        if row not in self._made:
            self._made[row] = self._filters(row)
        found: SparkColumn | None = self._made[row]
        return found

    def _filters(self, row: Row) -> SparkColumn | None:
        conditions: list[SparkColumn | None] = []
        if self.rule.where is not None:
            conditions.append(condition_expression(self.relation, self.rule.where))
        for predicate in self.rule.constraint.predicates:
            if predicate.rows == {row}:
                conditions.append(predicate_expression(self.relation, predicate, self.rule.nulls))
        known = [condition for condition in conditions if condition is not None]
        if len(known) < len(conditions):
            return None
        return all_of([*known, not_null(self.relation, sorted(self.barred[row]))])

    def side(self, frame: DataFrame, row: Row) -> DataFrame:
        """The rows that may stand on this side."""
        condition = self.filters(row)
        assert condition is not None
        return frame.where(condition)

    def pairs_with_itself(self) -> SparkColumn:
        """True for a row that satisfies the whole rule with itself."""
        conditions = [self.filters(Row.S), self.filters(Row.T)]
        for predicate in self.predicates:
            sides = self.operands(predicate)
            assert sides is not None
            conditions.append(compare(sides[0], predicate.op, sides[1], self.rule.nulls))
        return all_of([condition for condition in conditions if condition is not None])
