"""Candidates with their figures: what a search finds before it is put in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from refute.language.conditions import And, Compare, Condition
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row, Value
from refute.language.render.text import render_sugar
from refute.language.rulebook import Entry, Rule, suggest_name
from refute.language.rulebook.expand import kind_of, parts_of, source_of
from refute.language.rulebook.naming import slug
from refute.language.short_forms.sugar import (
    FunctionalDependency,
    Key,
    NoOverlap,
    NotNull,
    OrderItem,
    OrderRule,
    RowRule,
    Sugar,
)
from refute.proposing.scores import Figures


class RuleShape(Enum):
    """The shapes of rules that are proposed."""

    KEY = "key"
    DEPENDENCY = "functional dependency"
    ORDER = "order rule"
    NO_OVERLAP = "no overlap"
    COMPARISON = "comparison"
    DOMAIN = "domain"
    NOT_NULL = "not null"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule of a readable shape. `left` are the columns that agree, or those of a key; `right` those it is about.

    `form` tells rules over the same columns apart: the direction of an order, the operator of a comparison.
    """

    shape: RuleShape
    left: tuple[str, ...]
    right: tuple[str, ...]
    figures: Figures
    form: str = ""
    condition: Condition | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it says little alone, so that all of its kind are written together."""
        return self.shape is RuleShape.NOT_NULL or self.form == "not negative"

    @property
    def name(self) -> str:
        """A name that says what the rule is about."""
        if self.shape is RuleShape.NOT_NULL:
            return "never_null" if self.figures.blame == 0 else slug((*self.right, "not_null"))
        if self.form == "not negative" and self.figures.blame == 0:
            return "never_negative"
        return suggest_name(self.constraints[0])

    @property
    def sentence(self) -> str:
        """The rule in English."""
        sugar = self._sugar()
        kind = kind_of(sugar)
        rules = (Rule(name="", constraint=part.constraint, where=part.added, kind=kind) for part in parts_of(sugar))
        return " ".join(rule.sentence for rule in rules)

    def __str__(self) -> str:
        return render_sugar(self._sugar())

    def entry(self, name: str, others: Sequence[str] = ()) -> Entry:
        """The rule as an entry of a rule file; with other columns of which the same is said."""
        sugar = self._sugar(others)
        return Entry(name=name, kind=kind_of(sugar), source=source_of(sugar))

    @property
    def parts(self) -> tuple[Candidate, ...]:
        """What it says as candidates of one condition each: both bounds of what a column lies between."""
        if isinstance(self.condition, And):
            return tuple(replace(self, condition=part) for part in self.condition.parts)
        return (self,)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that the rule reads."""
        return (*self.left, *self.right)

    @property
    def constraints(self) -> tuple[DenialConstraint, ...]:
        """What the rule stands for."""
        return self._sugar().constraints()

    def _sugar(self, others: Sequence[str] = ()) -> Sugar:
        match self.shape:
            case RuleShape.KEY:
                return Key(self.left)
            case RuleShape.DEPENDENCY:
                return FunctionalDependency(self.left, self.right)
            case RuleShape.ORDER:
                first, second = self.right
                return OrderRule(OrderItem(first), OrderItem(second, self.form == "falls"), self.left)
            case RuleShape.NO_OVERLAP:
                start, end = self.right
                return NoOverlap(start, end, self.left)
            case RuleShape.NOT_NULL:
                return NotNull((*self.right, *others))
            case _:
                assert self.condition is not None
                more = tuple(against(name, Operator.GE, 0) for name in others)
                return RowRule(And((self.condition, *more)) if more else self.condition)


def against(name: str, op: Operator, value: Value) -> Compare:
    """The condition that compares a column with a value."""
    return Compare(Predicate.of(Column(Row.S, name), op, Constant(value)))


def comparison(left: str, op: Operator, right: str) -> Condition:
    """The condition that compares two columns of one row."""
    return Compare(Predicate.of(Column(Row.S, left), op, Column(Row.S, right)))
