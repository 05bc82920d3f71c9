"""Points as two forests of boxes: the way that answers every shape of problem, in linear space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.kernels.box_forest import EXTRA, bit_tables, build_forest, interleave, is_one_above
from refute.kernels.dominance_boxes import Trees, count_partners, find_pair, list_pairs, share_out
from refute.kernels.sorting import segment_order, segment_starts, sorted_positions
from refute.plan.problem import Comparison, Ints, Rows
from refute.relation.together import together

LEAF = 12

_Side = tuple[Ints | None, int]  # group numbers and how many groups


@dataclass(frozen=True, slots=True)
class Forest:
    """One k-d tree per group over the points of one side."""

    points: NDArray[np.int32]
    nodes: NDArray[np.int32]
    boxes: NDArray[np.int32]
    roots: NDArray[np.int32]

    @classmethod
    def of(
        cls, columns: list[Ints], codes: NDArray[np.int64], bound: int, group: _Side, rows: Ints, leaf: int
    ) -> Forest:
        """The forest over points with these values, codes below `bound`, group and row numbers; codes are sorted."""
        order = sorted_positions(codes, bound)
        numbers, groups = group
        if numbers is None:
            starts = np.array([0, len(rows)], np.int64)
        else:
            starts = segment_starts(numbers, groups)
            order = order[segment_order(numbers[order], starts)]
        codes[:] = codes[order]
        points = np.empty((len(rows), len(columns) + EXTRA), np.int32)
        for place, column in enumerate([*columns, None, rows]):
            points[:, place] = order if column is None else column[order]
        del order
        return cls(points, *build_forest(points, codes, starts, leaf))

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
        lag = np.zeros(len(compared), np.int32)
        lags = _lags(source, compared)
        twin = lags is not None
        if lags is not None:
            lag[:] = lags
            compared = [Comparison(each.s, each.s, each.size) for each in compared]
        tables, bound = bit_tables([min(ranked(each).size, INT32) for each in compared])
        s_codes = np.zeros(source.n_s, np.int64)
        t_codes = s_codes if twin else np.zeros(source.n_t, np.int64)
        for table, comparison in zip(tables, compared, strict=True):
            ranks = ranked(comparison)  # once more, as keeping all of them would double the memory
            interleave(ranks.s, table, s_codes)
            if not twin:
                interleave(ranks.t, table, t_codes)
            del ranks
        s_rows, t_rows = source.row_numbers()
        group, groups = source.group, source.groups

        def s_side() -> Forest:
            side = (None if group is None else group.s, groups)
            return Forest.of([each.s for each in compared], s_codes, bound, side, s_rows, leaf)

        def t_side() -> Forest:
            side = (None if group is None else group.t, groups)
            return Forest.of([each.t for each in compared], t_codes, bound, side, t_rows, leaf)

        if twin:
            s = t = s_side()
        else:
            s, t = together(threads, (s_side, t_side))
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
        calls = [
            partial(find_pair, *self._trees, np.ascontiguousarray(roots[part::threads]), k, stop)
            for part in range(threads)
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
            total[forest.points[:, -2]] = np.cumsum(change)[:-1]
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


def _lags(source: Points, compared: list[Comparison]) -> list[int] | None:
    """By how much t is above s in each comparison, 0 or 1 at every point; None unless both sides are the same rows."""
    if not source.aligned or (source.group is not None and source.group.s is not source.group.t):
        return None
    orders = len(source.order)
    lags = [0 if each.s is each.t else 1 for each in compared]
    for place, (each, lag) in enumerate(zip(compared, lags, strict=True)):
        if lag and (place >= orders or not is_one_above(each.s, each.t)):
            return None
    return lags
