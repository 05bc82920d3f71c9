"""Distinct integers: numbered, counted, and where each occurs first."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def mix(keys: Ints, codes: NDArray[np.signedinteger], size: int) -> None:
    """Append a digit to every key: `keys * size + code + 1`, where code -1 (null) becomes digit 0."""
    for i in range(len(keys)):
        keys[i] = keys[i] * size + codes[i] + 1


def numbered(keys: NDArray[np.signedinteger], room: int) -> tuple[NDArray[np.int32], Ints] | None:
    """Each key's number among the distinct ones, and where each of these occurs first; None beyond the room."""
    slots = np.full(1 << (2 * max(room, 1)).bit_length(), -1, dtype=np.int64)
    firsts, numbers = np.empty(room, dtype=np.int64), np.empty(len(keys), dtype=np.int32)
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


class Tally:
    """The distinct keys of a table that is read in blocks: where each occurs first, and how often. For few keys."""

    def __init__(self, room: int) -> None:
        self._slots = np.full(1 << (2 * max(room, 1)).bit_length(), -1, dtype=np.int32)
        self._entries = np.empty((room, 3), dtype=np.int64)  # key, first position, number
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
