"""Strings numbered by first appearance, in a table that is compared exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.encode import hashing as kernel
from refute.relation.arrays import ALL_VALID, Bytes
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]


class StringTable:
    """Up to `most` strings of at most `words` words of eight bytes, none of which ends in a NUL byte."""

    def __init__(self, words: int, most: int) -> None:
        self.known = 0
        self._words = empty(most * words, np.uint64).reshape(most, words)
        self._slots = full(1 << max(4, (2 * most - 1).bit_length()), 0, np.uint64)

    def number(self, data: Bytes, offsets: Ints, valid: Bytes, out: Ints) -> bool:
        """Fills `out` with the numbers of a column's strings, -1 for null; False when the table is full."""
        known = int(kernel.number_strings(data, offsets, valid, self._slots, self._words, self.known, out))
        self.known = max(known, self.known)
        return known >= 0

    def taken_in(self, other: StringTable) -> Ints | None:
        """The number here of each string of another table; None when this one is full."""
        numbers: Ints = np.empty(other.known, dtype=np.int32)
        strings = other._words[: other.known]
        known = int(kernel.number_words(strings, ALL_VALID, self._slots, self._words, self.known, numbers))
        self.known = max(known, self.known)
        return None if known < 0 else numbers
