"""Values to tiles: the number of a value's place among the cuts of its group.

Group g has the ascending cuts `cuts[starts[g] : starts[g + 1]]`. Each cut is a tile of its own (odd numbers), and so is
each gap around them (even numbers): rows in different tiles compare as their tiles do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode.strings import Bytes, Ints, word_at

_TOP = np.uint64(1 << 63)


@njit(cache=True, nogil=True)
def tile_numbers(
    keys: NDArray[Any], groups: NDArray[np.int64], starts: NDArray[np.int64], cuts: NDArray[Any], out: NDArray[np.int64]
) -> None:
    """The tile of each key among the cuts of its group; 0 where the group is negative. O(n log cuts)."""
    for i in range(len(keys)):
        group = groups[i]
        if group < 0:
            out[i] = 0
            continue
        first = starts[group]
        low, high = first, starts[group + 1]
        last = high
        key = keys[i]
        while low < high:
            middle = (low + high) >> 1
            if cuts[middle] < key:
                low = middle + 1
            else:
                high = middle
        out[i] = 2 * (low - first)
        if low < last and cuts[low] == key:
            out[i] += 1


@njit(cache=True, nogil=True)
def text_windows(data: Bytes, offsets: Ints, prefix: Bytes, out: NDArray[np.int64]) -> None:
    """A number for each text that never reverses their order: its eight bytes after a prefix, all else at the ends."""
    for i in range(len(offsets) - 1):
        first, last = np.int64(offsets[i]), np.int64(offsets[i + 1])
        place = 0  # -1 below all texts that begin with the prefix, 1 above them
        for j in range(len(prefix)):
            if first + j >= last or data[first + j] < prefix[j]:
                place = -1
                break
            if data[first + j] > prefix[j]:
                place = 1
                break
        if place == 0:
            out[i] = np.int64(word_at(data, int(first) + len(prefix), int(last)) ^ _TOP)
        else:
            out[i] = np.int64(-(2**63)) if place < 0 else np.int64(2**63 - 1)
