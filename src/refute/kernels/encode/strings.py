"""Strings to integers: order-preserving packing of the bits that vary.

A column of strings is its bytes and n + 1 offsets into them, as Arrow holds it. Word w of a string is its bytes
8w .. 8w + 7 as a big-endian number, with zeros past the end, so words compare as the bytes do. An empty `valid`
means that every row is valid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode import few

Bytes = NDArray[np.uint8]
Ints = NDArray[np.signedinteger]


@njit(cache=True, nogil=True)
def word_at(data: Bytes, first: int, last: int) -> np.uint64:
    """The big-endian number of the bytes [first, last), at most eight of them, filled up with zeros."""
    length = last - first
    word = np.uint64(0)
    if length <= 0:
        return word
    if first + 8 <= len(data):
        at = np.uint64(first)  # unsigned, so the eight loads have no check for negative positions and become one
        for i in range(8):
            word |= np.uint64(data[at + np.uint64(i)]) << np.uint64(56 - 8 * i)
        if length < 8:
            spare = np.uint64(64 - 8 * length)
            word = (word >> spare) << spare
        return word
    for i in range(min(length, 8)):
        word |= np.uint64(data[first + i]) << np.uint64(56 - 8 * i)
    return word


@njit(cache=True, nogil=True, few=few.longest)
def longest(offsets: Ints, data: Bytes, valid: Bytes) -> tuple[int, bool]:
    """The most bytes of a valid string, and whether some valid string ends in a NUL byte. O(n)."""
    most = 0
    nul = False
    for i in range(len(offsets) - 1):
        length = offsets[i + 1] - offsets[i]
        if length > 0 and (len(valid) == 0 or valid[i]):
            most = max(most, length)
            nul |= data[offsets[i + 1] - 1] == 0
    return most, nul


@njit(cache=True, nogil=True, few=few.has_width)
def has_width(offsets: Ints, width: int) -> bool:
    """Whether all strings have this length. O(n)."""
    wrong = 0
    for i in range(len(offsets) - 1):
        wrong += offsets[i + 1] - offsets[i] != width
    return wrong == 0


@njit(cache=True, nogil=True, few=few.pack_fixed)
def pack_fixed(numbers: NDArray[np.unsignedinteger], runs: NDArray[np.uint64], out: Ints) -> None:
    """Fills `out` with the bits of each number that vary, as `append_bits` does. O(n runs)."""
    shift, mask = np.uint32(runs[0, 0]), np.uint32(runs[0, 1])
    for i in range(len(numbers)):
        out[i] = (np.uint32(numbers[i]) >> shift) & mask
    for r in range(1, len(runs)):
        shift, mask = np.uint32(runs[r, 0]), np.uint32(runs[r, 1])
        for i in range(len(numbers)):
            out[i] |= np.int32((np.uint32(numbers[i]) >> shift) & mask)


@njit(cache=True, nogil=True, few=few.varying_bits)
def varying_bits(data: Bytes, offsets: Ints, valid: Bytes, word: int) -> tuple[np.uint64, np.uint64, int]:
    """All words of this number and-ed, or-ed, and how many there are, over valid rows. O(n)."""
    every = ~np.uint64(0)
    some = np.uint64(0)
    count = 0
    for i in range(len(offsets) - 1):
        if len(valid) == 0 or valid[i]:
            value = word_at(data, offsets[i] + 8 * word, np.int64(offsets[i + 1]))  # type: ignore[arg-type]
            every &= value
            some |= value
            count += 1
    return every, some, count


@njit(cache=True, nogil=True, few=few.append_bits)
def append_bits(
    data: Bytes, offsets: Ints, valid: Bytes, word: int, runs: NDArray[np.uint64], bits: int, out: Ints
) -> None:
    """Shifts each code left and appends the bits of one word that vary; -1 where invalid. O(n runs).

    Row (shift, mask) of `runs`, shape (r, 2), takes a run of varying bits to its place among the `bits` new ones. Bits
    that are the same in all values are left out, which changes neither order nor equality.
    """
    room = np.uint64(bits)
    for i in range(len(offsets) - 1):
        if len(valid) == 0 or valid[i]:
            value = word_at(data, offsets[i] + 8 * word, np.int64(offsets[i + 1]))  # type: ignore[arg-type]
            packed = np.uint64(0)
            for r in range(len(runs)):
                packed |= (value >> runs[r, 0]) & runs[r, 1]
            out[i] = np.int64((np.uint64(out[i]) << room) | packed)
        else:
            out[i] = -1
