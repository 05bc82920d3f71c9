"""A rule as a contest between rows: who clashes with whom, and the heaviest rows that can stay together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from refute.kernels.blame.groups import (
    drop_ties,
    group_weights,
    heaviest_pairs,
    mark_outvoted,
    pair_weights,
    use_matched,
)
from refute.kernels.blame.orders import (
    clashing_weights,
    heaviest_chain,
    heaviest_spans,
    keep_turned,
    lessen_by_turned,
)
from refute.language.rulebook import Rule
from refute.plan.problem import Comparison, Problem, ProblemSide

Longs = NDArray[np.int64]
Ids = NDArray[np.int32]
Flags = NDArray[np.bool_]
Partners = Callable[[Problem], tuple[Longs, Longs]]  # for each point of side s, and of side t, its number of partners


@dataclass(frozen=True, slots=True, eq=False)
class Contest(ABC):
    """A rule about two rows over a table; `exact` where the heaviest rows that can stay are found exactly.

    Rows that the rule is not about stay, whatever they weigh. With `times`, a row stands for so many that are alike;
    rows that clash with what is like them come one by one.
    """

    rule: Rule
    problem: Problem
    partners: Partners
    n_rows: int
    times: Longs | None
    _known: dict[bytes, Longs] = field(init=False, repr=False, default_factory=dict)  # the first degrees asked for

    @property
    def exact(self) -> bool:
        """Whether `keep` is best possible."""
        return True

    @abstractmethod
    def keep(self, weights: Longs, alive: Flags) -> Flags:
        """A set of rows without a violation, as heavy as can be; rows that are not alive are not in it."""

    def settled(self, weights: Longs, alive: Flags) -> Flags:
        """The rows of `keep` less those that others could stay for that weigh the same: these the rule leaves open, as
        far as groups decide it."""
        return self.keep(weights, alive)

    @abstractmethod
    def fewest(self, free: Longs, busy: Longs) -> tuple[int, Longs]:
        """How many of these rows at least must go, and rows that prove it; those that are less `busy` are preferred.

        Both are given as numbers: how many of the rows that each stands for are free, and how many are used.
        """

    def counted(self, flags: Flags) -> Longs:
        """How many rows each of these stands for; none for others."""
        return flags.astype(np.int64) if self.times is None else np.where(flags, self.times, 0)

    def weighed(self, weights: Longs, alive: Flags) -> Longs:
        """What all rows weigh that each of these stands for; nothing for others."""
        return np.where(alive, weights if self.times is None else weights * self.times, 0)

    def violations(self, rows: Longs, among: Flags) -> Longs:
        """For each of some rows, in how many violations it meets a row among others, in either role."""
        if len(rows) == 0:
            return np.zeros(0, np.int64)
        if among.all():
            return self.degrees(among)[rows]
        asked = np.zeros(self.n_rows, np.bool_)
        asked[rows] = True
        if not among[rows].any() and (whole := self._known.get(_bits(asked | among))) is not None:
            return (whole - self._degrees(asked))[rows]  # what they are in with each other is less to count
        return (self._counts(asked, among, 0) + self._counts(among, asked, 1))[rows]

    def degrees(self, alive: Flags) -> Longs:
        """In how many violations among these rows each row is. Counts of all rows are asked for often, and kept."""
        asked = _bits(alive)
        found = self._known.get(asked)
        if found is None:
            found = self._degrees(alive)
            if len(self._known) < 3:  # all rows, all that are not forced, and those that rounds leave
                self._known[asked] = found
        return found

    def about(self, rows: Longs) -> Self:
        """The same over some rows, which hold all that clash with any; what is known of all rows stays known."""
        flags = np.zeros(self.n_rows, np.bool_)
        flags[rows] = True
        found = replace(self, problem=between(self.problem, flags, flags))
        found._known.update(self._known)
        return found

    def _degrees(self, alive: Flags) -> Longs:
        part = between(self.problem, alive, alive)
        found = np.zeros(self.n_rows, np.int64)
        if _has_points(part):
            as_s, as_t = self.partners(part)
            found[part.s.row_numbers()] += as_s
            found[part.t.row_numbers()] += as_t
        return found

    def _counts(self, s: Flags, t: Flags, role: int) -> Longs:
        part = between(self.problem, s, t)
        found = np.zeros(self.n_rows, np.int64)
        if _has_points(part):
            found[(part.s, part.t)[role].row_numbers()] = self.partners(part)[role]
        return found


def between(problem: Problem, s: Flags, t: Flags) -> Problem:
    """The problem over some rows on each side."""
    s_rows, t_rows = problem.s.row_numbers(), problem.t.row_numbers()
    s_at = np.flatnonzero(s[s_rows])
    together = s is t and problem.aligned
    t_at = s_at if together else np.flatnonzero(t[t_rows])
    s_side = ProblemSide(len(s_at), s_rows[s_at])

    def picked(comparisons: tuple[Comparison, ...]) -> tuple[Comparison, ...]:
        return tuple(one.picked(s_at, t_at, together=together) for one in comparisons)

    return Problem(
        s=s_side,
        t=s_side if together else ProblemSide(len(t_at), t_rows[t_at]),
        equal=picked(problem.equal),
        order=picked(problem.order),
        differ=picked(problem.differ),
        self_pairs=problem.self_pairs,
    )


def _bits(flags: Flags) -> bytes:
    return np.packbits(flags).tobytes()


def _has_points(problem: Problem) -> bool:
    return problem.s.size > 0 and problem.t.size > 0


@dataclass(frozen=True, slots=True, eq=False)
class GroupedRows:
    """Points in groups and, within these, in pairs of a group and a value. Pairs are numbered by their first points."""

    rows: Longs  # of each point, ascending
    pairs: Ids  # of each point
    pair_groups: Ids  # of each pair
    common: Longs  # how many points have the value of each pair
    count: int  # of groups

    def sums(self, weights: Longs) -> tuple[Longs, Longs]:
        """What each pair and each group weighs."""
        sums, totals = np.zeros(len(self.pair_groups), np.int64), np.zeros(self.count, np.int64)
        pair_weights(self.rows, self.pairs, weights, sums)
        group_weights(self.pair_groups, sums, totals)
        return sums, totals

    def best(self, sums: Longs) -> Ids:
        """The heaviest pair of each group."""
        best = np.full(self.count, -1, np.int32)
        heaviest_pairs(self.pair_groups, sums, self.common, best)
        return best

    def points(self, rows: Longs) -> Longs:
        """The point of each row, or -1."""
        at = np.searchsorted(self.rows, rows)
        found = self.rows[np.minimum(at, max(len(self.rows) - 1, 0))] == rows if len(self.rows) else rows < 0
        return np.where(found, at, -1)


@dataclass(frozen=True, slots=True, eq=False)
class OneValue(Contest):
    """A key or a dependency: the rows of a group that have one value stay. Rows with other values all clash."""

    groups: GroupedRows
    is_key: bool
    mutual: bool  # each clash is two violations, one in each direction

    def keep(self, weights: Longs, alive: Flags) -> Flags:
        """The heaviest value of each group; of equals the one more common in its column, then the one that is first."""
        sums, _ = self.groups.sums(self.weighed(weights, alive))
        return self._with(self.groups.best(sums), alive)

    def settled(self, weights: Longs, alive: Flags) -> Flags:
        """The same, but no value of a group in which two are equals."""
        groups = self.groups
        sums, _ = groups.sums(self.weighed(weights, alive))
        best = groups.best(sums)
        drop_ties(groups.pair_groups, sums, groups.common, best)
        return self._with(best, alive)

    def _with(self, best: Ids, alive: Flags) -> Flags:
        """The rows that are not in the groups, and those of the best pairs."""
        kept = alive.copy()
        mark_outvoted(self.groups.rows, self.groups.pairs, self.groups.pair_groups, best, kept)
        return kept

    def fewest(self, free: Longs, busy: Longs) -> tuple[int, Longs]:
        """All but the largest value of each group; where it has more than half, as many of its rows prove it."""
        groups = self.groups
        sums, totals = groups.sums(free)
        best = groups.best(sums)
        needed = totals - np.where(best >= 0, sums[best], 0)
        points = np.flatnonzero((free[groups.rows] > 0) & (needed > 0)[groups.pair_groups[groups.pairs]])
        order = points[np.argsort(busy[groups.rows[points]], kind="stable")]
        used = np.zeros(self.n_rows, np.int64)
        listed = np.column_stack([groups.rows[order], order])
        use_matched(listed, groups.pairs, groups.pair_groups, best, needed.copy(), free, used)
        return int(needed.sum()), used

    def violations(self, rows: Longs, among: Flags) -> Longs:
        """From the sizes of groups and pairs alone."""
        if self.is_key and not self.mutual:
            return Contest.violations(self, rows, among)
        groups = self.groups
        sums, totals = groups.sums(self.counted(among))
        at = groups.points(rows)
        if len(groups.rows) == 0:
            return np.zeros(len(rows), np.int64)
        pairs = groups.pairs[at]
        return np.where(at < 0, 0, (1 + self.mutual) * (totals[groups.pair_groups[pairs]] - sums[pairs]))

    def degrees(self, alive: Flags) -> Longs:
        """The same for all rows that are alive."""
        if self.is_key and not self.mutual:
            return Contest.degrees(self, alive)
        groups = self.groups
        sums, totals = groups.sums(self.counted(alive))
        found = np.zeros(self.n_rows, np.int64)
        found[groups.rows] = ((1 + self.mutual) * (totals[groups.pair_groups] - sums))[groups.pairs]
        found[~alive] = 0
        return found


@dataclass(frozen=True, slots=True, eq=False)
class InOrder(Contest):
    """Rules that a sort decides, group by group: (3, points) of group and two ranks, and the row of each point."""

    points: Longs
    rows: Longs

    @abstractmethod
    def _mark(self, points: Longs, weights: Longs, kept: Flags) -> None:
        """Marks the heaviest points that can stay."""

    def keep(self, weights: Longs, alive: Flags) -> Flags:
        """The heaviest points of each group."""
        kept = alive.copy()
        chosen, stays = self._chosen(self.weighed(weights, alive))
        kept[self.rows[chosen]] = stays
        return kept

    def fewest(self, free: Longs, busy: Longs) -> tuple[int, Longs]:
        """All but the most that can stay; the groups in which some must go prove it."""
        chosen, stays = self._chosen(free)
        groups = self.points[0, chosen]
        broken = np.zeros(int(groups.max(initial=0)) + 1, np.bool_)
        broken[groups[~stays]] = True
        used = np.zeros(self.n_rows, np.int64)
        proving = self.rows[chosen[broken[groups]]]
        used[proving] = free[proving]
        return int(free[self.rows[chosen[~stays]]].sum()), used

    def _chosen(self, weights: Longs) -> tuple[Longs, Flags]:
        """The points of rows that weigh something, and which of them stay."""
        chosen = np.flatnonzero(weights[self.rows] > 0)
        stays = np.zeros(len(chosen), np.bool_)
        if len(chosen):
            self._mark(np.ascontiguousarray(self.points[:, chosen]), weights[self.rows[chosen]], stays)
        return chosen, stays


@dataclass(frozen=True, slots=True, eq=False)
class Chain(InOrder):
    """Two orders within groups: what stays is a chain, the longest increasing subsequence where all weigh the same."""

    strict: tuple[bool, bool]

    def _mark(self, points: Longs, weights: Longs, kept: Flags) -> None:
        heaviest_chain(points, weights, self.strict, int(points[2].max()) + 1, kept)

    def violations(self, rows: Longs, among: Flags) -> Longs:
        """Of rows that stand for several, counted by a sweep."""
        if self.times is None or not any(self.strict):
            return Contest.violations(self, rows, among)
        return self._partners(among)[rows]

    def degrees(self, alive: Flags) -> Longs:
        """The same for all rows that are alive."""
        if self.times is None or not any(self.strict):
            return Contest.degrees(self, alive)
        return np.where(alive, self._partners(alive), 0)

    def _partners(self, among: Flags) -> Longs:
        found, counts = np.zeros(self.n_rows, np.int64), np.zeros(len(self.rows), np.int64)
        weights = self.counted(among)[self.rows]
        clashing_weights(self.points, weights, self.strict, int(self.points[2].max(initial=0)) + 1, counts)
        found[self.rows] = counts
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Spans(InOrder):
    """No two spans of a group overlap: interval scheduling.

    A span that ends before it starts clashes with those alone that reach over it on both sides. Of spans that do not
    overlap at most one does, so each weighs less by what is turned below it, and the best choice is found as before.
    """

    closed: bool

    def _mark(self, points: Longs, weights: Longs, kept: Flags) -> None:
        mark_spans(points, weights, self.closed, kept)


def mark_spans(points: Longs, weights: Longs, closed: bool, kept: Flags) -> None:
    """Marks the heaviest spans of each group of which no two overlap; some may end before they start.

    `points` is (3, n): group, start, end, sorted by group, then end, then start.
    """
    is_turned = points[2] < points[1]
    if not is_turned.any():
        heaviest_spans(points, weights, closed, kept)
        return
    turned = np.flatnonzero(is_turned)
    turned = turned[np.lexsort((points[1, turned], points[0, turned]))]
    net = weights.copy()
    lessen_by_turned(points, turned, closed, int(points[1:].max()) + 1, weights, net)
    chosen = np.flatnonzero(~is_turned & (net > 0))
    stays = np.zeros(len(chosen), np.bool_)
    heaviest_spans(np.ascontiguousarray(points[:, chosen]), net[chosen], closed, stays)
    kept[chosen] = stays
    keep_turned(points, turned, closed, kept)
