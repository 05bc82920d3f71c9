"""Float columns as integers: scaled where all values are short decimals, else by their bits. NaN is null."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.kernels.encode import floats as float_kernel
from refute.relation.arrays import read_only, stored, valid_bytes
from refute.relation.encode.dense import int_dtype
from refute.relation.encode.integers import MAX_SIZE, Ints, Steps, limb_codes
from refute.relation.encode.pieces import Pieces

Floats = NDArray[np.float64]

MOST_PLACES = 4
SAMPLE = 256
_SAFE = 2.0**50  # below it neighbouring multiples of 10^-d are different floats, and scaling rounds to the right one
_NULL_KEY = -(2**63)


def floats_of(array: pa.Array) -> Floats:
    """An array of floats as float64, NaN for null; widening is exact."""
    if pt.is_float16(array.type):
        values = stored(array, np.float16).astype(np.float64)
    elif pt.is_float32(array.type):
        values = stored(array, np.float32).astype(np.float64)
    else:
        values = stored(array, np.float64)
    valid = valid_bytes(array)
    return read_only(np.where(valid, values, np.nan) if len(valid) else values)


def whole_steps(values: Floats) -> Steps | None:
    """The column as integers if all its values are whole and below 2^62, else None."""
    low, high, _ = float_kernel.float_bounds(values)
    if not -float(MAX_SIZE) < low <= high < float(MAX_SIZE) or float_kernel.decimal_places(values, 0, 0) < 0:
        return None
    present = ~np.isnan(values)
    whole = np.where(present, values, 0.0).astype(np.int64)
    return Steps.of(whole, present.view(np.uint8), Fraction(1))


def float_codes(pieces: Pieces, floats: Sequence[Floats]) -> tuple[list[Ints], int]:
    """Ordered codes of float columns that share a dictionary, and their size."""
    return _scaled(pieces, floats) or _by_bits(pieces, floats)


def _scaled(pieces: Pieces, floats: Sequence[Floats]) -> tuple[list[Ints], int] | None:
    """round(x * 10^d) minus the smallest, for the least d that loses nothing; None if there is none up to 4."""
    places = _places(pieces, floats)
    if places is None:
        return None
    power = 10.0**places
    spans = [(low, high) for low, high, count in pieces.each(float_kernel.float_bounds, floats) if count]
    if any(max(abs(low), abs(high)) * power >= _SAFE for low, high in spans):
        return None
    base = min((round(low * power) for low, _ in spans), default=0)
    size = max((round(high * power) for _, high in spans), default=base - 1) - base + 1
    columns, parts = pieces.room(int_dtype(size))
    pieces.each(lambda values, out: float_kernel.scale(values, power, base, out), floats, parts)
    return columns, size


def _places(pieces: Pieces, floats: Sequence[Floats]) -> int | None:
    """The fewest decimal places that all values have, or None if these are more than 4."""
    least = 0
    for values in floats:  # most columns that will fail do so at once
        least = int(float_kernel.decimal_places(values[:SAMPLE], least, MOST_PLACES))
        if least < 0:
            return None
    found = pieces.each(lambda values: int(float_kernel.decimal_places(values, least, MOST_PLACES)), floats)
    return None if min(found, default=0) < 0 else max(found, default=0)


def _by_bits(pieces: Pieces, floats: Sequence[Floats]) -> tuple[list[Ints], int]:
    bits = [values.view(np.uint64) for values in floats]
    known = [found for found in pieces.each(float_kernel.magnitudes, bits) if found[1]]
    low = min((int(found[0]) for found in known), default=0)
    high = max((int(found[1]) for found in known), default=0)
    union = 0
    for found in known:
        union |= int(found[2]) | low
    shift = (union & -union).bit_length() - 1 if union else 0
    most = ((high - low) >> shift) + 1
    columns, keys = pieces.room(np.int64)
    spans = pieces.each(lambda part, out: float_kernel.signed_keys(part, low, shift, out), bits, keys)
    if 2 * most + 1 > MAX_SIZE:
        present = [(part != _NULL_KEY).view(np.uint8) for part in keys]
        steps = [Steps.of(part, valid, Fraction(1)) for part, valid in zip(keys, present, strict=True)]
        codes, size = limb_codes(steps)
        return pieces.joined(codes), size
    base = min((int(least) for least, _, count in spans if count), default=0)
    size = max((int(largest) for _, largest, count in spans if count), default=base - 1) - base + 1
    if int_dtype(size) is np.int32:
        columns, parts = pieces.room(np.int32)
    else:
        parts = keys
    pieces.each(lambda part, out: float_kernel.shifted_keys(part, base, out), keys, parts)
    return columns, size
