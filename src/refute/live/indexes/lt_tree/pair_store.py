"""The violation store (section 5.6): the partners of each row, so that rows can go without a look at any predicate."""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap

from refute.live.indexes.index import Found, Longs, Pairs
from refute.live.indexes.lt_tree.sets import as_set, as_slots
from refute.live.indexes.lt_tree.tree import set_bytes

_NOTHING = np.empty(0, np.int64)


class Collected:
    """Pairs of one rule while they are found: all of them, or their number alone once they are more than the limit."""

    __slots__ = ("_limit", "_parts", "count")

    def __init__(self, limit: int) -> None:
        self.count = 0
        self._limit = limit
        self._parts: list[Pairs] = []

    def add(self, slot: int, t: BitMap, s: BitMap) -> None:
        """Takes in the pairs of a row as `s` with others as `t`, and as `t` with others as `s`."""
        self.count += len(t) + len(s)
        if self.is_over:
            self._parts.clear()
            return
        if t:
            self._parts.append((np.full(len(t), slot, np.int64), as_slots(t)))
        if s:
            self._parts.append((as_slots(s), np.full(len(s), slot, np.int64)))

    @property
    def is_over(self) -> bool:
        """Whether there are more pairs than the limit."""
        return self.count > self._limit

    def found(self) -> Found:
        """The answer."""
        if self.is_over:
            return Found(self.count, None)
        if not self._parts:
            return Found(0, (_NOTHING, _NOTHING))
        s, t = zip(*self._parts, strict=True)
        return Found(self.count, (np.concatenate(s), np.concatenate(t)))


class PairStore:
    """The known violations of one rule, from both rows of each.

    A batch that had more pairs than was asked for leaves none here. Its rows are loose: while one of them is kept, the
    store does not have all pairs, and what vanishes with a row is found as what appears with one, by comparing it.
    Once no loose row is left the store has all pairs again, since those of two other rows were stored when the later
    one came.
    """

    __slots__ = ("_s", "_t", "loose")

    def __init__(self) -> None:
        self._t: dict[int, BitMap] = {}  # by s
        self._s: dict[int, BitMap] = {}  # by t
        self.loose = BitMap()

    def add(self, found: Found, slots: Longs) -> None:
        """Keeps the pairs that appeared with these rows, or notes that they are not known."""
        if found.pairs is None:
            self.loose |= as_set(slots)
            return
        s, t = found.pairs
        if found.count:
            _united(self._t, s, t)
            _united(self._s, t, s)

    def take(self, rows: BitMap, limit: int) -> Found:
        """Takes out the pairs of rows that go (algorithm 3, lines 3 and 4), each once."""
        self.loose -= rows
        collected = Collected(limit)
        beside_s, beside_t = BitMap(), BitMap()
        for slot in rows:
            t, s = self._t.pop(slot, None), self._s.pop(slot, None)
            if t is None and s is None:
                continue
            t = BitMap() if t is None else t
            s = BitMap() if s is None else s
            beside_s |= t
            beside_t |= s
            collected.add(slot, t, s - rows)  # a pair of two rows that go is found from its s
        _without(self._s, beside_s - rows, rows)
        _without(self._t, beside_t - rows, rows)
        return collected.found()

    @property
    def nbytes(self) -> int:
        """The memory of the sets; looks at each of them."""
        return sum(64 + set_bytes(rows) for side in (self._s, self._t) for rows in side.values())


def _united(side: dict[int, BitMap], keys: Longs, values: Longs) -> None:
    """Adds values to the sets of their keys, set by set."""
    order = np.argsort(keys, kind="stable")
    keys, values = keys[order], values[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    for key, part in zip(keys[starts].tolist(), np.split(values, starts[1:]), strict=False):
        if key in side:
            side[key] |= as_set(part)
        else:
            side[key] = as_set(part)


def _without(side: dict[int, BitMap], touched: BitMap, rows: BitMap) -> None:
    """Takes rows from the sets of the keys that have some of them."""
    for key in touched:
        left = side[key] - rows
        if left:
            side[key] = left
        else:
            del side[key]
