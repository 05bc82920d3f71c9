"""Rules as English sentences."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence

from refute.faults import all_of, any_of
from refute.language.arithmetic import formula_of
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.render.text import quote_name, render_column, render_constant
from refute.language.short_forms.sugar import (
    FunctionalDependency,
    Key,
    NoOverlap,
    NotNull,
    OrderRule,
    RowRule,
    recognise,
)

_IS = {
    Operator.EQ: "is",
    Operator.NE: "is not",
    Operator.LT: "is less than",
    Operator.LE: "is at most",
    Operator.GT: "is greater than",
    Operator.GE: "is at least",
}
_WHEN = {
    Operator.LT: "is before",
    Operator.LE: "is not after",
    Operator.GT: "is after",
    Operator.GE: "is not before",
}
_EQUALS = {Operator.EQ: "equals", Operator.NE: "differs from"}
_THAN_T = {
    Operator.EQ: "s and t have the same {}",
    Operator.NE: "s and t differ in {}",
    Operator.LT: "s has a smaller {} than t",
    Operator.LE: "the {} of s is at most that of t",
    Operator.GT: "s has a larger {} than t",
    Operator.GE: "the {} of s is at least that of t",
}


_AMOUNT = {
    Operator.LT: "a smaller {}",
    Operator.LE: "an equal or smaller {}",
    Operator.GT: "a larger {}",
    Operator.GE: "an equal or larger {}",
}


def render_english(constraint: DenialConstraint) -> str:
    """A sentence such as `Two rows with the same zip have the same city.`"""
    match recognise(constraint):
        case NotNull(columns):
            return f"In every row, {_names(columns)} has a value."
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
        case _:  # no short form
            return _two_rows(constraint.predicates)


def _one_row(predicates: tuple[Predicate, ...]) -> str:
    if len(predicates) == 1 and predicates[0].left == predicates[0].right and not predicates[0].op.is_strict:
        return f"In every row, {quote_name(predicates[0].left.name)} is null."
    given = [predicate for predicate in predicates if predicate.op is Operator.EQ]
    denied = [predicate for predicate in predicates if predicate.op is not Operator.EQ] or given
    if _is_choice(denied):
        return f"In every row{_where(given)}, {_choice(denied)}."
    if len(predicates) == 1 or (len(denied) == 1 and given):
        return f"In every row{_where(given if given != denied else [])}, {_phrase(denied[0].negated(), owner=False)}."
    if all(predicate.op is Operator.NE for predicate in denied):
        alternatives = any_of(_phrase(predicate.negated(), owner=False) for predicate in denied)
        return f"In every row{_where(given)}, {alternatives}."
    return f"There is no row where {all_of(_phrase(predicate, owner=False) for predicate in predicates)}."


def _where(given: Sequence[Predicate]) -> str:
    return f" where {all_of(_phrase(predicate, owner=False) for predicate in given)}" if given else ""


def _is_choice(denied: Sequence[Predicate]) -> bool:
    """Whether these say together that one column has none of several values."""
    return (
        len(denied) > 1
        and len({predicate.left for predicate in denied}) == 1
        and all(predicate.op is Operator.NE and isinstance(predicate.right, Constant) for predicate in denied)
    )


def _choice(denied: Sequence[Predicate]) -> str:
    values = (_value(predicate.right) for predicate in denied if isinstance(predicate.right, Constant))
    return f"{quote_name(denied[0].left.name)} is {any_of(values)}"


def _two_rows(predicates: tuple[Predicate, ...]) -> str:
    same = [p for p in predicates if _is_across(p) and p.op is Operator.EQ]
    rest = [p for p in predicates if p not in same]
    with_same = f" with the same {_names([p.left.name for p in same])}" if same else ""
    if all(_is_across(p) and p.op is Operator.NE for p in rest):
        agreed = any_of(f"the same {quote_name(p.left.name)}" for p in rest)
        return f"{'Two' if same else 'Any two'} rows{with_same} have {agreed}."
    if all(_is_across(p) and p.op in _AMOUNT for p in rest):
        *first, last = (_AMOUNT[p.op].format(quote_name(p.left.name)) for p in rest)
        head = f"a row with {all_of(first)} never has {last}." if first else f"no row has {last} than another."
        return _among(tuple(p.left.name for p in same), head)
    return f"There are no two rows s and t{with_same} where {all_of(_phrase(p, owner=True) for p in rest)}."


def _phrase(predicate: Predicate, *, owner: bool) -> str:
    if _is_across(predicate):
        return _THAN_T[predicate.op].format(quote_name(predicate.left.name))
    left, op, right = _operand(predicate.left, owner), predicate.op, predicate.right
    if isinstance(right, Column):
        return f"{left} {_EQUALS.get(op, _IS[op])} {_operand(right, owner)}"
    words = _WHEN.get(op, _IS[op]) if isinstance(right.value, dt.date) else _IS[op]
    return f"{left} {words} {_value(right)}"


def _value(constant: Constant) -> str:
    """The constant as a reader writes it: dates and moments need no mark of their type here."""
    return str(constant.value) if isinstance(constant.value, dt.date) else render_constant(constant)


def _operand(column: Column, owner: bool) -> str:
    if owner and formula_of(column.name) is not None:
        return render_column(column)
    name = quote_name(column.name)
    return f"the {name} of {column.row.value}" if owner else name


def _is_across(predicate: Predicate) -> bool:
    return predicate.is_two_row and not predicate.is_cross_column and predicate.left.row is Row.S


def _among(by: tuple[str, ...], sentence: str) -> str:
    return f"Among rows with the same {_names(by)}, {sentence}" if by else sentence[0].upper() + sentence[1:]


def _names(names: Iterable[str]) -> str:
    return all_of(quote_name(name) for name in names)
