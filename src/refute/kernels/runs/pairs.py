"""Stored pairs of slots, looked through for those that rows take along when they go."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Slots: TypeAlias = NDArray[np.signedinteger[Any]]  # of 32 or 64 bits
Flags = NDArray[np.uint8]

DEAD, ALIVE, GOING = 0, 1, 2  # GOING is a bit of its own


@njit(cache=True, nogil=True)
def touched(s: Slots, t: Slots, flags: Flags, out: Longs) -> int:
    """How many open pairs there are of which a row is going; the places of the first are put into `out`. O(pairs)."""
    found = 0
    for i in range(len(s)):
        one, other = flags[np.uint64(s[i])], flags[np.uint64(t[i])]  # unsigned: no index counts from the end
        if (one | other) & GOING and one != DEAD and other != DEAD:
            if found < len(out):
                out[found] = i
            found += 1
    return found
