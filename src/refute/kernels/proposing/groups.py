"""Groups of rows that agree: refined by one more column, and the rows in them that another column blames.

A grouping lists the rows of groups with at least two rows, group after group (`order`), and where each group begins
(`starts`, with the end last). Codes are numbers of values, -1 for null; rows that are null take no part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
UNIT = 1024
"""Parts of a row in which sums of fractions are kept: whole numbers add up to the same in any order."""


@njit(cache=True, nogil=True)
def refine(order: Ids, starts: Longs, codes: Ids, counts: Longs) -> tuple[Ids, Longs]:
    """The grouping in which rows agree on one more column, a group's parts beside each other. O(rows).

    `counts` has room for every code twice over and comes and goes as zeros.
    """
    half = len(counts) // 2
    rows = np.empty(len(order), np.int32)
    ends = np.empty(len(order) // 2 + 1, np.int64)
    ends[0] = 0
    filled, groups = 0, 0
    for group in range(len(starts) - 1):
        first, last = starts[group], starts[group + 1]
        for at in range(first, last):
            code = codes[order[at]]
            if code >= 0:
                counts[code] += 1
        for at in range(first, last):
            code = codes[order[at]]
            if code >= 0 and counts[code] >= 2:
                if counts[half + code] == 0:
                    counts[half + code] = filled + 1
                    filled += counts[code]
                    groups += 1
                    ends[groups] = filled
                rows[counts[half + code] - 1] = order[at]
                counts[half + code] += 1
        for at in range(first, last):
            code = codes[order[at]]
            if code >= 0:
                counts[code] = 0
                counts[half + code] = 0
    return rows[:filled].copy(), ends[: groups + 1].copy()


@njit(cache=True, nogil=True)
def blamed_by(
    order: Ids, starts: Longs, codes: Ids, rights: Longs, limits: Longs, common: Ids, counts: Longs, halt: Longs
) -> Longs:
    """Four numbers for each right side (a row of `codes`): rows of groups where at least two have a value, the fewest
    rows to remove so that each group has one value, how many rows do not have the most common value of all, and how the
    rows to blame cluster: the sum over groups of b (b - 1) / (m - 1), for b of m rows to blame, in parts of UNIT.

    Where `common` has a code, the rows that do not have it are given instead of those that do not have the most common
    one. A right side ends as soon as more than its limit are to blame, as their number only grows. `counts` has room
    for the codes of any column, twice over. Ends once `halt` is set. O(rows) for each.
    """
    found = np.zeros((len(rights), 4), np.int64)
    for place in range(len(rights)):
        if halt[0]:
            break
        right = rights[place]
        rows, blame, rest, clustered = _to_blame(order, starts, codes[right], counts, limits[place], common[place])
        found[place, 0], found[place, 1], found[place, 2], found[place, 3] = rows, blame, rest, clustered
    return found


@njit(cache=True, nogil=True)
def _to_blame(
    order: Ids, starts: Longs, codes: Ids, counts: Longs, limit: int, common: int
) -> tuple[int, int, int, int]:
    half = len(counts) // 2
    rows, blame, clustered, ended, highest = 0, 0, 0, len(starts) - 1, -1
    for group in range(len(starts) - 1):
        first, last = starts[group], starts[group + 1]
        present, most = 0, 0
        for at in range(first, last):
            code = codes[order[at]]
            if code >= 0:
                present += 1
                counts[code] += 1
                most = max(most, counts[code])
        if present >= 2:
            rows += present
            blame += present - most
            clustered += (present - most) * (present - most - 1) * UNIT // (present - 1)
        for at in range(first, last):
            code = codes[order[at]]
            if code >= 0:
                counts[code] = 0
                highest = max(highest, code)
                if present >= 2:
                    counts[half + code] += 1
        if blame > limit:
            ended = group + 1
            break
    most = 0 if common < 0 else counts[half + common]
    if highest < starts[ended]:  # fewer codes than rows
        for code in range(highest + 1):
            if common < 0:
                most = max(most, counts[half + code])
            counts[half + code] = 0
    else:
        for at in range(starts[ended]):
            code = codes[order[at]]
            if code >= 0:
                if common < 0:
                    most = max(most, counts[half + code])
                counts[half + code] = 0
    return rows, blame, rows - most, clustered
