"""Whether any pair satisfies a problem, with a witness.

Every way but the last only finds a point t that has a partner, from tables or trees of extrema; a scan then finds its
partner. One `!=`, or that the rows differ, is a code: extrema are kept for two different codes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from refute.detect.sweep.dividing import count_by_dividing
from refute.detect.sweep.extrema import Codes, Extrema, codes_of
from refute.detect.sweep.forest import Forests
from refute.detect.sweep.layout import Layout, choose
from refute.detect.sweep.points import INT32, Points, prefix
from refute.detect.sweep.reduce import ranked, reduce
from refute.detect.sweep.threads import threads_for
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.kernels.dominance_sweeps import find_above, find_above_coded
from refute.kernels.dominance_tables import NONE, first_clash, first_repeat
from refute.kernels.memory import full
from refute.kernels.sorting import segment_sizes
from refute.plan.problem import Problem
from refute.plan.share import Share

Pair = tuple[int, int]

_GLANCE = 128  # points of each side that are compared one by one before tables are made


def exists(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> Pair | None:
    """Row numbers of some violating pair, or None.

    A prefix is looked at first: a badly broken rule costs next to nothing.
    """
    if tuning.probe and max(problem.s_size, problem.t_size) > 8 * tuning.probe:
        found = exists(prefix(problem, tuning.probe), None, tuning=tuning)
        if found is not None:
            return found
    points = reduce(problem, share)
    if points is None:
        return None
    found = _Search(share, tuning).find(points)
    if found is None:
        return None
    s, t = found
    return (
        s if points.s_rows is None else int(points.s_rows[s]),
        t if points.t_rows is None else int(points.t_rows[t]),
    )


def surely_none(points: Points, share: Share | None, tuning: Tuning) -> bool:
    """Whether tables of extrema, which cost little, show that there is no pair."""
    if len(points.differ) > 1 or (points.differ and points.self_pairs) or not (points.order or points.differ):
        return False
    return not points.some_match(_GLANCE) and _Search(share, tuning).first_by_table(points) == -1


class _Search:
    """The ways to find a pair of points, the cheapest that fits first."""

    def __init__(self, share: Share | None, tuning: Tuning) -> None:
        self._share = share
        self._tuning = tuning

    def find(self, points: Points) -> Pair | None:
        """Some pair of points, or None."""
        if len(points.differ) > 1 or (points.differ and points.self_pairs):
            return self._find_hard(points)
        t = self.first_by_table(points)
        if t is None:
            t = self._first_by_sweep(points, codes_of(points, self._share))
        if t is None and self._groups_are_small(points):
            t = self._first_by_dividing(points)
        if t is None:
            return self._find_by_boxes(points)
        return None if t < 0 else _with_partner(points, t)

    def _find_hard(self, points: Points) -> Pair | None:
        """Without its `!=` a problem is easier, and often holds or has a witness that differs anyway."""
        if points.order:
            easier = self.find(replace(points, differ=(), self_pairs=points.self_pairs or _loose(points)))
            if easier is None:
                return None
            if all(each.s[easier[0]] != each.t[easier[1]] for each in points.differ):
                return easier
        return self._find_by_boxes(points)

    def _groups_are_small(self, points: Points) -> bool:
        """Whether counting, which small groups make quick, is cheaper than a forest."""
        if points.group is None or points.differ or len(points.order) < 2:
            return False
        return int(segment_sizes(points.group.t, points.groups).max()) <= self._tuning.divided

    def _first_by_dividing(self, points: Points) -> int:
        """The first point t with a partner, -1 when there is none."""
        if count_by_dividing(points, None, self._share, self._tuning) == points.self_count():
            return -1
        partners = np.zeros(points.n_t, np.int64)
        count_by_dividing(points, partners, self._share, self._tuning)
        if points.self_pairs:
            partners[points.self_matches()[1]] -= 1
        return int(np.argmax(partners > 0))

    def _find_by_boxes(self, points: Points) -> Pair | None:
        threads = threads_for(self._share, points.n_s + points.n_t, self._tuning.parallel)
        return Forests.of(points, leaf=self._tuning.leaf, threads=threads).find(threads)

    def first_by_table(self, points: Points) -> int | None:
        """The first point t with a partner, -1 when there is none, None when the tables would be too large."""
        if points.twin and not points.order and points.group is not None:
            if not points.differ:
                return int(first_repeat(points.group.s, full(points.groups, 0, np.bool_)))
            (differ,) = points.differ
            return int(first_clash(points.group.s, differ.s, full(points.groups, -1, differ.s.dtype)))
        extrema = Extrema.of(points, codes_of(points, self._share), self._share, self._tuning)
        return None if extrema is None else extrema.first()

    def _first_by_sweep(self, points: Points, codes: Codes | None) -> int | None:
        """As `first_by_table` with one dimension swept and a Fenwick tree of extrema over the rest."""
        if len(points.order) < 2:
            return None
        order = tuple(ranked(each, self._share) if each.size > INT32 else each for each in points.order)
        *rest, value = sorted(order, key=lambda each: each.size)
        dimensions = choose(points, tuple(rest), self._share, self._tuning, most=3 if codes is None else 1)
        if dimensions is None or dimensions.steps > self._tuning.tree_steps:
            return None
        layout = Layout.of(points, dimensions, (value, codes or value), self._share)
        if codes is None:
            tree = full(layout.cells, np.iinfo(np.int32).max, np.int32)
            for block in layout.blocks(self._tuning.block):
                j = find_above(
                    block.s, block.t, layout.base, layout.length, layout.spans, tree, block.state, block.more
                )
                if j >= 0:
                    return int(layout.t_order[block.t_start + j])
            return -1
        entries = np.tile(np.array([NONE, -1, NONE, -1]), (layout.cells, 1))
        j = find_above_coded(*layout.matrices(), layout.base, layout.length, entries)
        return -1 if j < 0 else int(layout.t_order[j])


def _loose(points: Points) -> bool:
    """Whether a row may match itself once `!=` is not asked for."""
    return replace(points, differ=()).any_self_match()


def _with_partner(points: Points, t: int) -> Pair:
    for found in points.partners_of_t(t):
        return int(found[0]), t
    raise AssertionError(f"point {t} has no partner")
