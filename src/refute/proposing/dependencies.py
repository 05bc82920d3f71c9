"""Keys and dependencies with few rows to blame: one grouping of each left side serves all right sides.

A left side of several columns must explain what each part of it leaves: chance deals the right side anew inside the
groups of every proper subset of the left side, and the smallest result counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from refute.kernels.proposing.chance import dealt_blame
from refute.kernels.proposing.groups import UNIT, blamed_by
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, Grouping, Ids, Longs, matrix_of
from refute.proposing.scores import Figures, Limits, clustered, probable_blame

Side = tuple[int, ...]  # places of columns, ascending
UNKNOWN = np.iinfo(np.int64).max


def is_possible_key(rows: int, repeats: int, n_rows: int, limits: Limits) -> bool:
    """Whether so many of all rows have a value in the columns of a key, and so few of them repeat another."""
    return limits.can_tell(rows) and rows > 0.9 * n_rows and repeats <= limits.key_error * rows


def keys_among(columns: Sequence[CodedColumn], n_rows: int, limits: Limits) -> frozenset[str]:
    """The columns of which nearly every value is different."""
    found = (one for one in columns if is_possible_key(one.present, one.present - one.size, n_rows, limits))
    return frozenset(column.name for column in found if column.size > 1)


def single_keys(columns: Sequence[CodedColumn], n_rows: int, limits: Limits) -> Iterator[Candidate]:
    """Columns of which nearly every value is different, as keys."""
    keys = keys_among(columns, n_rows, limits)
    for column in columns:
        if column.name in keys:
            figures = Figures(column.present, column.size, column.present - column.size, None)
            yield Candidate(RuleShape.KEY, (column.name,), (), figures)


@dataclass(slots=True, eq=False)
class DependencySearch:
    """The columns of a table, the groupings of single ones, and what is known to be left to explain."""

    columns: Sequence[CodedColumn]
    n_rows: int
    limits: Limits
    seed: int
    pruned: bool = True
    halt: Longs = field(default_factory=lambda: np.zeros(1, np.int64))  # set by another thread, to end what runs
    singles: dict[int, Grouping] = field(default_factory=dict)
    in_groups: dict[int, int] = field(default_factory=dict)  # how many rows agree with another on each column
    left_over: dict[Side, Longs] = field(default_factory=dict)  # rows to blame by right side

    def __post_init__(self) -> None:
        whole = Grouping.whole(len(self.codes.T))
        self.singles = {place: whole.refined(column) for place, column in enumerate(self.columns)}
        self.in_groups = {place: grouping.n_rows for place, grouping in self.singles.items()}

    @property
    def codes(self) -> Ids:
        """The values of all columns."""
        return matrix_of(self.columns)

    def room(self) -> Longs:
        """What kernels count the values of any column in."""
        return np.zeros(2 * max((column.size for column in self.columns), default=1), np.int64)

    @property
    def least_rows(self) -> float:
        """How many rows must meet the premise of a rule."""
        return max(self.limits.chance, self.limits.support * self.n_rows)

    @property
    def varied(self) -> list[int]:
        """The columns with more than one value."""
        return [place for place, column in enumerate(self.columns) if column.size > 1]

    def sides(self, size: int) -> Iterator[Side]:
        """The left sides of so many columns that may leave enough rows in groups."""
        useful = [place for place in self.varied if self.in_groups[place] >= self.least_rows]
        return itertools.combinations(useful, size)

    def grouping(self, side: Side) -> Grouping:
        """The rows that agree on all columns of a side; the smallest grouping of one of them is refined."""
        first = min(side, key=lambda place: (self.singles[place].n_rows, place))
        found = self.singles[first]
        for place in side:
            if place != first:
                found = found.refined(self.columns[place])
        return found

    def searched(self, side: Side) -> list[Candidate]:
        """The key and the dependencies of a left side that are good enough."""
        grouping = self.singles[side[0]] if len(side) == 1 else self.grouping(side)
        found = [] if len(side) == 1 else self.judged_key(side, grouping)
        blamed = np.full(len(self.columns), UNKNOWN, np.int64)
        if grouping.n_rows >= self.least_rows or not self.pruned:
            counts = self.room()
            rights, stops = self.rights(side, grouping.n_rows)
            counted = self.counted(grouping, rights, stops, counts)
            within = (counted[:, 1] <= stops) & (self.halt[0] == 0)
            blamed[rights[within]] = counted[within, 1]
            possible = within & self.is_possible(*counted[:, :3].T)
            for right, (rows, blame, _, parts) in zip(rights[possible], counted[possible].tolist(), strict=True):
                known = Figures(rows, grouping.n_groups, blame, None, clustered(parts, rows, blame))
                found += self._judged(side, grouping, int(right), counts, known)
        self.left_over[side] = blamed
        return found

    def counted(
        self, grouping: Grouping, rights: Longs, stops: Longs, counts: Longs, common: Ids | None = None
    ) -> Longs:
        """For each right side the rows that meet the premise, those to blame, those that chance blames at most, and how
        they cluster; too few of each where more are to blame than where to stop."""
        common = np.full(len(rights), -1, np.int32) if common is None else common
        return blamed_by(grouping.order, grouping.starts, self.codes, rights, stops, common, counts, self.halt)

    def rights(self, side: Side, n_rows: int) -> tuple[Longs, Longs]:
        """The right sides that are looked at with a left side that has so many rows in groups, and how many rows may be
        to blame for each."""
        rights = np.array([place for place in self.varied if place not in side], np.int64)
        stops = np.full(len(rights), UNKNOWN)
        if not self.pruned or len(side) == 1:
            return rights, stops
        left = np.min([self.left_over[part] for part in itertools.combinations(side, len(side) - 1)], axis=0)[rights]
        known = left != UNKNOWN
        stops = np.full(len(rights), int(self.limits.error * n_rows))
        stops[known] = np.minimum(stops[known], ((1 - self.limits.tendency) * left[known]).astype(np.int64))
        worth = left >= self.limits.chance  # else nothing is left to explain
        return rights[worth], stops[worth]

    def is_possible(self, rows: Any, blame: Any, rest: Any) -> Any:
        """Whether a dependency may be good enough, of which chance would blame no more than `rest`; or each of many."""
        limits = self.limits
        enough = (rows >= self.least_rows) & (blame <= limits.error * rows)
        if not self.pruned:
            return enough
        return enough & (rest >= limits.chance) & (probable_blame(blame) <= (1 - limits.tendency) * rest)

    def judged(self, side: Side, right: int) -> list[Candidate]:
        """One dependency, where it is good enough."""
        grouping, counts = self.grouping(side), self.room()
        ((rows, blame, _, parts),) = self.counted(grouping, np.array([right]), np.array([UNKNOWN]), counts).tolist()
        if rows < self.least_rows or blame > self.limits.error * rows:
            return []
        known = Figures(rows, grouping.n_groups, blame, None, clustered(parts, rows, blame))
        return self._judged(side, grouping, right, counts, known)

    def _judged(self, side: Side, grouping: Grouping, right: int, counts: Longs, known: Figures) -> list[Candidate]:
        """A dependency that is good enough, given all figures but chance."""
        chance = self._chance(side, grouping, self.columns[right].values, counts, known)
        figures = replace(known, chance=chance)
        if chance < self.limits.chance or figures.score < self.limits.tendency:
            return []
        return [Candidate(RuleShape.DEPENDENCY, self._names(side), self._names((right,)), figures)]

    def _chance(self, side: Side, grouping: Grouping, values: Ids, counts: Longs, known: Figures) -> float:
        """The rows that chance would blame, given the part of the left side that explains most."""
        least, seed = math.inf, np.uint64(self.seed)
        for size in range(len(side)):
            for part in itertools.combinations(side, size):
                groups, pools = self._pools(grouping, part)
                dealt = dealt_blame(grouping.order, grouping.starts, values, groups, pools, known.rows, seed, counts)
                least = min(least, dealt / UNIT)
                if self.pruned and probable_blame(known.blame) > (1 - self.limits.tendency) * least:
                    return 0.0
        return least

    def _pools(self, grouping: Grouping, part: Side) -> tuple[Longs, Longs]:
        """The groups in the order of what their rows say in a part of the left side, and where each says another."""
        firsts = grouping.order[grouping.starts[:-1]]
        if not part:
            return np.arange(grouping.n_groups), np.array([0, grouping.n_groups], np.int64)
        said = [self.columns[place].values[firsts] for place in part]
        groups = np.lexsort(said)
        changes = np.zeros(max(len(groups) - 1, 0), np.bool_)
        for values in said:
            changes |= np.diff(values[groups]) != 0
        return groups, np.concatenate([[0], np.flatnonzero(changes) + 1, [len(groups)]]).astype(np.int64)

    def judged_key(self, side: Side, grouping: Grouping) -> list[Candidate]:
        """The key of several columns, where far more rows would have the same values if the last column were dealt."""
        repeats = grouping.n_rows - grouping.n_groups
        if repeats > self.limits.key_error * self.n_rows:
            return []
        present = np.logical_and.reduce([self.columns[place].values >= 0 for place in side])
        rows = int(np.count_nonzero(present))
        if not self.is_possible_key(rows, repeats):
            return []
        chance = min(self._repeats_by_chance(side, place, present) for place in side)
        figures = Figures(rows, rows - repeats, repeats, chance)
        if chance < self.limits.chance or figures.score < self.limits.tendency or figures.luck > self.limits.luck:
            return []
        return [Candidate(RuleShape.KEY, self._names(side), (), figures)]

    def is_possible_key(self, rows: int, repeats: int) -> bool:
        """Whether so many rows have a value in all columns of a key, and so few of them repeat another."""
        return is_possible_key(rows, repeats, self.n_rows, self.limits)

    def _repeats_by_chance(self, side: Side, dealt: int, present: np.ndarray) -> float:
        """How many rows would repeat another if the values of one column were dealt to all rows anew: exact."""
        others = tuple(place for place in side if place != dealt)
        rows = np.flatnonzero(present)
        numbers = self.columns[others[0]].values[rows]
        for place in others[1:]:
            both = numbers * np.int64(self.columns[place].size) + self.columns[place].values[rows]
            numbers = np.unique(both, return_inverse=True)[1]
        sizes, groups = np.unique(np.bincount(numbers), return_counts=True)
        values = np.bincount(self.columns[dealt].values[rows], minlength=1)
        often, times = np.unique(values[values > 0], return_counts=True)
        return repeats_expected(sizes, groups, often, times)

    def _names(self, side: Side) -> tuple[str, ...]:
        return tuple(self.columns[place].name for place in side)


def repeats_expected(sizes: Longs, groups: Longs, often: Longs, times: Longs) -> float:
    """The rows that repeat a value of their group, for `groups` of each size and values that come so `often`."""
    n = float((sizes * groups).sum())
    expected = 0.0
    for size, number in zip(sizes.tolist(), groups.tolist(), strict=True):
        if size < 2:
            continue
        absent = np.zeros(len(often))
        possible = often + size <= n
        kept = often[possible].astype(np.float64)
        absent[possible] = np.exp(_log_falling(n - kept, size) - _log_falling(np.full(len(kept), n), size))
        expected += number * (size - float((times * (1.0 - absent)).sum()))
    return expected


def _log_falling(top: np.ndarray, size: int) -> np.ndarray:
    """The logarithm of top (top - 1) ... (top - size + 1)."""
    lgamma = np.vectorize(math.lgamma, otypes=[np.float64])
    found: np.ndarray = lgamma(top + 1) - lgamma(top - size + 1)
    return found
