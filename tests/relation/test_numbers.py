"""Every numeric type of Arrow beside every other, and beside literals: compared as exact fractions are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row, Value
from refute.relation import Relation

WHOLE = tuple(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = (pa.float16(), pa.float32(), pa.float64())
DECIMALS = (
    *(pa.decimal32(9, scale) for scale in (0, 2, 9, -2)),
    *(pa.decimal64(18, scale) for scale in (0, 4, 18, -3)),
    *(pa.decimal128(38, scale) for scale in (0, 10, 38, -30)),
    *(pa.decimal256(76, scale) for scale in (0, 5, 76, -20)),
    *(pa.decimal128(9, 2), pa.decimal256(9, 2)),
)
KINDS = (*WHOLE, *FLOATS, *DECIMALS)
DIGITS = (0, 1, -1, 2, 25, 100, -500, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 10**18)
LITERALS: tuple[Value, ...] = (
    *(0, 1, -1, 100, 2**53 + 1, 2**63, 10**60, 0.5, 1e30, 1e-40),
    *map(Decimal, ("0.5", "-0.25", "1e-41", "9007199254740993.5")),
)


def values(kind: pa.DataType) -> list[Any]:
    """Values that a type holds: its ends, and what other types hold as well."""
    if pa.types.is_floating(kind):
        plain = [0.0, -0.0, 1.0, -1.0, 0.5, 100.0, 2.0**10, 2.0**53, 2.0**63, 1e300, math.inf, -math.inf, math.nan]
        return [np.dtype(kind.to_pandas_dtype()).type(one) for one in plain]
    if pa.types.is_integer(kind):
        unsigned = pa.types.is_unsigned_integer(kind)
        low = 0 if unsigned else -(2 ** (kind.bit_width - 1))
        high = low + 2**kind.bit_width - 1
        return [one for one in (low, high, *DIGITS) if low <= one <= high]
    most = 10**kind.precision - 1
    digits = [one for one in (most, -most, *DIGITS, 10 ** max(kind.scale, 0)) if abs(one) <= most]
    return [Decimal((int(one < 0), tuple(map(int, str(abs(one)))), -kind.scale)) for one in digits]


def exact(value: Any) -> Any:
    """The value as Python compares it exactly; None for NaN."""
    number = float(value) if isinstance(value, np.floating) else value
    if isinstance(number, float) and not math.isfinite(number):
        return None if math.isnan(number) else number
    return Fraction(number)


def columns(kind: pa.DataType) -> tuple[list[Any], pa.Array]:
    """The values of a type as fractions, and as a column with a null at the end."""
    with np.errstate(over="ignore"):
        held = values(kind)
    return [*map(exact, held), None], built([*held, None], kind)


def built(held: list[Any], kind: pa.DataType) -> pa.Array:
    """The values as a column; Arrow makes none of most decimals with a negative scale, only of their digits."""
    if not pa.types.is_decimal(kind) or kind.scale >= 0:
        return pa.array(held, kind)
    digits = [None if one is None else int(one.scaleb(kind.scale, Context(prec=80))) for one in held]
    plain = pa.array(digits, whole_decimal(kind))
    return pa.Array.from_buffers(kind, len(plain), plain.buffers())


def whole_decimal(kind: pa.DataType) -> pa.DataType:
    """The type of the digits alone."""
    return getattr(pa, f"decimal{kind.bit_width}")(kind.precision, 0)


def compared(x: Any, y: Any, op: Callable[[Any, Any], bool]) -> bool:
    return x is not None and y is not None and op(x, y)


@pytest.mark.parametrize("left", KINDS, ids=str)
def test_columns_of_every_two_types_are_ordered_as_their_values_are(left: pa.DataType) -> None:
    for right in KINDS:
        (xs, first), (ys, second) = columns(left), columns(right)
        pairs = list(itertools.product(range(len(xs)), range(len(ys))))
        table = pa.table({"x": first.take([i for i, _ in pairs]), "y": second.take([j for _, j in pairs])})
        relation = Relation.of(table)
        for op, meant in ((Operator.EQ, lambda a, b: a == b), (Operator.LT, lambda a, b: a < b)):
            found = relation.mask(Predicate.of(Column(Row.S, "x"), op, Column(Row.S, "y")))
            assert found.tolist() == [compared(xs[i], ys[j], meant) for i, j in pairs], (left, right, op)
        one, other = relation.encode_joint(("x", "y"), ordered=True)
        for i, j in ((0, -1), (len(pairs) // 2, 3), (5, -3)):
            x, y = xs[pairs[i][0]], ys[pairs[j][1]]
            if x is not None and y is not None:
                assert (one.values[i] < other.values[j], one.values[i] == other.values[j]) == (x < y, x == y)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_columns_beside_literals_are_compared_as_fractions(kind: pa.DataType) -> None:
    xs, column = columns(kind)
    relation = Relation.of(pa.table({"x": column}))
    for literal in LITERALS:
        for op, meant in ((Operator.EQ, lambda a, b: a == b), (Operator.LT, lambda a, b: a < b)):
            if pa.types.is_floating(kind) and isinstance(literal, Decimal) and float(literal) != literal:
                continue  # there it stands for the float next to it: test_literals.py
            found = relation.mask(Predicate.of(Column(Row.S, "x"), op, Constant(literal)))
            assert found.tolist() == [compared(x, exact(literal), meant) for x in xs], (kind, literal, op)
