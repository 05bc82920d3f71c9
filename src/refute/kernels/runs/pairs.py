"""Stored pairs of slots, looked through for those that rows take along when they go."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Flags = NDArray[np.uint8]

DEAD, ALIVE, GOING = 0, 1, 2


@njit(cache=True, nogil=True)
def touched(s: Longs, t: Longs, flags: Flags, out: Longs) -> int:
    """Puts the places of open pairs of which a row is going into `out` (room for all); how many there are. O(pairs)."""
    found = 0
    for i in range(len(s)):
        one, other = flags[s[i]], flags[t[i]]
        if one != DEAD and other != DEAD and (one == GOING or other == GOING):
            out[found] = i
            found += 1
    return found
