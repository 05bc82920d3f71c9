"""Orders inside groups: how many rows at least are to blame, by pairs that clash and have no row in common."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]
Tiny = NDArray[np.int8]
_BLOCK = 128  # pairs between two looks at a limit, fewer than a byte counts


@njit(cache=True, nogil=True, inline="always")
def far_pairs(rows: Ids, starts: Longs, x: Ids) -> tuple[Ids, Ids]:
    """Disjoint pairs of rows of a group, in the first of which x is lower.

    `rows` as `sorted_groups` gives them; the lower half of a group meets the upper one in turn. O(rows).
    """
    lower, upper = np.empty(len(rows) // 2 + 1, np.int32), np.empty(len(rows) // 2 + 1, np.int32)
    filled = 0
    for group in range(len(starts) - 1):
        first, half = starts[group], (starts[group + 1] - starts[group]) // 2
        apart = starts[group + 1] - first - half
        for at in range(first, first + half):
            lower[filled], upper[filled] = rows[at], rows[at + apart]
            filled += x[rows[at]] < x[rows[at + apart]]
    return lower[:filled].copy(), upper[:filled].copy()


@njit(cache=True, nogil=True, inline="always")
def far_clashes(lower: Ids, upper: Ids, sketches: Tiny, asked: Bools, limit: int) -> Longs:
    """For each of the last columns, how many of these pairs have a lower y in the second row, and how many in the
    first: rows of the result. `sketches` has a row for each row of the table.

    Ends as soon as all that are `asked` for are above `limit`. O(pairs) for each column, many columns at a time.
    """
    columns = len(asked)
    first = sketches.shape[1] - columns
    found = np.zeros((2, columns), np.int64)
    falls, rises = np.zeros(columns, np.uint8), np.zeros(columns, np.uint8)
    for block in range(0, len(lower), _BLOCK):
        for at in range(block, min(block + _BLOCK, len(lower))):
            one, other = sketches[lower[at], first:], sketches[upper[at], first:]
            for y in range(columns):
                falls[y] += np.uint8((one[y] > other[y]) & (other[y] >= 0))
                rises[y] += np.uint8((one[y] < other[y]) & (one[y] >= 0))
        least = limit + 1
        for y in range(columns):
            found[0, y] += falls[y]
            found[1, y] += rises[y]
            if asked[y]:
                least = min(least, found[0, y], found[1, y])
            falls[y], rises[y] = 0, 0
        if least > limit:
            break
    return found


@njit(cache=True, nogil=True, inline="always", plain=True)
def clashing_pairs(rows: Ids, starts: Longs, x: Ids, y: Ids, sign: int, limit: int) -> int:
    """How many disjoint pairs of rows clash: each needs a row removed, so no fewer rows are to blame.

    Ends as soon as there are more than `limit`. `rows` as `sorted_groups` gives them, by x; `sign` is 1 where y should
    rise, -1 where it should fall. O(rows).
    """
    held_x, held_y = np.empty(len(rows) + 1, np.int32), np.empty(len(rows) + 1, np.int32)
    pairs = 0
    for group in range(len(starts) - 1):
        held = 0
        for at in range(starts[group], starts[group + 1]):
            value = y[rows[at]]
            if value < 0:
                continue
            value *= sign
            if held and held_y[held - 1] > value and held_x[held - 1] < x[rows[at]]:
                held -= 1
                pairs += 1
                if pairs > limit:
                    return pairs
            else:
                held_y[held] = value
                held_x[held] = x[rows[at]]
                held += 1
    return pairs


def few_sure_blame(
    rows: Ids, starts: Longs, x: Ids, codes: Ids, ys: Longs, sketches: Tiny, limit: int, halt: Longs
) -> Longs:
    """What `sure_blame` gives, by NumPy, for few rows."""
    sizes = np.diff(starts)
    halves = sizes // 2
    first = np.arange(halves.sum()) + np.repeat(starts[:-1] - np.cumsum(halves) + halves, halves)
    lower, upper = rows[first], rows[first + np.repeat(sizes - halves, halves)]
    pairs = np.flatnonzero(x[lower] < x[upper])
    columns = sketches[:, sketches.shape[1] - len(ys) :]
    found: Longs = np.zeros((2, len(ys)), np.int64)
    for block in range(0, len(pairs), _BLOCK):
        own = pairs[block : block + _BLOCK]
        one, other = columns[lower[own]], columns[upper[own]]
        found += [((one > other) & (other >= 0)).sum(0), ((one < other) & (one >= 0)).sum(0)]
        if (found[:, ys >= 0] > limit).all():
            break
    for place, column in enumerate(ys):
        if column < 0 or halt[0]:
            found[:, place] = 0
            continue
        y = codes[column]
        for form in range(2):
            if found[form, place] <= limit:
                found[form, place] = max(found[form, place], clashing_pairs(rows, starts, x, y, 1 - 2 * form, limit))
    return found


@njit(cache=True, nogil=True, few=few_sure_blame)
def sure_blame(
    rows: Ids, starts: Longs, x: Ids, codes: Ids, ys: Longs, sketches: Tiny, limit: int, halt: Longs
) -> Longs:
    """For each column y (a row of `codes`), how many rows at least are to blame where it should rise with x, and where
    it should fall: rows of the result. Numbers above `limit` may be too low, and those of columns -1 are 0.

    `rows` as `sorted_groups` gives them, by x; the last columns of `sketches` belong to `ys`. Pairs that are far apart
    in x are looked at first, which settles columns that have little to do with each other after few rows. Ends once
    `halt` is set. O(rows) for each y.
    """
    lower, upper = far_pairs(rows, starts, x)
    found = far_clashes(lower, upper, sketches, ys >= 0, limit)
    for place in range(len(ys)):
        if ys[place] < 0 or halt[0]:
            found[:, place] = 0
            continue
        y = codes[ys[place]]
        for form in range(2):
            if found[form, place] <= limit:
                pairs = clashing_pairs(rows, starts, x, y, 1 - 2 * form, limit)
                found[form, place] = max(found[form, place], pairs)
    return found
