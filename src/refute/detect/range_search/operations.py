"""The four operations over a problem, each by the paper's cheapest algorithm that applies."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from refute.detect.range_search.choice import MOST_SEARCHED, IndexKind, RangeOptions, choose
from refute.detect.range_search.expansion import expanded
from refute.detect.range_search.trees import sides
from refute.detect.range_search.ways import searches, tallies, threads_of
from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import reduce
from refute.detect.sweep.trees import dual_tree
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share, announce, under, within
from refute.plan.step import UNFOUND, Nothing, Step, steps_under, steps_within

Int64s = NDArray[np.int64]

DEFAULT = RangeOptions()


def exists(
    problem: Problem, share: Share | None = None, options: RangeOptions = DEFAULT, *, first_rows: bool = True
) -> tuple[int, int] | None:
    """Some violating pair of row numbers, or None (Algorithms 1, 2 and 4; growing prefixes end it early)."""
    points = reduce(problem, share)
    if points is None:
        announce(share, Nothing())
        return None
    for scope, search in searches(points, options, first_rows=first_rows):
        found = search.find(within(share, scope))
        share = under(share, UNFOUND)
        if found is not None:
            s, t = np.array(found[0]), np.array(found[1])
            return int(points.rows_of_s(s)), int(points.rows_of_t(t))
    return None


def exists_steps(
    problem: Problem, share: Share | None = None, options: RangeOptions = DEFAULT, *, first_rows: bool = True
) -> Iterator[Step]:
    """The steps of `exists`, none of them run."""
    points = reduce(problem, share)
    if points is None:
        yield from Nothing().steps()
        return
    for number, (scope, search) in enumerate(searches(points, options, first_rows=first_rows)):
        steps = steps_within(scope, search.steps())
        yield from steps_under(UNFOUND, steps) if number else steps


def count(
    problem: Problem, share: Share | None = None, options: RangeOptions = DEFAULT, *, broken: bool = False
) -> int:
    """The number of violating ordered pairs (Algorithm 5 with f = count, over the sort of Algorithm 6).

    That there is one, which `broken` says, saves nothing here.
    """
    points = reduce(problem, share)
    if points is None:
        announce(share, Nothing())
        return 0
    return sum(sign * tally.count(within(share, scope)) for scope, sign, tally in tallies(points, options))


def count_steps(
    problem: Problem, share: Share | None = None, options: RangeOptions = DEFAULT, *, broken: bool = False
) -> Iterator[Step]:
    """The steps of `count`, none of them run."""
    points = reduce(problem, share)
    if points is None:
        yield from Nothing().steps()
        return
    for scope, _, tally in tallies(points, options):
        yield from steps_within(scope, tally.steps())


def partners(problem: Problem, share: Share | None = None, options: RangeOptions = DEFAULT) -> tuple[Int64s, Int64s]:
    """For each point of side s, and of side t, its number of partners; both sides are queried in turn."""
    of_s, of_t = np.zeros(problem.s.size, np.int64), np.zeros(problem.t.size, np.int64)
    points = reduce(problem, share)
    if points is None:
        announce(share, Nothing())
        return of_s, of_t
    for scope, sign, tally in tallies(points, options):
        s_found, t_found = tally.partners(within(share, scope))
        _add(of_s, tally.points.s_pick, sign * s_found)
        _add(of_t, tally.points.t_pick, sign * t_found)
    return of_s, of_t


def partners_steps(problem: Problem, share: Share | None = None, options: RangeOptions = DEFAULT) -> Iterator[Step]:
    """The steps of `partners`: those of `count`, from both sides in turn."""
    return count_steps(problem, share, options)


def pairs(
    problem: Problem, share: Share | None = None, limit: int | None = None, options: RangeOptions = DEFAULT
) -> Iterator[tuple[Rows, Rows]]:
    """The violating pairs in bounded chunks of row numbers, at most `limit` (Algorithm 6, appendices B and D)."""
    if limit is not None and limit <= 0:
        return
    points = reduce(problem, share)
    if points is None:
        return
    for s, t in _point_pairs(points, options, threads_of(share)):
        s_rows, t_rows = points.rows_of_s(s), points.rows_of_t(t)
        if points.self_pairs:
            other = s_rows != t_rows
            s_rows, t_rows = s_rows[other], t_rows[other]
        if limit is not None:
            s_rows, t_rows = s_rows[:limit], t_rows[:limit]
            limit -= len(s_rows)
        if len(s_rows):
            yield s_rows, t_rows
        if limit == 0:
            return


def _point_pairs(points: Points, options: RangeOptions, threads: int) -> Iterator[tuple[Int64s, Int64s]]:
    """The pairs of points that satisfy all comparisons, a row with itself included."""
    dims = len(points.order) + len(points.differ) - 1
    if dims < 0 or choose(points, dims, options, most_points=MOST_SEARCHED) is IndexKind.KD_TREE:
        yield from dual_tree(points, threads=threads).pairs()
        return
    for part in expanded(points):
        yield from sides(part).pairs()


def _add(sums: Int64s, pick: Rows | None, values: Int64s) -> None:
    """Add values at the picked, distinct places."""
    sums[slice(None) if pick is None else pick] += values
