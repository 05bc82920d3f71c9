"""How many partners each point has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.forest import Forests
from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import reduce
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share

Longs = NDArray[np.int64]


def partners(problem: Problem, share: Share | None = None) -> tuple[Longs, Longs]:
    """For each point of side s, and of side t, its number of partners."""
    s_partners, t_partners = np.zeros(problem.s_size, np.int64), np.zeros(problem.t_size, np.int64)
    points = reduce(problem, share)
    if points is not None:
        s_found, t_found = point_partners(points, share)
        _spread(s_partners, points.s_pick, s_found)
        _spread(t_partners, points.t_pick, t_found)
    return s_partners, t_partners


def point_partners(points: Points, share: Share | None) -> tuple[Longs, Longs]:
    """The same per point, self pairs taken off."""
    s_found, t_found = Forests.of(points, share).partners()
    if points.self_pairs:
        s_self, t_self = points.self_matches()
        s_found[s_self] -= 1
        t_found[t_self] -= 1
    return s_found, t_found


def _spread(into: Longs, pick: Rows | None, found: Longs) -> None:
    if pick is None:
        into[:] = found
    else:
        into[pick] = found
