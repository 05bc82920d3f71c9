"""What a two-row rule compares, whichever engine answers: its predicates by kind, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product

from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row
from refute.language.rulebook import Rule
from refute.plan.compile import barred_columns, merge_predicates


@dataclass(frozen=True, slots=True)
class Order:
    """A predicate that asks for an order. `nulls_first` makes null a value of its own, below all others."""

    predicate: Predicate
    nulls_first: bool = False

    @property
    def ascending(self) -> bool:
        """Whether it asks that `s` be less."""
        return self.predicate.op in (Operator.LT, Operator.LE)

    @property
    def is_strict(self) -> bool:
        """Whether no value stands in this order to itself."""
        return self.predicate.op.is_strict


@dataclass(frozen=True, slots=True)
class Form:
    """The two-row predicates of a rule, those over the same columns made one.

    The rows that may stand on a side are those of the rule itself, also where a `!=` has been taken apart since.
    """

    rule: Rule
    equal: tuple[Predicate, ...]
    order: tuple[Order, ...]
    differ: tuple[Predicate, ...]
    possible: bool  # False where two predicates exclude each other

    @classmethod
    def of(cls, rule: Rule) -> Form:
        """The form of a rule that mentions both rows."""
        merged = merge_predicates([predicate for predicate in rule.constraint.predicates if predicate.is_two_row])
        kept = merged or []
        return cls(
            rule,
            equal=tuple(one for one in kept if one.op is Operator.EQ),
            order=tuple(Order(one) for one in kept if one.op.is_order),
            differ=tuple(one for one in kept if one.op is Operator.NE),
            possible=merged is not None,
        )

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All two-row predicates."""
        return self.equal + tuple(one.predicate for one in self.order) + self.differ

    @property
    def crosses_columns(self) -> bool:
        """Whether a row is compared by other columns as `s` than as `t`."""
        return any(one.is_cross_column for one in self.predicates)

    @property
    def aligned(self) -> bool:
        """Whether both rows are judged alike: by the same columns on both sides, and by the same one-row predicates.

        A `!=` that was taken apart counts: its columns bar nulls still.
        """
        one_row = {row: set[Predicate]() for row in Row}
        for predicate in self.rule.constraint.predicates:
            if not predicate.is_two_row:
                (row,) = predicate.rows
                one_row[row].add(predicate if row is Row.S else predicate.swapped())
        crossed = any(one.is_two_row and one.is_cross_column for one in self.rule.constraint.predicates)
        return one_row[Row.S] == one_row[Row.T] and not crossed

    @property
    def self_pairs(self) -> bool:
        """Whether a row might satisfy all predicates with itself."""
        return not any(not one.is_cross_column and one.op.is_strict for one in self.predicates)

    @property
    def barred(self) -> dict[Row, set[str]]:
        """The columns in which a row of each side must not be null."""
        return {row: barred_columns(self.rule.constraint, row, self.rule.nulls) for row in Row}

    def signed(self) -> list[tuple[int, Form]]:
        """Forms without `!=` whose counts, each with its sign, add up to those of this one."""
        found = []
        for size in range(len(self.differ) + 1):
            for chosen in combinations(self.differ, size):
                same = tuple(replace(one, op=Operator.EQ) for one in chosen)
                found.append(((-1) ** size, replace(self, equal=self.equal + same, differ=())))
        return found

    def split(self) -> list[Form]:
        """Forms without `!=` whose pairs, none of them in two, are those of this one: each `!=` is `<` or `>`."""
        nulls_first = self.rule.nulls is Nulls.EQUAL
        choices = [
            [Order(replace(one, op=op), nulls_first) for op in (Operator.LT, Operator.GT)] for one in self.differ
        ]
        return [replace(self, order=self.order + chosen, differ=()) for chosen in product(*choices)]


def operands(predicate: Predicate) -> tuple[str, str]:
    """The names of the columns that a two-row predicate reads of `s` and of `t`."""
    assert isinstance(predicate.right, Column)
    return predicate.left.name, predicate.right.name
