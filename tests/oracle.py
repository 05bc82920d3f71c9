"""The definition of a violation: all pairs, plain Python, straight from what a rule means. Slow on purpose."""

from __future__ import annotations

import datetime as dt
import math
import operator
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pyarrow as pa

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row

Violation = tuple[int, ...]
MEANING: dict[str, Callable[[Any, Any], bool]] = {  # by the sign, so nothing of the library decides what it means
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table as plain values; NaN is null."""
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return [{name: _clean(values[i]) for name, values in columns.items()} for i in range(table.num_rows)]


def violations(table: pa.Table, rule: DenialConstraint, nulls: str = "sql") -> list[Violation]:
    """Every violation in ascending order: `(s, t)` pairs of row numbers, or `(row,)` for a rule about one row."""
    rows = rows_of(table)
    predicates = [_as_meant(predicate, table.schema) for predicate in rule.predicates]
    if rule.is_single_row:
        (variable,) = rule.rows
        return [(i,) for i, row in enumerate(rows) if _all_true(predicates, {variable: row}, nulls)]
    return [
        (i, j)
        for i, s in enumerate(rows)
        for j, t in enumerate(rows)
        if i != j and _all_true(predicates, {Row.S: s, Row.T: t}, nulls)
    ]


def rows_in_violation(found: Sequence[Violation]) -> set[int]:
    """The distinct rows that take part in some violation."""
    return {row for violation in found for row in violation}


def holds(predicate: Predicate, binding: dict[Row, dict[str, Any]], nulls: str) -> bool:
    """Whether one predicate is true for these rows."""
    left = binding[predicate.left.row][predicate.left.name]
    right = predicate.right
    return compare(
        left, predicate.op, binding[right.row][right.name] if isinstance(right, Column) else right.value, nulls
    )


def compare(left: Any, op: Operator, right: Any, nulls: str) -> bool:
    """Whether `left op right` is true, exactly, under the given null rule."""
    left, right = _clean(left), _clean(right)
    if left is None or right is None:
        if nulls == "sql" or op.value not in ("=", "!="):
            return False
        return MEANING[op.value](left is None, right is None)
    if isinstance(left, dt.date) and isinstance(right, dt.date):
        left, right = _moment(left), _moment(right)
    return MEANING[op.value](left, right)


def nearest(literal: Decimal, bits: int) -> Decimal:
    """The floating-point number of 32 or 64 bits nearest to a literal within their range, as an exact decimal."""
    size, places = {32: (149, 24), 64: (1074, 53)}[bits]
    exact = Fraction(literal)
    step = Fraction(1, 2**size)
    while abs(exact) / step >= 2**places:
        step *= 2
    number = round(exact / step) * step  # halves to even
    with localcontext(prec=1200):
        return Decimal(number.numerator) / Decimal(number.denominator)


def _as_meant(predicate: Predicate, schema: pa.Schema) -> Predicate:
    """The predicate with a decimal literal as the float that the column holds for it."""
    right, kind = predicate.right, schema.field(predicate.left.name).type
    if not isinstance(right, Constant) or not isinstance(right.value, Decimal):
        return predicate
    if kind not in (pa.float32(), pa.float64()) or abs(right.value) > (10**38 if kind == pa.float32() else 10**308):
        return predicate
    return Predicate(predicate.left, predicate.op, Constant(nearest(right.value, kind.bit_width)))


def _all_true(predicates: Sequence[Predicate], binding: dict[Row, dict[str, Any]], nulls: str) -> bool:
    return all(holds(predicate, binding, nulls) for predicate in predicates)


def _clean(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _moment(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
