"""Does a rule fit a table? Errors that name the column, its type, the rule and the nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from refute.errors import SchemaError, did_you_mean
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Column, Constant, Predicate
from refute.relation.types import ColumnType, Family, clash, constant_family

if TYPE_CHECKING:
    from refute.relation.relation import Relation

READABLE = "rules read numbers, strings, booleans, dates and times"


def bind(relation: Relation, constraint: DenialConstraint, rule: str | None) -> None:
    """Raises SchemaError unless every column exists and every comparison makes sense."""
    where = f" (in {rule if rule is not None else text_of(constraint)})"
    for predicate in constraint.predicates:
        check_predicate(relation, predicate, where)


def check_predicate(relation: Relation, predicate: Predicate, where: str = "") -> None:
    """Raises SchemaError unless the columns of one predicate exist and its operands compare."""
    left = _typed(relation, predicate.left, where)
    right = predicate.right
    if isinstance(right, Column):
        other = _typed(relation, right, where)
        hint = clash(left.family, other.family)
        if hint is not None:
            raise SchemaError(f"cannot compare {left} with {other}{where}. {hint}")
        return
    hint = clash(left.family, constant_family(right.value))
    if hint is not None:
        kind = constant_family(right.value).value
        raise SchemaError(f"cannot compare {left} with the {kind} {right.value!r}{where}. {hint}")


def text_of(constraint: DenialConstraint) -> str:
    """The constraint as a reader would write it."""
    return f"not ({' and '.join(_predicate_text(predicate) for predicate in constraint.predicates)})"


def _typed(relation: Relation, column: Column, where: str) -> ColumnType:
    if column.name not in relation.names:
        hint = did_you_mean(column.name, relation.names)
        known = "" if hint else f" The table has {_listed(relation.names)}."
        raise SchemaError(f"there is no column {column.name!r}{where}.{hint}{known}")
    kind = relation.type_of(column.name)
    if kind.family is Family.UNSUPPORTED:
        raise SchemaError(f"column {kind} cannot be compared{where}; {READABLE}")
    return kind


def _listed(names: tuple[str, ...], most: int = 12) -> str:
    if not names:
        return "no columns"
    shown = ", ".join(repr(name) for name in names[:most])
    return f"the columns {shown}" + (f" and {len(names) - most} more" if len(names) > most else "")


def _predicate_text(predicate: Predicate) -> str:
    right = predicate.right
    shown = repr(right.value) if isinstance(right, Constant) else _column_text(right)
    return f"{_column_text(predicate.left)} {predicate.op.symbol} {shown}"


def _column_text(column: Column) -> str:
    return f"{column.row.value}.{column.name if column.name.isidentifier() else f'`{column.name}`'}"
