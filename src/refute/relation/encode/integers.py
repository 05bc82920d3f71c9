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

from refute.kernels.encode import integers as kernel
from refute.relation.arrays import Bytes, read_only, stored, truths, valid_bytes
from refute.relation.encode.dense import dense_codes, int_dtype
from refute.relation.encode.exact import unit_of
from refute.relation.encode.pieces import Pieces
from refute.runtime.arrays import empty

Ints = NDArray[np.signedinteger]
AnyInts = NDArray[np.integer]

MAX_SIZE = 2**62  # codes may be doubled
_CODE_BITS = 62


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
        values = read_only(values)
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
        return Steps.of(truths(array).astype(np.int32), valid, unit)
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


def step_codes(pieces: Pieces, steps: Sequence[Steps]) -> tuple[list[Ints], int] | None:
    """Value minus the smallest, in a unit that all columns share, and the size; None when that is beyond 62 bits."""
    used = [piece for piece in steps if piece.count]
    units = {piece.unit for piece in used}
    unit = reduce(common_unit, units) if units else Fraction(1)
    factors = [int(piece.unit / unit) if piece.count and len(units) > 1 else 1 for piece in steps]
    spans = [(piece.low * f, piece.high * f) for piece, f in zip(steps, factors, strict=True) if piece.count]
    base = min((low for low, _ in spans), default=0)
    size = max((high for _, high in spans), default=-1) - base + 1
    if size > MAX_SIZE:
        return None

    def shift(piece: Steps, factor: int, out: Ints) -> None:
        if piece.count == 0:
            out[:] = -1
            return
        values = piece.values.view(np.int64) if piece.values.dtype == np.uint64 else piece.values
        kernel.affine(values, piece.valid, wrapped(factor), wrapped(-base), out)

    columns, parts = pieces.room(int_dtype(size))
    pieces.each(shift, steps, factors, parts)
    return columns, size


def limb_codes(columns: Sequence[Steps | Wide]) -> tuple[list[Ints], int]:
    """Codes of columns of one unit whose values span more than 62 bits; ordered, not dense.

    Takes bits from the top, as many as 62 hold; replaces what it has by ranks whenever that is full, and goes on.
    """
    if all(isinstance(column, Steps) and column.values.dtype == np.int64 for column in columns):
        return _full_range_codes([column for column in columns if isinstance(column, Steps)])
    limbs = _ordered_limbs(columns)
    codes: list[Ints] = [_zeros(column.valid, len(part)) for column, part in zip(columns, limbs, strict=True)]
    left = _varying(limbs, codes).bit_length()
    size = 1
    while left:
        room = _CODE_BITS - (size - 1).bit_length()
        if room < min(left, _CODE_BITS // 2):
            codes, size = dense_codes(codes, size)
            continue
        taken = min(room, left)
        left -= taken
        codes = [
            np.where(code < 0, -1, (code.astype(np.int64) << taken) | _bits(part, left, taken))
            for code, part in zip(codes, limbs, strict=True)
        ]
        size <<= taken
    return codes, size


def _full_range_codes(columns: Sequence[Steps]) -> tuple[list[Ints], int]:
    """The common case of one signed limb: ranks of the upper 62 bits, then the two that are left."""
    upper: list[Ints] = []
    for column in columns:
        part = (column.values >> 2) + 2**61
        if len(column.valid):
            part[column.valid == 0] = -1
        upper.append(part)
    ranks, size = dense_codes(upper, 2**62)
    size *= 4
    found: list[Ints] = []
    for column, rank in zip(columns, ranks, strict=True):
        out: Ints = empty(len(rank), int_dtype(size))
        kernel.append_low_bits(rank, column.values, out)
        found.append(out)
    return found, size


def _ordered_limbs(columns: Sequence[Steps | Wide]) -> list[NDArray[np.uint64]]:
    """Limbs of one width for all columns, shape (n, width) each, that order as unsigned numbers."""
    unsigned = [isinstance(column, Steps) and column.values.dtype == np.uint64 for column in columns]
    width = max(column.limbs.shape[1] if isinstance(column, Wide) else 1 for column in columns)
    if any(unsigned) and not all(unsigned):
        width = max(width, 2)
    found = []
    for column, is_unsigned in zip(columns, unsigned, strict=True):
        if isinstance(column, Wide):
            own = column.limbs
        else:
            own = column.values.astype(np.uint64 if is_unsigned else np.int64).view(np.uint64).reshape(-1, 1)
        extended = np.empty((len(own), width), dtype=np.uint64)
        extended[:, : own.shape[1]] = own
        extended[:, own.shape[1] :] = 0 if is_unsigned else (own[:, -1:].view(np.int64) >> 63).view(np.uint64)
        if not all(unsigned):
            extended[:, -1] ^= np.uint64(2**63)
        found.append(extended)
    return found


def _zeros(valid: Bytes, rows: int) -> NDArray[np.int64]:
    return valid.astype(np.int64) - 1 if len(valid) else np.zeros(rows, dtype=np.int64)


def _varying(limbs: Sequence[NDArray[np.uint64]], codes: Sequence[Ints]) -> int:
    """The bits that are not the same in all valid rows, as one number."""
    used = np.concatenate([part[code >= 0] for part, code in zip(limbs, codes, strict=True)])
    every = np.bitwise_and.reduce(used, axis=0)
    some = np.bitwise_or.reduce(used, axis=0)
    return sum(int(bits) << (64 * limb) for limb, bits in enumerate(some & ~every))


def _bits(limbs: NDArray[np.uint64], low: int, count: int) -> NDArray[np.int64]:
    """`count` bits, at most 62, from bit `low` up."""
    limb, shift = divmod(low, 64)
    found = limbs[:, limb] >> np.uint64(shift)
    if shift + count > 64:
        found |= limbs[:, limb + 1] << np.uint64(64 - shift)
    return (found & np.uint64((1 << count) - 1)).astype(np.int64)


def wrapped(number: int) -> int:
    """The number modulo 2^64, as a signed one."""
    return (number + 2**63) % 2**64 - 2**63


def common_unit(a: Fraction, b: Fraction) -> Fraction:
    """The largest unit of which both are whole multiples."""
    return Fraction(math.gcd(a.numerator * b.denominator, b.numerator * a.denominator), a.denominator * b.denominator)


def _decimals(array: pa.Array, valid: Bytes, unit: Fraction) -> Steps | Wide:
    bits = array.type.bit_width
    if bits == 32:
        return Steps.of(stored(array, np.int32), valid, unit)
    if bits == 64:
        return Steps.of(stored(array, np.int64), valid, unit)
    width = bits // 64
    limbs = stored(array, np.uint64, per_row=width).reshape(len(array), width)
    lowest: NDArray[np.int64] = empty(len(array), np.int64)
    fits, low, high, count = kernel.narrow(limbs, valid, lowest)
    return Steps(read_only(lowest), valid, unit, int(low), int(high), int(count)) if fits else Wide(limbs, valid, unit)
