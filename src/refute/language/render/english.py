"""Rules as English sentences."""

from __future__ import annotations

from collections.abc import Iterable

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Predicate, Row
from refute.language.render.text import quote_name, render_constant
from refute.language.sugar import FunctionalDependency, Key, NoOverlap, OrderRule, RowRule, recognise

_IS = {
    Operator.EQ: "is",
    Operator.NE: "is not",
    Operator.LT: "is less than",
    Operator.LE: "is at most",
    Operator.GT: "is greater than",
    Operator.GE: "is at least",
}
_THAN_T = {
    Operator.EQ: "s and t have the same {}",
    Operator.NE: "s and t differ in {}",
    Operator.LT: "s has a smaller {} than t",
    Operator.LE: "s has at most the {} of t",
    Operator.GT: "s has a larger {} than t",
    Operator.GE: "s has at least the {} of t",
}


def render_english(constraint: DenialConstraint) -> str:
    """A sentence such as `Two rows with the same zip have the same city.`"""
    match recognise(constraint):
        case Key(columns):
            return f"No two rows have the same {_names(columns)}."
        case FunctionalDependency((), right):
            return f"All rows have the same {_names(right)}."
        case FunctionalDependency(left, right):
            return f"Two rows with the same {_names(left)} have the same {_names(right)}."
        case OrderRule(first, second, by):
            later = "a larger" if second.descending != first.descending else "a smaller"
            head = f"a row with a larger {quote_name(first.name)} never has {later} {quote_name(second.name)}."
            return _among(by, head)
        case NoOverlap(start, end, by):
            return _among(by, f"no two spans from {quote_name(start)} to {quote_name(end)} overlap.")
        case RowRule():
            return _one_row(constraint.predicates)
        case None:
            return _two_rows(constraint.predicates)


def _one_row(predicates: tuple[Predicate, ...]) -> str:
    if len(predicates) == 1:
        (only,) = predicates
        if only.left == only.right and not only.op.is_strict:
            return f"In every row, {quote_name(only.left.name)} is null."
        return f"In every row, {_phrase(only.negated(), owner=False)}."
    return f"There is no row where {_listed(_phrase(predicate, owner=False) for predicate in predicates)}."


def _two_rows(predicates: tuple[Predicate, ...]) -> str:
    same = [p for p in predicates if _is_across(p) and p.op is Operator.EQ]
    rest = [p for p in predicates if p not in same]
    with_same = f" with the same {_names([p.left.name for p in same])}" if same else ""
    return f"There are no two rows s and t{with_same} where {_listed(_phrase(p, owner=True) for p in rest)}."


def _phrase(predicate: Predicate, *, owner: bool) -> str:
    if _is_across(predicate):
        return _THAN_T[predicate.op].format(quote_name(predicate.left.name))
    right = predicate.right
    other = _operand(right, owner) if isinstance(right, Column) else render_constant(right)
    return f"{_operand(predicate.left, owner)} {_IS[predicate.op]} {other}"


def _operand(column: Column, owner: bool) -> str:
    name = quote_name(column.name)
    return f"the {name} of {column.row.value}" if owner else name


def _is_across(predicate: Predicate) -> bool:
    return predicate.is_two_row and not predicate.is_cross_column and predicate.left.row is Row.S


def _among(by: tuple[str, ...], sentence: str) -> str:
    return f"Among rows with the same {_names(by)}, {sentence}" if by else sentence[0].upper() + sentence[1:]


def _names(names: Iterable[str]) -> str:
    return _listed(quote_name(name) for name in names)


def _listed(parts: Iterable[str]) -> str:
    *first, last = tuple(parts)
    return f"{', '.join(first)} and {last}" if first else last
