"""Does a rule fit a table? Errors that name the column, its type, the rule and the nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refute.errors import SchemaError, did_you_mean
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Column, Predicate, Value
from refute.language.render import render_text
from refute.relation.types import READABLE, ColumnType, Family, clash, constant_family, literal_clash

if TYPE_CHECKING:
    from refute.relation.relation import Relation


def bind(relation: Relation, constraint: DenialConstraint, rule: str | None) -> None:
    """Raises SchemaError unless every column exists and every comparison makes sense."""
    try:
        for predicate in constraint.predicates:
            check_predicate(relation, predicate)
    except SchemaError:  # once more for a message that names the rule, which is seldom asked for
        for predicate in constraint.predicates:
            check_predicate(relation, predicate, f" (in {rule if rule is not None else render_text(constraint)})")
        raise


def check_predicate(relation: Relation, predicate: Predicate, where: str = "") -> None:
    """Raises SchemaError unless the columns of one predicate exist and its operands compare."""
    left = check_column(relation, predicate.left.name, where)
    right = predicate.right
    if isinstance(right, Column):
        other = check_column(relation, right.name, where)
        hint = clash(left.family, other.family)
        if hint is not None:
            raise SchemaError(f"cannot compare {left} with {other}{where}. {hint}", columns=(left.name, other.name))
        return
    literal = constant_family(right.value)
    hint = literal_clash(left.family, literal)
    if hint is not None:
        written = _written(right.value)
        raise SchemaError(
            f"cannot compare {left} with the {literal.value} {written}{where}. {hint}",
            column=left.name,
            value=right.value,
        )


def check_column(relation: Relation, name: str, where: str = "") -> ColumnType:
    """The type of a column; raises SchemaError unless it exists and can be compared."""
    if not relation.has(name):
        hint = did_you_mean(name, relation.names)
        known = "" if hint else f" The table has {_listed(relation.names)}."
        raise SchemaError(f"there is no column {name!r}{where}.{hint}{known}", column=name, columns=relation.names)
    kind = relation.type_of(name)
    if kind.family is Family.UNSUPPORTED:
        relation.column(name)  # tells why, where its objects have no single type
        raise SchemaError(f"column {kind} cannot be compared{where}; {READABLE}", column=name)
    return kind


def _written(value: Value) -> str:
    """A literal as an error shows it."""
    return repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)


def _listed(names: tuple[str, ...], most: int = 12) -> str:
    if not names:
        return "no columns"
    shown = ", ".join(repr(name) for name in names[:most])
    return f"the columns {shown}" + (f" and {len(names) - most} more" if len(names) > most else "")
