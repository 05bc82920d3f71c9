"""How many pairs satisfy a problem and which points take part in one: less work than the partners of each point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.clashing import Clashes, clash_only
from refute.detect.sweep.counting import count, count_steps, partners, partners_steps
from refute.detect.sweep.extrema import Extrema, Table, codes_of
from refute.detect.sweep.layout import Dimensions, Layout, choose
from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked, reduce
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.kernels.dominance.clashes import flag_clashes
from refute.kernels.dominance.sweeps import flag_two_orders
from refute.plan.problem import Comparison, Problem, Rows
from refute.plan.share import Share, announce
from refute.plan.step import Step, named
from refute.relation.arrays import exact_sum
from refute.runtime.arrays import empty, full

Flags = NDArray[np.bool_]


def involved(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> tuple[int, Flags, Flags]:
    """The number of violating ordered pairs, and for each point of side s, and of side t, whether it is in one.

    Asked about problems that are known to have a pair, so none is looked for before all are counted.
    """
    points = _reduced(problem, share)
    if points is not None and clash_only(points):
        total, found = _ClashFlags(points).total_and_flags(share)
        s_flags, t_flags = (_placed(found, pick, problem.s.size) for pick in (points.s_pick, points.t_pick))
        return total, s_flags, t_flags
    way = None if points is None else _choose(points, share, tuning)
    if points is None or way is None:
        s_partners, t_partners = partners(problem, share, broken=True, tuning=tuning)
        return exact_sum(s_partners), s_partners > 0, t_partners > 0
    s_flags, t_flags = way.flags(share)
    s_flags = _placed(s_flags, points.s_pick, problem.s.size)
    t_flags = _placed(t_flags, points.t_pick, problem.t.size)
    del points, way
    return count(problem, share, broken=True, tuning=tuning), s_flags, t_flags


def involved_steps(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> Iterator[Step]:
    """The steps of `involved`; none is run, but all is prepared as for it."""
    points = _reduced(problem, share)
    if points is not None and clash_only(points):
        yield from _ClashFlags(points).steps()
        return
    way = None if points is None else _choose(points, share, tuning)
    if way is None:
        yield from partners_steps(problem, share, broken=True, tuning=tuning)
        return
    yield from way.steps()
    yield from count_steps(problem, share, broken=True, tuning=tuning)


def _reduced(problem: Problem, share: Share | None) -> Points | None:
    """The points where some way may be cheaper than counting partners."""
    return reduce(problem, share) if problem.order or len(problem.differ) == 1 else None


@dataclass(frozen=True, slots=True)
class _ClashFlags:
    """A group and one difference: both numbers from one tally of groups."""

    points: Points

    def steps(self) -> Iterator[Step]:
        """Count and mark."""
        yield Step(f"mark rows whose group holds another {named(self.points.differ)}, and count from the sizes of both")

    def total_and_flags(self, share: Share | None) -> tuple[int, Flags]:
        """The number of pairs, and which points are in one."""
        announce(share, self)
        assert self.points.group is not None
        clashes = Clashes.of(self.points, self.points.group, share)
        found: Flags = empty(self.points.n_s, np.bool_)
        flag_clashes(self.points.group.s, clashes.table, found)
        return clashes.total, found


@dataclass(frozen=True, slots=True)
class _TableFlags:
    """A table of extrema for each side."""

    points: Points
    table: Table
    turned: Table

    def steps(self) -> Iterator[Step]:
        """Fill and look up, twice."""
        yield Step("mark the rows that have a partner, using a table of extremes for each side")

    def flags(self, share: Share | None) -> tuple[Flags, Flags]:
        """Which points of s, and of t, have a partner."""
        announce(share, self)
        codes = codes_of(self.points, share)
        t_flags = Extrema.of(self.table, codes).flags()
        return Extrema.of(self.turned, None if codes is None else codes[::-1]).flags(), t_flags


@dataclass(frozen=True, slots=True)
class _SweptFlags:
    """Two orders: one is swept up for t and down for s, with the extreme value of the other."""

    points: Points
    dimensions: Dimensions
    value: Comparison

    def steps(self) -> Iterator[Step]:
        """Sort and sweep."""
        swept, value = named((self.dimensions.swept,)), named((self.value,))
        yield Step(f"mark the rows that have a partner: scan them by {swept} up and down, keeping the extreme {value}")

    def flags(self, share: Share | None) -> tuple[Flags, Flags]:
        """Which points of s, and of t, have a partner."""
        announce(share, self)
        points = self.points
        layout = Layout.of(points, self.dimensions, (self.value,), share)
        s_found, t_found = empty(points.n_s, np.bool_), empty(points.n_t, np.bool_)
        flag_two_orders(*layout.matrices(), points.groups, s_found, t_found)
        s_flags, t_flags = empty(points.n_s, np.bool_), empty(points.n_t, np.bool_)
        s_flags[layout.s_order], t_flags[layout.t_order] = s_found, t_found
        return s_flags, t_flags


def _choose(points: Points, share: Share | None, tuning: Tuning) -> _TableFlags | _SweptFlags | None:
    """The way to mark points that have a partner; None when that is not cheaper than counting partners."""
    if len(points.differ) > 1 or (points.differ and points.self_pairs):
        return None
    table = Table.of(points, share, tuning)
    if table is not None:
        turned = Table.of(points.mirrored(), None, tuning)
        return None if turned is None else _TableFlags(points, table, turned)
    if points.differ or points.self_pairs or len(points.order) != 2:
        return None
    swept, value = sorted(points.order, key=lambda each: each.size)
    if value.size > INT32:
        value = ranked(value, share)
    dimensions = choose(points, (swept,), share, tuning)
    return None if dimensions is None else _SweptFlags(points, dimensions, value)


def _placed(flags: Flags, pick: Rows | None, size: int) -> Flags:
    if pick is None:
        return flags
    placed = full(size, 0, np.bool_)
    placed[pick] = flags
    return placed
