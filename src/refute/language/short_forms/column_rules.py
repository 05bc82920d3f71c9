"""Everyday rules about single columns: patterns, lists of allowed values, and values that another table must have.

What comparisons cannot say, a rule of one of these kinds says by a condition that is added to its `where`: rows for
which that is true break it. Its constraint is then `A = A`, which holds wherever A has a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from refute.errors import RuleError
from refute.language.conditions import And, Compare, Condition, InTable, Matches, Or
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row

_TARGET = re.compile(r"\s*(?P<path>[^()]*[^()\s])\s*\(\s*(?P<columns>[^()]*)\)\s*")
_FORMS = "Write customer_id -> customers.csv(id), or customers.csv(id) where both columns have one name."
NamesOf = Callable[[str], tuple[str, ...]]


class RulePart(NamedTuple):
    """One rule of an entry: what it is about, its constraint, and the condition that rows which break it meet."""

    label: str
    constraint: DenialConstraint
    added: Condition | None = None


@dataclass(frozen=True, slots=True)
class Patterns:
    """`matches: {zip: '[0-9]{5}'}`: every value matches the whole regular expression. Null passes."""

    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, condition: Condition) -> Patterns:
        """The patterns of `zip matches '...' and ...`."""
        parts = condition.parts if isinstance(condition, And) else (condition,)
        if not all(isinstance(part, Matches) and not part.negated for part in parts):
            raise RuleError(
                "Expected columns, each with a regular expression, as in {zip: '[0-9]{5}'}.", expected=Matches.__name__
            )
        return cls(tuple((part.name, part.pattern) for part in parts if isinstance(part, Matches)))

    def parts(self) -> tuple[RulePart, ...]:
        """A rule for each column."""
        return tuple(RulePart(name, _present([name]), Matches(name, pattern, True)) for name, pattern in self.columns)

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """What the rules of all columns compare."""
        return tuple(part.constraint for part in self.parts())


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """`one_of: {status: [open, closed]}`: every value is one of these. Null passes unless nulls are equal."""

    columns: tuple[tuple[str, tuple[Constant, ...]], ...]

    @classmethod
    def of(cls, condition: Condition) -> AllowedValues:
        """The choices of `status in ('open', 'closed') and ...`."""
        parts = condition.parts if isinstance(condition, And) else (condition,)
        return cls(tuple(map(_choice, parts)))

    def parts(self) -> tuple[RulePart, ...]:
        """A rule for each column: no row differs from all of its values."""
        found = []
        for name, values in self.columns:
            column = Column(Row.S, name)
            found.append(RulePart(name, DenialConstraint(tuple(Predicate(column, Operator.NE, one) for one in values))))
        return tuple(found)

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """One constraint for each column."""
        return tuple(part.constraint for part in self.parts())


@dataclass(frozen=True, slots=True)
class References:
    """`references: customer_id -> customers.csv(id)`: another table has every value. A key that is null passes."""

    links: tuple[InTable, ...]

    @classmethod
    def of(cls, text: str, names_of: NamesOf) -> References:
        """The references of a text, several of them with `;` between; `names_of` reads a list of names."""
        return cls(tuple(_link(part, names_of) for part in text.split(";")))

    def parts(self, place: Callable[[str], str] = str) -> tuple[RulePart, ...]:
        """A rule for each reference; `place` says where the table of a path is."""
        return tuple(
            RulePart(
                "_".join(link.names),
                _present(link.names),
                InTable(link.names, place(link.path), link.columns, negated=True),
            )
            for link in self.links
        )

    def constraints(self) -> tuple[DenialConstraint, ...]:
        """What the rules of all references compare."""
        return tuple(part.constraint for part in self.parts())


def _choice(condition: Condition) -> tuple[str, tuple[Constant, ...]]:
    compared = condition.parts if isinstance(condition, Or) else (condition,)
    found = [part.predicate for part in compared if isinstance(part, Compare) and part.predicate.op is Operator.EQ]
    values = tuple(one.right for one in found if isinstance(one.right, Constant))
    if len(values) != len(compared) or len({one.left.name for one in found}) != 1:
        raise RuleError(
            "Expected columns, each with a list of values, as in {status: [open, closed]}.", expected=Constant.__name__
        )
    return found[0].left.name, tuple(dict.fromkeys(values))


def _link(text: str, names_of: NamesOf) -> InTable:
    own, arrow, target = text.rpartition("->")
    found = _TARGET.fullmatch(target)
    if found is None or not found["columns"].strip():
        raise RuleError(f"{text.strip()!r} is not a reference. {_FORMS}", value=text.strip())
    columns = names_of(found["columns"])
    names = names_of(own) if arrow else columns
    if len(names) != len(columns):
        raise RuleError(
            f"{text.strip()!r} compares {len(names)} columns with {len(columns)}. Name the same number on both sides.",
            columns=names,
        )
    return InTable(names, found["path"], columns)


def _present(names: Iterable[str]) -> DenialConstraint:
    """What holds wherever all of these columns have a value."""
    columns = [Column(Row.S, name) for name in names]
    return DenialConstraint(tuple(Predicate(column, Operator.EQ, column) for column in columns))
