"""Rules in our own notation. Reading it back gives an equal rule."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal

from refute.language.arithmetic import formula_of, shown_column, spelled
from refute.language.conditions import And, Compare, Condition, InTable, IsNull, Matches, Not, Or
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Value
from refute.language.short_forms.column_rules import AllowedValues, Patterns, References
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

_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_CONDITION_WORDS = ("and", "or", "not", "in", "is", "between", "matches", "null", "true", "false")
_OTHER_WORDS = ("forall", "date", "timestamp", "float", "unique", "order", "no_overlap", "row", "by", "asc", "desc")
_RESERVED = frozenset((*_CONDITION_WORDS, *_OTHER_WORDS))


def render_text(constraint: DenialConstraint) -> str:
    """`not (s.zip = t.zip and s.city != t.city)`."""
    return f"not ({' and '.join(render_predicate(predicate) for predicate in constraint.predicates)})"


def render_sugar(sugar: Sugar) -> str:
    """`unique(id)`, `zip -> city`, `order(hired asc, salary asc) by team`, `row(qty >= 0)` and the like."""
    match sugar:
        case NotNull(columns):
            return f"not_null({_names(columns)})"
        case Key(columns):
            return f"unique({_names(columns)})"
        case FunctionalDependency(left, right):
            return f"{_names(left) or '()'} -> {_names(right)}"
        case OrderRule(first, second, by):
            return f"order({_item(first)}, {_item(second)}){_by(by)}"
        case NoOverlap(start, end, by):
            return f"no_overlap({_names((start, end))}){_by(by)}"
        case RowRule(condition):
            return f"row({render_condition(condition)})"
        case Patterns(columns):
            return " and ".join(f"{quote_bare(name)} matches {_literal(pattern)}" for name, pattern in columns)
        case AllowedValues(columns):
            parts = ((quote_bare(name), ", ".join(map(render_constant, values))) for name, values in columns)
            return " and ".join(f"{name} in ({values})" for name, values in parts)
        case References(links):
            return "; ".join(f"{_names(one.names)} -> {one.path}({_names(one.columns)})" for one in links)


def render_predicate(predicate: Predicate) -> str:
    """`s.zip = t.zip`."""
    return f"{render_column(predicate.left)} {predicate.op.symbol} {render_operand(predicate.right)}"


def render_operand(operand: Column | Constant) -> str:
    """A column of a row, or a constant."""
    return render_column(operand) if isinstance(operand, Column) else render_constant(operand)


def render_column(column: Column) -> str:
    """`s.zip`, or `s.price * s.qty`."""
    formula = formula_of(column.name)
    prefix = f"{column.row.value}."
    if formula is None:
        return prefix + quote_name(column.name)
    return spelled(formula, lambda name: prefix + quote_name(name))


def render_condition(condition: Condition) -> str:
    """`qty >= 0 and unit is not null`, with the row variable left out."""
    match condition:
        case Compare(predicate):
            right = predicate.right
            other = quote_bare(right.name) if isinstance(right, Column) else render_constant(right)
            return f"{quote_bare(predicate.left.name)} {predicate.op.symbol} {other}"
        case IsNull(name, negated):
            return f"{quote_bare(name)} is {'not ' if negated else ''}null"
        case Matches(name, pattern, negated):
            return f"{quote_bare(name)} {'not ' if negated else ''}matches {_literal(pattern)}"
        case InTable(names, path, columns, negated):  # which conditions as people write them do not have
            return f"{_names(names)} {'not ' if negated else ''}in {path}({_names(columns)})"
        case Not(part):
            return f"not ({render_condition(part)})"
        case And(parts):
            return " and ".join(_nested(part) for part in parts)
        case Or(parts):
            return _one_of(parts) or " or ".join(_nested(part) for part in parts)


def render_denied(condition: Condition) -> str:
    """What a kind of rule denies of a row, with the row variable: `s.zip not matches '[0-9]{5}'`."""
    match condition:
        case IsNull(name, negated):
            return f"s.{quote_name(name)} is {'not ' if negated else ''}null"
        case Matches(name, pattern, negated):
            return f"s.{quote_name(name)} {'not ' if negated else ''}matches {_literal(pattern)}"
        case InTable(names, path, columns, negated):
            own = ", ".join(f"s.{quote_name(name)}" for name in names)
            return f"{own if len(names) == 1 else f'({own})'} {'not ' if negated else ''}in {path}({_names(columns)})"
        case other:
            raise AssertionError(f"no kind adds {other}")


def _one_of(parts: tuple[Condition, ...]) -> str | None:
    """`state in ('NY', 'CA')`, where that says the same; None elsewhere."""
    found = [part.predicate for part in parts if isinstance(part, Compare) and part.predicate.op is Operator.EQ]
    values = [one.right for one in found if isinstance(one.right, Constant)]
    if not 1 < len(values) == len(parts) or len({one.left for one in found}) > 1:
        return None
    return f"{quote_bare(found[0].left.name)} in ({', '.join(map(render_constant, values))})"


def render_constant(constant: Constant) -> str:
    """`5`, `1.50` (a decimal), `1.5e0` (a float), `'text'`, `true`, `date '2020-01-01'`, `timestamp '...'`."""
    return _literal(constant.value)


def quote_name(name: str) -> str:
    """The name as written after a row variable: in back quotes unless it is one word, or the text of a formula."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`" if formula_of(name) is None else shown_column(name)


def quote_bare(name: str) -> str:
    """The name as written without a row variable: words of the language are quoted too."""
    return f"`{name}`" if name.lower() in _RESERVED else quote_name(name)


def _literal(value: Value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            if math.isinf(value):
                return f"float '{value}'"
            written = repr(value)
            return written if "e" in written else f"{written}e0"
        case Decimal():
            written = format(value, "f")
            return written if "." in written else f"{written}.0"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case dt.datetime():
            return f"timestamp '{value.isoformat(' ')}'"
        case dt.date():
            return f"date '{value.isoformat()}'"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(quote_bare(name) for name in names)


def _item(item: OrderItem) -> str:
    return f"{quote_bare(item.name)} {'desc' if item.descending else 'asc'}"


def _by(by: tuple[str, ...]) -> str:
    return f" by {_names(by)}" if by else ""


def _nested(condition: Condition) -> str:
    written = render_condition(condition)
    return f"({written})" if isinstance(condition, And | Or) else written
