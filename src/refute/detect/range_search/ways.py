"""The ways to search and to count: each is chosen from the points, says what it does, and does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from refute.detect.range_search.choice import (
    MOST_AGREEING,
    MOST_COUNTED,
    MOST_SEARCHED,
    IndexKind,
    RangeOptions,
    choose,
)
from refute.detect.range_search.expansion import expanded, included
from refute.detect.range_search.trees import Int64s, grouping, sides, sizes
from refute.detect.sweep.points import Points
from refute.detect.sweep.trees import dual_tree
from refute.kernels.range_search import running
from refute.plan.first_rows import in_first_rows, prefix_sizes
from refute.plan.share import Share, announce
from refute.plan.step import OwnPairs, Step, named

Pair = tuple[int, int]

_GROWTH = 4  # prefixes of n/8, n/32, ... points cost a sixth of a full search together


class PairSearch(Protocol):
    """A way to find a pair of points."""

    def steps(self) -> Iterator[Step]:
        """What it does."""

    def find(self, share: Share | None) -> Pair | None:
        """Points (of s, of t) that pair up, or None."""


class PairTally(Protocol):
    """A way to count pairs of different rows."""

    @property
    def points(self) -> Points:
        """The points that it counts."""

    def steps(self) -> Iterator[Step]:
        """What it does."""

    def count(self, share: Share | None) -> int:
        """The number of pairs."""

    def partners(self, share: Share | None) -> tuple[Int64s, Int64s]:
        """The number of partners of each point of s, and of t; both sides are asked about in turn."""


def searches(points: Points, options: RangeOptions, *, first_rows: bool) -> Iterator[tuple[str, PairSearch]]:
    """The ways to look at growing prefixes and at all points, with words for each.

    Without `first_rows` some prefixes have been looked at. As a search costs more than a pass, those between them pay.
    """
    if len(points.order) + len(points.differ) <= 1:
        yield "", _Records(points)
        return
    n = max(points.n_s, points.n_t)
    known = () if first_rows else prefix_sizes(n)
    for size in prefix_sizes(n, growth=_GROWTH):
        if size not in known:
            yield in_first_rows(size), _search(points.prefix(size), options)
    yield "", _search(points, options)


def tallies(points: Points, options: RangeOptions) -> Iterator[tuple[str, int, PairTally]]:
    """Signed ways whose counts add up, with words for each."""
    dims = len(points.order) - 1
    if choose(points, dims, options, most_differ=MOST_AGREEING, most_points=MOST_COUNTED) is IndexKind.KD_TREE:
        yield "", 1, _Boxes(points)
        return
    for scope, sign, part in included(points):
        yield scope, sign, _Queries(part) if part.order else _Products(part)


def _search(points: Points, options: RangeOptions) -> PairSearch:
    saved = 1 if points.self_pairs else 2  # sorting saves a dimension, and a running minimum another one
    dims = len(points.order) + len(points.differ) - saved
    by_boxes = choose(points, dims, options, most_points=MOST_SEARCHED) is IndexKind.KD_TREE
    return _Boxes(points) if by_boxes else _RangeTrees(points)


def threads_of(share: Share | None) -> int:
    """The threads that may be used."""
    return 1 if share is None else share.threads


@dataclass(frozen=True, slots=True)
class _Records:
    """The first clash in row order, by a running record of each group (Algorithms 1 and 4)."""

    points: Points

    def steps(self) -> Iterator[Step]:
        """One pass."""
        kept = "whether it was seen"
        if self.points.order:
            kept = f"the extreme {named(self.points.order)} so far"
        elif self.points.differ:
            kept = f"the first {named(self.points.differ)}"
        yield Step(f"scan the rows, keeping for each group {kept}")

    def find(self, share: Share | None) -> Pair | None:
        """The first clash."""
        announce(share, self)
        points = self.points
        group = grouping(points)
        kind, compared = running.ANY, group
        if points.order:
            kind, compared = running.LESS, points.order[0]
        elif points.differ:
            kind, compared = running.OTHER, points.differ[0]
        s_rows = np.arange(points.n_s) if points.s_rows is None else points.s_rows
        t_rows = np.arange(points.n_t) if points.t_rows is None else points.t_rows
        both = (s_rows, t_rows), (group.s, group.t), (compared.s, compared.t)
        s, t = running.first_clash(*both, kind, group.size)
        return None if s < 0 else (int(s), int(t))


@dataclass(frozen=True, slots=True)
class _Boxes:
    """A pair of k-d trees for each group, with differences as axes of their own."""

    points: Points

    def steps(self) -> Iterator[Step]:
        """Build and compare."""
        per = "" if self.points.group is None else " of each group"
        compared = self.points.order + self.points.differ
        over = f", over {named(compared)}" if compared else ""
        yield Step(f"traverse the k-d trees of both sides{per} together{over}")

    def find(self, share: Share | None) -> Pair | None:
        """Some pair of points."""
        announce(share, self)
        threads = threads_of(share)
        return dual_tree(self.points, threads=threads).find(threads)

    def count(self, share: Share | None) -> int:
        """The number of pairs of different rows."""
        announce(share, self)
        threads = threads_of(share)
        total = dual_tree(self.points, threads=threads).count(threads=threads)
        assert total is not None
        return total - self.points.self_count()

    def partners(self, share: Share | None) -> tuple[Int64s, Int64s]:
        """The number of partners of each point of s, and of t."""
        announce(share, self)
        threads = threads_of(share)
        found = dual_tree(self.points, threads=threads).partners(threads=threads)
        assert found is not None
        return _without_selves(self.points, *found)


@dataclass(frozen=True, slots=True)
class _RangeTrees:
    """Range trees that are filled in the order of one comparison (Algorithm 6), once for each reading of `!=`."""

    points: Points

    def steps(self) -> Iterator[Step]:
        """Fill and ask."""
        compared = named(self.points.order + self.points.differ)
        each = f", once for each way to read {named(self.points.differ)} as < or >" if self.points.differ else ""
        yield Step(f"query range trees over {compared}, filled during one scan of the rows{each}")

    def find(self, share: Share | None) -> Pair | None:
        """Some pair of points."""
        announce(share, self)
        points = self.points
        for part in expanded(points, halved=True):
            own = None
            if points.self_pairs:  # a row that meets itself does so in one part only
                own = np.zeros(points.n_t, np.int64)
                own[part.self_matches()[1]] = 1
            t = sides(part).first(own)
            if t is not None:
                return int(next(iter(part.partners_of_t(t)))[0]), t
        return None


@dataclass(frozen=True, slots=True)
class _Queries:
    """How many points each point is above, by range trees (Algorithm 5 with f = count, the sort of Algorithm 6)."""

    points: Points

    def steps(self) -> Iterator[Step]:
        """Fill and ask."""
        yield Step(f"query range trees over {named(self.points.order)} for the number of partners of each row")
        if self.points.self_pairs:
            yield from OwnPairs().steps()

    def count(self, share: Share | None) -> int:
        """The number of pairs of different rows."""
        announce(share, self)
        return sides(self.points).count(threads=threads_of(share))[0] - len(self.points.self_matches()[0])

    def partners(self, share: Share | None) -> tuple[Int64s, Int64s]:
        """The number of partners of each point of s, and of t."""
        announce(share, self)
        threads = threads_of(share)
        of_s, of_t = (sides(each).count(threads=threads)[1] for each in (self.points.mirrored(), self.points))
        return _without_selves(self.points, of_s, of_t)


@dataclass(frozen=True, slots=True)
class _Products:
    """The pairs that share a group (Algorithm 5, k = 0), exact beyond 64 bits."""

    points: Points

    def steps(self) -> Iterator[Step]:
        """Multiply."""
        yield Step("multiply the sizes of both sides of each group")
        if self.points.self_pairs:
            yield from OwnPairs().steps()

    def count(self, share: Share | None) -> int:
        """The number of pairs of different rows."""
        announce(share, self)
        return self._all() - len(self.points.self_matches()[0])

    def partners(self, share: Share | None) -> tuple[Int64s, Int64s]:
        """The number of partners of each point of s, and of t."""
        announce(share, self)
        group, (s_sizes, t_sizes) = grouping(self.points), sizes(self.points)
        return _without_selves(self.points, t_sizes[group.s], s_sizes[group.t])

    def _all(self) -> int:
        s_sizes, t_sizes = sizes(self.points)
        if self.points.n_s * self.points.n_t < 2**63:
            return int(np.dot(s_sizes, t_sizes))
        return sum(a * b for a, b in zip(s_sizes.tolist(), t_sizes.tolist(), strict=True))


def _without_selves(points: Points, of_s: Int64s, of_t: Int64s) -> tuple[Int64s, Int64s]:
    """The numbers less one for each row that matches itself."""
    s_self, t_self = points.self_matches()
    of_s[s_self] -= 1
    of_t[t_self] -= 1
    return of_s, of_t
