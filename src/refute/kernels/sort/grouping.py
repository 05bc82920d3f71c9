"""Group numbers for keys from a huge range: exact hashing, and a filter that drops keys without a match first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.sparing import is_spared
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]
Flags = NDArray[np.bool_]
Positions = NDArray[np.int64]

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads runs of close keys over the table
FILTER_BITS = 16  # bits per key of a filter: one key in 16 meets a stranger, and it stays within the caches


def number_groups(s: Ints, t: Ints) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Numbers for the keys of both sides, dense and by first appearance in `t` then `s`, and how many there are.

    Give one array twice where it serves both sides. Open addressing with exact comparison of keys, O(n) expected.
    """
    n = len(t) if s is t else len(s) + len(t)
    if is_spared(_number, n):
        found, firsts = by_appearance(t if s is t else np.concatenate((t, s)))
        return (found, found, len(firsts)) if s is t else (found[len(t) :], found[: len(t)], len(firsts))
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


def by_appearance(keys: Ints) -> tuple[NDArray[np.int32], Positions]:
    """Numbers for the keys, dense and by first appearance, and where each appears first; for few of them."""
    _, firsts, ranks = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    numbers = np.empty(len(order), np.int32)
    numbers[order] = np.arange(len(order), dtype=np.int32)
    return numbers[ranks], firsts[order]


def number_by_table(s: Ints, t: Ints, size: int) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """As `number_groups`, for keys in `[0, size)` that a table of this size may hold. O(n + size)."""
    numbers = full(size, -1, np.int32)
    t_groups = empty(len(t), np.int32)
    total = int(_number_by_table(t, 0, numbers, t_groups))
    if s is t:
        return t_groups, t_groups, total
    s_groups = empty(len(s), np.int32)
    return s_groups, t_groups, int(_number_by_table(s, total, numbers, s_groups))


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


def common_values(pairs: Sequence[tuple[Ints, Ints, int]]) -> tuple[Positions, Positions]:
    """The positions of each side whose values, all in `[0, size)`, occur on the other side in every pair (s, t, size).

    O(n + size). Where both sides ask the same of the same arrays, one array of positions serves both.
    """
    seen: dict[tuple[int, int], Flags] = {}
    for values, size in ((values, size) for s, t, size in pairs for values in (s, t)):
        if (id(values), size) not in seen:
            seen[id(values), size] = full(size, 0, np.bool_)
            _mark_values(values, seen[id(values), size])
    s_found = _all_marked([(s, seen[id(t), size]) for s, t, size in pairs])
    if {(id(s), id(t), size) for s, t, size in pairs} == {(id(t), id(s), size) for s, t, size in pairs}:
        return s_found, s_found
    return s_found, _all_marked([(t, seen[id(s), size]) for s, t, size in pairs])


def _all_marked(asked: list[tuple[Ints, Flags]]) -> Positions:
    """The positions whose values are all marked."""
    (values, seen), *others = asked
    found: Positions = empty(len(values) + 1, np.int64)
    found = found[: _marked(values, seen, found)]
    for values, seen in others:
        found = found[: _still_marked(values, seen, found)]
    return found


def filter_bits(n: int) -> int:
    return max(10, (FILTER_BITS * n - 1).bit_length())


@njit(cache=True, nogil=True, inline="always")
def slot_of(key: int, shift: int) -> np.int64:
    mixed = np.uint64(key)
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MULTIPLIER
    return np.int64(mixed >> np.uint64(shift))


def few_slots(keys: Ints, shift: int) -> NDArray[np.uint64]:
    """What `slot_of` gives for each key; by NumPy, as all that follows here."""
    mixed = keys.astype(np.uint64)
    mixed ^= mixed >> np.uint64(29)
    mixed *= _MULTIPLIER
    return mixed >> np.uint64(shift)


def few_marked(slots: NDArray[np.uint64], seen: NDArray[np.uint8]) -> Flags:
    """Whether the bit of each slot is set."""
    found: Flags = (seen[slots >> np.uint64(3)] >> (slots & np.uint64(7)).astype(np.uint8) & np.uint8(1)) == 1
    return found


def few_mark(slots: NDArray[np.uint64], seen: NDArray[np.uint8]) -> None:
    """Sets the bit of each slot."""
    np.bitwise_or.at(seen, slots >> np.uint64(3), np.uint8(1) << (slots & np.uint64(7)).astype(np.uint8))


def _few_mark_repeats(keys: Ints, shift: int, once: NDArray[np.uint8], again: NDArray[np.uint8]) -> None:
    slots, counts = np.unique(few_slots(keys, shift), return_counts=True)
    few_mark(slots[(counts > 1) | few_marked(slots, once)], again)
    few_mark(slots, once)


def _few_mark_keys(keys: Ints, shift: int, seen: NDArray[np.uint8]) -> None:
    few_mark(few_slots(keys, shift), seen)


def _few_test_keys(keys: Ints, shift: int, seen: NDArray[np.uint8], kept: Flags) -> None:
    kept[:] = few_marked(few_slots(keys, shift), seen)


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


@njit(cache=True, nogil=True, plain=True)
def _number_by_table(keys: Ints, total: int, numbers: NDArray[np.int32], groups: NDArray[np.int32]) -> int:
    for i in range(len(keys)):
        number = numbers[keys[i]]
        if number < 0:
            number = np.int32(total)
            numbers[keys[i]] = number
            total += 1
        groups[i] = number
    return total


@njit(cache=True, nogil=True, few=_few_mark_repeats)
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
def _marked(values: Ints, seen: Flags, found: Positions) -> int:
    """Puts the positions of marked values into `found`, which has room for one more, and returns how many they are."""
    total = 0
    for i in range(len(values)):
        found[total] = i
        total += seen[values[i]]
    return total


@njit(cache=True, nogil=True)
def _still_marked(values: Ints, seen: Flags, found: Positions) -> int:
    """Keeps those positions whose values are marked, at the front, and returns how many they are."""
    total = 0
    for i in range(len(found)):
        place = found[i]
        found[total] = place
        total += seen[values[place]]
    return total


@njit(cache=True, nogil=True, few=_few_mark_keys)
def mark_keys(keys: Ints, shift: int, seen: NDArray[np.uint8]) -> None:
    for i in range(len(keys)):
        slot = slot_of(keys[i], shift)
        seen[slot >> 3] |= np.uint8(1 << (slot & 7))


@njit(cache=True, nogil=True, few=_few_test_keys)
def test_keys(keys: Ints, shift: int, seen: NDArray[np.uint8], kept: Flags) -> None:
    for i in range(len(keys)):
        slot = slot_of(keys[i], shift)
        kept[i] = (seen[slot >> 3] >> (slot & 7)) & 1
