"""Points that agree on a group and differ in a code, by one pass over a table of groups.

A group's first code is its reference. Where a dependency nearly holds nearly all points have their group's reference,
and only the few that stray from it have to be distinguished.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]
Longs = NDArray[np.int64]
Table = NDArray[np.int32]  # per group: its reference or -1, its points, those of them with the reference


def tally_groups(groups: Ints, codes: Ints, size: int) -> tuple[Table, NDArray[np.int32]]:
    """The table of `size` groups, and the positions of the points that stray. O(n + size)."""
    table = full(3 * size, 0, np.int32).reshape(size, 3)
    table[:, 0] = -1
    strays = empty(len(groups) + 1, np.int32)  # only what is written to takes memory
    found = _tally(groups, codes, table, strays)
    return table, strays[:found].copy()


@njit(cache=True, nogil=True, plain=True)
def _tally(groups: Ints, codes: Ints, table: Table, strays: NDArray[np.int32]) -> int:
    found = 0
    for i in range(len(groups)):
        group, code = groups[i], codes[i]
        if table[group, 0] < 0:
            table[group, 0] = code
        same = int(table[group, 0] == code)
        table[group, 1] += 1
        table[group, 2] += same
        strays[found] = i
        found += 1 - same
    return found


@njit(cache=True, nogil=True, plain=True)
def flag_clashes(groups: Ints, table: Table, flags: NDArray[np.bool_]) -> None:
    """Sets the flag of each point whose group has more than one code."""
    for i in range(len(groups)):
        flags[i] = table[groups[i], 1] > table[groups[i], 2]


def sum_of_squares(sizes: Ints) -> int:
    """The sum of the squares of the sizes."""
    wide = sizes.astype(np.int64)
    return int(np.dot(wide, wide))


@njit(cache=True, nogil=True)
def clashes_of(groups: Ints, table: Table, found: Longs) -> None:
    """For each point that has its group's reference, how many points of the group do not; others get it too."""
    for i in range(len(groups)):
        found[i] = table[groups[i], 1] - table[groups[i], 2]
