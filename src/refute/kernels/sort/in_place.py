"""A part of an array, sorted in place: NumPy's `sort` inside a kernel takes Numba a second to compile."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

_FEW = 16  # values that are sorted by inserting one after the other
_DEEP = 64  # halvings of an array: the smaller side waits, so no more of them ever do


@njit(cache=True, nogil=True)
def sort_part(values: NDArray[np.signedinteger], first: int, last: int) -> None:
    """Sorts `values[first:last]` by quicksort, whose pivots are drawn, as no order of values is then a bad one.

    O(n log n) expected.
    """
    waiting = np.empty((_DEEP, 2), np.int64)
    held, state = 0, last - first
    low, high = first, last
    while True:
        while high - low > _FEW:
            state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
            pivot = values[low + (state >> 8) % (high - low)]
            left, right = low, high - 1
            while left <= right:
                while values[left] < pivot:
                    left += 1
                while values[right] > pivot:
                    right -= 1
                if left <= right:
                    value = values[left]
                    values[left] = values[right]
                    values[right] = value
                    left += 1
                    right -= 1
            if right + 1 - low > high - left:
                waiting[held, 0], waiting[held, 1] = low, right + 1
                low = left
            else:
                waiting[held, 0], waiting[held, 1] = left, high
                high = right + 1
            held += 1
        for at in range(low + 1, high):
            value = values[at]
            to = at
            while to > low and values[to - 1] > value:
                values[to] = values[to - 1]
                to -= 1
            values[to] = value
        if held == 0:
            return
        held -= 1
        low, high = waiting[held, 0], waiting[held, 1]
