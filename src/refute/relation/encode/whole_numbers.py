"""Whole numbers of a unit, of any size, as strings of bytes that sort as they do; among floats too."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.errors import SchemaError
from refute.kernels.encode import floats as float_kernel
from refute.kernels.encode import integers as kernel
from refute.relation.arrays import ALL_VALID, Bytes, numbers, row_numbers
from refute.relation.encode.exact import comparable_list, entries, unit_of
from refute.relation.encode.floats import floats_of
from refute.relation.encode.integers import Steps, integers_of, wrapped
from refute.relation.encode.strings import Strings
from refute.relation.keys.dictionary import strings_of_words

Longs = NDArray[np.int64]
Words = NDArray[np.uint64]

_SIGN = np.uint64(2**63)
_EXACT = 2**53  # floats hold all whole numbers up to it
_MOST_PER_UNIT = 10**22  # the largest power of ten that is a float
_NAN_KEY = -(2**63)
_NONE: Longs = np.empty(0, dtype=np.int64)


class WholeNumbers:
    """The values k * unit of some columns, with -reach <= k < reach."""

    def __init__(self, unit: Fraction, reach: int) -> None:
        self.unit = unit
        self._factors: dict[pa.DataType, int] = {}
        self._width = (reach.bit_length() + 1 + 63) // 64  # words of a number with its sign

    def factor(self, kind: pa.DataType) -> int:
        """How many units a stored step of a type is worth; raises SchemaError where that is not a whole number."""
        known = self._factors.get(kind)
        if known is not None:
            return known
        if pt.is_floating(kind):
            raise SchemaError(f"{kind} does not fit keys of whole numbers. Cast it to a decimal.", type=str(kind))
        factor = unit_of(kind) / self.unit
        if factor.denominator != 1:
            raise SchemaError(f"{kind} is finer than the types of these keys. Cast it to one of those.", type=str(kind))
        self._factors[kind] = int(factor)
        return int(factor)

    def near(self, array: pa.Array, most: int) -> tuple[Longs, Bytes, Longs]:
        """The k of each row, which rows are valid, and the rows where it is above `most` in amount: theirs is wrong."""
        steps = integers_of(array)
        factor = self.factor(array.type)
        most //= factor
        far: NDArray[np.bool_] | None = None
        values: NDArray[np.integer]
        if isinstance(steps, Steps):
            values = steps.values
            if steps.count and not -most <= steps.low <= steps.high <= most:
                far = values > most if values.dtype == np.uint64 else (values > most) | (values < -most)
        else:
            values = steps.limbs[:, 0].view(np.int64)
            beyond = (steps.limbs[:, 1:].view(np.int64) != (values >> 63)[:, None]).any(axis=1)
            far = beyond | (values > most) | (values < -most)
        out = scaled(values, steps.valid, factor, 0)
        if far is None:
            return out, steps.valid, _NONE
        if len(steps.valid):
            far &= steps.valid.view(np.bool_)
        return out, steps.valid, np.flatnonzero(far)

    def words(self, array: pa.Array, rows: Longs) -> Words:
        """The k of some rows, none of which is null, as rows of words that sort as they do, the first word first."""
        values, places = _distinct(array, rows)
        return self._words([int(value / self.unit) for value in values])[places]

    def among_floats(self, array: pa.Array) -> Strings:
        """Floats or whole numbers as strings: the last float that is not above, then the k of what is not a float."""
        if pt.is_floating(array.type):
            keys, valid = float_keys(floats_of(array))
            return strings_of_words(_unsigned(keys).reshape(-1, 1), None, valid)
        k, valid, far = self.near(array, _EXACT)
        if self.unit.numerator != 1 or self.unit.denominator > _MOST_PER_UNIT:
            far = np.flatnonzero(valid) if len(valid) else np.arange(len(array))
        floors = np.empty(len(k), dtype=np.float64)
        exact = np.empty(len(k), dtype=np.uint8)
        float_kernel.floor_floats(k, float(min(self.unit.denominator, _MOST_PER_UNIT)), floors, exact)
        words = np.zeros((len(k), 1 + self._width), dtype=np.uint64)
        words[:, 1:] = np.where(k < 0, np.uint64(2**64 - 1), np.uint64(0))[:, None]
        words[:, -1] = k.view(np.uint64)
        words[:, 1] ^= _SIGN
        if len(far):
            values, places = _distinct(array, far)
            below = [_floor(value) for value in values]
            floors[far] = np.array(below)[places]
            is_exact = np.array([not math.isinf(f) and Fraction(f) == v for f, v in zip(below, values, strict=True)])
            exact[far] = is_exact[places]
            words[far, 1:] = self._words([int(value / self.unit) for value in values])[places]
        words[:, 0] = _unsigned(float_keys(floors)[0])
        return strings_of_words(words, np.where(exact, 1, 1 + self._width), valid)

    def _words(self, numbers: list[int]) -> Words:
        size = 8 * self._width
        bias = 1 << (8 * size - 1)
        if any(not -bias <= number < bias for number in numbers):
            raise SchemaError("A number is out of range for the types of these keys.")
        data = b"".join((number + bias).to_bytes(size, "big") for number in numbers)
        return np.frombuffer(data, dtype=">u8").astype(np.uint64).reshape(-1, self._width)


def scaled(values: NDArray[np.integer], valid: Bytes, factor: int, shift: int) -> Longs:
    """Each value times a factor plus a shift, modulo 2^64."""
    out = np.empty(len(values), dtype=np.int64)
    signed = values.view(np.int64) if values.dtype == np.uint64 else values
    kernel.affine(signed, valid, wrapped(factor), wrapped(shift), out)
    return out


def float_keys(values: NDArray[np.float64]) -> tuple[Longs, Bytes]:
    """Whole numbers that sort and tie as floats do, and which rows are valid: those that are not NaN."""
    out = np.empty(len(values), dtype=np.int64)
    _, _, count = float_kernel.signed_keys(values.view(np.uint64), 0, 0, out)
    return out, ALL_VALID if count == len(values) else (out != _NAN_KEY).view(np.uint8)


def _unsigned(keys: Longs) -> Words:
    return keys.view(np.uint64) ^ _SIGN


def _distinct(array: pa.Array, rows: Longs) -> tuple[list[Any], Longs]:
    """The different values of some rows, exactly, and which of them each row has."""
    found = entries(pa.chunked_array([array.take(row_numbers(rows))])).chunk(0)
    return comparable_list(found.dictionary), numbers(found.indices)


def _floor(value: Fraction) -> float:
    """The last float that is not above."""
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if near == -math.inf:
        return near
    return math.nextafter(near, -math.inf) if near == math.inf or Fraction(near) > value else near
