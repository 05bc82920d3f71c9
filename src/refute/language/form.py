"""What a rule asks of its rows, whoever answers: which rows may stand on each side, and what is compared between them.

In process, on Spark, in SQL and in discovery a rule is read through this one form, so all agree on nulls, on which rows
are judged alike, and on whether a row could be its own partner.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from refute.language.conditions import Condition
from refute.language.logic.closure import Closure
from refute.language.logic.differences import split, subsets
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row

if TYPE_CHECKING:
    from refute.language.rulebook import Rule


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
class RowFilter:
    """Which rows may stand on one side: those of `where` that meet all `filters`, with no null in a `barred` column.

    Filters are predicates about one row, written of `s` on either side and sorted, so sides that judge rows alike are
    equal.
    """

    where: Condition | None
    filters: tuple[Predicate, ...]
    barred: frozenset[str]


@dataclass(frozen=True, slots=True)
class Form:
    """The two-row predicates of a rule by kind, those over the same columns made one, and its sides.

    A rule about one row has none, and only its side of `s` matters. The rows that may stand on a side are those of the
    rule itself, also where a `!=` has been taken apart since.
    """

    rule: Rule
    equal: tuple[Predicate, ...]
    order: tuple[Order, ...]
    differ: tuple[Predicate, ...]
    possible: bool  # False where two predicates over the same columns exclude each other

    @classmethod
    def of(cls, rule: Rule) -> Form:
        """The form of a rule."""
        merged = _merged(predicate for predicate in rule.constraint.predicates if predicate.is_two_row)
        kept = merged or ()
        return cls(
            rule,
            equal=tuple(one for one in kept if one.op is Operator.EQ),
            order=tuple(Order(one) for one in kept if one.op.is_order),
            differ=tuple(one for one in kept if one.op is Operator.NE),
            possible=merged is not None,
        )

    @property
    def nulls(self) -> Nulls:
        """What a comparison with a null means."""
        return self.rule.nulls

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """All two-row predicates."""
        return self.equal + tuple(one.predicate for one in self.order) + self.differ

    def side(self, row: Row) -> RowFilter:
        """Which rows may stand as `row`."""
        return RowFilter(self.rule.where, self.filters(row), self.barred(row))

    def filters(self, row: Row) -> tuple[Predicate, ...]:
        """The predicates about this row alone, each once, written of `s`."""
        own = {one for one in self.rule.constraint.predicates if one.rows == {row}}
        written = own if row is Row.S else {one.swapped() for one in own}
        return tuple(sorted(written, key=lambda one: one.sort_key))

    def barred(self, *rows: Row) -> frozenset[str]:
        """The columns whose null keeps a row from standing on a side: as one of these `rows`, or as any."""
        return frozenset(
            column.name
            for predicate in self.rule.constraint.predicates
            if not self.nulls.reads(predicate.op)
            for column in predicate.columns
            if not rows or column.row in rows
        )

    @property
    def crosses_columns(self) -> bool:
        """Whether a row is compared by other columns as `s` than as `t`."""
        return any(one.is_cross_column for one in self.predicates)

    @property
    def aligned(self) -> bool:
        """Whether both rows are judged alike: by the same columns on both sides, and by the same one-row predicates.

        A `!=` that was taken apart counts: its columns bar nulls still.
        """
        crossed = any(one.is_two_row and one.is_cross_column for one in self.rule.constraint.predicates)
        return not crossed and self.side(Row.S) == self.side(Row.T)

    @property
    def self_pairs(self) -> bool:
        """Whether a row might satisfy the rule with itself, which is not a violation."""
        if not self.possible or any(not one.is_cross_column and one.op.is_strict for one in self.predicates):
            return False
        one_row = tuple(one for one in self.rule.constraint.predicates if not one.is_two_row)
        return _may_hold_within_one_row(self.predicates + one_row)

    def signed(self) -> list[tuple[int, Form]]:
        """Forms without `!=` whose counts, each with its sign, add up to those of this one."""
        found = []
        for sign, chosen in subsets(self.differ):
            same = tuple(replace(one, op=Operator.EQ) for one in chosen)
            found.append((sign, replace(self, equal=self.equal + same, differ=())))
        return found

    def split(self) -> list[Form]:
        """Forms without `!=` whose pairs, none of them in two, are those of this one: each `!=` is `<` or `>`."""
        less, greater = (partial(self._ordered, op) for op in (Operator.LT, Operator.GT))
        return [replace(self, order=self.order + chosen, differ=()) for chosen in split(self.differ, less, greater)]

    def _ordered(self, op: Operator, differ: Predicate) -> Order:
        return Order(replace(differ, op=op), nulls_first=self.nulls is Nulls.EQUAL)


def operands(predicate: Predicate) -> tuple[str, str]:
    """The names of the columns that a two-row predicate reads of `s` and of `t`."""
    assert isinstance(predicate.right, Column)
    return predicate.left.name, predicate.right.name


@lru_cache(maxsize=1024)
def _may_hold_within_one_row(predicates: tuple[Predicate, ...]) -> bool:
    """Whether some row could satisfy the predicates as `s` and as `t` at once."""
    names = dict.fromkeys(column.name for predicate in predicates for column in predicate.columns)
    itself = [Predicate.of(Column(Row.S, name), Operator.EQ, Column(Row.T, name)) for name in names]
    return not Closure((*predicates, *itself)).contradictory


def _merged(predicates: Iterable[Predicate]) -> tuple[Predicate, ...] | None:
    """The predicates with those over the same operands made one; None when two exclude each other."""
    merged: dict[tuple[str, str], Predicate] = {}
    for predicate in predicates:
        known = merged.get(operands(predicate))
        if known is not None:
            op = known.op.meet(predicate.op)
            if op is None:
                return None
            predicate = replace(known, op=op)
        merged[operands(predicate)] = predicate
    return tuple(merged.values())
