"""Strings to numbers by first appearance: open addressing with exact comparison.

A string is its words of eight bytes, as many as the longest string has, with zeros past the end. A slot holds the upper
half of a hash and one more than a number; 0 is free.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode.strings import Bytes, Ints, word_at

Words = NDArray[np.uint64]

BLOCK = 256  # strings that are read before they are looked up: few enough to stay in the first-level cache
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def number_strings(data: Bytes, offsets: Ints, valid: Bytes, slots: Words, words: Words, known: int, out: Ints) -> int:
    """Numbers strings into `out`, -1 where invalid; how many are known then, or -1 when `words` (most, width) is full.

    O(n width) expected. Strings are read block by block, so looking up one does not wait for reading the next.
    """
    width = words.shape[1]
    rows = len(offsets) - 1
    safe = len(data) - 8 * width  # strings that start no later can be read beyond their ends
    block = np.empty((BLOCK, width), np.uint64)
    for start in range(0, rows, BLOCK):
        count = min(BLOCK, rows - start)
        if offsets[start + count - 1] <= safe:
            _read(data, offsets[start : start + count + 1], block)
        else:
            _read_last(data, offsets[start : start + count + 1], block)
        known = number_words(block[:count], valid[start : start + count], slots, words, known, out[start:])
        if known < 0:
            return -1
    return known


@njit(cache=True, nogil=True)
def number_words(strings: Words, valid: Bytes, slots: Words, words: Words, known: int, out: Ints) -> int:
    """As `number_strings` for strings that are words already, shape (n, width)."""
    wrap = np.uint64(len(slots) - 1)
    width = words.shape[1]
    for i in range(len(strings)):
        if len(valid) and not valid[i]:
            out[i] = -1
            continue
        hashed = np.uint64(0)
        for w in range(width):
            hashed = (hashed ^ strings[i, w]) * _MULTIPLIER
            hashed ^= hashed >> _HALF
        tag = hashed >> _HALF
        slot = hashed & _LOW & wrap
        while True:
            entry = slots[slot]
            if entry == 0:
                if known == len(words):
                    return -1
                for w in range(width):  # a row at once would have Numba compile the words of an error: two seconds
                    words[known, w] = strings[i, w]
                slots[slot] = (tag << _HALF) | np.uint64(known + 1)
                out[i] = known
                known += 1
                break
            if entry >> _HALF == tag:
                number = (entry & _LOW) - _ONE
                different = np.uint64(0)
                for w in range(width):
                    different |= words[number, w] ^ strings[i, w]
                if different == 0:
                    out[i] = number
                    break
            slot = (slot + _ONE) & wrap
    return known


@njit(cache=True, nogil=True, inline="always")
def _read(data: Bytes, offsets: Ints, block: Words) -> None:
    """The words of each string; without a branch, as lengths are hard to foretell. May read beyond ends of strings."""
    for i in range(len(offsets) - 1):
        first = np.int64(offsets[i])
        length = np.int64(offsets[i + 1]) - first
        for w in range(block.shape[1]):
            at = np.uint64(first + 8 * w)  # unsigned, so the eight loads become one
            word = np.uint64(0)
            for byte in range(8):
                word |= np.uint64(data[at + np.uint64(byte)]) << np.uint64(56 - 8 * byte)
            missing = min(max(8 * (w + 1) - int(length), 0), 8)
            half = np.uint64(4 * missing)
            block[i, w] = ((word >> half) >> half) << half << half


@njit(cache=True, nogil=True, inline="always")
def _read_last(data: Bytes, offsets: Ints, block: Words) -> None:
    for i in range(len(offsets) - 1):
        for w in range(block.shape[1]):
            block[i, w] = word_at(data, offsets[i] + 8 * w, np.int64(offsets[i + 1]))  # type: ignore[arg-type]
