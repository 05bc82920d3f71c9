"""Counts by divide and conquer, groups in blocks: a block stays within the caches, and threads share the blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance.divide import count_divided, sequence_numbers
from refute.kernels.sort.sorting import (
    gather_row,
    numbers_below,
    segment_order,
    segment_starts,
    sorted_positions,
    taken,
)
from refute.plan.problem import Comparison, Ints
from refute.plan.share import Share, threads_for
from refute.runtime.arrays import empty
from refute.runtime.threads import together

Longs = NDArray[np.int64]

_SPARSE = 16  # values per point above which halving a range of values would waste steps, so they are ranked


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
    """The points of one side by group: where each group starts among `places`, their positions."""

    starts: Longs
    places: Ints

    @classmethod
    def of(cls, group: Ints | None, groups: int, size: int) -> _Side:
        if group is None:
            return cls(np.array([0, size], np.int64), numbers_below(size))
        starts = segment_starts(group, groups)
        return cls(starts, segment_order(group, starts))

    def of_groups(self, first: int, last: int) -> tuple[Longs, Ints]:
        """Where these groups start among themselves, and the positions of their points."""
        starts = self.starts[first : last + 1]
        return starts - starts[0], self.places[starts[0] : starts[-1]]


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
    first, *others = order
    s, t = (empty((len(order), n), np.int32) for n in (n_s, n_t))
    s_places = _arranged(first, 0, s_places, s_starts)
    for row, comparison in enumerate(others, start=1):
        gather_row(*comparison.reading(0), s_places, s[row])
    alike = s_side is t_side and all(each.same_codes for each in order)
    t_places = s_places if alike else _arranged(first, 1, t_places, t_starts)
    for row, comparison in enumerate(others, start=1):
        if alike:
            np.add(s[row], np.int32(comparison.lag), out=t[row])
        else:
            gather_row(*comparison.reading(1), t_places, t[row])
    s_first = taken(first.codes[0], s_places)
    t_first = s_first if alike else taken(first.codes[1], t_places)
    sequence_numbers(s_first, t_first, s_starts, t_starts, first.turned, first.lag, s[0], t[0])
    below = np.zeros(0 if per_t is None else n_s + n_t, np.int32)
    room = int(max(np.diff(s_starts).max(), np.diff(t_starts).max())) + 1
    spare = empty((len(s), room), np.int32)
    arena = empty((len(s), tuning.arena), np.int32)
    total = int(count_divided(s, t, s_starts, t_starts, tuning.brute, below, spare, arena))
    if per_t is not None:
        per_t[t_places] = taken(below, t[0])
    return total


def _arranged(first: Comparison, side: int, places: Ints, starts: Longs) -> Ints:
    """The places, which are given by group, in ascending order of the comparison inside each group."""
    order = sorted_positions(taken(first.codes[side], places), first.size, turned=first.turned)
    if len(starts) > 2:
        group = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        order = taken(order, segment_order(taken(group, order), starts))
    return taken(places, order)


def _even_cuts(bounds: Longs, parts: int) -> list[int]:
    """Groups at which to cut, so parts have about as many points each; `bounds` are where groups start."""
    goals = [int(bounds[-1]) * part // parts for part in range(1, parts)]
    return [0, *(int(cut) for cut in np.searchsorted(bounds[:-1], goals)), len(bounds) - 1]
