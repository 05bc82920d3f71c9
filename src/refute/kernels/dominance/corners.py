"""Points below others in one or two dimensions, counted by a sort and a Fenwick tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _paired_sort(values: Int32s) -> Int64s:
    """The values in ascending order, each in the upper half of a word whose lower half is its position."""
    words = np.empty(len(values), np.int64)
    for i in range(len(values)):
        words[i] = (np.int64(values[i]) << 32) | i
    words.sort()
    return words


@njit(cache=True, nogil=True)
def count_below(sx: Int32s, sy: Int32s, tx: Int32s, ty: Int32s, one: bool, found: Int64s) -> Int:
    """The number of pairs with `sx < tx` and `sy < ty`; `found[j]` is set to those of point j of t. O(n log n).

    Points of s are entered in order of x. A Fenwick tree over their places in order of y counts the entered ones.
    With `one`, x is all that counts, which needs no Fenwick tree.
    """
    s_by_x, t_by_x = _paired_sort(sx), _paired_sort(tx)
    total, entered = np.int64(0), 0
    n = 0 if one else len(sx)
    place = np.empty(n, np.int32)  # of a point of s in order of y
    bound = np.empty(0 if one else len(tx), np.int32)  # how many points of s are below a point of t in y
    if not one:
        s_by_y, t_by_y = _paired_sort(sy), _paired_sort(ty)
        i = 0
        for k in range(len(t_by_y)):
            while i < n and (s_by_y[i] >> 32) < (t_by_y[k] >> 32):
                i += 1
            bound[t_by_y[k] & 0xFFFFFFFF] = i
        for i in range(n):
            place[s_by_y[i] & 0xFFFFFFFF] = i
    sums = np.zeros(n + 1, np.int32)
    for k in range(len(t_by_x)):
        value, j = t_by_x[k] >> 32, t_by_x[k] & 0xFFFFFFFF
        while entered < len(s_by_x) and (s_by_x[entered] >> 32) < value:
            if not one:
                at = place[s_by_x[entered] & 0xFFFFFFFF] + 1
                while at <= n:
                    sums[at] += 1
                    at += at & -at
            entered += 1
        here = np.int64(entered)
        if not one:
            here, at = np.int64(0), bound[j]
            while at > 0:
                here += sums[at]
                at &= at - 1
        found[j] = here
        total += here
    return total
