"""The order of a dictionary's strings, as labels that leave room between them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.kernels.encode import string_order as kernel
from refute.kernels.encode.order_block import BLOCK, LINE, WIDTH
from refute.relation.arrays import Bytes
from refute.relation.encode.pieces import Pieces
from refute.relation.encode.strings import string_ranks

Longs = NDArray[np.int64]

_FEW = 4  # times as many as are new must be placed already, for new ones to be placed one by one
_SMALL, _LONG = 2048, 64  # so few strings, of so many bytes on average, are sorted where they lie
_RECENT = 1024  # numbers before the new ones that count as recent at least


class StringOrder:
    """Which strings of a dictionary come before which; looks at new ones when it is asked."""

    def __init__(self, span: int) -> None:
        self.generation = 0
        self.lowest = -span
        self.span = span
        self._placed = 0  # strings that have a label
        self._recent = 0
        self._labels: Longs = np.empty(0, dtype=np.int64)
        self._set_room(1)
        self._count = 0

    @classmethod
    def restored(cls, span: int, labels: Longs, recent: int, generation: int) -> StringOrder:
        """The order that had these labels."""
        order = cls(span)
        order.generation, order._recent = generation, recent
        order._labels, order._placed = labels, len(labels)
        return order

    @property
    def labelled(self) -> int:
        """How many strings, from the first on, have labels."""
        return self._placed

    @property
    def recent(self) -> int:
        """How many had labels before the last new ones."""
        return self._recent

    def labels_from(self, first: int) -> Longs:
        """The labels of strings from a number on, as far as they have some."""
        return self._labels[first : self._placed].copy()

    @property
    def nbytes(self) -> int:
        """The memory that is in use."""
        return 8 * self._placed + self._count * (
            self._nodes.strides[0] + self._words.strides[0] + self._directory.strides[0]
        )

    def labels(self, held: Bytes, starts: Longs, known: int) -> Longs:
        """The label of each of the strings, of which some may be new."""
        if known > self._placed:
            order = self._place(held, starts, known)
            recent = max(0, min(self._recent, self._placed - _RECENT))
            if len(self._labels) < known:
                labels = np.empty(max(known, len(self._labels) * 3 // 2), dtype=np.int64)
                labels[: self._placed] = self._labels[: self._placed]
                self._labels = labels
            if self._placed == 0:
                self._spread(known)
            elif not kernel.label_gaps(order, self._placed, recent, self.span, self._labels):
                self._spread(known)
                self.generation += 1
            self._recent, self._placed = self._placed, known
        return self._labels[:known]

    def before(self, held: Bytes, starts: Longs, data: Bytes, offsets: NDArray[np.signedinteger], rows: Longs) -> Longs:
        """The number of the last placed string that is not above the string of each row, -1 for none."""
        self._load(held, starts)
        out = np.empty(len(rows), dtype=np.int64)
        blocks = (self._nodes, self._words, self._directory, self._count)
        kernel.before(data, offsets, rows, held, starts, *blocks, out)
        return out

    def _place(self, held: Bytes, starts: Longs, known: int) -> Longs:
        """Puts new strings in order; runs of their numbers, each with its neighbours, -1 for none."""
        new = known - self._placed
        if new * _FEW > self._placed:
            order = _sorted(held, starts, 0, known)
            self._fill(order, held, starts)
            return np.concatenate([[-1], order, [-1]])
        self._load(held, starts)
        order = _sorted(held, starts, self._placed, known)
        self._make_room(self._count + min(new, self._count) + new // kernel.LEAST_SPLIT + 2)
        around = np.empty((new, 2), dtype=np.int64)
        blocks = (self._nodes, self._words, self._directory, self._count)
        self._count = int(kernel.insert(order, held, starts, *blocks, around))
        begins = np.append(True, around[1:, 0] != order[:-1])  # not behind the one that was just put in
        ends = np.append(begins[1:], True)
        runs = np.stack([around[:, 0], order, around[:, 1]], axis=1)
        found: Longs = runs[np.stack([begins, np.ones(new, dtype=np.bool_), ends], axis=1)]
        return found

    def _load(self, held: Bytes, starts: Longs) -> None:
        """Fills the blocks of an order that was restored, of which only labels are known."""
        if self._count == 0 and self._placed:
            self._fill(np.argsort(self._labels[: self._placed]), held, starts)

    def _fill(self, order: Longs, held: Bytes, starts: Longs) -> None:
        self._set_room(2 * (len(order) // kernel.LEAST_LOADED + 1))  # pages are not touched before they are needed
        self._count = int(kernel.load(order, held, starts, self._nodes, self._words, self._directory))

    def _spread(self, known: int) -> None:
        """New labels for all, at equal distances in the middle half of what there is."""
        order = np.empty(known, dtype=np.int64)
        kernel.walk(self._nodes, self._directory, self._count, order)
        step = self.span // (known + 1) & -2
        assert step >= 2, "more strings than labels"
        self._labels[order] = step * np.arange(1, known + 1) - (self.span // 2 & -2)

    def _set_room(self, blocks: int) -> None:
        self._nodes = np.empty((blocks, WIDTH), dtype=np.int32)
        self._words = np.empty((blocks, BLOCK), dtype=np.uint64)
        self._directory = np.zeros((blocks, LINE), dtype=np.int64)

    def _make_room(self, blocks: int) -> None:
        if blocks <= len(self._directory):
            return
        nodes, words, directory, count = self._nodes, self._words, self._directory, self._count
        self._set_room(max(blocks, len(directory) * 3 // 2))
        self._nodes[:count], self._words[:count] = nodes[:count], words[:count]
        self._directory[:count] = directory[:count]


def _sorted(held: Bytes, starts: Longs, first: int, last: int) -> Longs:
    """The numbers [first, last) in the order of their strings, which are all different."""
    if last - first <= _SMALL and starts[last] - starts[first] <= _LONG * (last - first):
        order = np.arange(first, last)
        kernel.sort(order, held, starts)
        return order
    offsets = pa.py_buffer(np.ascontiguousarray(starts[first : last + 1]))
    strings = pa.Array.from_buffers(pa.large_string(), last - first, [None, offsets, pa.py_buffer(held)])
    ranks = string_ranks(Pieces.apart([strings]))
    order = np.empty(last - first, dtype=np.int64)
    order[ranks] = np.arange(first, last)
    return order
