"""Stored pairs of slots, looked through for those that rows take along when they go."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Slots: TypeAlias = NDArray[np.signedinteger[Any]]  # of 32 or 64 bits
Flags = NDArray[np.uint8]  # 0 for a row that is not there any more
Bits = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def bits_of(slots: Longs, bits: Bits) -> None:
    """Sets the bits of these slots, 64 to a word."""
    for slot in slots:
        bits[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)


@njit(cache=True, nogil=True)
def touched(s: Slots, t: Slots, going: Bits, alive: Flags, out: Longs) -> int:
    """How many open pairs there are of which a row is going; the places of the first are put into `out`. O(pairs).

    Few rows go, so for most pairs nothing is read but bits, which are near: flags of all rows are eight times as much.
    """
    found = 0
    one, six, low = np.uint64(1), np.uint64(6), np.uint64(63)
    for i in range(len(s)):
        a, b = np.uint64(s[i]), np.uint64(t[i])  # unsigned: no index counts from the end
        if ((going[a >> six] >> (a & low)) | (going[b >> six] >> (b & low))) & one and alive[a] and alive[b]:
            if found < len(out):
                out[found] = i
            found += 1
    return found


@njit(cache=True, nogil=True)
def about(s: Slots, t: Slots, rows: Bits, out: Longs) -> int:
    """The places of those pairs of which a row is among some, into `out`, which is as long; how many. O(pairs).

    Slots may be beyond all that bits say something of.
    """
    found = 0
    one, six, low, most = np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(len(rows))
    for i in range(len(s)):
        a, b = np.uint64(s[i]), np.uint64(t[i])  # unsigned: no index counts from the end
        in_a = (a >> six) < most and (rows[a >> six] >> (a & low)) & one
        if in_a or ((b >> six) < most and (rows[b >> six] >> (b & low)) & one):
            out[found] = i
            found += 1
    return found
