"""Points as two forests of boxes: the way that answers every shape of problem, in linear space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import ranked
from refute.kernels.dominance_boxes import EXTRA, build_forest, count_partners, find_pair, list_pairs
from refute.kernels.sorting import segment_order, segment_starts
from refute.plan.problem import Ints, Rows
from refute.plan.share import Share

LEAF = 16


@dataclass(frozen=True, slots=True)
class Forest:
    """One k-d tree per group over the points of one side."""

    points: NDArray[np.int32]
    nodes: NDArray[np.int32]
    boxes: NDArray[np.int32]
    roots: NDArray[np.int32]

    @classmethod
    def of(cls, columns: list[Ints], group: Ints | None, groups: int, rows: Ints, leaf: int) -> Forest:
        """The forest over points with these values, group and row numbers."""
        n = len(rows)
        points = np.empty((n, len(columns) + EXTRA), np.int32)
        if group is None:
            starts = np.array([0, n], np.int64)
            order: Ints | slice = slice(None)
            points[:, -2] = np.arange(n)
        else:
            starts = segment_starts(group, groups)
            order = segment_order(group, starts)
            points[:, -2] = order
        for place, column in enumerate([*columns, None, rows]):
            if column is not None:
                points[:, place] = column[order]
        return cls(points, *build_forest(points, starts, leaf))


@dataclass(frozen=True, slots=True)
class Forests:
    """Both sides of a problem as forests, and the groups they share."""

    source: Points
    s: Forest
    t: Forest
    roots: NDArray[np.int32]

    @classmethod
    def of(cls, source: Points, share: Share | None = None, *, leaf: int = LEAF) -> Forests:
        """Forests over the points; a side that equals the other is built once."""
        compared = [ranked(comparison, share) for comparison in source.order + source.differ]
        s_rows, t_rows = source.row_numbers()
        group = source.group
        s = Forest.of([c.s for c in compared], None if group is None else group.s, source.groups, s_rows, leaf)
        if source.twin:
            t = s
        else:
            t = Forest.of([c.t for c in compared], None if group is None else group.t, source.groups, t_rows, leaf)
        both = (s.roots >= 0) & (t.roots >= 0)
        return cls(source, s, t, np.ascontiguousarray(np.stack((s.roots[both], t.roots[both]), axis=1)))

    @property
    def _arguments(self) -> tuple[NDArray[np.int32], ...]:
        s, t = self.s, self.t
        return s.points, s.nodes, s.boxes, t.points, t.nodes, t.boxes, self.roots

    def find(self) -> tuple[int, int] | None:
        """Some pair of points, or None."""
        s, t = find_pair(*self._arguments, len(self.source.order))
        return None if s < 0 else (int(s), int(t))

    def partners(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For each point of s, and of t, its number of partners, itself included where it matches itself."""
        changes = (np.zeros(self.source.n_s + 1, np.int64), np.zeros(self.source.n_t + 1, np.int64))
        count_partners(*self._arguments, len(self.source.order), changes)
        totals = []
        for change, forest in zip(changes, (self.s, self.t), strict=True):
            total = np.empty(len(change) - 1, np.int64)
            total[forest.points[:, -2]] = np.cumsum(change)[:-1]
            totals.append(total)
        return totals[0], totals[1]

    def pairs(self, chunk: int) -> Iterator[tuple[Rows, Rows]]:
        """The pairs of points in chunks; what is kept between two chunks does not grow."""
        state = np.zeros(7, np.int64)
        stack = np.empty((256, 2), np.int32)
        while True:
            found = np.empty((2, chunk), np.int64)
            filled = list_pairs(*self._arguments, len(self.source.order), state, stack, found)
            if filled:
                yield found[0, :filled], found[1, :filled]
            if filled < chunk:
                return
