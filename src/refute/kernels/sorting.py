"""Linear-time sorts of integer keys that give positions, and the segments of equal keys."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from refute.kernels.memory import empty, full

Ints = NDArray[np.signedinteger]

DIGIT = 11  # bits a radix pass sorts by: 2,048 write streams stay within the caches
ONE_PASS = 12  # bits that are still cheaper to sort by at once than in two passes


def index_dtype(n: int) -> type[np.int32] | type[np.int64]:
    """The narrowest of int32 and int64 that holds positions below `n`."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def sorted_positions(keys: Ints, size: int) -> Ints:
    """The positions of `keys`, all in `[0, size)`, in ascending and stable order of key."""
    n = len(keys)
    positions: Ints = empty(n, index_dtype(n))
    bits = max(1, int(size - 1).bit_length())
    passes = 1 if bits <= ONE_PASS else -(-bits // DIGIT)
    digit = -(-bits // passes)
    if passes == 1:
        _counting_pass(keys, digit, positions)
    else:
        wide = np.uint32 if bits <= 32 else np.uint64
        moved = empty(min(2, passes - 1) * n, wide).reshape(min(2, passes - 1), n)
        _radix_passes(keys, passes, digit, moved, empty(n, positions.dtype), positions)
    return positions


def segment_sizes(keys: Ints, size: int) -> NDArray[np.int64]:
    """How often each key in `[0, size)` occurs."""
    sizes = full(size, 0, np.int64)
    _count(keys, sizes)
    return sizes


def segment_starts(keys: Ints, size: int) -> NDArray[np.int64]:
    """Where each key in `[0, size)` starts among the sorted keys, with the total at the end: shape (size + 1,)."""
    starts = full(size + 1, 0, np.int64)
    _count(keys, starts[1:])
    return np.cumsum(starts, out=starts)


def segment_order(keys: Ints, starts: NDArray[np.int64]) -> Ints:
    """The positions of `keys` by segment of `segment_starts`, ascending inside each."""
    if len(starts) - 1 > 1 << 14:  # far more write streams than the caches hold
        return sorted_positions(keys, len(starts) - 1)
    positions: Ints = empty(len(keys), index_dtype(len(keys)))
    _place(keys, starts[:-1].copy(), positions)
    return positions


@njit(cache=True, nogil=True)
def gather_column(values: Ints, positions: Ints, matrix: NDArray[np.int32], place: int) -> None:
    """Puts the values at these positions into column `place`, from the first row on."""
    for i in range(len(positions)):
        matrix[i, place] = values[positions[i]]


@njit(cache=True, nogil=True)
def _count(keys: Ints, sizes: NDArray[np.int64]) -> None:
    for i in range(len(keys)):
        sizes[keys[i]] += 1


@njit(cache=True, nogil=True)
def _place(keys: Ints, cursor: NDArray[np.int64], positions: Ints) -> None:
    for i in range(len(keys)):
        g = keys[i]
        positions[cursor[g]] = i
        cursor[g] += 1


@njit(cache=True, nogil=True)
def _counting_pass(keys: Ints, digit: int, positions: Ints) -> None:
    cursor = np.zeros((1 << digit) + 1, np.int64)
    for i in range(len(keys)):
        cursor[keys[i] + 1] += 1
    for b in range(1, len(cursor)):
        cursor[b] += cursor[b - 1]
    for i in range(len(keys)):
        b = keys[i]
        positions[cursor[b]] = i
        cursor[b] += 1


@njit(cache=True, nogil=True)
def _radix_passes(
    keys: Ints,
    passes: int,
    digit: int,
    moved: NDArray[np.unsignedinteger],
    spare: Ints,
    positions: Ints,
) -> None:
    """Least significant digit first; keys travel with their positions. O(n passes), one histogram scan for all."""
    n = len(keys)
    buckets = 1 << digit
    mask = buckets - 1
    counts = np.zeros((passes, buckets), np.int64)
    for i in range(n):
        key = keys[i]
        for p in range(passes):
            counts[p, (key >> (p * digit)) & mask] += 1
    for p in range(passes):
        total = 0
        for b in range(buckets):
            here = counts[p, b]
            counts[p, b] = total
            total += here
    if passes % 2 == 1:
        here_order, next_order = spare, positions
    else:
        here_order, next_order = positions, spare
    for i in range(n):  # the first pass reads the keys where they are
        b = keys[i] & mask
        place = counts[0, b]
        counts[0, b] += 1
        moved[0, place] = keys[i]
        next_order[place] = i
    here_order, next_order = next_order, here_order
    source = 0
    for p in range(1, passes - 1):
        shift = p * digit
        for i in range(n):
            key = moved[source, i]
            b = (key >> shift) & mask
            place = counts[p, b]
            counts[p, b] += 1
            moved[1 - source, place] = key
            next_order[place] = here_order[i]
        here_order, next_order = next_order, here_order
        source = 1 - source
    shift = (passes - 1) * digit
    for i in range(n):  # after the last pass nobody reads the keys
        b = (moved[source, i] >> shift) & mask
        place = counts[passes - 1, b]
        counts[passes - 1, b] += 1
        next_order[place] = here_order[i]


def segment_bounds(keys: Ints, values: NDArray[np.int32], size: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The least and the greatest value per key in `[0, size)`; for a key that does not occur, greatest < least."""
    first = full(size, np.iinfo(np.int32).max, np.int32)
    last = full(size, -1, np.int32)
    _widen(keys, values, first, last)
    return first, last


def common_positions(s: NDArray[np.int64], t: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each value that is in both arrays stands in each; both ascend strictly. O(n)."""
    room = min(len(s), len(t))
    s_places, t_places = empty(room, np.int64), empty(room, np.int64)
    total = _intersect(s, t, s_places, t_places)
    return s_places[:total], t_places[:total]


@njit(cache=True, nogil=True)
def _intersect(
    s: NDArray[np.int64], t: NDArray[np.int64], s_places: NDArray[np.int64], t_places: NDArray[np.int64]
) -> int:
    total, i, j = 0, 0, 0
    while i < len(s) and j < len(t):
        if s[i] == t[j]:
            s_places[total], t_places[total] = i, j
            total += 1
        i, j = i + (s[i] <= t[j]), j + (t[j] <= s[i])
    return total


@njit(cache=True, nogil=True)
def _widen(keys: Ints, values: NDArray[np.int32], first: NDArray[np.int32], last: NDArray[np.int32]) -> None:
    for i in range(len(keys)):
        g = keys[i]
        first[g] = min(first[g], values[i])
        last[g] = max(last[g], values[i])
