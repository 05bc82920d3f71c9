"""Points that stand for all: a rule asks only for the columns it mentions, and over those many rows are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def first_two(keys: Array, most: Scalar) -> Array:
    """The positions of the first two occurrences of every key, ascending; empty once there are more than `most`.

    keys: (n,) int64, not negative. Two occurrences are enough to tell whether a point can pair with one like itself.
    """
    cells = 1024
    while cells < 4 * most:
        cells *= 2
    table = np.full(cells, -1, np.int64)
    twice = np.zeros(cells, np.bool_)
    out = np.empty(most, np.int64)
    found = 0
    mask = cells - 1
    for i in range(keys.shape[0]):
        key = keys[i]
        at = np.int64((np.uint64(key) * _SPREAD) >> np.uint64(33)) & mask
        while table[at] != -1 and table[at] != key:
            at = (at + 1) & mask
        if table[at] == key and twice[at]:
            continue
        if found == most:
            return out[:0]
        twice[at] = table[at] == key
        table[at] = key
        out[found] = i
        found += 1
    return out[:found]


@njit(cache=True, nogil=True)
def outermost(keys: Array, values: Array, colours: Array, most: Scalar) -> Array:
    """The positions that stand for all of their key, ascending; empty once there are more than `most` keys.

    keys, values, colours: (n,) int64, keys not negative. Of the positions of a key these are kept: the first of the
    lowest value and the last of the highest, and the lowest and the highest among those of another colour than that
    one's. Whatever colour is barred, the lowest and the highest value of the key that are left are among them.
    """
    cells = 1024
    while cells < 2 * most:
        cells *= 2
    mask = cells - 1
    table = np.full(cells, -1, np.int64)
    kept = np.full((4, most), -1, np.int64)  # lowest, lowest of another colour, highest, highest of another colour
    found = 0
    for i in range(keys.shape[0]):
        key = keys[i]
        at = np.int64((np.uint64(key) * _SPREAD) >> np.uint64(33)) & mask
        while table[at] != -1 and keys[kept[0, table[at]]] != key:
            at = (at + 1) & mask
        if table[at] == -1:
            if found == most:
                return np.empty(0, np.int64)
            table[at] = found
            kept[0, found] = i
            kept[2, found] = i
            found += 1
            continue
        k = table[at]
        value, colour = values[i], colours[i]
        low, high = kept[0, k], kept[2, k]
        if value < values[low]:
            if colour != colours[low]:
                kept[1, k] = low
            kept[0, k] = i
        elif colour != colours[low] and (kept[1, k] < 0 or value < values[kept[1, k]]):
            kept[1, k] = i
        if value >= values[high]:
            if colour != colours[high]:
                kept[3, k] = high
            kept[2, k] = i
        elif colour != colours[high] and (kept[3, k] < 0 or value > values[kept[3, k]]):
            kept[3, k] = i
    chosen = np.zeros(keys.shape[0], np.bool_)
    for k in range(found):
        for place in range(4):
            if kept[place, k] >= 0:
                chosen[kept[place, k]] = True
    return np.flatnonzero(chosen)
