"""How many pairs satisfy a problem and which points take part in one: less work than the partners of each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.clashing import Clashes, clash_only
from refute.detect.sweep.counting import count, partners
from refute.detect.sweep.extrema import Extrema, Table, codes_of
from refute.detect.sweep.layout import Layout, choose
from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked, reduce
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.kernels.clashes import flag_clashes
from refute.kernels.dominance_sweeps import flag_two_orders
from refute.kernels.memory import empty, full
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share

Flags = NDArray[np.bool_]


def involved(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> tuple[int, Flags, Flags]:
    """The number of violating ordered pairs, and for each point of side s, and of side t, whether it is in one."""
    points = reduce(problem, share) if problem.order or len(problem.differ) == 1 else None
    if points is not None and points.group is not None and clash_only(points):
        clashes = Clashes.of(points, points.group, share)
        found: Flags = empty(points.n_s, np.bool_)
        flag_clashes(points.group.s, clashes.table, found)
        s_flags, t_flags = (_placed(found, pick, problem.s_size) for pick in (points.s_pick, points.t_pick))
        return clashes.total, s_flags, t_flags
    flags = None if points is None else _flags(points, share, tuning)
    if points is None or flags is None:
        s_partners, t_partners = partners(problem, share, tuning=tuning)
        return _exact_sum(s_partners), s_partners > 0, t_partners > 0
    s_flags, t_flags = flags
    del flags
    s_flags = _placed(s_flags, points.s_pick, problem.s_size)
    t_flags = _placed(t_flags, points.t_pick, problem.t_size)
    del points
    return count(problem, share, tuning=tuning), s_flags, t_flags


def _flags(points: Points, share: Share | None, tuning: Tuning) -> tuple[Flags, Flags] | None:
    """Which points have a partner; None when that is no cheaper than counting partners."""
    if len(points.differ) > 1 or (points.differ and points.self_pairs):
        return None
    codes = codes_of(points, share)
    table = Table.of(points, share, tuning)
    if table is not None:
        t_flags = Extrema.of(table, codes).flags()
        turned = Table.of(points.mirrored(), None, tuning)
        return None if turned is None else (Extrema.of(turned, None if codes is None else codes[::-1]).flags(), t_flags)
    if codes is not None or len(points.order) != 2:
        return None
    swept, value = sorted(points.order, key=lambda each: each.size)
    if value.size > INT32:
        value = ranked(value, share)
    dimensions = choose(points, (swept,), share, tuning)
    if dimensions is None:
        return None
    layout = Layout.of(points, dimensions, (value,), share)
    s_found, t_found = empty(points.n_s, np.bool_), empty(points.n_t, np.bool_)
    flag_two_orders(*layout.matrices(), points.groups, s_found, t_found)
    s_flags, t_flags = empty(points.n_s, np.bool_), empty(points.n_t, np.bool_)
    s_flags[layout.s_order], t_flags[layout.t_order] = s_found, t_found
    return s_flags, t_flags


def _placed(flags: Flags, pick: Rows | None, size: int) -> Flags:
    if pick is None:
        return flags
    placed = full(size, 0, np.bool_)
    placed[pick] = flags
    return placed


def _exact_sum(counts: NDArray[np.int64]) -> int:
    """The sum as a Python int, beyond 64 bits where needed."""
    return (int((counts >> 32).sum()) << 32) + int((counts & 0xFFFFFFFF).sum())
