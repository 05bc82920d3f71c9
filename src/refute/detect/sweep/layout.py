"""Points laid out for a sweep: which dimension is swept, which are kept in trees, and where each group's tree lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import combined, fewest_values, ranked, shared
from refute.detect.sweep.tuning import Tuning
from refute.kernels.sort.ranking import ranks_in_groups
from refute.kernels.sort.sorting import (
    gather_column,
    segment_bounds,
    segment_order,
    segment_starts,
    sorted_positions,
    taken,
)
from refute.plan.problem import Comparison, Ints, Reading
from refute.plan.share import Share
from refute.runtime.arrays import empty, full, give_back

MAX_TREE = 3  # dimensions of a Fenwick tree

Carried = Comparison | tuple[Ints, Ints]  # a column for each side


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Order comparisons by the part they play. `ragged`: the one tree dimension is ranked inside each group."""

    swept: Comparison
    tree: tuple[Comparison, ...]
    ragged: bool

    @property
    def steps(self) -> int:
        """Steps of one operation on the tree, at worst."""
        return prod(max(1, comparison.size.bit_length()) for comparison in self.tree)

    def cells_of_few(self, most: int) -> int:
        """The cells of the last tree dimension where all cells of a group are at most so many, to be written to all
        at once; 0 where they are more."""
        if self.ragged or not 1 <= len(self.tree) <= 2 or prod(each.size + 1 for each in self.tree) > most:
            return 0
        return self.tree[-1].size + 1


def choose(
    points: Points, order: tuple[Comparison, ...], share: Share | None, tuning: Tuning, *, most: int = MAX_TREE
) -> Dimensions | None:
    """The largest domain swept and the others in trees that fit; None when they do not."""
    table = tuning.table(points.n_s + points.n_t)
    by_size = sorted(order, key=lambda comparison: comparison.size, reverse=True)
    if len(by_size) - 1 > most:
        return None
    swept, *rest = by_size
    if _cells(points, rest) > table:
        values = {id(each): fewest_values(each) for each in by_size}
        widest, *others = sorted(by_size, key=lambda each: values[id(each)], reverse=True)
        if points.groups * prod(values[id(each)] + 1 for each in others) <= table:
            swept, rest = widest, [ranked(each, share) for each in others]
    if swept.size > INT32:
        swept = ranked(swept, share)
    if _cells(points, rest) <= table:
        return Dimensions(swept, tuple(rest), False)
    if len(rest) != 1:
        return None
    return Dimensions(swept, tuple(ranked(each, share) if each.size > INT32 else each for each in rest), True)


def _cells(points: Points, tree: list[Comparison]) -> int:
    return points.groups * prod(comparison.size + 1 for comparison in tree)


@dataclass(frozen=True, slots=True)
class Layout:
    """Columns for the kernels of `dominance_sweeps`, to be read in the order of the swept dimension."""

    s_columns: tuple[Reading | None, ...]
    t_columns: tuple[Reading | None, ...]
    s_order: Ints
    t_order: Ints
    base: NDArray[np.int64]
    length: NDArray[np.int32]
    spans: NDArray[np.int64]
    cells: int

    @classmethod
    def of(cls, points: Points, dimensions: Dimensions, carried: tuple[Carried, ...], share: Share | None) -> Layout:
        """The layout with the columns `carried` between the group and the positions."""
        give_back(points.n_s + points.n_t)
        swept, tree = dimensions.swept, list(dimensions.tree)
        groups = points.groups
        if not tree:
            base, length = np.arange(groups, dtype=np.int64), np.zeros(groups, np.int32)
            cells = groups
        elif dimensions.ragged:
            tree[0], base, length = _ragged(points, tree[0])
            cells = int(length.sum()) + groups
        else:
            per_group = prod(comparison.size + 1 for comparison in tree)
            base = np.arange(groups, dtype=np.int64) * per_group
            length = np.full(groups, tree[0].size, np.int32)
            cells = groups * per_group
        spans = np.array([comparison.size for comparison in tree[1:]] + [0, 0], np.int64)[:2]
        columns = (swept, points.group, *carried, *tree)
        s_columns, t_columns = (tuple(_reading(each, side) for each in columns) for side in (0, 1))
        s_order = shared(share, "s order", (swept.label,), lambda: _order(swept, 0))
        t_order = s_order
        if not swept.same_codes:
            t_order = shared(share, "t order", (swept.label,), lambda: _order(swept, 1))
        return cls(s_columns, t_columns, s_order, t_order, base, length, spans, cells)

    @property
    def twin(self) -> bool:
        """Whether both sides are the same points."""
        return all(_alike(left, right) for left, right in zip(self.s_columns, self.t_columns, strict=True))

    def matrices(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """All points of each side as rows in order; row i of s is the point `s_order[i]`."""
        s = _gathered(self.s_columns, self.s_order)
        return s, s if self.twin else _gathered(self.t_columns, self.t_order)

    def blocks(self, rows: int) -> Iterator[Block]:
        """The matrices in blocks of so many rows, so they take no memory and stay within the caches.

        A kernel moves `state` on; whatever it used up is followed by its next rows.
        """
        state = np.zeros(2, np.int64)
        buffers = full((3, min(rows, max(len(self.s_order), len(self.t_order))), len(self.s_columns)), 0, np.int32)
        s_at = t_at = s_start = t_start = 0  # `at`: the buffer of a side
        s = t = _fill(buffers[0], self.s_columns, self.s_order[:rows])
        if not self.twin:
            t_at, t = 1, _fill(buffers[1], self.t_columns, self.t_order[:rows])
        while True:
            yield Block(s, t, t_start, state, s_start + len(s) < len(self.s_order))
            if state[1] < len(t):
                s_start, state[0] = s_start + len(s), 0
                if self.twin and s_start == t_start:
                    s_at, s = t_at, t
                else:
                    s_at = _free(s_at, t_at)
                    s = _fill(buffers[s_at], self.s_columns, self.s_order[s_start : s_start + rows])
            else:
                t_start, state[1] = t_start + len(t), 0
                if t_start >= len(self.t_order):
                    return
                t_at = _free(s_at, t_at)
                t = _fill(buffers[t_at], self.t_columns, self.t_order[t_start : t_start + rows])


@dataclass(frozen=True, slots=True)
class Block:
    """Some rows of each side; those of t start at `t_start`. `more`: rows of s follow."""

    s: NDArray[np.int32]
    t: NDArray[np.int32]
    t_start: int
    state: NDArray[np.int64]
    more: bool


def _order(swept: Comparison, side: int) -> Ints:
    """The points of a side in ascending order of the comparison."""
    return sorted_positions(swept.codes[side], swept.size, turned=swept.turned)


def _reading(column: Comparison | Carried | None, side: int) -> Reading | None:
    if column is None:
        return None
    return column.reading(side) if isinstance(column, Comparison) else (column[side], False, 0)


def _alike(left: Reading | None, right: Reading | None) -> bool:
    """Whether both sides read the same."""
    if left is None or right is None:
        return left is right
    return left[0] is right[0] and left[1:] == right[1:]


def _gathered(columns: tuple[Reading | None, ...], order: Ints) -> NDArray[np.int32]:
    return _fill(full((len(order), len(columns)), 0, np.int32), columns, order)


def _fill(matrix: NDArray[np.int32], columns: tuple[Reading | None, ...], order: Ints) -> NDArray[np.int32]:
    """The first rows of the matrix, with the points of this order; columns of None are zero and stay so."""
    for place, column in enumerate(columns):
        if column is not None:
            gather_column(*column, order, matrix, place)
    return matrix[: len(order)]


def _free(s_at: int, t_at: int) -> int:
    """One of three buffers that neither side is in."""
    return next(at for at in range(3) if at not in (s_at, t_at))


def _ragged(points: Points, comparison: Comparison) -> tuple[Comparison, NDArray[np.int64], NDArray[np.int32]]:
    """The order ranked inside each group, and where each group's tree starts and how long it is."""
    group = points.group
    if group is not None and group.twin and comparison.twin:
        codes = comparison.codes[0]
        order = sorted_positions(codes, comparison.size, turned=comparison.turned)
        order = taken(order, segment_order(taken(group.s, order), segment_starts(group.s, group.size)))
        ranks, length = empty(points.n_s, np.int32), full(group.size, 0, np.int32)
        ranks_in_groups(codes, group.s, order, ranks, length)
        return Comparison(ranks, ranks, comparison.size), _bases(length), length
    comparison = ranked(comparison)
    if points.group is None:
        return comparison, np.zeros(1, np.int64), np.array([comparison.size], np.int32)
    both = ranked(combined(points.group, comparison))
    first, last = segment_bounds(points.group.s, both.s, points.groups)
    if both.s is not both.t:
        t_first, t_last = segment_bounds(points.group.t, both.t, points.groups)
        first, last = np.minimum(first, t_first), np.maximum(last, t_last)
    length = np.maximum(last - first + 1, 0).astype(np.int32)
    s = both.s - first[points.group.s]
    t = s if both.s is both.t else both.t - first[points.group.t]
    return Comparison(s, t, comparison.size), _bases(length), length


def _bases(length: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(length[:-1] + np.int64(1))))
