"""How many pairs satisfy a problem."""

from __future__ import annotations

from refute.detect.sweep.partnership import point_partners
from refute.detect.sweep.reduce import reduce
from refute.plan.problem import Problem
from refute.plan.share import Share


def count(problem: Problem, share: Share | None = None) -> int:
    """The number of violating ordered pairs."""
    points = reduce(problem, share)
    return 0 if points is None else int(point_partners(points, share)[0].sum())
