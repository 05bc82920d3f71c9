"""The slot of each key: what says whether a row is there, and which one goes."""

from __future__ import annotations

import numpy as np

from refute.kernels.runs import key_table as kernel
from refute.kernels.runs.rows import Lines, Longs
from refute.runtime.arrays import zeros

_LEAST = 1 << 8  # lines of a table
_STEP = 1 << 6  # lines that are moved to a larger table with each batch
_PER_KEY = 8  # lines that are moved for each key of a batch, if that is more: all are, long before it is full


class KeyTable:
    """Keys of one or more cells, each with the slot of its row. A key that went may come again with another.

    No key costs more than some steps: a table that is three quarters full is moved to a larger one while keys come.
    """

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._used = 0
        self._lines: Lines = np.zeros((_LEAST, cells + 1), np.int64)
        self._old = self._lines[:0]  # a smaller table, of which not all has been moved
        self._moved = 0  # lines of it

    def __len__(self) -> int:
        return self._used

    @property
    def nbytes(self) -> int:
        """The memory of all lines."""
        return self._lines.nbytes + self._old.nbytes

    def find(self, keys: Lines) -> Longs:
        """The slot of each key, -1 where there is none."""
        slots = np.empty(len(keys), np.int64)
        kernel.find(self._lines, self._old, keys, slots)
        return slots

    def put(self, keys: Lines, slots: Longs) -> None:
        """Takes keys in, no two of them equal and none of them there, with their slots."""
        self._make_room(len(keys))
        kernel.put(self._lines, keys, slots, np.empty(len(keys), np.int64))
        self._used += len(keys)

    def remove(self, keys: Lines) -> None:
        """Lets keys go, no two of them equal and all of them there."""
        kernel.remove(self._lines, self._old, keys, np.empty(len(keys), np.int64))
        self._used -= len(keys)

    def _make_room(self, keys: int) -> None:
        needed = self._used + keys
        if 4 * needed > 3 * len(self._lines):
            self._move(len(self._old))
            size = 2 * len(self._lines)
            while 4 * needed > 3 * size:
                size *= 2
            self._old, self._lines = self._lines, zeros((size, self._cells + 1), np.int64)
        if len(self._old):
            self._move(max(_STEP, _PER_KEY * keys))

    def _move(self, count: int) -> None:
        """Goes on with the move to a larger table."""
        self._moved = int(kernel.move(self._old, self._moved, count, self._lines))
        if self._moved == len(self._old):
            self._old, self._moved = self._lines[:0], 0
