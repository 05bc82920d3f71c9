"""How many pairs satisfy a problem, and how many partners each point has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.clashing import Clashes, clash_only
from refute.detect.sweep.dividing import count_by_dividing
from refute.detect.sweep.existence import surely_none
from refute.detect.sweep.forest import Forests
from refute.detect.sweep.layout import Layout, choose
from refute.detect.sweep.packed import counted_packed
from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import combined, reduce, refined
from refute.detect.sweep.threads import threads_for
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.kernels.clashes import clashes_of
from refute.kernels.distinct import sum_of_squared_counts
from refute.kernels.dominance_sweeps import count_below, count_below_few
from refute.kernels.memory import empty, full, give_back
from refute.kernels.sorting import segment_sizes
from refute.plan.problem import Comparison, Problem, Rows
from refute.plan.share import Share
from refute.relation.together import together

Longs = NDArray[np.int64]


def count(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> int:
    """The number of violating ordered pairs."""
    points = reduce(problem, share)
    if points is None or surely_none(points, share, tuning):
        return 0
    return _Tally(share, tuning, None, None).total(points, 1)


def partners(problem: Problem, share: Share | None = None, *, tuning: Tuning = DEFAULT) -> tuple[Longs, Longs]:
    """For each point of side s, and of side t, its number of partners."""
    s_partners, t_partners = full(problem.s_size, 0, np.int64), full(problem.t_size, 0, np.int64)
    points = reduce(problem, share)
    if points is not None and not surely_none(points, share, tuning):
        _Tally(share, tuning, s_partners, t_partners).total(points, 1)
    return s_partners, t_partners


def point_partners(points: Points, share: Share | None, tuning: Tuning) -> tuple[Longs, Longs]:
    """The same for points, whatever problem they came from."""
    s_partners, t_partners = full(points.n_s, 0, np.int64), full(points.n_t, 0, np.int64)
    if not surely_none(points, share, tuning):
        _Tally(share, tuning, s_partners, t_partners).total(replace(points, s_pick=None, t_pick=None), 1)
    return s_partners, t_partners


@dataclass(frozen=True, slots=True)
class _Tally:
    """Counts pairs of different rows, and adds them up per point where arrays are given.

    Each `!=` is the count without it minus the count with `=` in its place, but where there are too many of them.
    """

    share: Share | None
    tuning: Tuning
    s_partners: Longs | None
    t_partners: Longs | None

    def total(self, points: Points, sign: int) -> int:
        """`sign` times the number of pairs."""
        if not points.differ or len(points.differ) > self.tuning.subsets:
            return self._settled(points, sign)
        if self.s_partners is None and points.twin and not points.order and points.n_s < INT32:
            if points.group is None or len(points.differ) > 1:
                give_back(points.n_s)
                return sign * _agreeing_squares(points.group, points.differ, points.n_s)
        if points.group is not None and clash_only(points):
            return sign * self._clashes(points, points.group, sign)
        widest, *others = sorted(points.differ, key=lambda comparison: comparison.size, reverse=True)
        simpler = replace(points, differ=tuple(others), self_pairs=True)
        found = self.total(simpler, sign)
        agreeing = refined(simpler, widest)
        return found if agreeing is None else found + self.total(agreeing, -sign)

    def _clashes(self, points: Points, group: Comparison, sign: int) -> int:
        clashes = Clashes.of(points, group, self.share)
        if self.s_partners is not None and self.t_partners is not None:
            found: NDArray[np.int64] = empty(points.n_s, np.int64)
            clashes_of(group.s, clashes.table, found)
            found[clashes.strays] = clashes.table[group.s[clashes.strays], 1] - clashes.alike
            _add(self.s_partners, points.s_pick, found, sign)
            _add(self.t_partners, points.t_pick, found, sign)
        return clashes.total

    def _settled(self, points: Points, sign: int) -> int:
        if self.s_partners is None or self.t_partners is None:
            return sign * (self._dominance(points, None) - points.self_count())
        s_found, t_found = full(points.n_s, 0, np.int64), full(points.n_t, 0, np.int64)
        if points.differ:
            found = Forests.of(points, leaf=self.tuning.leaf).partners()
            assert found is not None
            s_found, t_found = found
        elif points.twin and not points.order:
            _group_products(points, t_found)
            s_found = t_found
        else:
            sides = ((points, t_found), (points.mirrored(), s_found))
            calls = [partial(self._dominance, side, found) for side, found in sides]
            together(threads_for(self.share, points.n_s + points.n_t, self.tuning.parallel), calls)
        if points.self_pairs:
            s_self, t_self = points.self_matches()
            t_found[t_self] -= 1
            if s_found is not t_found:
                s_found[s_self] -= 1
        _add(self.s_partners, points.s_pick, s_found, sign)
        _add(self.t_partners, points.t_pick, t_found, sign)
        return sign * int(t_found.sum())

    def _dominance(self, points: Points, per_t: Longs | None) -> int:
        """The pairs with all orders true, a row with itself included; `per_t` gets the partners of each point of t."""
        if points.differ:
            found = self._by_boxes(points, per_t, 2**62)
            assert found is not None
            return found
        if not points.order:
            return _group_products(points, per_t)
        dimensions = choose(points, points.order, self.share, self.tuning)
        if dimensions is None or dimensions.steps > self.tuning.tree_steps:
            if self._looks_rare(points):
                found = self._by_boxes(points, per_t, self.tuning.patience * (points.n_s + points.n_t))
                if found is not None:
                    return found
            if points.group is None and threads_for(self.share, points.n_s + points.n_t, self.tuning.parallel) > 1:
                return self._halved(points, per_t)
            return count_by_dividing(points, per_t, self.share, self.tuning)
        packed = counted_packed(points, dimensions, self.share, self.tuning) if per_t is None else None
        if packed is not None:
            return packed
        layout = Layout.of(points, dimensions, (), self.share)
        tree = full(layout.cells, 0, np.int32)
        few = layout.few_cells(dimensions, self.tuning.few)
        total = 0
        for block in layout.blocks(self.tuning.block):
            below = empty(0 if per_t is None else len(block.t), np.int64)
            start = int(block.state[1])
            if few is not None:
                tables = tree.reshape(points.groups, -1)
                total += count_below_few(block.s, block.t, few, tables, block.state, block.more, below)
            else:
                total += count_below(
                    block.s, block.t, layout.base, layout.length, layout.spans, tree, block.state, block.more, below
                )
            if per_t is not None:
                done = slice(start, int(block.state[1]))
                per_t[layout.t_order[block.t_start + done.start : block.t_start + done.stop]] = below[done]
        return int(total)

    def _halved(self, points: Points, per_t: Longs | None) -> int:
        """Cuts one large group in two for two threads; lower s with upper t need one order less."""
        first, *others = sorted(points.order, key=lambda comparison: comparison.size, reverse=True)
        pivot = np.median(first.t[:: max(1, points.n_t // 4096)])
        s_upper = (first.s >= pivot).astype(np.int32)
        t_upper = s_upper if first.s is first.t else (first.t >= pivot).astype(np.int32)
        total = count_by_dividing(
            replace(points, group=Comparison(s_upper, t_upper, 2)), per_t, self.share, self.tuning
        )
        s, t = np.flatnonzero(s_upper == 0), np.flatnonzero(t_upper)
        if not len(s) or not len(t):
            return total
        across = replace(points, order=tuple(others)).chosen(s, t)
        found = None if per_t is None else np.zeros(len(t), np.int64)
        total += self._dominance(across, found)
        if per_t is not None and found is not None:
            per_t[t] += found
        return total

    def _looks_rare(self, points: Points) -> bool:
        """Whether a sample has hardly a pair: boxes then rule out nearly everything and beat dividing."""
        step = max(points.n_s, points.n_t) // max(1, self.tuning.probe)
        if step < 8:
            return False
        s, t = (np.arange(0, n, step, dtype=np.int64) for n in (points.n_s, points.n_t))
        sample = points.chosen(s, s if points.aligned else t)
        return count_by_dividing(sample, None, None, self.tuning) <= len(s) // 32

    def _by_boxes(self, points: Points, per_t: Longs | None, patience: int) -> int | None:
        forests = Forests.of(points, leaf=self.tuning.leaf)
        if per_t is None:
            return forests.count(patience)
        found = forests.partners(patience)
        if found is None:
            return None
        per_t[:] = found[1]
        return int(found[1].sum())


def _agreeing_squares(key: Comparison | None, differ: tuple[Comparison, ...], n: int) -> int:
    """The pairs that agree on the key and differ in all others, by inclusion and exclusion; both sides are alike."""
    if not differ:
        return n * n if key is None else sum_of_squared_counts(key.s, key.size)
    last, *others = differ
    agreeing = last if key is None else combined(key, last)
    return _agreeing_squares(key, tuple(others), n) - _agreeing_squares(agreeing, tuple(others), n)


def _group_products(points: Points, per_t: Longs | None) -> int:
    """Pairs by group sizes alone."""
    if points.group is None:
        if per_t is not None:
            per_t[:] = points.n_s
        return points.n_s * points.n_t
    group = points.group
    s_sizes = segment_sizes(group.s, group.size)
    if per_t is not None:
        per_t[:] = s_sizes[group.t]
    t_sizes = s_sizes if group.s is group.t else segment_sizes(group.t, group.size)
    if points.n_s * points.n_t < 2**63:
        return int(np.dot(s_sizes, t_sizes))
    return sum(int(s) * int(t) for s, t in zip(s_sizes, t_sizes, strict=True))


def _add(into: Longs, pick: Rows | None, found: Longs, sign: int) -> None:
    if pick is None:
        into += found if sign > 0 else -found
    else:
        into[pick] += found if sign > 0 else -found
