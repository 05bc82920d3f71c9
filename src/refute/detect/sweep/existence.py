"""Whether any pair satisfies a problem, with a witness."""

from __future__ import annotations

from refute.detect.sweep.forest import Forests
from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import reduce
from refute.plan.problem import Problem
from refute.plan.share import Share


def exists(problem: Problem, share: Share | None = None) -> tuple[int, int] | None:
    """Row numbers of some violating pair, or None."""
    points = reduce(problem, share)
    if points is None:
        return None
    found = _find(points, share)
    if found is None:
        return None
    s, t = found
    return (
        s if points.s_rows is None else int(points.s_rows[s]),
        t if points.t_rows is None else int(points.t_rows[t]),
    )


def _find(points: Points, share: Share | None) -> tuple[int, int] | None:
    return Forests.of(points, share).find()
