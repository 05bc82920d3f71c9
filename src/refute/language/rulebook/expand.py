"""Between the text of an entry and the constraints it stands for."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import lru_cache

from refute.language.arithmetic import formula_of
from refute.language.constraint import DenialConstraint
from refute.language.parsing.parser import RuleKind, parse_kind, parse_statement
from refute.language.render.text import quote_bare, render_condition, render_sugar, render_text
from refute.language.short_forms.column_rules import AllowedValues, Patterns, References, RulePart
from refute.language.short_forms.sugar import (
    FunctionalDependency,
    Key,
    NoOverlap,
    NotNull,
    OrderRule,
    RowRule,
    Sugar,
    recognise,
)

_KINDS: dict[type[Sugar], RuleKind] = {
    Key: RuleKind.UNIQUE,
    FunctionalDependency: RuleKind.FD,
    OrderRule: RuleKind.ORDER,
    NoOverlap: RuleKind.NO_OVERLAP,
    RowRule: RuleKind.ROW,
    NotNull: RuleKind.NOT_NULL,
    Patterns: RuleKind.MATCHES,
    AllowedValues: RuleKind.ONE_OF,
    References: RuleKind.REFERENCES,
}
_TEXTS = 1024  # read once: a rule is asked for by its text, and often again


@lru_cache(maxsize=_TEXTS)
def expand(kind: RuleKind, source: str, folder: str = "") -> tuple[RulePart, ...]:
    """The rules a text stands for, each with a label: the column it is about, else a number from 1.

    Tables that it names are sought in the folder.
    """
    return parts_of(parse_kind(kind, source), folder)


def parts_of(found: DenialConstraint | Sugar, folder: str = "") -> tuple[RulePart, ...]:
    """The same for a rule that is read already."""
    match found:
        case DenialConstraint():
            return (RulePart("1", found),)
        case References():
            return found.parts(lambda path: _within(folder, path))
        case NotNull() | Patterns() | AllowedValues():
            return found.parts()
    constraints = found.constraints()
    labels: Iterable[object] = range(1, len(constraints) + 1)
    if isinstance(found, FunctionalDependency):
        labels = dict.fromkeys(found.right)
    return tuple(RulePart(str(label), constraint) for label, constraint in zip(labels, constraints, strict=True))


def _within(folder: str, path: str) -> str:
    """Where a table is whose path is written in a file of this folder."""
    return path if "://" in path or not folder else os.path.join(folder, path)


@lru_cache(maxsize=_TEXTS)
def classify(text: str) -> tuple[RuleKind, str]:
    """The key under which a rule's text belongs in a rule file, and the value it has there."""
    found = parse_statement(text)
    return (RuleKind.DC, text) if isinstance(found, DenialConstraint) else (kind_of(found), source_of(found))


def spelled(constraint: DenialConstraint, kind: RuleKind, source: str) -> tuple[RuleKind, str]:
    """A key and a text that stand for this constraint: the source if it does, else the shortest form."""
    if source and [part.constraint for part in expand(kind, source)] == [constraint]:
        return kind, source
    sugar = short_form(constraint)
    return (RuleKind.DC, render_text(constraint)) if sugar is None else (kind_of(sugar), source_of(sugar))


def short_form(constraint: DenialConstraint) -> Sugar | None:
    """The short form with exactly the constraint's comparisons, in whatever order; None when there is none.

    A form that only means the same with `s` and `t` exchanged does not count, as it would turn the pairs around.
    """
    sugar = recognise(constraint)
    if sugar is None or _lists_formulas(sugar):
        return None
    same = [set(found.predicates) for found in sugar.constraints()] == [set(constraint.predicates)]
    return sugar if same else None


def _lists_formulas(sugar: Sugar) -> bool:
    """Whether it has arithmetic in a list of names, where none can be written."""
    match sugar:
        case Key(names) | OrderRule(by=names) | NoOverlap(by=names):
            return any(formula_of(name) is not None for name in names)
        case FunctionalDependency(left, right):
            return any(formula_of(name) is not None for name in (*left, *right))
        case _:
            return False


def join_names(names: Iterable[str]) -> str:
    """The names as a list in rule text, quoted where they need it."""
    return ", ".join(quote_bare(name) for name in names)


def kind_of(sugar: Sugar) -> RuleKind:
    """The key of a rule file under which a short form belongs."""
    return _KINDS[type(sugar)]


def source_of(sugar: Sugar) -> str:
    """The text of a short form without the word that is already its key."""
    if isinstance(sugar, RowRule):
        return render_condition(sugar.condition)
    if isinstance(sugar, Key | NotNull):
        return join_names(sugar.columns)
    if isinstance(sugar, Patterns | AllowedValues | References):
        return render_sugar(sugar)
    return render_sugar(sugar).removeprefix(_KINDS[type(sugar)].value)
