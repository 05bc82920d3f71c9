"""Byte strings to numbers that stay: open addressing over strings that lie one after the other.

String i of a dictionary is `held[starts[i]:starts[i + 1]]`. A slot holds 32 bits of a string's hash above one more
than its number; 0 is free. The place of a slot is taken from the same 32 bits, so a table is made larger without
looking at a string. That is done little by little: what is not yet in `slots` is in `old`, which is empty otherwise.
An empty `valid` means that every row is valid.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode.strings import Bytes, Ints, word_at
from refute.kernels.runs.borrowed import borrowed

Words = NDArray[np.uint64]
Longs = NDArray[np.int64]

BLOCK = 256  # strings that are read before they are looked up
UNKNOWN = -2  # the number of a string that the dictionary does not have
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


class _TextColumn(NamedTuple):
    """A column of strings."""

    data: Bytes
    offsets: Ints
    valid: Bytes


class _DictionaryArrays(NamedTuple):
    """The arrays of a dictionary."""

    slots: Words
    old: Words
    held: Bytes
    starts: Longs


@njit(cache=True, nogil=True)
def add_strings(
    data: Bytes,
    offsets: Ints,
    valid: Bytes,
    slots: Words,
    old: Words,
    held: Bytes,
    starts: Longs,
    known: int,
    out: Longs,
) -> int:
    """Numbers strings into `out`, -1 where invalid; new ones are put behind the `known`, whose number comes back.

    There must be room for all strings in `held` and `starts`, and for half as many more in `slots`. O(bytes) expected.
    """
    kept = _DictionaryArrays(slots, old, held, starts)
    return _add(_TextColumn(data, offsets, valid), kept, np.empty((2, BLOCK), np.uint64), known, out)


@njit(cache=True, nogil=True)
def _add(kept_texts: _TextColumn, kept_table: _DictionaryArrays, kept_room: Words, known: int, kept_out: Longs) -> int:
    """As `add_strings`, by arrays that its caller keeps, with room for two words of each string of a block."""
    (data, offsets, valid), (slots, old, held, starts) = _lent_texts(kept_texts), _lent(kept_table)
    tags, seen, out = borrowed(kept_room[0]), borrowed(kept_room[1]), borrowed(kept_out)
    for begin in range(0, len(offsets) - 1, BLOCK):
        end = min(begin + BLOCK, len(offsets) - 1)
        hash_block(data, offsets, begin, end, tags)
        _touch(tags[: end - begin], slots, old, held, starts, seen)
        for i in range(begin, end):
            if len(valid) and not valid[i]:
                out[i] = -1
                continue
            first, last, tag = offsets[i], offsets[i + 1], tags[i - begin]
            slot, number = _found(data, first, last, tag, slots, held, starts)
            if number < 0 and len(old):
                number = _found(data, first, last, tag, old, held, starts)[1]
            out[i] = number if number >= 0 else known
            if number < 0:
                slots[slot] = (tag << _HALF) | np.uint64(known + 1)
                at = starts[known]
                for byte in range(last - first):
                    held[at + byte] = data[first + byte]
                known += 1
                starts[known] = at + last - first
    return known


@njit(cache=True, nogil=True)
def find_strings(
    data: Bytes, offsets: Ints, valid: Bytes, slots: Words, old: Words, held: Bytes, starts: Longs, out: Longs
) -> int:
    """Fills `out` with the numbers of strings, -1 where invalid; how many are not known and got UNKNOWN. O(bytes)."""
    kept = _DictionaryArrays(slots, old, held, starts)
    return _find(_TextColumn(data, offsets, valid), kept, np.empty((2, BLOCK), np.uint64), out)


@njit(cache=True, nogil=True)
def _find(kept_texts: _TextColumn, kept_table: _DictionaryArrays, kept_room: Words, kept_out: Longs) -> int:
    """As `find_strings`, by arrays that its caller keeps, with room for two words of each string of a block."""
    (data, offsets, valid), (slots, old, held, starts) = _lent_texts(kept_texts), _lent(kept_table)
    tags, seen, out = borrowed(kept_room[0]), borrowed(kept_room[1]), borrowed(kept_out)
    unknown = 0
    for begin in range(0, len(offsets) - 1, BLOCK):
        end = min(begin + BLOCK, len(offsets) - 1)
        hash_block(data, offsets, begin, end, tags)
        _touch(tags[: end - begin], slots, old, held, starts, seen)
        for i in range(begin, end):
            if len(valid) and not valid[i]:
                out[i] = -1
                continue
            first, last, tag = offsets[i], offsets[i + 1], tags[i - begin]
            number = _found(data, first, last, tag, slots, held, starts)[1]
            if number < 0 and len(old):
                number = _found(data, first, last, tag, old, held, starts)[1]
            out[i] = number
            if number < 0:
                unknown += 1
    return unknown


@njit(cache=True, nogil=True)
def _lent_texts(texts: _TextColumn) -> _TextColumn:
    return _TextColumn(borrowed(texts.data), borrowed(texts.offsets), borrowed(texts.valid))


@njit(cache=True, nogil=True)
def _lent(table: _DictionaryArrays) -> _DictionaryArrays:
    return _DictionaryArrays(borrowed(table.slots), borrowed(table.old), borrowed(table.held), borrowed(table.starts))


@njit(cache=True, nogil=True)
def index_strings(held: Bytes, starts: Longs, known: int, slots: Words) -> None:
    """Puts strings that are all different, and lie one after the other, into an empty table. O(bytes)."""
    wrap = np.uint64(len(slots) - 1)
    for i in range(known):
        tag = _hashed(held, starts[i], starts[i + 1])
        slot = tag & wrap
        while slots[slot] != 0:
            slot = (slot + _ONE) & wrap
        slots[slot] = (tag << _HALF) | np.uint64(i + 1)


@njit(cache=True, nogil=True)
def move(old: Words, first: int, count: int, slots: Words) -> int:
    """Moves the entries of so many slots, and of those up to the next free one, to another table; where it ended.

    Slots before `first` have been moved. What stays can be found as before: between its place and its slot lies no
    free one, but for entries that went round from the end of `old` to its start, which are moved at first. O(count).
    """
    wrap = np.uint64(len(slots) - 1)
    at = first
    while at < len(old) and (at < first + count or old[at] != 0):
        entry = old[at]
        if entry != 0:
            old[at] = 0
            slot = (entry >> _HALF) & wrap
            while slots[slot] != 0:
                slot = (slot + _ONE) & wrap
            slots[slot] = entry
        at += 1
    return at


@njit(cache=True, nogil=True)
def _found(
    data: Bytes, first: int, last: int, tag: np.uint64, slots: Words, held: Bytes, starts: Longs
) -> tuple[np.uint64, np.int64]:
    """The slot and number of a string; where it is not known, the slot that it would take, and UNKNOWN."""
    wrap = np.uint64(len(slots) - 1)
    slot = tag & wrap
    while True:
        entry = slots[slot]
        if entry == 0:
            return slot, np.int64(UNKNOWN)
        if entry >> _HALF == tag:
            number = np.int64(entry & _LOW) - 1
            if same(data, first, last, held, starts[number], starts[number + 1]):
                return slot, number
        slot = (slot + _ONE) & wrap


@njit(cache=True, nogil=True)
def hash_block(data: Bytes, offsets: Ints, begin: int, end: int, tags: Words) -> None:
    """Hashes of some strings ahead of looking them up, so looking up one does not wait for reading the next.

    The same in every version: rows on the disks of a watch lie where these hashes put them.
    """
    for i in range(begin, end):
        tags[i - begin] = _hashed(data, offsets[i], offsets[i + 1])


@njit(cache=True, nogil=True)
def _touch(tags: Words, slots: Words, old: Words, held: Bytes, starts: Longs, seen: Words) -> None:
    """Reads what looking up some strings will read first. One look-up waits three times; many wait together here."""
    wrap = np.uint64(len(slots) - 1)
    for i in range(len(tags)):
        seen[i] = slots[tags[i] & wrap]
    if len(old):
        wrap = np.uint64(len(old) - 1)
        for i in range(len(tags)):
            seen[i] = old[tags[i] & wrap] if seen[i] == 0 else seen[i]
    for i in range(len(tags)):
        entry = seen[i]
        likely = entry != 0 and entry >> _HALF == tags[i]
        seen[i] = np.uint64(starts[np.int64(entry & _LOW) - 1]) if likely else np.uint64(len(held))
    for i in range(len(tags)):
        if seen[i] < np.uint64(len(held)):
            seen[i] = held[seen[i]]


@njit(cache=True, nogil=True)
def _hashed(data: Bytes, first: int, last: int) -> np.uint64:
    """32 bits that depend on all bytes and their number, the lower ones on the last bytes of a short word too."""
    hashed = np.uint64(last - first) * _MULTIPLIER
    for at in range(first, last, 8):
        hashed = (hashed ^ word_at(data, at, last)) * _MULTIPLIER
        hashed ^= hashed >> _HALF
    return (hashed * _MULTIPLIER) >> _HALF


@njit(cache=True, nogil=True)
def same(data: Bytes, first: int, last: int, other: Bytes, start: int, end: int) -> bool:
    """Whether two strings are equal."""
    if last - first != end - start:
        return False
    different = np.uint64(0)
    for at in range(0, last - first, 8):
        different |= word_at(data, first + at, last) ^ word_at(other, start + at, end)
    return bool(different == 0)
