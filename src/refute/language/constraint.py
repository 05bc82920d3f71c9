"""Denial constraints: what no pair of rows (or no row) may satisfy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass

from refute.language.arithmetic import all_sources, formula_of
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row

_FINGERPRINT_DIGITS = 16


@dataclass(frozen=True, slots=True, repr=False)
class DenialConstraint:
    """`not (p1 and ... and pm)` over two distinct rows `s` and `t`, or over one row when only one is mentioned.

    A rule about one row is always about row `s`.
    """

    predicates: tuple[Predicate, ...]

    def __post_init__(self) -> None:
        if not self.predicates:
            raise ValueError("A denial constraint needs at least one predicate.")
        if self.predicates[0].left.row is Row.T and self.rows == {Row.T}:
            object.__setattr__(self, "predicates", tuple(predicate.swapped() for predicate in self.predicates))

    @property
    def rows(self) -> frozenset[Row]:
        """The row variables that the predicates mention."""
        return frozenset(row for predicate in self.predicates for row in predicate.rows)

    @property
    def is_single_row(self) -> bool:
        """Whether a violation is one row rather than a pair."""
        row = self.predicates[0].left.row
        return all(one.left.row is row and not one.is_two_row for one in self.predicates)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the table's columns that it reads, each once, in order of appearance."""
        return all_sources(self.compared)

    @property
    def compared(self) -> tuple[str, ...]:
        """The names of what it compares: columns of the table, and formulas over them."""
        return tuple(dict.fromkeys(column.name for predicate in self.predicates for column in predicate.columns))

    @property
    def computes(self) -> bool:
        """Whether it compares a formula."""
        return any(formula_of(name) is not None for name in self.compared)

    @property
    def is_symmetric(self) -> bool:
        """Whether exchanging the rows changes nothing, so each clash is two violations."""
        return not self.is_single_row and _tidied(self.predicates) == _tidied(self.swapped().predicates)

    @property
    def tidied(self) -> DenialConstraint:
        """The same violations, s and t as they are, each pair of operands compared once, in a fixed order."""
        return DenialConstraint(_tidied(self.predicates))

    @property
    def fingerprint(self) -> str:
        """Hex digits that are equal for constraints with one canonical form, in every process and version."""
        text = json.dumps([predicate.sort_key for predicate in self.canonical().predicates])
        return hashlib.sha256(text.encode()).hexdigest()[:_FINGERPRINT_DIGITS]

    def __str__(self) -> str:
        from refute.language.render.text import render_text  # which is built on this module

        return render_text(self)

    def __repr__(self) -> str:
        return f"DenialConstraint({str(self)!r})"

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part
        from refute.language.render.english import render_english

        return table_part(render_english(self), ("constraint",), [(str(self),)])

    def swapped(self) -> DenialConstraint:
        """The constraint with the roles of the two rows exchanged: its violations are the same pairs reversed."""
        return DenialConstraint(tuple(predicate.swapped() for predicate in self.predicates))

    def canonical(self) -> DenialConstraint:
        """The same rule in one spelling: comparisons of the same operands merged, order and roles of rows settled.

        Holds in both null modes. Its violations are the same pairs, or all of them reversed.
        """
        spellings = [_tidied(predicates) for predicates in (self.predicates, self.swapped().predicates)]
        return DenialConstraint(min(spellings, key=lambda found: [predicate.sort_key for predicate in found]))


def _tidied(predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Each pair of operands compared once where one operator can say it, in a fixed order."""
    operators: dict[tuple[Column, Column | Constant], set[Operator]] = {}
    for predicate in predicates:
        operators.setdefault((predicate.left, predicate.right), set()).add(predicate.op)
    found = [
        Predicate(left, op, right)
        for (left, right), ops in operators.items()
        for op in _merged(ops, same=left == right, constant=isinstance(right, Constant))
    ]
    return tuple(sorted(found, key=lambda predicate: predicate.sort_key))


def _merged(ops: set[Operator], *, same: bool, constant: bool) -> Iterable[Operator]:
    """The fewest operators that say what all of these say about the same operands, whatever the null mode.

    `=` may hold between nulls where order comparisons never do, so `<=` with `>=` is not `=`: it is `=` with `<=`.
    """
    outcomes = frozenset.intersection(*(op.outcomes for op in ops))
    ordered = any(op.is_order for op in ops)
    if same and 0 in outcomes:
        return (Operator.LE,) if ordered else (Operator.EQ,)
    if not outcomes or not ordered:
        return ops
    op = Operator.accepting(outcomes)
    return (op, Operator.LE) if op is Operator.EQ and not constant else (op,)
