"""Points in the shapes that range trees read: one grouping, and both sides sorted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import Points
from refute.index.range_tree import SortedSides
from refute.plan.problem import Comparison

Int64s = NDArray[np.int64]


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
