"""The ways to count pairs that share a group and satisfy all orders: each is chosen, says what it does, and does it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.dividing import count_by_dividing
from refute.detect.sweep.layout import Dimensions, Layout, choose
from refute.detect.sweep.packed import can_pack, count_in_lanes
from refute.detect.sweep.points import Points
from refute.detect.sweep.trees import dual_tree
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance.sweeps import count_below, count_below_few
from refute.kernels.sort.sorting import segment_sizes
from refute.plan.problem import Comparison
from refute.plan.share import Share, announce, threads_for, under, within
from refute.plan.step import Step, named, steps_under, steps_within
from refute.runtime.arrays import empty, full

Longs = NDArray[np.int64]

_ACROSS = "between these sides"


@dataclass(frozen=True, slots=True)
class Tally(ABC):
    """A way to count pairs, a row with itself included."""

    points: Points
    tuning: Tuning

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """What it does."""

    @abstractmethod
    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs; `per_t` gets the partners of each point of t."""


@dataclass(frozen=True, slots=True)
class GroupSizes(Tally):
    """Products of group sizes, where nothing else is compared."""

    def steps(self) -> Iterator[Step]:
        """Multiply."""
        sizes = "the sizes of both sides" if self.points.group is None else "the sizes of both sides of each group"
        yield Step(f"multiply {sizes}")

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The sum of products."""
        announce(share, self)
        return group_products(self.points, per_t)


@dataclass(frozen=True, slots=True)
class PackedLanes(Tally):
    """Sorted integers that hold all columns, counted in lanes of machine words; gives no partners."""

    dimensions: Dimensions

    def steps(self) -> Iterator[Step]:
        """Sort and count."""
        swept, tree = named((self.dimensions.swept,)), named(self.dimensions.tree)
        yield Step(f"sort the rows by {swept} as packed integers, and count the few values of {tree} in machine words")

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs."""
        assert per_t is None
        announce(share, self)
        return count_in_lanes(self.points, self.dimensions, share, self.tuning)


@dataclass(frozen=True, slots=True)
class Sweep(Tally):
    """One order swept, and counts of the points passed over: in few cells that are all written to, or in a tree."""

    dimensions: Dimensions

    def steps(self) -> Iterator[Step]:
        """Sort and sweep."""
        tree = self.dimensions.tree
        place = f" in a Fenwick tree over {named(tree)}" if tree else ""
        if self.dimensions.cells_of_few(self.tuning.few):
            place = f" in a cell for each {named(tree)}"
        per = "" if self.points.group is None else " per group"
        yield Step(f"scan the rows by {named((self.dimensions.swept,))}, counting them{place}{per}")

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs."""
        announce(share, self)
        layout = Layout.of(self.points, self.dimensions, (), share)
        tree = full(layout.cells, 0, np.int32)
        few = np.array([self.dimensions.cells_of_few(self.tuning.few)], np.int64)
        total = 0
        for block in layout.blocks(self.tuning.block):
            below = empty(0 if per_t is None else len(block.t), np.int64)
            start = int(block.state[1])
            if few[0]:
                tables = tree.reshape(self.points.groups, -1)
                total += count_below_few(block.s, block.t, few, tables, block.state, block.more, below)
            else:
                total += count_below(
                    block.s, block.t, layout.base, layout.length, layout.spans, tree, block.state, block.more, below
                )
            if per_t is not None:
                done = slice(start, int(block.state[1]))
                per_t[layout.t_order[block.t_start + done.start : block.t_start + done.stop]] = below[done]
        return int(total)


@dataclass(frozen=True, slots=True)
class Dividing(Tally):
    """Divide and conquer over all orders, group by group; `cut` names the order that the two groups are halves of."""

    cut: str = ""

    def steps(self) -> Iterator[Step]:
        """Divide."""
        per = f" on each side of the median {self.cut}" if self.cut else " of each group" if self.points.group else ""
        yield Step(f"divide the rows{per} into halves by {named(self.points.order)} in turn, and count across the cuts")

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs."""
        announce(share, self)
        return count_by_dividing(self.points, per_t, share, self.tuning)


@dataclass(frozen=True, slots=True)
class Halved(Tally):
    """One large group cut in two, so two threads can divide; lower s with upper t need one order less."""

    halves: Dividing
    across: Tally | None
    s: Longs
    t: Longs

    @classmethod
    def of(cls, points: Points, share: Share | None, tuning: Tuning, *, partners: bool) -> Halved:
        """The cut at the median of the order with the most values."""
        first, *others = sorted(points.order, key=lambda comparison: comparison.size, reverse=True)
        pivot = np.median(first.t[:: max(1, points.n_t // 4096)])
        s_upper = (first.s >= pivot).astype(np.int32)
        t_upper = s_upper if first.s is first.t else (first.t >= pivot).astype(np.int32)
        halves = Dividing(replace(points, group=Comparison(s_upper, t_upper, 2)), tuning, named((first,)))
        s, t = np.flatnonzero(s_upper == 0), np.flatnonzero(t_upper)
        across = None
        if len(s) and len(t):
            simpler = replace(points, order=tuple(others)).chosen(s, t)
            across = choose_tally(simpler, share, tuning, partners=partners)
        return cls(points, tuning, halves, across, s, t)

    def steps(self) -> Iterator[Step]:
        """Both halves, then what lies between them."""
        yield from self.halves.steps()
        if self.across is not None:
            yield from steps_within(_ACROSS, self.across.steps())

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs."""
        total = self.halves.count(share, per_t)
        if self.across is None:
            return total
        found = None if per_t is None else np.zeros(len(self.t), np.int64)
        total += self.across.count(within(share, _ACROSS), found)
        if per_t is not None and found is not None:
            per_t[self.t] += found
        return total


@dataclass(frozen=True, slots=True)
class BoxPairs(Tally):
    """Pairs of boxes of two k-d trees, which pass over all that cannot, or must, be pairs."""

    def steps(self) -> Iterator[Step]:
        """Build and count."""
        compared = named(self.points.order + self.points.differ)
        yield Step(f"add up whole boxes of pairs, in k-d trees over {compared}")

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs."""
        found = self.within(2**62, share, per_t)
        assert found is not None
        return found

    def partners(self, share: Share | None) -> tuple[Longs, Longs]:
        """The number of partners of each point of s, and of t, a row itself included where it matches itself."""
        announce(share, self)
        found = dual_tree(self.points, leaf=self.tuning.leaf, leading=self.tuning.leading).partners()
        assert found is not None
        return found

    def within(self, patience: int, share: Share | None, per_t: Longs | None) -> int | None:
        """The number of pairs; None when more than so many pairs of boxes would have to be looked at."""
        announce(share, self)
        trees = dual_tree(self.points, leaf=self.tuning.leaf, leading=self.tuning.leading)
        if per_t is None:
            return trees.count(patience)
        found = trees.partners(patience)
        if found is None:
            return None
        per_t[:] = found[1]
        return int(found[1].sum())


@dataclass(frozen=True, slots=True)
class RarePairs(Tally):
    """Boxes where a sample has hardly a pair, as they then rule out nearly everything; something surer behind them."""

    boxes: BoxPairs
    otherwise: Callable[[], Tally]  # chosen when it is needed

    @property
    def patience(self) -> int:
        """The pairs of boxes that are looked at before that."""
        return self.tuning.patience * (self.points.n_s + self.points.n_t)

    @property
    def _condition(self) -> str:
        return f"if that takes more than {self.patience:,} pairs of boxes"

    def steps(self) -> Iterator[Step]:
        """Boxes, then the other way."""
        yield from self.boxes.steps()
        yield from steps_under(self._condition, self.otherwise().steps())

    def count(self, share: Share | None, per_t: Longs | None = None) -> int:
        """The number of pairs."""
        found = self.boxes.within(self.patience, share, per_t)
        return self.otherwise().count(under(share, self._condition), per_t) if found is None else found


def choose_tally(points: Points, share: Share | None, tuning: Tuning, *, partners: bool) -> Tally:
    """The cheapest way that fits the points, and with `partners` one that gives them."""
    if points.differ:
        return BoxPairs(points, tuning)
    if not points.order:
        return GroupSizes(points, tuning)
    dimensions = choose(points, points.order, share, tuning)
    if dimensions is not None and dimensions.steps <= tuning.tree_steps:
        if not partners and can_pack(points, dimensions, tuning):
            return PackedLanes(points, tuning, dimensions)
        return Sweep(points, tuning, dimensions)
    divided = partial(_choose_dividing, points, share, tuning, partners=partners)
    return RarePairs(points, tuning, BoxPairs(points, tuning), divided) if _looks_rare(points, tuning) else divided()


def _choose_dividing(points: Points, share: Share | None, tuning: Tuning, *, partners: bool) -> Tally:
    if points.group is None and threads_for(share, points.n_s + points.n_t, tuning.parallel) > 1:
        return Halved.of(points, share, tuning, partners=partners)
    return Dividing(points, tuning)


def _looks_rare(points: Points, tuning: Tuning) -> bool:
    """Whether a sample has hardly a pair."""
    step = max(points.n_s, points.n_t) // max(1, tuning.probe)
    if step < 8:
        return False
    s, t = (np.arange(0, n, step, dtype=np.int64) for n in (points.n_s, points.n_t))
    sample = points.chosen(s, s if points.aligned else t)
    return count_by_dividing(sample, None, None, tuning) <= len(s) // 32


def group_products(points: Points, per_t: Longs | None) -> int:
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
    return sum_of_products(s_sizes, t_sizes, points.n_s * points.n_t)


def sum_of_products(s_sizes: Longs, t_sizes: Longs, most: int) -> int:
    """The products of the sizes added up, exact; `most` is what they do not exceed together."""
    if most < 2**63:
        return int(np.dot(s_sizes, t_sizes))
    return sum(int(s) * int(t) for s, t in zip(s_sizes, t_sizes, strict=True))
