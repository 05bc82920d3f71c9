"""Counting dominated pairs from packed keys: what is swept, the group and the cell of a point are one integer each.

Sorting the integers themselves leaves no position to follow, and all cells of a group are a few words of lanes: a point
is added to every cell above its own by as many additions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.sort.sorting import DIGIT

Ints = NDArray[np.signedinteger]
Longs = NDArray[np.int64]
Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def add_digit(codes: Ints, turned: bool, offset: int, factor: int, keys: Longs, is_first: bool) -> None:
    """Adds `factor` times `offset + code`, or `offset - code` if turned, to each key; the first digit starts it."""
    sign = -factor if turned else factor
    offset *= factor
    if is_first:
        for i in range(len(codes)):
            keys[i] = offset + sign * codes[i]
    else:
        for i in range(len(codes)):
            keys[i] += offset + sign * codes[i]


@njit(cache=True, nogil=True)
def bucket_sizes(codes: Ints, turned: bool, offset: int, shift: int, sizes: Longs) -> None:
    """Counts codes, read as above, by their bits above `shift`."""
    sign = -1 if turned else 1
    for i in range(len(codes)):
        sizes[(offset + sign * codes[i]) >> shift] += 1


@njit(cache=True, nogil=True)
def deal_block(keys: Longs, shift: int, cursor: Longs, dealt: Longs) -> None:
    """Puts each key where the cursor of its bucket, its bits above `shift`, stands."""
    for i in range(len(keys)):
        bucket = keys[i] >> shift
        dealt[cursor[bucket]] = keys[i]
        cursor[bucket] += 1


@njit(cache=True, nogil=True)
def _sort(keys: Longs, moved: Longs, low: int, bits: int, counts: Longs) -> bool:
    """Sorts keys by the `bits` bits from `low` up, least significant digit first; whether they are in `moved` now."""
    passes = -(-bits // DIGIT)
    if passes == 0 or len(keys) < 2:
        return False
    digit = -(-bits // passes)
    mask = (1 << digit) - 1
    for p in range(passes):
        shift = low + p * digit
        counts[: mask + 1] = 0
        for i in range(len(keys)):
            counts[(keys[i] >> shift) & mask] += 1
        total = np.int64(0)
        for c in range(mask + 1):
            size = counts[c]
            counts[c] = total
            total += size
        for i in range(len(keys)):
            c = (keys[i] >> shift) & mask
            moved[counts[c]] = keys[i]
            counts[c] += 1
        keys, moved = moved, keys
    return passes % 2 == 1


@njit(cache=True, nogil=True)
def sort_buckets(dealt: Longs, starts: Longs, low: int, bits: int, moved: Longs) -> None:
    """Sorts the keys of each bucket, from `starts` on, by the `bits` bits from `low` up.

    `moved` has room for the largest bucket.
    """
    counts = np.empty(1 << DIGIT, np.int64)
    for b in range(len(starts) - 1):
        own = dealt[starts[b] : starts[b + 1]]
        there = moved[: len(own)]
        if _sort(own, there, low, bits, counts):
            own[:] = there


@njit(cache=True, nogil=True)
def count_packed(
    keys: Words, cell_at: int, cells: int, lag: int, reads: int, above: Words, words: int, lanes: int, tables: Words
) -> np.int64:
    """How many pairs of keys, in one group, have the swept value of s below that of t and so the cell.

    The lowest `cell_at` bits of a key are the group; `cells` bits of the cell follow, counted from the last one down,
    and then the swept value. Keys ascend but for the group: of two points with one swept value, the second has no cell
    above that of the first. With a `lag` of 1, equal swept values count. The `words` words of each cell in `above` have
    a one for each cell above it, and a point of t reads the cell `reads` before its own. A word has 2^lanes lanes, each
    wide enough for all points of a group; `tables`, words for each group, is zero.
    """
    u_words, u_lanes, u_at, low = np.uint64(words), np.uint64(lanes), np.uint64(cell_at), np.uint64(cell_at + cells)
    in_word, wide = np.uint64((1 << lanes) - 1), np.uint64(6 - lanes)
    lane = np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - (64 >> lanes))
    groups, last, nearer = np.uint64((1 << cell_at) - 1), np.uint64((1 << cells) - 1), np.uint64(reads)
    strict = lag == 0 and reads == 0
    total, i = np.int64(0), 0
    for j in range(len(keys)):
        value = (keys[j] >> low) + np.uint64(lag)
        while i < j if strict else i < len(keys) and keys[i] >> low < value:
            base, row = (keys[i] & groups) * u_words, ((keys[i] >> u_at) & last) * u_words
            for w in range(u_words):
                tables[base + w] += above[row + w]
            i += 1
        cell = ((keys[j] >> u_at) & last) - nearer
        word = tables[(keys[j] & groups) * u_words + (cell >> u_lanes)]
        total += np.int64((word >> ((cell & in_word) << wide)) & lane)
    return total
