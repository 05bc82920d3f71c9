"""The pairs between two forests, by a traversal of both at once: orders and differences within equal groups.

One engine serves sweeps, discovery's search for witnesses and Rapidash's linear-space variant (section 4.3, table 2).
Each forest is made of one side alone, so a forest may meet any other whose values are in the same orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from refute.index.forest import Forest
from refute.kernels.dominance.boxes import Trees, count_partners, find_pair, list_pairs, share_out
from refute.runtime.threads import together

Int32s = NDArray[np.int32]
Longs = NDArray[np.int64]

CHUNK = 1 << 16  # pairs that one step of a listing returns
ENDLESS = 2**62  # pairs of boxes that are never looked at


@dataclass(frozen=True, slots=True)
class DualTree:
    """Two forests, and how their values compare: the first `n_order` by `s < t + lag`, the others by `s != t`.

    Points are named by their positions in the arrays that the forests were made of.
    """

    s: Forest
    t: Forest
    n_order: int
    lag: Int32s
    roots: Int32s  # (., 2): the trees of the groups that both have

    @classmethod
    def of(cls, s: Forest, t: Forest, n_order: int, lag: Int32s | None = None) -> DualTree:
        """The two forests, over the same groups; no lag is added unless one is given for each value."""
        both = (s.roots >= 0) & (t.roots >= 0)
        roots = np.ascontiguousarray(np.stack((s.roots[both], t.roots[both]), axis=1))
        return cls(s, t, n_order, np.zeros(s.boxes.shape[2], np.int32) if lag is None else lag, roots)

    def find(self, threads: int = 1) -> tuple[int, int] | None:
        """Some pair of points of different rows, or None."""
        stop = np.zeros(1, np.uint8)
        roots = self.roots if threads == 1 else self._tasks(64 * threads)
        parts = 1 if threads == 1 else min(32 * threads, len(roots))  # many, as some take far longer than others
        calls = [
            partial(find_pair, *self._trees, np.ascontiguousarray(roots[part::parts]), self.n_order, stop)
            for part in range(parts)
        ]
        for s, t in together(threads, calls):
            if s >= 0:
                return int(s), int(t)
        return None

    def partners(self, patience: int = ENDLESS, *, threads: int = 1) -> tuple[Longs, Longs] | None:
        """For each point of s, and of t, its number of partners, itself included where it matches itself.

        None when more than `patience` pairs of boxes would have to be looked at.
        """
        found = self._counted(patience, threads, len(self.s) + 1, len(self.t) + 1)
        if found is None:
            return None
        totals = []
        for changes, forest in zip(found[1:], (self.s, self.t), strict=True):
            total = np.empty(len(forest), np.int64)
            total[forest.positions] = np.cumsum(changes)[:-1]
            totals.append(total)
        return totals[0], totals[1]

    def count(self, patience: int = ENDLESS, *, threads: int = 1) -> int | None:
        """The number of pairs, under the same terms."""
        found = self._counted(patience, threads, 0, 0)
        return None if found is None else found[0]

    def pairs(self, chunk: int = CHUNK) -> Iterator[tuple[Longs, Longs]]:
        """The pairs of points of different rows in chunks; what is kept between two chunks does not grow."""
        state = np.zeros(7, np.int64)
        stack = np.empty((256, 2), np.int32)
        while True:
            found = np.empty((2, chunk), np.int64)
            filled = list_pairs(*self._trees, self.roots, self.n_order, state, stack, found)
            if filled:
                yield found[0, :filled], found[1, :filled]
            if filled < chunk:
                return

    @property
    def _trees(self) -> tuple[Trees, Trees]:
        return self.s.trees(self.lag), self.t.trees(self.lag)

    def _counted(self, patience: int, threads: int, s_room: int, t_room: int) -> tuple[int, Longs, Longs] | None:
        """The number of pairs, and partners as the kernel adds them to arrays of so much room; None out of patience."""

        def part(roots: Int32s) -> tuple[int, Longs, Longs]:
            changes = np.zeros(s_room, np.int64), np.zeros(t_room, np.int64)
            return int(count_partners(*self._trees, roots, self.n_order, changes, patience // threads)), *changes

        roots = self.roots if threads == 1 else self._tasks(64 * threads)
        shares = [np.ascontiguousarray(roots[share::threads]) for share in range(threads)]
        parts = together(threads, [partial(part, share) for share in shares])
        if any(total < 0 for total, _, _ in parts):
            return None
        total, *changes = parts[0]
        for other_total, *others in parts[1:]:
            total += other_total
            for change, other in zip(changes, others, strict=True):
                change += other
        return total, changes[0], changes[1]

    def _tasks(self, room: int) -> Int32s:
        """The pairs of trees split into more and smaller ones, for threads to share."""
        if len(self.roots) > room:
            return self.roots
        tasks = np.empty((4 * room, 2), np.int32)
        return tasks[: share_out(*self._trees, self.roots, self.n_order, tasks)]
