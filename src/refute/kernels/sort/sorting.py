"""Linear-time sorts of integer keys that give positions, and the segments of equal keys."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.sparing import is_spared
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]
Keys = NDArray[np.unsignedinteger]

DIGIT = 11  # bits a radix pass sorts by: 2,048 write streams stay within the caches
ONE_PASS = 12  # bits that are still cheaper to sort by at once than in two passes
BUCKET = 1 << 12  # keys of a bucket that is sorted within the nearest cache
FEW = 24  # keys that are sorted by inserting one after the other


def index_dtype(n: int) -> type[np.int32] | type[np.int64]:
    """The narrowest of int32 and int64 that holds positions below `n`."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def sorted_positions(keys: Ints, size: int, *, turned: bool = False) -> Ints:
    """The positions of `keys`, all in `[0, size)`, in ascending (descending if `turned`) and stable order of key.

    Many keys are dealt into buckets by their leading bits first, and each bucket is sorted within the caches: O(n),
    and besides positions and a copy of the keys it takes what a bucket takes.
    """
    n = len(keys)
    if is_spared(_sort_buckets, n):
        return np.argsort(-keys if turned else keys, kind="stable").astype(index_dtype(n))
    positions: Ints = empty(n, index_dtype(n))
    bits = max(1, int(size - 1).bit_length())
    if bits <= ONE_PASS:
        _counting_pass(keys, bits, size - 1 if turned else -1, positions)
        return positions
    lead = min(DIGIT, max(0, (n // BUCKET).bit_length()), bits)
    starts = np.zeros((1 << lead) + 1, np.int64)
    shift = bits - lead
    dealt = empty(n, np.uint32 if shift <= 32 else np.uint64)
    _deal(keys, shift, size - 1 if turned else -1, starts, positions, dealt)
    room = int(np.diff(starts).max())
    _sort_buckets(dealt, starts, positions, np.empty(room, dealt.dtype), np.empty(room, positions.dtype))
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


def taken(values: NDArray[Any], positions: Ints) -> NDArray[Any]:
    """`values[positions]`; NumPy would widen narrow positions first, which takes more memory than the result."""
    found = empty(len(positions), values.dtype)
    _take(values, positions, found)
    return found


def numbers_below(n: int) -> Ints:
    """The integers below n, in the narrowest type of `index_dtype`."""
    found: Ints = empty(n, index_dtype(n))
    _fill_ascending(found)
    return found


@njit(cache=True, nogil=True, plain=True)
def _take(values: NDArray[Any], positions: Ints, out: NDArray[Any]) -> None:
    for i in range(len(positions)):
        out[i] = values[positions[i]]


@njit(cache=True, nogil=True, plain=True)
def _fill_ascending(out: Ints) -> None:
    for i in range(len(out)):
        out[i] = i


@njit(cache=True, nogil=True, plain=True)
def gather_column(
    codes: Ints, turned: bool, offset: int, positions: Ints, matrix: NDArray[np.int32], place: int
) -> None:
    """Puts `offset + code`, or `offset - code` if turned, at these positions into column `place`."""
    if turned:
        for i in range(len(positions)):
            matrix[i, place] = offset - codes[positions[i]]
    else:
        for i in range(len(positions)):
            matrix[i, place] = offset + codes[positions[i]]


@njit(cache=True, nogil=True)
def gather_row(codes: Ints, turned: bool, offset: int, positions: Ints, out: NDArray[np.int32]) -> None:
    """Fills `out` with `offset + code`, or `offset - code` if turned, at these positions."""
    sign = -1 if turned else 1
    for i in range(len(positions)):
        out[i] = offset + sign * codes[positions[i]]


@njit(cache=True, nogil=True, plain=True)
def _count(keys: Ints, sizes: NDArray[np.int64]) -> None:
    for i in range(len(keys)):
        sizes[keys[i]] += 1


@njit(cache=True, nogil=True, plain=True)
def _place(keys: Ints, cursor: NDArray[np.int64], positions: Ints) -> None:
    for i in range(len(keys)):
        g = keys[i]
        positions[cursor[g]] = i
        cursor[g] += 1


@njit(cache=True, nogil=True)
def _counting_pass(keys: Ints, digit: int, top: int, positions: Ints) -> None:
    """Keys are read as `top - key` unless `top` is negative, here and below."""
    flip, base = (-1, top) if top >= 0 else (1, 0)
    cursor = np.zeros((1 << digit) + 1, np.int64)
    for i in range(len(keys)):
        cursor[base + flip * keys[i] + 1] += 1
    for b in range(1, len(cursor)):
        cursor[b] += cursor[b - 1]
    for i in range(len(keys)):
        b = base + flip * keys[i]
        positions[cursor[b]] = i
        cursor[b] += 1


@njit(cache=True, nogil=True)
def _deal(keys: Ints, shift: int, top: int, starts: NDArray[np.int64], positions: Ints, dealt: Keys) -> None:
    """Positions and the rest of the keys by the bits of the keys above `shift`, and where each of these starts.

    `starts` is zero.
    """
    mask = (np.int64(1) << shift) - 1
    flip, base = (-1, top) if top >= 0 else (1, 0)
    for i in range(len(keys)):
        starts[((base + flip * keys[i]) >> shift) + 1] += 1
    for b in range(1, len(starts)):
        starts[b] += starts[b - 1]
    cursor = starts[:-1].copy()
    for i in range(len(keys)):
        key = base + flip * keys[i]
        b = key >> shift
        place = cursor[b]
        cursor[b] = place + 1
        positions[place] = i
        dealt[place] = key & mask


@njit(cache=True, nogil=True)
def deal_keys(keys: Ints, shift: int, starts: NDArray[np.int64], dealt: Keys) -> None:
    """Keys by their bits above `shift`, and where each of these starts; `starts` is zero."""
    for i in range(len(keys)):
        starts[(keys[i] >> shift) + 1] += 1
    for b in range(1, len(starts)):
        starts[b] += starts[b - 1]
    cursor = starts[:-1].copy()
    for i in range(len(keys)):
        b = keys[i] >> shift
        dealt[cursor[b]] = keys[i]
        cursor[b] += 1


@njit(cache=True, nogil=True)
def _sort_buckets(dealt: Keys, starts: NDArray[np.int64], positions: Ints, moved: Keys, spare: Ints) -> None:
    """Sorts the positions of each bucket by the keys beside them; the last two have room for the largest bucket."""
    counts = np.empty(1 << DIGIT, np.int64)
    for b in range(len(starts) - 1):
        own, keys = positions[starts[b] : starts[b + 1]], dealt[starts[b] : starts[b + 1]]
        if len(own) <= FEW:
            _insert(own, keys)
            continue
        differing = np.uint64(0)
        for i in range(len(keys)):
            differing |= np.uint64(keys[i] ^ keys[0])
        bits = 0
        while differing:
            differing >>= np.uint64(1)
            bits += 1
        if bits:
            _radix_passes(own, bits, keys, moved, spare, counts)


@njit(cache=True, nogil=True, inline="always")
def _insert(positions: Ints, keys: Keys) -> None:
    """Sorts few positions by the keys beside them."""
    for i in range(1, len(positions)):
        key, position = keys[i], positions[i]
        j = i - 1
        while j >= 0 and keys[j] > key:
            keys[j + 1], positions[j + 1] = keys[j], positions[j]
            j -= 1
        keys[j + 1], positions[j + 1] = key, position


@njit(cache=True, nogil=True, inline="always")
def _radix_passes(positions: Ints, bits: int, keys: Keys, moved: Keys, spare: Ints, counts: NDArray[np.int64]) -> None:
    """Sorts positions by the `bits` low bits of the keys beside them, least significant digit first."""
    n = len(positions)
    widest = 4
    while widest < DIGIT and (1 << (widest + 1)) <= n:
        widest += 1
    passes = -(-bits // widest)
    digit = -(-bits // passes)
    mask = (1 << digit) - 1
    for p in range(passes):
        shift = p * digit
        here, there = (keys, moved) if p % 2 == 0 else (moved, keys)
        given, taken = (positions, spare) if p % 2 == 0 else (spare, positions)
        counts[: mask + 1] = 0
        for i in range(n):
            counts[(here[i] >> shift) & mask] += 1
        total = np.int64(0)
        for c in range(mask + 1):
            size = counts[c]
            counts[c] = total
            total += size
        for i in range(n):
            key = here[i]
            c = (key >> shift) & mask
            place = counts[c]
            counts[c] = place + 1
            there[place] = key
            taken[place] = given[i]
    if passes % 2:
        for i in range(n):
            positions[i] = spare[i]


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


@njit(cache=True, nogil=True, plain=True)
def _widen(keys: Ints, values: NDArray[np.int32], first: NDArray[np.int32], last: NDArray[np.int32]) -> None:
    for i in range(len(keys)):
        g = keys[i]
        first[g] = min(first[g], values[i])
        last[g] = max(last[g], values[i])
