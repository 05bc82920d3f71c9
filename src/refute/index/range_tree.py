"""Points of two sides prepared for a sweep over range trees, one tree for each group.

One order comparison is sorted away; a tree has the others as its dimensions, which is what Rapidash's enumeration
does (section 4.7, Theorem 2, Algorithm 6). For existence a second comparison becomes a minimum kept in the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from refute.kernels.range_search import range_tree as tree_kernel
from refute.kernels.range_search import sort_reduced as kernel
from refute.kernels.sort.sorting import segment_order, segment_starts, sorted_positions
from refute.runtime.threads import together

Ints = NDArray[np.signedinteger]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Order = tuple[Ints, Ints, int]  # the values of side s and of side t, all in [0, size)

CHUNK = 1 << 16  # pairs that one step of a listing returns, unless one query alone has more


@dataclass(frozen=True, slots=True)
class SortedSides:
    """Both sides by group, and within a group by the first order comparison; the others as ranks within the group.

    Position p stands for point `s_order[p]` of side s; likewise for t.
    """

    ranks: Int32s  # [d, n_s], without ties within a group
    corners: Int32s  # [n_t, d]: how many points of s in the group are below, dimension by dimension
    upto: Int32s  # [n_t]: the same for the sorted comparison
    s_starts: Int64s  # where each group starts, with the total at the end
    t_starts: Int64s
    s_order: Ints
    t_order: Ints

    @classmethod
    def build(cls, group: Order, order: Sequence[Order]) -> SortedSides:
        """The sides for a group number in `[0, size)` and at least one comparison `s < t`."""
        s_group, t_group, n_groups = group
        starts = segment_starts(s_group, n_groups), segment_starts(t_group, n_groups)
        s_order: Ints = np.empty(0, np.int64)
        t_order: Ints = np.empty(0, np.int64)
        n_s, n_t = len(s_group), len(t_group)
        corners = np.empty((len(order), n_t), np.int32)
        ranks = np.empty((len(order), n_s), np.int32)
        for i, (s, t, size) in enumerate(order):
            by_s = _sorted_in_groups(s_group, starts[0], s, size)
            by_t = by_s if s is t and s_group is t_group else _sorted_in_groups(t_group, starts[1], t, size)
            kernel.rank_within((by_s, by_t), (s, t), starts, ranks[i], corners[i])
            if i == 0:
                s_order, t_order = by_s, by_t
        return cls(
            np.ascontiguousarray(ranks[1:, s_order]),
            np.ascontiguousarray(corners[1:, t_order].T),
            corners[0, t_order],
            *starts,
            s_order,
            t_order,
        )

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.s_starts) - 1

    def count(self, *, threads: int = 1) -> tuple[int, Int64s]:
        """The number of matching pairs, and for each point of t its number of partners."""
        found = np.zeros(len(self.t_order), np.int64)
        args = self.ranks, self.corners, self.upto, (self.s_starts, self.t_starts)
        calls = [partial(kernel.count_partners, *args, span, found) for span in self._spans(threads)]
        total = sum(map(int, together(threads, calls)))
        by_point = np.empty_like(found)
        by_point[self.t_order] = found
        return total, by_point

    def first(self, own: Int64s | None = None) -> int | None:
        """Some point of t with a partner, or with more than `own[t]` partners where `own` is given; None without."""
        args = self.ranks, self.corners, self.upto, (self.s_starts, self.t_starts), (0, self.n_groups)
        if own is None and len(self.ranks):
            at = kernel.first_with_lower(*args)
        else:
            needed = np.zeros(len(self.t_order), np.int64) if own is None else own[self.t_order]
            at = kernel.first_partnered(*args, needed)
        return None if at < 0 else int(self.t_order[at])

    def pairs(self, *, chunk: int = CHUNK) -> Iterator[tuple[Int64s, Int64s]]:
        """The matching pairs of points in chunks, at most a group's points or `chunk` at a time."""
        capacity = max(chunk, int(np.diff(self.s_starts).max()))
        state = np.zeros(2, np.int64)
        while state[0] < self.n_groups:
            out = np.empty((2, capacity), np.int64)
            starts = self.s_starts, self.t_starts
            filled = kernel.compare_pairs(self.ranks, self.corners, self.upto, starts, state, out)
            if filled:
                yield self._points(out[:, :filled])
            group = int(state[0])
            if group < self.n_groups and len(self.ranks) and state[1] <= self.t_starts[group]:
                yield from self._pairs_of_large(group, capacity)
                state[:] = group + 1, 0

    def _pairs_of_large(self, group: int, capacity: int) -> Iterator[tuple[Int64s, Int64s]]:
        """The pairs of one group, by its range tree; nothing where the group is small."""
        first, end = self.s_starts[group], self.s_starts[group + 1]
        begin, stop = self.t_starts[group], self.t_starts[group + 1]
        tree = tree_kernel.plant(np.ascontiguousarray(self.ranks[:, first:end]), False)
        state = np.zeros(2, np.int64)
        while state[0] < stop - begin:
            out = np.empty((2, capacity), np.int64)
            filled = kernel.report_pairs(tree, self.corners[begin:stop], self.upto[begin:stop], state, out)
            if filled:
                yield self._points(out[:, :filled] + [[first], [begin]])

    def _points(self, positions: Int64s) -> tuple[Int64s, Int64s]:
        """The points at sweep positions of each side."""
        s, t = self.s_order[positions[0]], self.t_order[positions[1]]
        return s.astype(np.int64, copy=False), t.astype(np.int64, copy=False)

    def _spans(self, threads: int) -> list[tuple[int, int]]:
        """The groups in about equal parts for each thread."""
        if threads < 2 or self.n_groups < 2:
            return [(0, self.n_groups)]
        cuts = np.searchsorted(self.s_starts, np.linspace(0, self.s_starts[-1], 4 * threads + 1)[1:-1])
        bounds = [0, *np.unique(cuts).tolist(), self.n_groups]
        return [(a, b) for a, b in pairwise(bounds) if a < b]


def tree_bytes(points: int, dims: int) -> int:
    """The memory of a range tree over that many points: O(n log^(dims - 1) n), as built."""
    if dims < 1 or points < 1:
        return 0
    words = np.zeros((dims, max(tree_kernel.CUT + 2, points.bit_length() + 1)), np.int64)
    tree_kernel.measure(words)
    return 4 * (2 * int(tree_kernel.node_words(words, 0, points)) + 3 * dims * points)


def _sorted_in_groups(group: Ints, starts: Int64s, values: Ints, size: int) -> Ints:
    """Positions by group, then value."""
    order = sorted_positions(values, size)
    if len(starts) <= 2:
        return order
    return order[segment_order(group[order], starts)]
