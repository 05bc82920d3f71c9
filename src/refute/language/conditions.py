"""Conditions on one row: what a `row` rule demands and what `where` selects.

Truth has three values, as in SQL: a comparison with null is unknown, `and`, `or` and `not` follow Kleene, and a row is
selected when the condition is true. `is null` is never unknown, `matches` is for null alone. This holds whatever null
mode a rule has.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from refute.errors import RuleError
from refute.language.arithmetic import all_sources
from refute.language.predicate import Column, Predicate, Row
from refute.language.short_forms.patterns import check_pattern, matched

_MAX_ALTERNATIVES = 256


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison within one row; its columns are all on row `s`."""

    predicate: Predicate

    def __post_init__(self) -> None:
        if self.predicate.rows != {Row.S}:
            raise ValueError("A condition reads one row, written as row s.")


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether a column is null, or with `negated` whether it has a value. NaN counts as null."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class And:
    """All of its parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of its parts."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite; unknown stays unknown."""

    part: Condition


@dataclass(frozen=True, slots=True)
class Matches:
    """Whether the whole text of a column matches a regular expression, or with `negated` does not; null is unknown."""

    name: str
    pattern: str
    negated: bool = False

    def __post_init__(self) -> None:
        check_pattern(self.pattern)


@dataclass(frozen=True, slots=True)
class InTable:
    """Whether another table has a row with these values, or with `negated` has none; null in any of them is unknown.

    `columns` are those of the other table, one for each name. `path` is where that table is.
    """

    names: tuple[str, ...]
    path: str
    columns: tuple[str, ...]
    negated: bool = False


Atom = Compare | IsNull | Matches | InTable
Condition = Atom | And | Or | Not


def columns_of(condition: Condition) -> tuple[str, ...]:
    """The names of the table's columns that it reads, each once, in order of appearance."""
    return all_sources(compared_by(condition))


def compared_by(condition: Condition) -> tuple[str, ...]:
    """The names of what it compares: columns of the table, and formulas over them."""
    return tuple(dict.fromkeys(_columns(condition)))


def atoms(condition: Condition) -> Iterator[Atom]:
    """All that it tests, in order of appearance."""
    match condition:
        case Not(part):
            yield from atoms(part)
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms(part)
        case Compare() | IsNull() | Matches() | InTable():
            yield condition


def normal_form(condition: Condition) -> Atom | And | Or:
    """The same condition without `Not`, and with nested `And` and `Or` flattened.

    It is true for the same rows, and false for the same rows. As nothing is negated any more, a row is selected when
    the parts that are *true* say so: unknown and false need not be distinguished.
    """
    return _normal(condition, False)


def negation(condition: Condition) -> Atom | And | Or:
    """The condition that is true exactly where this one is false, without `Not`."""
    return _normal(condition, True)


def alternatives(condition: Condition) -> tuple[tuple[Atom, ...], ...]:
    """The disjunctive normal form: true when all parts of one alternative are. Order and duplicates are kept tidy."""
    found = _alternatives(normal_form(condition))
    return tuple(dict.fromkeys(tuple(dict.fromkeys(parts)) for parts in found))


def evaluate(condition: Condition, row: Mapping[str, Any]) -> bool | None:
    """True, False or None (unknown) for one row of plain values."""
    match condition:
        case Compare(predicate):
            return _compared(predicate, row)
        case IsNull(name, negated):
            return (_value(row, name) is None) != negated
        case Matches(name, pattern, negated):
            text = _value(row, name)
            return None if text is None else matched(pattern, text) != negated
        case InTable():
            raise AssertionError("another table is needed to say")
        case Not(part):
            inner = evaluate(part, row)
            return None if inner is None else not inner
        case And(parts):
            found = [evaluate(part, row) for part in parts]
            return False if False in found else None if None in found else True
        case Or(parts):
            found = [evaluate(part, row) for part in parts]
            return True if True in found else None if None in found else False


def _columns(condition: Condition) -> Iterator[str]:
    for atom in atoms(condition):
        match atom:
            case Compare(predicate):
                yield from (column.name for column in predicate.columns)
            case IsNull(name) | Matches(name):
                yield name
            case InTable(names):
                yield from names


def _normal(condition: Condition, negate: bool) -> Atom | And | Or:
    match condition:
        case Compare(predicate):
            return Compare(predicate.negated()) if negate else condition
        case IsNull(name, negated):
            return IsNull(name, negated != negate)
        case Matches() | InTable():
            return replace(condition, negated=condition.negated != negate)
        case Not(part):
            return _normal(part, not negate)
        case And(parts):
            return _joined(Or if negate else And, [_normal(part, negate) for part in parts])
        case Or(parts):
            return _joined(And if negate else Or, [_normal(part, negate) for part in parts])


def _joined(kind: type[And] | type[Or], parts: list[Atom | And | Or]) -> Atom | And | Or:
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, kind):
            flat.extend(part.parts)
        else:
            flat.append(part)
    return parts[0] if len(parts) == 1 else kind(tuple(flat))


def _alternatives(condition: Condition) -> list[tuple[Atom, ...]]:
    match condition:
        case Or(parts):
            found = [alternative for part in parts for alternative in _alternatives(part)]
        case And(parts):
            found = [()]
            for part in parts:
                found = [(*head, *tail) for head in found for tail in _alternatives(part)]
                _check_size(found)
        case Compare() | IsNull() | Matches() | InTable():
            found = [(condition,)]
        case Not():
            raise AssertionError("the normal form has no negation")
    _check_size(found)
    return found


def _check_size(found: list[tuple[Atom, ...]]) -> None:
    if len(found) > _MAX_ALTERNATIVES:
        raise RuleError(
            f"This condition expands to more than {_MAX_ALTERNATIVES} alternatives. Split it into several rules.",
            most=_MAX_ALTERNATIVES,
        )


def _compared(predicate: Predicate, row: Mapping[str, Any]) -> bool | None:
    left = _value(row, predicate.left.name)
    right = predicate.right
    other = _value(row, right.name) if isinstance(right, Column) else right.value
    if left is None or other is None:
        return None
    if isinstance(left, dt.date) and isinstance(other, dt.date):
        left, other = _moment(left), _moment(other)
    return predicate.op.accepts((left > other) - (left < other))


def _value(row: Mapping[str, Any], name: str) -> Any:
    value = row[name]
    return None if isinstance(value, float) and value != value else value


def _moment(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
