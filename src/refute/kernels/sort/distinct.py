"""Distinct integers: numbered, counted, and where each occurs first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.sort.grouping import by_appearance
from refute.kernels.sort.sorting import BUCKET, DIGIT, deal_keys
from refute.kernels.sparing import is_spared
from refute.runtime.arrays import empty, full

_TABLED = 4  # values per key up to which a table of all values is counted in

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True, plain=True)
def mix(keys: Ints, codes: NDArray[np.signedinteger], size: int) -> None:
    """Append a digit to every key: `keys * size + code + 1`, where code -1 (null) becomes digit 0."""
    for i in range(len(keys)):
        keys[i] = keys[i] * size + codes[i] + 1


def numbered(keys: NDArray[np.signedinteger], room: int) -> tuple[NDArray[np.int32], Ints] | None:
    """Each key's number among the distinct ones, and where each of these occurs first; None beyond the room."""
    if is_spared(_number, len(keys)):
        few, places = by_appearance(keys)
        return None if len(places) > room else (few, places)
    slots = full(1 << (2 * max(room, 1)).bit_length(), -1, np.int64)
    firsts, numbers = empty(room, np.int64), empty(len(keys), np.int32)
    found = _number(keys, slots, firsts, numbers)
    return None if found < 0 else (numbers, firsts[:found].copy())


@njit(cache=True, nogil=True)
def _number(keys: NDArray[np.signedinteger], slots: Ints, firsts: Ints, numbers: NDArray[np.int32]) -> int:
    """The number of distinct keys, or -1 where they are more than `firsts` has room for.

    `slots` is a table of -1 of a size that is a power of two, at least twice the room. Entry d of `firsts` gets the
    first position of the d-th distinct key, and `numbers` each key's d. One pass, open addressing.
    """
    mask = len(slots) - 1
    found = 0
    for i in range(len(keys)):
        key = keys[i]
        h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64(h >> np.uint64(32)) & mask
        while True:
            d = slots[at]
            if d < 0:
                if found == len(firsts):
                    return -1
                slots[at] = found
                firsts[found] = i
                numbers[i] = found
                found += 1
                break
            if keys[firsts[d]] == key:
                numbers[i] = d
                break
            at = (at + 1) & mask
    return found


def distinct_values(keys: NDArray[np.signedinteger]) -> int:
    """How many different keys there are; for samples."""
    return len(np.unique(keys))


class KeyTally:
    """The distinct keys of a table that is read in blocks: where each occurs first, and how often. For few keys."""

    def __init__(self, room: int) -> None:
        self._slots = full(1 << (2 * max(room, 1)).bit_length(), -1, np.int32)
        self._entries = empty((room, 3), np.int64)  # key, first position, number
        self._found = self._read = 0

    def add(self, keys: Ints) -> bool:
        """Reads the next block; False where there are more distinct keys than room."""
        self._found = _tally(keys, self._read, self._found, self._slots, self._entries)
        self._read += len(keys)
        return self._found >= 0

    @property
    def firsts(self) -> Ints:
        """Where each distinct key occurs first."""
        return np.ascontiguousarray(self._entries[: self._found, 1])

    @property
    def counts(self) -> Ints:
        """How often each distinct key occurs."""
        return np.ascontiguousarray(self._entries[: self._found, 2])


@njit(cache=True, nogil=True)
def _tally(keys: Ints, start: int, found: int, slots: NDArray[np.int32], entries: Ints) -> int:
    """How many distinct keys there are with those `found` before, or -1 where they are more than there is room for."""
    mask = len(slots) - 1
    for i in range(len(keys)):
        key = keys[i]
        h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64(h >> np.uint64(32)) & mask
        while True:
            d = slots[at]
            if d < 0:
                if found == len(entries):
                    return -1
                slots[at] = found
                entries[found, 0], entries[found, 1], entries[found, 2] = key, start + i, 1
                found += 1
                break
            if entries[d, 0] == key:
                entries[d, 2] += 1
                break
            at = (at + 1) & mask
    return found


def sum_of_squared_counts(keys: NDArray[np.signedinteger], size: int) -> int:
    """The sum over distinct keys, all in `[0, size)`, of their squared numbers: how many ordered pairs share a key.

    Few values are counted in a table; keys from a wide range are dealt into buckets first, so what counts them
    stays within the caches. O(n) expected.
    """
    n = len(keys)
    if size <= _TABLED * n + 4096:
        counts = full(size, 0, np.int32)
        return int(_squares_by_table(keys, counts))
    bits = int(size - 1).bit_length()
    lead = min(DIGIT, (n // BUCKET).bit_length(), bits)
    starts = np.zeros((1 << lead) + 1, np.int64)
    dealt = empty(n, np.uint32 if bits <= 32 else np.uint64)
    deal_keys(keys, bits - lead, starts, dealt)
    room = 1 << (2 * int(np.diff(starts).max())).bit_length()
    return int(_squares_by_bucket(dealt, starts, empty(room, dealt.dtype), empty(room, np.int32)))


@njit(cache=True, nogil=True)
def _squares_by_table(keys: NDArray[np.signedinteger], counts: NDArray[np.int32]) -> np.int64:
    total = np.int64(0)
    for i in range(len(keys)):  # the k-th copy of a key adds k^2 - (k - 1)^2
        counts[keys[i]] += 1
        total += 2 * np.int64(counts[keys[i]]) - 1
    return total


@njit(cache=True, nogil=True)
def _squares_by_bucket(
    dealt: NDArray[np.unsignedinteger],
    starts: Ints,
    known: NDArray[np.unsignedinteger],
    counts: NDArray[np.int32],
) -> np.int64:
    total = np.int64(0)
    for b in range(len(starts) - 1):
        keys = dealt[starts[b] : starts[b + 1]]
        shift = 64
        room = 1
        while room < 2 * len(keys):
            room <<= 1
            shift -= 1
        counts[:room] = 0
        for i in range(len(keys)):
            at = np.int64(0)
            if room > 1:
                at = np.int64((np.uint64(keys[i]) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(shift))
            while counts[at] and known[at] != keys[i]:
                at = (at + 1) & (room - 1)
            known[at] = keys[i]
            counts[at] += 1
            total += 2 * np.int64(counts[at]) - 1
    return total
