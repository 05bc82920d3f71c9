"""Distinct points: a rule asks only for the columns it mentions, and over those many rows are alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

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
