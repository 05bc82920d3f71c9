"""Row by row with a running record per group: the linear-time algorithms of Rapidash for at most one inequality."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Int = Any  # an integer scalar of whatever width Numba infers
Ints = NDArray[np.signedinteger]
Int64s = NDArray[np.int64]

ANY, LESS, OTHER = 0, 1, 2  # the comparison besides the group: none, `s < t`, `s != t`


@njit(cache=True, nogil=True)
def _seen(values: Ints, extremes: Int64s, group: Int, kind: Int, value: Int) -> Int:
    """A point in a group's record that goes with `value`, or -1; `extremes[group]` = points of (least, greatest)."""
    low, high = extremes[group, 0], extremes[group, 1]
    if low < 0:
        return -1
    if kind == ANY:
        return np.int64(low)
    if kind == OTHER:
        if values[low] != value:
            return low
        return high if values[high] != value else -1
    return low if values[low] < value else -1


@njit(cache=True, nogil=True)
def _note(values: Ints, extremes: Int64s, group: Int, point: Int) -> None:
    """Let a point into its group's record."""
    if extremes[group, 0] < 0:
        extremes[group, 0] = extremes[group, 1] = point
    elif values[point] < values[extremes[group, 0]]:
        extremes[group, 0] = point
    elif values[point] > values[extremes[group, 1]]:
        extremes[group, 1] = point


@njit(cache=True, nogil=True)
def first_clash(
    rows: tuple[Int64s, Int64s], groups: tuple[Ints, Ints], values: tuple[Ints, Ints], kind: Int, n_groups: Int
) -> tuple[Int, Int]:
    """The points (of s, of t) of the first clash in row order, or (-1, -1).

    Algorithm 1 (kind ANY) and Algorithm 4 (LESS, OTHER) of Rapidash, sections 4.1 and 4.6: each row is held against
    the record of the rows before it, as s and as t, and then joins the record. Rows never meet themselves. `rows`
    ascend on each side. A difference needs only the least and the greatest value seen (section 4.5). O(n).
    """
    s_rows, t_rows = rows
    s_groups, t_groups = groups
    s_values, t_values = values
    s_record = np.full((n_groups, 2), -1, np.int64)
    t_record = np.full((n_groups, 2), -1, np.int64)
    i, j = 0, 0
    while i < len(s_rows) or j < len(t_rows):
        as_s = i < len(s_rows) and (j == len(t_rows) or s_rows[i] <= t_rows[j])
        as_t = j < len(t_rows) and (i == len(s_rows) or t_rows[j] <= s_rows[i])
        if as_t:
            found = _seen(s_values, s_record, t_groups[j], kind, t_values[j])
            if found >= 0:
                return found, j
        if as_s:
            # `s < t` seen from s: the greatest t counts; in terms of the record, exchange the two and negate
            group, value = s_groups[i], s_values[i]
            if kind == LESS:
                high = t_record[group, 1]
                if high >= 0 and value < t_values[high]:
                    return i, high
            else:
                found = _seen(t_values, t_record, group, kind, value)
                if found >= 0:
                    return i, found
            _note(s_values, s_record, group, i)
            i += 1
        if as_t:
            _note(t_values, t_record, t_groups[j], j)
            j += 1
    return -1, -1
