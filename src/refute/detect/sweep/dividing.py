"""Counts in three and more dimensions by divide and conquer."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.threads import threads_for, together
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance_divide import count_divided, sequence_numbers
from refute.kernels.sorting import segment_order, segment_starts, sorted_positions
from refute.plan.problem import Ints
from refute.plan.share import Share


def count_by_dividing(points: Points, per_t: NDArray[np.int64] | None, share: Share | None, tuning: Tuning) -> int:
    """The number of pairs; `per_t` gets the partners of each point of t."""
    order = sorted((ranked(each, share) for each in points.order), key=lambda each: each.size, reverse=True)
    first = order[0]
    s_order = sorted_positions(first.s, first.size)
    t_order = s_order if first.s is first.t else sorted_positions(first.t, first.size)
    s_numbers, t_numbers = np.empty(points.n_s, np.int32), np.empty(points.n_t, np.int32)
    sequence_numbers(first.s[s_order], first.t[t_order], s_numbers, t_numbers)
    s, s_starts, _ = _arranged(s_numbers, [each.s for each in order[1:]], s_order, _side(points, 0), points.groups)
    t, t_starts, places = _arranged(t_numbers, [each.t for each in order[1:]], t_order, _side(points, 1), points.groups)
    below = np.zeros(0 if per_t is None else points.n_s + points.n_t, np.int32)
    threads = threads_for(share, points.n_s + points.n_t, tuning.parallel)
    cuts = _even_cuts(s_starts + t_starts, threads)

    def part(first_group: int, last_group: int) -> int:
        s_part, t_part = s_starts[first_group : last_group + 1], t_starts[first_group : last_group + 1]
        room = int(max(np.diff(s_part).max(), np.diff(t_part).max())) + 1
        spare = np.empty((len(order), room), np.int32)
        arena = np.empty((len(order), tuning.arena), np.int32)
        return int(count_divided(s, t, s_part, t_part, tuning.brute, below, spare, arena))

    calls = [partial(part, first, last) for first, last in pairwise(cuts) if first < last]
    total = sum(together(threads, calls))
    if per_t is not None:
        per_t[places] = below[t[0]]
    return total


def _even_cuts(bounds: NDArray[np.int64], parts: int) -> list[int]:
    """Groups at which to cut, so that parts have about as many points each; `bounds` are where groups start."""
    goals = [int(bounds[-1]) * part // parts for part in range(1, parts)]
    return [0, *(int(cut) for cut in np.searchsorted(bounds[:-1], goals)), len(bounds) - 1]


def _arranged(
    numbers: NDArray[np.int32], columns: list[Ints], order: Ints, group: Ints | None, groups: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], Ints]:
    """The matrix of one side by group and sequence number, where groups start, and the point of each column."""
    if group is None:
        starts = np.array([0, len(order)], np.int64)
    else:
        ordered = group[order]
        starts = segment_starts(ordered, groups)
        inside = segment_order(ordered, starts)
        order, numbers = order[inside], numbers[inside]
    return np.stack([numbers, *(column[order] for column in columns)]), starts, order


def _side(points: Points, side: int) -> Ints | None:
    if points.group is None:
        return None
    return points.group.t if side else points.group.s
