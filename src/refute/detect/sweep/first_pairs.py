"""The ways to find a first pair of points: each is chosen from the points, says what it does, and does it.

Every way but the last two only finds a point t that has a partner, from tables or trees of extrema; a scan then finds
its partner. One `!=`, or that the rows differ, is a code: extrema are kept for two different codes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from refute.detect.sweep.dividing import count_by_dividing
from refute.detect.sweep.extrema import Extrema, Table, codes_of
from refute.detect.sweep.layout import Dimensions, Layout, choose
from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.trees import dual_tree
from refute.detect.sweep.tuning import Tuning
from refute.kernels.dominance.extrema import NONE, first_clash, first_repeat
from refute.kernels.dominance.sweeps import find_above, find_above_coded
from refute.kernels.sort.sorting import segment_sizes
from refute.plan.problem import Comparison
from refute.plan.share import Share, announce, threads_for, under, within
from refute.plan.step import Step, named, steps_under, steps_within
from refute.runtime.arrays import full

Pair = tuple[int, int]

_GLANCE = 128  # points of each side that are compared one by one before a count makes a table of extrema
_WITHOUT = "leaving out `!=`"


class FirstPair(ABC):
    """A way to find a pair of points."""

    @abstractmethod
    def steps(self) -> Iterator[Step]:
        """What it does."""

    @abstractmethod
    def find(self, share: Share | None) -> Pair | None:
        """Some pair of points, or None."""


@dataclass(frozen=True, slots=True)
class _FirstPoint(FirstPair):
    """A way that finds a point t with a partner."""

    points: Points
    tuning: Tuning

    @abstractmethod
    def first(self, share: Share | None) -> int:
        """The first point t with a partner, -1 when there is none."""

    def find(self, share: Share | None) -> Pair | None:
        """The first such point with its partner, by a scan."""
        announce(share, self)
        t = self.first(share)
        if t < 0:
            return None
        return int(next(iter(self.points.partners_of_t(t)))[0]), t


@dataclass(frozen=True, slots=True)
class Repeats(_FirstPoint):
    """Two points of one group: nothing else is compared, and both sides are the same points."""

    def steps(self) -> Iterator[Step]:
        """One pass."""
        yield Step("scan the rows until one has the group of an earlier row")

    def first(self, share: Share | None) -> int:
        """The first point of a group that was met before."""
        assert self.points.group is not None
        return int(first_repeat(self.points.group.s, full(self.points.groups, 0, np.bool_)))


@dataclass(frozen=True, slots=True)
class OtherValues(_FirstPoint):
    """Two points of one group that differ: nothing else is compared, and both sides are the same points."""

    def steps(self) -> Iterator[Step]:
        """One pass."""
        yield Step(f"scan the rows until one differs in {named(self.points.differ)} from an earlier row of its group")

    def first(self, share: Share | None) -> int:
        """The first point that differs from the first one of its group."""
        assert self.points.group is not None
        (differ,) = self.points.differ
        return int(first_clash(self.points.group.s, differ.s, full(self.points.groups, -1, differ.s.dtype)))


@dataclass(frozen=True, slots=True)
class ExtremaTable(_FirstPoint):
    """A look at the extreme value of one order for each group and combination of the other orders."""

    table: Table

    def steps(self) -> Iterator[Step]:
        """Fill and look up."""
        kept = "one row"
        if self.points.order:
            kept = f"the extreme {named((self.table.value,))}"
        if self.table.coded:
            kept += f" of two rows that differ{f' in {named(self.points.differ)}' if self.points.differ else ''}"
        per = ["each group"] if self.points.group is not None else []
        per += [f"each {each.name or 'value'}" for each in self.table.small]
        where = f" for {' and '.join(per)}" if per else ""
        yield Step(f"keep {kept}{where} in a table, then look each row up in it")

    def first(self, share: Share | None) -> int:
        """The first point above an extremum."""
        codes = codes_of(self.points, share) if self.table.coded else None
        return Extrema.of(self.table, codes).first()


@dataclass(frozen=True, slots=True)
class ExtremaTree(_FirstPoint):
    """One order swept, and Fenwick trees of the extreme value of another over the rest."""

    dimensions: Dimensions
    value: Comparison

    def steps(self) -> Iterator[Step]:
        """Sort and sweep."""
        swept, tree = named((self.dimensions.swept,)), self.dimensions.tree
        over = f" in a Fenwick tree over {named(tree)}" if tree else ""
        per = "" if self.points.group is None else " per group"
        yield Step(f"scan the rows by {swept}, keeping the extreme {named((self.value,))} so far{over}{per}")

    def first(self, share: Share | None) -> int:
        """The first point, in the order of the sweep, above an extremum."""
        codes = codes_of(self.points, share)
        layout = Layout.of(self.points, self.dimensions, (self.value, codes or self.value), share)
        if codes is None:
            tree = full(layout.cells, np.iinfo(np.int32).max, np.int32)
            for block in layout.blocks(self.tuning.block):
                j = find_above(
                    block.s, block.t, layout.base, layout.length, layout.spans, tree, block.state, block.more
                )
                if j >= 0:
                    return int(layout.t_order[block.t_start + j])
            return -1
        entries = np.tile(np.array([NONE, -1, NONE, -1]), (layout.cells, 1))
        j = find_above_coded(*layout.matrices(), layout.base, layout.length, entries)
        return -1 if j < 0 else int(layout.t_order[j])


@dataclass(frozen=True, slots=True)
class CountedParts(_FirstPoint):
    """Counting by dividing, which small groups make quicker than boxes."""

    def steps(self) -> Iterator[Step]:
        """Count."""
        yield Step(
            f"count the pairs of each group by dividing {named(self.points.order)} into halves; groups are small"
        )

    def first(self, share: Share | None) -> int:
        """The first point that has a partner by count."""
        points = self.points
        if count_by_dividing(points, None, share, self.tuning) == points.self_count():
            return -1
        partners = np.zeros(points.n_t, np.int64)
        count_by_dividing(points, partners, share, self.tuning)
        if points.self_pairs:
            partners[points.self_matches()[1]] -= 1
        return int(np.argmax(partners > 0))


@dataclass(frozen=True, slots=True)
class Boxes(FirstPair):
    """Pairs of boxes of two k-d trees: the way that fits every shape."""

    points: Points
    tuning: Tuning

    def steps(self) -> Iterator[Step]:
        """Build and search."""
        per = "" if self.points.group is None else " of each group"
        compared = named(self.points.order + self.points.differ)
        yield Step(f"search pairs of boxes{per} that may hold a pair, in k-d trees over {compared}")

    def find(self, share: Share | None) -> Pair | None:
        """Some pair of points, or None."""
        announce(share, self)
        threads = threads_for(share, self.points.n_s + self.points.n_t, self.tuning.parallel)
        return dual_tree(self.points, leaf=self.tuning.leaf, leading=self.tuning.leading, threads=threads).find(threads)


@dataclass(frozen=True, slots=True)
class Detour(FirstPair):
    """Without its `!=` a problem is easier, and often holds or has a witness that differs anyway; boxes come last."""

    points: Points
    easier: FirstPair
    boxes: Boxes

    def steps(self) -> Iterator[Step]:
        """The easier problem, and boxes."""
        yield from steps_within(_WITHOUT, self.easier.steps())
        yield from steps_under(_agreeing(self.points), self.boxes.steps())

    def find(self, share: Share | None) -> Pair | None:
        """Some pair of points, or None."""
        easier = self.easier.find(within(share, _WITHOUT))
        if easier is None:
            return None
        if all(each.s[easier[0]] != each.t[easier[1]] for each in self.points.differ):
            return easier
        return self.boxes.find(under(share, _agreeing(self.points)))


def _agreeing(points: Points) -> str:
    return f"if the two rows found agree on {' or '.join(each.name or 'one column' for each in points.differ)}"


def choose_first_pair(points: Points, share: Share | None, tuning: Tuning) -> FirstPair:
    """The cheapest way that fits the points."""
    if _hard(points):
        boxes = Boxes(points, tuning)
        if not points.order:
            return boxes
        without = replace(points, differ=())
        without = replace(without, self_pairs=points.self_pairs or without.any_self_match())
        return Detour(points, choose_first_pair(without, share, tuning), boxes)
    found = _by_table(points, share, tuning) or _by_tree(points, share, tuning)
    if found is None and _groups_are_small(points, tuning):
        found = CountedParts(points, tuning)
    return found or Boxes(points, tuning)


def choose_proof(points: Points, share: Share | None, tuning: Tuning) -> _FirstPoint | None:
    """The way by which a count first makes sure that there is a pair; None where that would save nothing.

    Only tables are cheap enough; and where some of the first points pair up, there is nothing to make sure of.
    """
    if _hard(points) or not (points.order or points.differ) or points.some_match(_GLANCE):
        return None
    return _by_table(points, share, tuning)


def _hard(points: Points) -> bool:
    """Whether partners have to differ in more than one code."""
    return len(points.differ) > 1 or (bool(points.differ) and points.self_pairs)


def _by_table(points: Points, share: Share | None, tuning: Tuning) -> _FirstPoint | None:
    if points.twin and not points.order and points.group is not None:
        return OtherValues(points, tuning) if points.differ else Repeats(points, tuning)
    table = Table.of(points, share, tuning)
    return None if table is None else ExtremaTable(points, tuning, table)


def _by_tree(points: Points, share: Share | None, tuning: Tuning) -> _FirstPoint | None:
    if len(points.order) < 2:
        return None
    coded = bool(points.differ) or points.self_pairs
    order = tuple(ranked(each, share) if each.size > INT32 else each for each in points.order)
    *rest, value = sorted(order, key=lambda each: each.size)
    dimensions = choose(points, tuple(rest), share, tuning, most=1 if coded else 3)
    if dimensions is None or dimensions.steps > tuning.tree_steps:
        return None
    return ExtremaTree(points, tuning, dimensions, value)


def _groups_are_small(points: Points, tuning: Tuning) -> bool:
    """Whether counting, which small groups make quick, is cheaper than a forest."""
    if points.group is None or points.differ or len(points.order) < 2:
        return False
    return int(segment_sizes(points.group.t, points.groups).max()) <= tuning.divided
