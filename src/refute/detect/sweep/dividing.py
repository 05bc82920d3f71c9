"""Counts in three and more dimensions by divide and conquer."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.threads import threads_for
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance_divide import count_divided, sequence_numbers
from refute.kernels.sorting import segment_order, segment_starts, sorted_positions
from refute.plan.problem import Ints
from refute.plan.share import Share
from refute.relation.together import together


def count_by_dividing(points: Points, per_t: NDArray[np.int64] | None, share: Share | None, tuning: Tuning) -> int:
    """The number of pairs; `per_t` gets the partners of each point of t."""
    first, *others = sorted(points.order, key=lambda each: each.size, reverse=True)
    s_order = sorted_positions(first.s, first.size)
    t_order = s_order if first.s is first.t else sorted_positions(first.t, first.size)
    s, t = (np.empty((len(points.order), n), np.int32) for n in (points.n_s, points.n_t))
    sequence_numbers(first.s[s_order], first.t[t_order], s[0], t[0])
    s_starts, s_order = _by_group(s[0], s_order, None if points.group is None else points.group.s, points.groups)
    t_starts, t_order = _by_group(t[0], t_order, None if points.group is None else points.group.t, points.groups)
    for row, comparison in enumerate(others, start=1):
        ranks = ranked(comparison)
        s[row], t[row] = ranks.s[s_order], ranks.t[t_order]
        del ranks
    places = None if per_t is None else t_order
    del s_order, t_order
    below = np.zeros(0 if per_t is None else points.n_s + points.n_t, np.int32)
    threads = threads_for(share, points.n_s + points.n_t, tuning.parallel)
    cuts = _even_cuts(s_starts + t_starts, threads)

    def part(first_group: int, last_group: int) -> int:
        s_part, t_part = s_starts[first_group : last_group + 1], t_starts[first_group : last_group + 1]
        room = int(max(np.diff(s_part).max(), np.diff(t_part).max())) + 1
        spare = np.empty((len(s), room), np.int32)
        arena = np.empty((len(s), tuning.arena), np.int32)
        return int(count_divided(s, t, s_part, t_part, tuning.brute, below, spare, arena))

    calls = [partial(part, first, last) for first, last in pairwise(cuts) if first < last]
    total = sum(together(threads, calls))
    if per_t is not None and places is not None:
        per_t[places] = below[t[0]]
    return total


def _even_cuts(bounds: NDArray[np.int64], parts: int) -> list[int]:
    """Groups at which to cut, so that parts have about as many points each; `bounds` are where groups start."""
    goals = [int(bounds[-1]) * part // parts for part in range(1, parts)]
    return [0, *(int(cut) for cut in np.searchsorted(bounds[:-1], goals)), len(bounds) - 1]


def _by_group(
    numbers: NDArray[np.int32], order: Ints, group: Ints | None, groups: int
) -> tuple[NDArray[np.int64], Ints]:
    """Where groups start, and the points by group; `numbers`, given in the order of points, follow them."""
    if group is None:
        return np.array([0, len(order)], np.int64), order
    ordered = group[order]
    starts = segment_starts(ordered, groups)
    inside = segment_order(ordered, starts)
    numbers[:] = numbers[inside]
    return starts, order[inside]
