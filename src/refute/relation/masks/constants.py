"""A column against a literal of any comparable type, without turning either into what cannot hold it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.language.operators import Operator
from refute.relation.arrays import numbers, truths
from refute.relation.encode.exact import compare_distinct
from refute.relation.encode.floats import Floats, floats_of
from refute.relation.encode.integers import Steps, integers_of

Mask = NDArray[np.bool_]

UFUNCS = {
    Operator.EQ: np.equal,
    Operator.NE: np.not_equal,
    Operator.LT: np.less,
    Operator.LE: np.less_equal,
    Operator.GT: np.greater,
    Operator.GE: np.greater_equal,
}
FUNCTIONS = {
    Operator.EQ: pc.equal,
    Operator.NE: pc.not_equal,
    Operator.LT: pc.less,
    Operator.LE: pc.less_equal,
    Operator.GT: pc.greater,
    Operator.GE: pc.greater_equal,
}


def constant_mask(column: pa.ChunkedArray, op: Operator, right: Any) -> Mask:
    """The rows whose value stands in this relation to a comparable of `exact.comparable`; false for null."""
    parts = [np.zeros(0, dtype=np.bool_)]
    for chunk in column.chunks:
        if pt.is_dictionary(chunk.type):
            entries = np.append(_plain_mask(chunk.dictionary, op, right), False)
            parts.append(entries[numbers(chunk.indices, null=len(chunk.dictionary))])
        else:
            parts.append(_plain_mask(chunk, op, right))
    return np.concatenate(parts) if len(parts) > 2 else parts[-1]


def nearest_float(literal: Fraction | Decimal, kind: pa.DataType) -> float | None:
    """The value that a decimal literal stands for in a column of floats: 0.1 is what the column holds for 0.1.

    None where the literal stands for itself: beyond the range of the type, and in columns of 16 bits.
    """
    if pt.is_float16(kind):
        return None
    try:
        near = float(literal)
    except OverflowError:
        return None
    if pt.is_float64(kind) or math.isinf(near):
        return None if math.isinf(near) else near
    with np.errstate(over="ignore"):
        single = np.float32(near)
    exact = Fraction(literal)
    around = [np.nextafter(single, np.float32(-np.inf)), single, np.nextafter(single, np.float32(np.inf))]
    if np.isinf(single):
        return None
    return min(
        (float(one) for one in around if np.isfinite(one)),
        key=lambda one: (abs(Fraction(one) - exact), int(np.float32(one).view(np.int32)) & 1),
    )


def _plain_mask(array: pa.Array, op: Operator, right: Any) -> Mask:
    if pt.is_null(array.type):
        return np.zeros(len(array), dtype=np.bool_)
    if isinstance(right, str):
        found = FUNCTIONS[op](array, pa.scalar(right, type=array.type))
        return truths(found)
    if pt.is_floating(array.type):
        meant = nearest_float(right, array.type) if isinstance(right, Fraction) else None
        return _float_mask(floats_of(array), op, right if meant is None else meant)
    steps = integers_of(array)
    if isinstance(steps, Steps):
        return _step_mask(steps, op, right)
    return compare_distinct(pa.chunked_array([array]), op, right)


def _float_mask(values: Floats, op: Operator, right: Any) -> Mask:
    """Against the float nearest to the literal: where that is not the literal itself, no float lies between them."""
    try:
        near = float(right)
    except OverflowError:
        near = math.inf if right > 0 else -math.inf
    sign = (near > right) - (near < right)
    if sign == 0:
        found: Mask = UFUNCS[op](values, near)
    elif op.accepts(-1) == op.accepts(1):
        found = np.full(len(values), op is Operator.NE)
    elif op.accepts(-1):
        found = values <= near if sign < 0 else values < near
    else:
        found = values > near if sign < 0 else values >= near
    return found & ~np.isnan(values) if op is Operator.NE else found


def _step_mask(steps: Steps, op: Operator, right: Any) -> Mask:
    """Against the whole number of steps at or below the literal."""
    wanted = right if isinstance(right, float) and math.isinf(right) else Fraction(right) / steps.unit
    if not steps.low <= wanted <= steps.high:
        found = np.full(len(steps.values), op.accepts(-1 if steps.low < wanted else 1))
    elif wanted == math.floor(wanted):
        found = UFUNCS[op](steps.values, steps.values.dtype.type(math.floor(wanted)))
    elif op.accepts(-1) == op.accepts(1):
        found = np.full(len(steps.values), op is Operator.NE)
    else:
        below = steps.values <= steps.values.dtype.type(math.floor(wanted))
        found = below if op.accepts(-1) else ~below
    return found & steps.valid.view(np.bool_) if len(steps.valid) else found
