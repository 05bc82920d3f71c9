"""Counts by divide and conquer, groups in blocks: a block stays within the caches, and threads share the blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.threads import threads_for
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance_divide import count_divided, sequence_numbers
from refute.kernels.memory import empty
from refute.kernels.sorting import segment_order, segment_starts, sorted_positions, taken
from refute.plan.problem import Comparison, Ints, Positions
from refute.plan.share import Share
from refute.relation.together import together

Longs = NDArray[np.int64]

_SPARSE = 16  # values per point above which halving a range of values would waste steps, so that they are ranked


def count_by_dividing(points: Points, per_t: Longs | None, share: Share | None, tuning: Tuning) -> int:
    """The number of pairs; `per_t` gets the partners of each point of t."""
    first, *others = sorted(points.order, key=lambda each: each.size, reverse=True)
    most = min(_SPARSE * (points.n_s + points.n_t), INT32)
    order = (first, *(ranked(each) if each.size > most else each for each in others))
    s_side = _Side.of(None if points.group is None else points.group.s, points.groups, points.n_s)
    t_side = s_side
    if not points.aligned or (points.group is not None and not points.group.twin):
        t_side = _Side.of(None if points.group is None else points.group.t, points.groups, points.n_t)
    threads = threads_for(share, points.n_s + points.n_t, tuning.parallel)
    bounds = s_side.starts + t_side.starts
    parts = max(threads, -(-int(bounds[-1]) // max(2 * tuning.block, 1)))
    blocks = [
        partial(_count_block, order, s_side, t_side, groups, per_t, tuning)
        for groups in pairwise(_even_cuts(bounds, parts))
        if groups[0] < groups[1]
    ]
    return sum(together(threads, blocks))


@dataclass(frozen=True, slots=True)
class _Side:
    """The points of one side by group. `places`: their positions, None where there is one group only."""

    starts: Longs
    places: Ints | None

    @classmethod
    def of(cls, group: Ints | None, groups: int, size: int) -> _Side:
        if group is None:
            return cls(np.array([0, size], np.int64), None)
        starts = segment_starts(group, groups)
        return cls(starts, segment_order(group, starts))

    def of_groups(self, first: int, last: int) -> tuple[Longs, Positions]:
        """Where these groups start among themselves, and the positions of their points."""
        starts = self.starts[first : last + 1]
        within = slice(int(starts[0]), int(starts[-1]))
        return starts - starts[0], within if self.places is None else self.places[within]


def _count_block(
    order: tuple[Comparison, ...],
    s_side: _Side,
    t_side: _Side,
    groups: tuple[int, int],
    per_t: Longs | None,
    tuning: Tuning,
) -> int:
    """The pairs inside the groups of a block."""
    s_starts, s_places = s_side.of_groups(*groups)
    t_starts, t_places = (s_starts, s_places) if s_side is t_side else t_side.of_groups(*groups)
    n_s, n_t = int(s_starts[-1]), int(t_starts[-1])
    if not n_s or not n_t:
        return 0
    first = order[0]
    s_first, t_first = first.s_at(s_places), first.t_at(t_places)
    s_sorted = sorted_positions(s_first, first.size)
    alike = s_side is t_side and first.same_codes
    t_sorted = s_sorted if alike else sorted_positions(t_first, first.size)
    s, t = (empty((len(order), n), np.int32) for n in (n_s, n_t))
    sequence_numbers(s_first[s_sorted], t_first[t_sorted], s[0], t[0])
    s_sorted = _by_group(s[0], s_sorted, s_starts)
    t_sorted = _by_group(t[0], t_sorted, t_starts)
    for row, comparison in enumerate(order[1:], start=1):
        np.take(comparison.s_at(s_places), s_sorted, out=s[row], mode="clip")
        np.take(comparison.t_at(t_places), t_sorted, out=t[row], mode="clip")
    below = np.zeros(0 if per_t is None else n_s + n_t, np.int32)
    room = int(max(np.diff(s_starts).max(), np.diff(t_starts).max())) + 1
    spare = empty((len(s), room), np.int32)
    arena = empty((len(s), tuning.arena), np.int32)
    total = int(count_divided(s, t, s_starts, t_starts, tuning.brute, below, spare, arena))
    if per_t is not None:
        found = empty(n_t, np.int64)
        found[t_sorted] = below[t[0]]
        per_t[t_places] = found
    return total


def _even_cuts(bounds: Longs, parts: int) -> list[int]:
    """Groups at which to cut, so that parts have about as many points each; `bounds` are where groups start."""
    goals = [int(bounds[-1]) * part // parts for part in range(1, parts)]
    return [0, *(int(cut) for cut in np.searchsorted(bounds[:-1], goals)), len(bounds) - 1]


def _by_group(numbers: NDArray[np.int32], positions: Ints, starts: Longs) -> Ints:
    """The positions by group, as they are given inside each; `numbers`, given in their order, follow them.

    `starts` says which positions a group has.
    """
    if len(starts) == 2:
        return positions
    group = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
    inside = segment_order(taken(group, positions), starts)
    numbers[:] = taken(numbers, inside)
    return taken(positions, inside)
