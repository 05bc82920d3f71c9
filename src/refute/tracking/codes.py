"""Keys of 64 bits as codes of 32: half the memory, and twice as many comparisons at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]
Ints = NDArray[np.int32]

NULL = np.int32(-(2**31))
"""The code of null, which no value has."""
_FEW = 4
_SPAN = 2**31 - 1  # codes of values lie in (-_SPAN, _SPAN)


class Moved(NamedTuple):
    """Codes that were replaced, ascending, and those that stand for the same values now."""

    old: Ints
    new: Ints

    def of(self, codes: Ints) -> Ints:
        """The new codes of rows; null stays null."""
        if not len(self.old):
            return codes
        found = self.new[np.minimum(np.searchsorted(self.old, codes), len(self.old) - 1)]
        return np.where(codes == NULL, NULL, found)


class Codes:
    """Codes for the keys of columns that are compared with each other, in the order of the keys.

    Keys that fit are their own codes. Once one does not, each gets a label with room between it and the next, and a new
    one the middle of its gap; where a gap is used up, all labels are spread again, and the caller learns how codes have
    moved. As long as they have not, a code is never given to another key.
    """

    def __init__(self, span: int = _SPAN) -> None:
        self._span = span
        self._keys: Longs | None = None  # ascending; None as long as all keys are their own codes
        self._labels: Ints = np.empty(0, np.int32)

    def of(
        self, keys: Longs, held: Callable[[], Ints], ranks: Callable[[], Longs] | None = None
    ) -> tuple[Ints, Moved | None]:
        """The codes of keys, and how codes given before have moved, if they have; `held` are those in use.

        Where there is a cheap way to `ranks`, from 0 on without gaps in the order of the keys, that spares sorting.
        """
        moved = None
        if self._keys is None:
            few = keys.tolist() if len(keys) < _FEW else (keys.min(), keys.max())  # rows that come alone wait for it
            if all(-self._span < key < self._span for key in few):
                return keys.astype(np.int32), None
            before = np.unique(held())
            before = before[before != NULL]
            if ranks is not None and not len(before):
                return self._ranked(keys, ranks()), None
            self._keys, self._labels = before.astype(np.int64), before
            moved = self._spread(np.unique(np.concatenate([self._keys, keys])))
        else:
            moved = self._extended(keys)
        return self._labels[np.searchsorted(self._keys, keys)], moved

    def _ranked(self, keys: Longs, ranks: Longs) -> Ints:
        """The codes of the first keys that there are."""
        ordered = np.empty(int(ranks.max()) + 1, np.int64)
        ordered[ranks] = keys
        self._keys, self._labels = ordered[:0], np.empty(0, np.int32)
        self._spread(ordered)
        return self._labels[ranks]

    def _extended(self, keys: Longs) -> Moved | None:
        """Gives labels to keys that have none."""
        known = self._keys
        assert known is not None
        at = np.searchsorted(known, keys)
        if len(known):
            missing = known[np.minimum(at, len(known) - 1)] != keys
        else:
            missing = np.ones(len(keys), np.bool_)
        if not missing.any():
            return None
        fresh = np.unique(keys[missing])
        at = np.searchsorted(known, fresh)
        labels = np.concatenate([[-self._span], self._labels.astype(np.int64), [self._span]])
        low, high = labels[at], labels[at + 1]
        starts = np.searchsorted(at, at, side="left")
        sizes = np.searchsorted(at, at, side="right") - starts
        if (high - low <= sizes).any():
            return self._spread(np.insert(known, at, fresh))
        new = low + (high - low) * (np.arange(len(at)) - starts + 1) // (sizes + 1)
        self._keys = np.insert(known, at, fresh)
        self._labels = np.insert(self._labels, at, new.astype(np.int32))
        return None

    def _spread(self, keys: Longs) -> Moved:
        """Gives all keys new labels, as far apart as there is room."""
        assert self._keys is not None
        places = np.searchsorted(keys, self._keys)
        old = self._labels
        numbers = np.arange(1, len(keys) + 1, dtype=np.int64)
        span = self._span if len(keys) < self._span else _SPAN
        self._span = span
        self._keys = keys
        self._labels = (-span + 2 * span * numbers // (len(keys) + 1)).astype(np.int32)
        return Moved(old, self._labels[places])
