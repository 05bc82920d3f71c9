"""Counts in three and more dimensions by divide and conquer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance_divide import count_divided, sequence_numbers
from refute.kernels.sorting import segment_order, segment_starts, sorted_positions
from refute.plan.problem import Ints
from refute.plan.share import Share


def count_by_dividing(
    points: Points, per_t: NDArray[np.int64] | None, share: Share | None, tuning: Tuning
) -> int:
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
    spare = np.empty((len(order), max(points.n_s, points.n_t) + 1), np.int32)
    total = count_divided(s, t, s_starts, t_starts, tuning.brute, below, spare)
    if per_t is not None:
        per_t[places] = below[t[0]]
    return int(total)


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
