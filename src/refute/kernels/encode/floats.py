"""Floats to integers that sort and tie as they do: decimals by scaling, all others by their bits. NaN is null."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Floats = NDArray[np.float64]
Ints = NDArray[np.signedinteger]

BLOCK = 1024
_MAGNITUDE = np.uint64(0x7FFFFFFFFFFFFFFF)


@njit(cache=True, nogil=True, plain=True)
def decimal_places(values: Floats, start: int, most: int) -> int:
    """The fewest places d in [start, most] with round(x * 10^d) / 10^d == x for all x, or -1. Skips NaN. O(n).

    A value with d places has them for every larger d too, as long as x * 10^d stays well below 2^53, which the caller
    checks by the bounds. Hence one pass that raises d where it must.
    """
    places = start
    power = 10.0**places
    n = len(values)
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        while True:
            wrong = 0
            for i in range(first, last):
                x = values[i]
                wrong += (np.rint(x * power) / power != x) & (x == x)
            if wrong == 0:
                break
            if places == most:
                return -1
            places += 1
            power = 10.0**places
    return places


@njit(cache=True, nogil=True, plain=True)
def float_bounds(values: Floats) -> tuple[float, float, int]:
    """Smallest and largest value that is not NaN, and how many there are; (0, 0, 0) if there are none. O(n)."""
    low = np.inf
    high = -np.inf
    count = 0
    for i in range(len(values)):
        x = values[i]
        low = x if x < low else low
        high = x if x > high else high
        count += x == x
    return (low, high, count) if count else (0.0, 0.0, 0)


@njit(cache=True, nogil=True, plain=True)
def scale(values: Floats, power: float, base: int, out: Ints) -> None:
    """Fills `out` with round(x * power) - base, -1 for NaN. O(n)."""
    for i in range(len(values)):
        x = values[i]
        out[i] = np.int64(np.rint(x * power)) - base if x == x else -1


@njit(cache=True, nogil=True)
def magnitudes(bits: NDArray[np.uint64]) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Smallest and largest magnitude bits that are neither zero nor NaN, and all of them or-ed; (0, 0, 0) if none."""
    low = _MAGNITUDE
    high = np.uint64(0)
    union = np.uint64(0)
    infinity = np.uint64(0x7FF0000000000000)
    for i in range(len(bits)):
        magnitude = bits[i] & _MAGNITUDE
        if magnitude <= infinity:
            union |= magnitude
            high = max(high, magnitude)
            if magnitude != 0:
                low = min(low, magnitude)
    return (low, high, union) if high != 0 else (np.uint64(0), np.uint64(0), np.uint64(0))


@njit(cache=True, nogil=True)
def signed_keys(
    bits: NDArray[np.uint64], low: int, shift: int, out: NDArray[np.int64]
) -> tuple[np.int64, np.int64, int]:
    """Fills `out` with the sign times ((magnitude - low) >> shift) + 1; 0 for zero, the least int64 for NaN. O(n).

    The least and the largest key come back, and how many are of no NaN. Magnitudes order as their bits do; taking
    off the smallest closes the gap around zero, and the shift drops bits that are zero in all values, so keys of
    one column usually span far less than 63 bits.
    """
    infinity = np.uint64(0x7FF0000000000000)
    drop = np.uint64(shift)
    base = np.uint64(low)
    null = np.int64(-(2**63))
    least = np.int64(2**63 - 1)
    largest = null
    count = 0
    for i in range(len(bits)):
        magnitude = bits[i] & _MAGNITUDE
        if magnitude > infinity:
            out[i] = null
            continue
        key = np.int64(0)
        if magnitude != 0:
            key = np.int64((magnitude - base) >> drop) + 1
            if bits[i] >> np.uint64(63):
                key = -key
        least = min(least, key)
        largest = max(largest, key)
        count += 1
        out[i] = key
    return least, largest, count


@njit(cache=True, nogil=True)
def shifted_keys(keys: NDArray[np.int64], base: int, out: Ints) -> None:
    """Fills `out`, which may be `keys`, with each key minus `base`, -1 for NaN. O(n)."""
    null = np.int64(-(2**63))
    for i in range(len(keys)):
        out[i] = keys[i] - base if keys[i] != null else -1


@njit(cache=True, nogil=True, plain=True)
def nearest_steps(values: Floats, per_unit: float, most: int, base: int, out: NDArray[np.int64]) -> None:
    """Fills `out` with base + 3k + the sign of x * per_unit - k, where k is a whole number next to the product. O(n).

    Exact: the product is its rounded value plus an error that is known exactly (Dekker 1971). Products of `most` and
    more become k = most with the sign of x; NaN becomes -1. `per_unit` is a power of ten that a float holds exactly.
    """
    limit = float(most)
    for i in range(len(values)):
        x = values[i]
        product = x * per_unit
        if x != x:
            out[i] = -1
        elif abs(product) >= limit:
            out[i] = base + 3 * most + 1 if x > 0 else base - 3 * most - 1
        elif abs(x) < 1e-200:
            out[i] = base + (x > 0) - (x < 0)
        else:
            near = np.rint(product)
            step = 0.0
            off = product - near
            if off == 0.0:  # else it is larger than the error, which cannot change its sign
                error = _product_error(x, per_unit, product)
                step = np.rint(error)
                off = error - step
            out[i] = base + 3 * (np.int64(near) + np.int64(step)) + (off > 0) - (off < 0)


@njit(cache=True, nogil=True)
def floor_floats(numbers: NDArray[np.int64], per_unit: float, floors: Floats, exact: NDArray[np.uint8]) -> None:
    """Fills `floors` with the last float that is not above number / per_unit, `exact` with whether it is equal. O(n).

    Exact for numbers of up to 2^53 in amount and powers of ten up to 10^22: both are floats, so the quotient is
    rounded once, and what it is off by has the sign of numbers whose differences are known exactly.
    """
    for i in range(len(numbers)):
        number = float(numbers[i])
        quotient = number / per_unit
        product = quotient * per_unit
        off = (number - product) - _product_error(quotient, per_unit, product)
        floors[i] = np.nextafter(quotient, -np.inf) if off < 0.0 else quotient
        exact[i] = off == 0.0


@njit(cache=True, nogil=True, plain=True)
def _product_error(a: float, b: float, product: float) -> float:
    """Exactly a * b - product, where product is a * b rounded and nothing over- or underflows."""
    a_big = a * 134217729.0
    a_high = a_big - (a_big - a)
    a_low = a - a_high
    b_big = b * 134217729.0
    b_high = b_big - (b_big - b)
    b_low = b - b_high
    return ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
