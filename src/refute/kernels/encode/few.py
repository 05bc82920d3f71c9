"""What kernels of `integers` and `strings` say of few values, by NumPy: same arguments, same answers, no compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.signedinteger]
Words = NDArray[np.uint64]

_NO_BIT, _ALL_BITS = np.uint64(0), ~np.uint64(0)


def bounds(values: NDArray[np.integer], valid: Bytes) -> tuple[int, int, int]:
    """Smallest and largest valid value, and the number of valid rows; (0, 0, 0) if there are none."""
    used = values[valid != 0] if len(valid) else values
    return (int(used.min()), int(used.max()), len(used)) if len(used) else (0, 0, 0)


def affine(values: NDArray[np.integer], valid: Bytes, factor: int, shift: int, out: Ints) -> None:
    """Fills `out` with value * factor + shift, -1 where invalid. Wraps modulo 2^64: only the result must fit."""
    moved = values.astype(np.int64) * np.int64(factor) + np.int64(shift)
    out[:] = np.where(valid, moved, -1) if len(valid) else moved


def longest(offsets: Ints, data: Bytes, valid: Bytes) -> tuple[int, bool]:
    """The most bytes of a valid string, and whether some valid string ends in a NUL byte."""
    lengths = np.where(valid, np.diff(offsets), 0) if len(valid) else np.diff(offsets)
    ends = offsets[1:][lengths > 0] - 1
    return int(lengths.max(initial=0)), bool((data[ends] == 0).any())


def has_width(offsets: Ints, width: int) -> bool:
    """Whether all strings have this length."""
    return bool((np.diff(offsets) == width).all())


def pack_fixed(numbers: NDArray[np.unsignedinteger], runs: Words, out: Ints) -> None:
    """Fills `out` with the bits of each number that vary, as `append_bits` does."""
    out[:] = _varying(numbers.astype(np.uint64), runs)


def varying_bits(data: Bytes, offsets: Ints, valid: Bytes, word: int) -> tuple[np.uint64, np.uint64, int]:
    """All words of this number and-ed, or-ed, and how many there are, over valid rows."""
    words = _words(data, offsets, word)
    if len(valid):
        words = words[valid != 0]
    every, some = np.bitwise_and.reduce(words, initial=_ALL_BITS), np.bitwise_or.reduce(words, initial=_NO_BIT)
    return every, some, len(words)


def append_bits(data: Bytes, offsets: Ints, valid: Bytes, word: int, runs: Words, bits: int, out: Ints) -> None:
    """Shifts each code left and appends the bits of one word that vary; -1 where invalid."""
    packed = _varying(_words(data, offsets, word), runs)
    codes = (out.astype(np.uint64) << np.uint64(bits) | packed).astype(np.int64)
    out[:] = np.where(valid, codes, -1) if len(valid) else codes


def _words(data: Bytes, offsets: Ints, word: int) -> Words:
    """Bytes 8w to 8w + 7 of each string as a big-endian number, with zeros past the end."""
    places = offsets[:-1, None].astype(np.int64) + 8 * word + np.arange(8)
    inside = places < offsets[1:, None]
    found = np.zeros(places.shape, np.uint8)
    found[inside] = data[places[inside]]
    return found.view(">u8")[:, 0].astype(np.uint64)


def _varying(words: Words, runs: Words) -> Words:
    """The runs of bits (shift, mask) of each word, side by side."""
    found = np.zeros(len(words), np.uint64)
    for shift, mask in runs:
        found |= (words >> shift) & mask
    return found
