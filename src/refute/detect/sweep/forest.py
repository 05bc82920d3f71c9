"""Points as two forests of boxes: the way that answers every shape of problem, in linear space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.kernels.dominance.boxes import Trees, count_partners, find_pair, list_pairs, share_out
from refute.kernels.dominance.forest import BitTables, bit_tables, enclosing_boxes, grow_forest, interleave
from refute.kernels.sort.sorting import gather_column, segment_order, segment_starts, sorted_positions, taken
from refute.plan.problem import Comparison, Rows
from refute.runtime.arrays import empty, full, give_back
from refute.runtime.threads import together

LEAF = 12

_BLOCK = 1 << 16  # values that are read at a time


@dataclass(frozen=True, slots=True)
class Forest:
    """One k-d tree per group over the points of one side."""

    points: NDArray[np.int32]
    nodes: NDArray[np.int32]
    boxes: NDArray[np.int32]
    roots: NDArray[np.int32]

    @classmethod
    def of(cls, source: Points, side: int, compared: Sequence[Comparison], tables: BitTables, leaf: int) -> Forest:
        """The forest over the points of side s (0) or t (1) of the source, by these comparisons."""
        size = source.n_t if side else source.n_s
        give_back(size)
        codes = full(size, 0, np.int64)
        for table, comparison in zip(tables[0], compared, strict=True):
            ranks = ranked(comparison)  # once more, as keeping all of them would double the memory
            for start in range(0, size, _BLOCK):
                block = slice(start, start + _BLOCK)
                interleave(ranks.t_at(block) if side else ranks.s_at(block), table, codes[block])
            del ranks
            give_back(size)
        order = sorted_positions(codes, tables[1])
        give_back(size)
        starts = np.array([0, size], np.int64)
        if source.group is not None:
            numbers = source.group.codes[side]
            starts = segment_starts(numbers, source.groups)
            order = taken(order, segment_order(taken(numbers, order), starts))
        ordered = taken(codes, order)
        del codes
        give_back(size)
        leaf = leaf * max(len(compared) - 1, 2) // 2  # boxes of more dimensions are larger, and should be fewer
        nodes, roots = grow_forest(ordered, starts, leaf)
        del ordered
        give_back(size)
        rows = None if source.aligned else source.row_numbers()[side]
        points = empty(size * (len(compared) + (1 if rows is None else 2)), np.int32).reshape(size, -1)
        for place, comparison in enumerate(compared):
            gather_column(*comparison.reading(side), order, points, place)
        points[:, len(compared)] = order
        if rows is not None:
            gather_column(rows, False, 0, order, points, len(compared) + 1)
        del order
        give_back(size)
        return cls(points, nodes, enclosing_boxes(points, nodes, len(compared)), roots)

    def trees(self, lag: NDArray[np.int32]) -> Trees:
        """What the kernels read."""
        return self.points, self.nodes, self.boxes, lag


@dataclass(frozen=True, slots=True)
class Forests:
    """Both sides of a problem as forests, and the groups they share."""

    source: Points
    s: Forest
    t: Forest
    roots: NDArray[np.int32]
    lag: NDArray[np.int32]  # what is added to the values of t

    @classmethod
    def of(cls, source: Points, *, leaf: int = LEAF, threads: int = 1) -> Forests:
        """Forests over the points; a side that equals the other, or is one above it in some orders, is built once."""
        compared = [ranked(each) if each.size > INT32 else each for each in source.order + source.differ]
        grouped = source.group is None or source.group.twin
        twin = source.aligned and grouped and all(each.same_codes for each in compared)
        lag = np.array([each.lag if twin else 0 for each in compared], np.int32)
        tables = bit_tables([min(ranked(each).size, INT32) for each in compared])
        if twin:
            s = t = Forest.of(source, 0, compared, tables, leaf)
        else:
            s, t = together(threads, [partial(Forest.of, source, side, compared, tables, leaf) for side in (0, 1)])
        both = (s.roots >= 0) & (t.roots >= 0)
        return cls(source, s, t, np.ascontiguousarray(np.stack((s.roots[both], t.roots[both]), axis=1)), lag)

    @property
    def _trees(self) -> tuple[Trees, Trees]:
        return self.s.trees(self.lag), self.t.trees(self.lag)

    def find(self, threads: int = 1) -> tuple[int, int] | None:
        """Some pair of points, or None."""
        stop = np.zeros(1, np.uint8)
        k = len(self.source.order)
        roots = self.roots if threads == 1 else self._tasks(64 * threads)
        parts = 1 if threads == 1 else min(32 * threads, len(roots))  # many, as some take far longer than others
        calls = [
            partial(find_pair, *self._trees, np.ascontiguousarray(roots[part::parts]), k, stop) for part in range(parts)
        ]
        for s, t in together(threads, calls):
            if s >= 0:
                return int(s), int(t)
        return None

    def partners(self, patience: int = 2**62) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """For each point of s, and of t, its number of partners, itself included where it matches itself.

        None when more than `patience` pairs of boxes would have to be looked at.
        """
        changes = (np.zeros(self.source.n_s + 1, np.int64), np.zeros(self.source.n_t + 1, np.int64))
        if self._counted(changes, patience) < 0:
            return None
        totals = []
        for change, forest in zip(changes, (self.s, self.t), strict=True):
            total = np.empty(len(change) - 1, np.int64)
            total[forest.points[:, forest.boxes.shape[2]]] = np.cumsum(change)[:-1]
            totals.append(total)
        return totals[0], totals[1]

    def count(self, patience: int = 2**62) -> int | None:
        """The number of pairs, under the same terms."""
        nobody = np.empty(0, np.int64)
        total = self._counted((nobody, nobody), patience)
        return None if total < 0 else total

    def _counted(self, changes: tuple[NDArray[np.int64], NDArray[np.int64]], patience: int) -> int:
        k = len(self.source.order)
        return int(count_partners(*self._trees, self.roots, k, changes, patience))

    def _tasks(self, room: int) -> NDArray[np.int32]:
        """The pairs of trees split into more and smaller ones, for threads to share."""
        if len(self.roots) > room:
            return self.roots
        tasks = np.empty((4 * room, 2), np.int32)
        return tasks[: share_out(*self._trees, self.roots, len(self.source.order), tasks)]

    def pairs(self, chunk: int) -> Iterator[tuple[Rows, Rows]]:
        """The pairs of points in chunks; what is kept between two chunks does not grow."""
        state = np.zeros(7, np.int64)
        stack = np.empty((256, 2), np.int32)
        while True:
            found = np.empty((2, chunk), np.int64)
            filled = list_pairs(*self._trees, self.roots, len(self.source.order), state, stack, found)
            if filled:
                yield found[0, :filled], found[1, :filled]
            if filled < chunk:
                return
