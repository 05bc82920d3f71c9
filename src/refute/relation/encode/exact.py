"""The encoding of last resort: distinct values as Python numbers, which compare exactly whatever their types."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.language.operators import Operator
from refute.language.predicate import Value
from refute.relation.arrays import numbers

SECOND = {"s": Fraction(1), "ms": Fraction(1, 10**3), "us": Fraction(1, 10**6), "ns": Fraction(1, 10**9)}
DAY = 86_400


@lru_cache(maxsize=256)
def unit_of(arrow_type: pa.DataType) -> Fraction:
    """What one step of the stored integer is worth: 1 for integers, seconds for all that concerns time."""
    if pt.is_date32(arrow_type):
        return Fraction(DAY)
    if pt.is_date64(arrow_type):
        return SECOND["ms"]
    if pt.is_timestamp(arrow_type) or pt.is_time(arrow_type) or pt.is_duration(arrow_type):
        return SECOND[arrow_type.unit]
    if pt.is_decimal(arrow_type):
        return Fraction(Decimal((0, (1,), -arrow_type.scale)))
    return Fraction(1)


def comparable(value: Value) -> Any:
    """A literal as what it compares as, in the unit of `unit_of`."""
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, dt.datetime):
        zone = dt.UTC if value.tzinfo is not None else None
        since = value - dt.datetime(1970, 1, 1, tzinfo=zone)
        return (since.days * DAY + since.seconds) + Fraction(since.microseconds, 10**6)
    if isinstance(value, dt.date):
        return (value - dt.date(1970, 1, 1)).days * DAY
    return int(value) if isinstance(value, bool) else value


def compare_distinct(column: pa.ChunkedArray, op: Operator, right: Any) -> NDArray[np.bool_]:
    """The rows whose value stands in this relation to a comparable; false for null."""
    parts = [np.zeros(0, dtype=np.bool_)]
    for chunk in entries(column).chunks:
        values = comparable_list(chunk.dictionary)
        table = [value is not None and op.accepts((value > right) - (value < right)) for value in values]
        codes = numbers(chunk.indices, null=len(values))
        parts.append(np.array([*table, False], dtype=np.bool_)[codes])
    return np.concatenate(parts)


def distinct_codes(columns: Sequence[pa.ChunkedArray]) -> tuple[list[NDArray[np.int64]], int]:
    """Dense ranks over the values of all columns together, -1 for null, and the number of distinct values.

    Costs a Python object per distinct value: for what no integer arithmetic of 64 bits can hold.
    """
    encoded = [entries(column) for column in columns]
    dictionaries = [[comparable_list(chunk.dictionary) for chunk in column.chunks] for column in encoded]
    known = {value for lists in dictionaries for values in lists for value in values if value is not None}
    rank = {value: code for code, value in enumerate(sorted(known))}
    rank[None] = -1
    found = []
    for column, lists in zip(encoded, dictionaries, strict=True):
        parts = [np.zeros(0, dtype=np.int64)]
        for chunk, values in zip(column.chunks, lists, strict=True):
            table = np.array([rank[value] for value in values] + [-1], dtype=np.int64)
            parts.append(table[numbers(chunk.indices, null=len(values))])
        found.append(np.concatenate(parts))
    return found, len(known)


def entries(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column by its distinct values; Arrow finds none of decimals below 128 bits, nor of halves before 26."""
    kind = column.type
    if pt.is_decimal(kind) and kind.bit_width < 128:
        column = column.cast(pa.decimal128(kind.precision, kind.scale))
    if pt.is_float16(kind):
        column = column.cast(pa.float32())
    return column.dictionary_encode()


def comparable_list(values: pa.Array) -> list[Any]:
    """The values as what they compare as, in the unit of `unit_of`; None for null."""
    kind = values.type
    if pt.is_null(kind):
        return [None] * len(values)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return list(values.to_pylist())
    if pt.is_boolean(kind):
        return [None if value is None else int(value) for value in values.to_pylist()]
    if pt.is_floating(kind):
        return [None if value is None or math.isnan(value) else value for value in values.to_pylist()]
    if pt.is_decimal(kind):
        return [None if value is None else Fraction(Decimal(value)) for value in values.to_pylist()]
    if pt.is_integer(kind):
        return list(values.to_pylist())
    unit = unit_of(kind)
    stored = pc.cast(values, pa.int32() if values.type.bit_width == 32 else pa.int64())
    return [None if value is None else value * unit for value in stored.to_pylist()]
