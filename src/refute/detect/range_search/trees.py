"""Points in the shapes that indexes read: one grouping, both sides sorted, both sides as k-d trees."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import Points
from refute.index.dual_tree import DualTree
from refute.index.range_tree import SortedSides
from refute.plan.problem import Comparison

Int64s = NDArray[np.int64]


def dual(points: Points, threads: int) -> DualTree:
    """Both sides as k-d trees, differences and the group as axes of their own."""
    ids = None
    if points.self_pairs:
        s_rows = np.arange(points.n_s) if points.s_rows is None else points.s_rows
        ids = s_rows, s_rows if points.aligned else np.arange(points.n_t) if points.t_rows is None else points.t_rows
    equal = [grouping(points)] if points.group is not None or not (points.order or points.differ) else []
    axes = ([(each.s, each.t) for each in kind] for kind in (equal, points.order, points.differ))
    return DualTree.build(*axes, ids=ids, threads=threads)


def sides(points: Points) -> SortedSides:
    """Both sides sorted for a sweep."""
    group = grouping(points)
    return SortedSides.build((group.s, group.t, group.size), [(each.s, each.t, each.size) for each in points.order])


def grouping(points: Points) -> Comparison:
    """The group number of each point; one group where nothing need be equal."""
    if points.group is not None:
        return points.group
    s = np.zeros(points.n_s, np.int32)
    return Comparison(s, s if points.n_s == points.n_t else np.zeros(points.n_t, np.int32), 1)


def sizes(points: Points) -> tuple[Int64s, Int64s]:
    """The number of points of each side in each group."""
    group = grouping(points)
    return np.bincount(group.s, minlength=group.size), np.bincount(group.t, minlength=group.size)
