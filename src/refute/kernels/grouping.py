"""Group numbers for keys from a huge range: exact hashing, and a filter that drops keys without a match first."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from refute.kernels.memory import empty, full

Ints = NDArray[np.signedinteger]
Flags = NDArray[np.bool_]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads runs of close keys over the table
FILTER_BITS = 16  # bits per key of a filter: one key in 16 meets a stranger, and it stays within the caches


def number_groups(s: Ints, t: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Numbers for the keys of both sides, dense and by first appearance in `t` then `s`, and how many there are.

    Give one array twice where it serves both sides. Open addressing with exact comparison of keys, O(n) expected.
    """
    n = len(t) if s is t else len(s) + len(t)
    bits = max(4, (2 * n - 1).bit_length())
    known = empty(1 << bits, s.dtype)
    numbers = full(1 << bits, -1, np.int32)
    t_groups = empty(len(t), np.int32)
    total = _number(t, 0, 64 - bits, known, numbers, t_groups)
    if s is t:
        return t_groups, t_groups, total
    s_groups = empty(len(s), np.int32)
    total = _number(s, total, 64 - bits, known, numbers, s_groups)
    return s_groups, t_groups, total


def matching_keys(s: Ints, t: Ints) -> tuple[Flags, Flags]:
    """Flags per side that are set for every key that occurs on the other side, and for few others. O(n)."""
    s_kept, t_kept = empty(len(s), np.bool_), empty(len(t), np.bool_)
    bits = filter_bits(len(t))
    seen = full(1 << (bits - 3), 0, np.uint8)
    mark_keys(t, 64 - bits, seen)
    test_keys(s, 64 - bits, seen, s_kept)
    survivors = s[s_kept]
    bits = filter_bits(len(survivors))
    seen = full(1 << (bits - 3), 0, np.uint8)
    mark_keys(survivors, 64 - bits, seen)
    test_keys(t, 64 - bits, seen, t_kept)
    return s_kept, t_kept


def keep_common_values(s: Ints, t: Ints, size: int, s_kept: Flags, t_kept: Flags) -> None:
    """Clears the flags of values in `[0, size)` that do not occur on the other side. O(n + size)."""
    seen = np.zeros((2, size), np.bool_)
    _mark_values(s, seen[0])
    _mark_values(t, seen[1])
    _keep_marked(s, seen[1], s_kept)
    _keep_marked(t, seen[0], t_kept)


def filter_bits(n: int) -> int:
    return max(10, (FILTER_BITS * n - 1).bit_length())


@njit(cache=True, nogil=True, inline="always")
def slot_of(key: int, shift: int) -> np.int64:
    mixed = np.uint64(key)
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MULTIPLIER
    return np.int64(mixed >> np.uint64(shift))


@njit(cache=True, nogil=True)
def _number(keys: Ints, total: int, shift: int, known: Ints, numbers: NDArray[np.int32], groups: Ints) -> int:
    mask = len(known) - 1
    for i in range(len(keys)):
        key = keys[i]
        slot = slot_of(key, shift)
        while True:
            number = numbers[slot]
            if number < 0:
                known[slot] = key
                number = total
                numbers[slot] = total
                total += 1
                break
            if known[slot] == key:
                break
            slot = (slot + 1) & mask
        groups[i] = number
    return total


@njit(cache=True, nogil=True)
def mark_repeats(keys: Ints, shift: int, once: NDArray[np.uint8], again: NDArray[np.uint8]) -> None:
    for i in range(len(keys)):
        slot = slot_of(keys[i], shift)
        byte, bit = slot >> 3, np.uint8(1 << (slot & 7))
        again[byte] |= once[byte] & bit
        once[byte] |= bit


@njit(cache=True, nogil=True)
def _mark_values(values: Ints, seen: Flags) -> None:
    for i in range(len(values)):
        seen[values[i]] = True


@njit(cache=True, nogil=True)
def _keep_marked(values: Ints, seen: Flags, kept: Flags) -> None:
    for i in range(len(values)):
        kept[i] &= seen[values[i]]


@njit(cache=True, nogil=True)
def mark_keys(keys: Ints, shift: int, seen: NDArray[np.uint8]) -> None:
    for i in range(len(keys)):
        slot = slot_of(keys[i], shift)
        seen[slot >> 3] |= np.uint8(1 << (slot & 7))


@njit(cache=True, nogil=True)
def test_keys(keys: Ints, shift: int, seen: NDArray[np.uint8], kept: Flags) -> None:
    for i in range(len(keys)):
        slot = slot_of(keys[i], shift)
        kept[i] = (seen[slot >> 3] >> (slot & 7)) & 1
