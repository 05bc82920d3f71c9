"""Byte strings by numbers that stay, and labels between which there is room for more."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.kernels.encode import dictionary as kernel
from refute.kernels.encode.dictionary import UNKNOWN
from refute.relation.arrays import ALL_VALID, Bytes, numbers, read_only, row_numbers, stored
from refute.relation.encode.string_order import StringOrder
from refute.relation.encode.strings import Strings
from refute.relation.keys.state import VERSION, EncodingState, Facts
from refute.runtime.arrays import zeros

Longs = NDArray[np.int64]

SPAN = 2**60  # labels lie in (-SPAN, SPAN)
_ROWS = 1 << 16  # strings for which room is made at once
_STEP = 1 << 14  # slots that are moved to a larger table with each batch
_PER_STRING = 8  # slots that are moved for each string of a batch, if that is more: all are, long before it is full
_NO_SLOTS: NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
_PAGE = 1 << 9  # slots of a page of memory
_MOST = 2**31 - 1  # strings; numbers and hashes share a word


class Dictionary:
    """Strings numbered from 0 by first appearance: a number is never given to another string.

    For those who compare by order there is a label for each string, made when it is first asked for: labels sort as
    the strings do, by their bytes. A new string gets a label within the gap where it belongs; once a gap is used up,
    all get new labels, and `generation` grows. Labels are even, so what is not known has a place too. Not for
    use from several threads while strings are added.
    """

    def __init__(self, span: int = SPAN, *, step: int = _STEP, per_string: int = _PER_STRING) -> None:
        self._step = step
        self._per_string = per_string
        self.known = 0
        self._held: Bytes = np.empty(1 << 12, dtype=np.uint8)
        self._starts: Longs = np.zeros(1 << 8, dtype=np.int64)
        self._slots: NDArray[np.uint64] = np.zeros(1 << 8, dtype=np.uint64)
        self._old: NDArray[np.uint64] = _NO_SLOTS  # a smaller table, of which not all has been moved
        self._moved = 0  # slots of it
        self._next: NDArray[np.uint64] = _NO_SLOTS  # a larger table that will soon be needed
        self._touched = 0  # slots of it, in memory that the system has given
        self._order = StringOrder(span)

    @classmethod
    def restored(cls, state: EncodingState) -> Dictionary:
        """The dictionary whose whole state this was."""
        found = cls()
        known = len(state.strings)
        starts = stored(state.strings, np.int64, extra=1)
        size = int(starts[-1] - starts[0])
        found._make_room(known, size)
        if size:
            data = np.frombuffer(state.strings.buffers()[2], dtype=np.uint8)
            found._held[:size] = data[starts[0] : starts[-1]]
        np.subtract(starts, starts[0], out=found._starts[: known + 1])
        kernel.index_strings(found._held, found._starts, known, found._slots)
        found.known = known
        span, recent, generation = (int(state.facts[name]) for name in ("span", "recent", "generation"))
        found._order = StringOrder.restored(span, numbers(state.labels).copy(), recent, generation)
        return found

    def state(self, since: Facts | None, kinds: str) -> EncodingState:
        """What is remembered, except what an earlier state had; strings are not copied."""
        order = self._order
        facts: Facts = {
            "version": VERSION,
            "kinds": kinds,
            "first_string": int(since["known"]) if since else 0,
            "first_label": int(since["labelled"]) if since and since["generation"] == order.generation else 0,
            "known": self.known,
            "labelled": order.labelled,
            "recent": order.recent,
            "generation": order.generation,
            "span": order.span,
        }
        strings = self.strings().slice(int(facts["first_string"]))
        return EncodingState(strings, row_numbers(order.labels_from(int(facts["first_label"]))), facts)

    @property
    def generation(self) -> int:
        """How often all labels have been replaced. Labels of one generation compare with each other."""
        return self._order.generation

    @property
    def nbytes(self) -> int:
        """The memory that is in use, without what is reserved for more."""
        return (
            int(self._starts[self.known]) + 8 * self.known + self._slots.nbytes + self._old.nbytes + self._order.nbytes
        )

    def add(self, strings: Strings) -> Longs:
        """The number of each string, -1 for null; strings that are not known become so."""
        rows = len(strings.offsets) - 1
        out = np.empty(rows, dtype=np.int64)
        for first in range(0, rows, _ROWS):
            last = min(first + _ROWS, rows)
            offsets = strings.offsets[first : last + 1]
            self._make_room(last - first, int(offsets[-1] - offsets[0]))
            valid, part = strings.valid[first:last], out[first:last]
            held = (self._slots, self._old, self._held, self._starts)
            self.known = int(kernel.add_strings(strings.data, offsets, valid, *held, self.known, part))
        return out

    def find(self, strings: Strings) -> tuple[Longs, int]:
        """The number of each string, -1 for null, UNKNOWN for those that are not known; how many these are."""
        out = np.empty(len(strings.offsets) - 1, dtype=np.int64)
        held = (self._slots, self._old, self._held, self._starts)
        return out, int(kernel.find_strings(strings.data, strings.offsets, strings.valid, *held, out))

    def labels(self, numbers: Longs, strings: Strings) -> Longs:
        """The label of each string, given the numbers that `find` or `add` gave for them.

        What is not known gets the odd number above the label of the last known string below it: it compares correctly
        with everything known, is equal to nothing that is, but may be equal to others that are not. Those of null mean
        nothing.
        """
        labels = self._order.labels(self._held, self._starts, self.known)
        if self.known == 0:
            return np.full(len(numbers), self._order.lowest + 1, dtype=np.int64)
        found = np.take(labels, numbers, mode="clip")
        rows = np.flatnonzero(numbers == UNKNOWN)
        if len(rows):
            below = self._order.before(self._held, self._starts, strings.data, strings.offsets, rows)
            found[rows] = np.where(below < 0, self._order.lowest, labels[below]) + 1
        return found

    def strings(self) -> pa.Array:
        """All strings in the order of their numbers, without a copy."""
        starts = self._starts[: self.known + 1]
        buffers = [None, pa.py_buffer(starts), pa.py_buffer(self._held)]
        return pa.Array.from_buffers(pa.large_binary(), self.known, buffers)

    def _make_room(self, strings: int, size: int) -> None:
        """Makes sure that so many strings of so many bytes fit in."""
        if self.known + strings > _MOST:
            raise MemoryError(f"a dictionary holds up to {_MOST:,} strings")
        used = int(self._starts[self.known])
        self._held = grown(self._held, used, used + size)
        self._starts = grown(self._starts, self.known + 1, self.known + strings + 1)
        size, filled = len(self._slots), (3 * (self.known + strings) + 1) // 2  # a third stays free, at least
        if filled >= size:
            self._move(len(self._old))
            self._prepare(1 << filled.bit_length(), 1.0)
            self._old, self._slots, self._next = self._slots, self._next, _NO_SLOTS
        elif filled >= size - size // 8:
            self._prepare(2 * size, 3 * strings / (2 * (size - filled) + 3 * strings))
        if len(self._old):
            self._move(max(self._step, self._per_string * strings))

    def _prepare(self, size: int, share: float) -> None:
        """Touches a share of what is left of the next table: fresh memory for all of it would hold one batch up."""
        if len(self._next) != size:
            self._next, self._touched = zeros(size, np.uint64), 0
        end = self._touched + ceil(share * (size - self._touched))
        self._next[self._touched : end : _PAGE] = 0
        self._touched = end

    def _move(self, slots: int) -> None:
        """Goes on with the move to a larger table, which would take too long for one batch."""
        if len(self._old):
            self._moved = int(kernel.move(self._old, self._moved, slots, self._slots))
            if self._moved == len(self._old):
                self._old, self._moved = _NO_SLOTS, 0


def grown(array: NDArray[Any], used: int, needed: int) -> NDArray[Any]:
    """The array itself if it is as long as needed, else a longer one with the same start."""
    if needed <= len(array):
        return array
    found = np.empty(max(needed, len(array) * 3 // 2), dtype=array.dtype)
    found[:used] = array[:used]
    return found


def strings_of_words(words: NDArray[np.uint64], lengths: Longs | None = None, valid: Bytes = ALL_VALID) -> Strings:
    """Numbers of 64 bits in rows as strings that sort as the rows do; of a row only the first `lengths` many."""
    rows, width = words.shape
    offsets = np.arange(rows + 1, dtype=np.int64) * width
    if lengths is not None:
        np.cumsum(lengths, out=offsets[1:])
        words = words[np.arange(width) < lengths[:, None]]
    data = words.astype(">u8").reshape(-1).view(np.uint8)
    return Strings(read_only(data), read_only(offsets * 8), valid)
