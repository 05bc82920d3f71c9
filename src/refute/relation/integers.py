"""Columns that are whole numbers of some unit: integers, booleans, decimals, dates and times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.kernels import encoding as kernel
from refute.relation.arrays import Bytes, stored, valid_bytes
from refute.relation.dense import dense_codes, int_dtype
from refute.relation.exact import unit_of

Ints = NDArray[np.signedinteger]
AnyInts = NDArray[np.integer]

MAX_SIZE = 2**62  # codes may be doubled
_LIMB = 32


@dataclass(frozen=True, slots=True)
class Steps:
    """A column whose value in row i is `values[i] * unit`; `low` and `high` bound the valid ones, if there are any."""

    values: AnyInts  # int32, int64 or uint64
    valid: Bytes
    unit: Fraction
    low: int
    high: int
    count: int  # valid rows

    @classmethod
    def of(cls, values: AnyInts, valid: Bytes, unit: Fraction) -> Steps:
        """The column with its bounds."""
        low, high, count = kernel.bounds(values, valid)
        return cls(values, valid, unit, int(low), int(high), int(count))


@dataclass(frozen=True, slots=True)
class Wide:
    """A column of decimals beyond 64 bits: two's complement limbs of 64 bits, least significant first, row by row."""

    limbs: NDArray[np.uint64]  # (n, limbs)
    valid: Bytes
    unit: Fraction


def integers_of(array: pa.Array) -> Steps | Wide:
    """An array of integers, booleans, decimals, dates, times or durations as whole numbers of its unit."""
    kind = array.type
    valid = valid_bytes(array)
    unit = unit_of(kind)
    if pt.is_decimal(kind):
        return _decimals(array, valid, unit)
    if pt.is_boolean(kind):
        return Steps.of(stored(array.cast(pa.uint8()), np.uint8).astype(np.int32), valid, unit)
    if pt.is_uint64(kind):
        return Steps.of(stored(array, np.uint64), valid, unit)
    if kind.bit_width == 64:
        return Steps.of(stored(array, np.int64), valid, unit)
    if pt.is_uint32(kind):
        return Steps.of(stored(array, np.uint32).astype(np.int64), valid, unit)
    if kind.bit_width == 32:
        return Steps.of(stored(array, np.int32), valid, unit)
    sign = "u" if pt.is_unsigned_integer(kind) else "i"
    return Steps.of(stored(array, f"{sign}{kind.bit_width // 8}").astype(np.int32), valid, unit)


def step_codes(columns: Sequence[Steps]) -> tuple[list[Ints], int] | None:
    """Value minus the smallest, in a unit that all columns share, and the size; None when that is beyond 62 bits."""
    used = [column for column in columns if column.count]
    unit = reduce(_common_unit, (column.unit for column in used), used[0].unit if used else Fraction(1))
    factors = [int(column.unit / unit) if column.count else 1 for column in columns]
    spans = [(column.low * f, column.high * f) for column, f in zip(columns, factors, strict=True) if column.count]
    base = min((low for low, _ in spans), default=0)
    size = max((high for _, high in spans), default=-1) - base + 1
    if size > MAX_SIZE:
        return None
    found = []
    for column, factor in zip(columns, factors, strict=True):
        if column.count == 0:
            found.append(np.full(len(column.values), -1, dtype=int_dtype(size)))
            continue
        out = np.empty(len(column.values), dtype=int_dtype(size))
        values = column.values.view(np.int64) if column.values.dtype == np.uint64 else column.values
        kernel.affine(values, column.valid, wrapped(factor), wrapped(-base), out)
        found.append(out)
    return found, size


def limb_codes(columns: Sequence[Steps | Wide]) -> tuple[list[Ints], int]:
    """Codes of columns of one unit whose values span more than 62 bits; ordered, not dense."""
    width = max(column.limbs.shape[1] if isinstance(column, Wide) else 1 for column in columns)
    unsigned = [isinstance(column, Steps) and column.values.dtype == np.uint64 for column in columns]
    if width == 1 and any(unsigned) and not all(unsigned):
        width = 2
    flip_top = not (width == 1 and all(unsigned))
    valid = [column.valid for column in columns]
    codes: list[Ints] = [np.zeros(_rows(column), dtype=np.int64) for column in columns]
    size = 1
    for limb in reversed(range(2 * width)):
        if size << _LIMB > MAX_SIZE:
            codes, size = dense_codes(codes, size)
        parts = [_half_limb(column, limb, flip=flip_top and limb == 2 * width - 1) for column in columns]
        codes = [(code.astype(np.int64) << _LIMB) | part for code, part in zip(codes, parts, strict=True)]
        for code, known in zip(codes, valid, strict=True):
            if len(known):
                code[known == 0] = -1
        size <<= _LIMB
    return codes, size


def wrapped(number: int) -> int:
    """The number modulo 2^64, as a signed one."""
    return (number + 2**63) % 2**64 - 2**63


def _common_unit(a: Fraction, b: Fraction) -> Fraction:
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _rows(column: Steps | Wide) -> int:
    return len(column.values) if isinstance(column, Steps) else len(column.limbs)


def _half_limb(column: Steps | Wide, limb: int, flip: bool) -> NDArray[np.int64]:
    """32 bits of each value, sign extended where they are beyond its own; `flip` orders signed ones as unsigned."""
    if isinstance(column, Wide):
        words = column.limbs
        word = words[:, limb // 2] if limb // 2 < words.shape[1] else _sign(words[:, -1])
    elif column.values.dtype == np.uint64:
        word = column.values.view(np.uint64) if limb < 2 else np.zeros(len(column.values), dtype=np.uint64)
    else:
        signed = column.values.astype(np.int64).view(np.uint64)
        word = signed if limb < 2 else _sign(signed)
    half = ((word >> np.uint64(_LIMB * (limb % 2))) & np.uint64(2**_LIMB - 1)).astype(np.int64)
    return half ^ (1 << (_LIMB - 1)) if flip else half


def _sign(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (words.view(np.int64) >> 63).view(np.uint64)


def _decimals(array: pa.Array, valid: Bytes, unit: Fraction) -> Steps | Wide:
    bits = array.type.bit_width
    if bits == 32:
        return Steps.of(stored(array, np.int32), valid, unit)
    if bits == 64:
        return Steps.of(stored(array, np.int64), valid, unit)
    width = bits // 64
    limbs = stored(array, np.uint64, per_row=width).reshape(len(array), width)
    low = np.empty(len(array), dtype=np.int64)
    if kernel.narrow(limbs, valid, low):
        return Steps.of(low, valid, unit)
    return Wide(limbs, valid, unit)
