"""Keys and dependencies with few rows to blame: one grouping of each left side serves all right sides.

A left side of several columns must explain what each part of it leaves: chance deals the right side anew inside the
groups of every proper subset of the left side, and the smallest result counts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from refute.kernels.proposing.chance import dealt_blame
from refute.kernels.proposing.groups import UNIT, to_blame
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, Grouping, Longs, room
from refute.proposing.scores import Figures, Limits, clustered

Side = tuple[int, ...]  # places of columns, ascending
_UNKNOWN = np.iinfo(np.int64).max


@dataclass(slots=True, eq=False)
class DependencySearch:
    """The columns of a table, the groupings of single ones, and what is known to be left to explain."""

    columns: Sequence[CodedColumn]
    n_rows: int
    limits: Limits
    seed: int
    pruned: bool = True
    singles: dict[int, Grouping] = field(default_factory=dict)
    left_over: dict[Side, Longs] = field(default_factory=dict)  # rows to blame by right side

    def __post_init__(self) -> None:
        whole = Grouping.whole(self.n_rows)
        self.singles = {place: whole.refined(column) for place, column in enumerate(self.columns)}

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
        useful = [place for place in self.varied if self.singles[place].n_rows >= self.least_rows]
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
        found = [] if len(side) == 1 else self._keys(side, grouping)
        blamed = np.full(len(self.columns), _UNKNOWN, np.int64)
        if grouping.n_rows >= self.least_rows or not self.pruned:
            for right in self.varied:
                if right not in side:
                    found += self._dependency(side, grouping, right, blamed)
        self.left_over[side] = blamed
        return found

    def single_keys(self) -> Iterator[Candidate]:
        """Columns of which nearly every value is different."""
        for column in self.columns:
            repeats = column.present - column.size
            if column.size > 1 and column.present > 0.9 * self.n_rows:
                figures = Figures(column.present, column.size, repeats, None)
                if figures.error <= self.limits.key_error:
                    yield Candidate(RuleShape.KEY, (column.name,), (), figures)

    def _dependency(self, side: Side, grouping: Grouping, right: int, blamed: Longs) -> list[Candidate]:
        limits, column = self.limits, self.columns[right]
        counts = room(column)
        parts = [self.left_over[part][right] for part in itertools.combinations(side, len(side) - 1) if part]
        left = min(parts, default=_UNKNOWN)
        if self.pruned and left < limits.chance:
            return []  # nothing is left to explain
        most = int(limits.error * grouping.n_rows)
        if self.pruned and left != _UNKNOWN:
            most = min(most, int((1 - limits.tendency) * left))
        stop = most if self.pruned and len(side) > 1 else _UNKNOWN
        rows, blame, rest, parts_clustered = to_blame(grouping.order, grouping.starts, column.values, counts, stop)
        if blame > stop:
            return []
        blamed[right] = blame
        if rows < self.least_rows or blame > limits.error * rows:
            return []
        if self.pruned and (rest < limits.chance or blame > (1 - limits.tendency) * rest):
            return []
        chance = self._chance(side, grouping, column, counts, blame)
        if chance < limits.chance:
            return []
        figures = Figures(rows, grouping.n_groups, blame, chance, clustered(parts_clustered, rows, blame))
        if figures.score < limits.tendency:
            return []
        return [Candidate(RuleShape.DEPENDENCY, self._names(side), (column.name,), figures)]

    def _chance(self, side: Side, grouping: Grouping, column: CodedColumn, counts: Longs, blame: int) -> float:
        """The rows that chance would blame, given the part of the left side that explains most."""
        least = math.inf
        for size in range(len(side)):
            for part in itertools.combinations(side, size):
                groups, pools = self._pools(grouping, part)
                seed = np.uint64(self.seed)
                dealt = dealt_blame(grouping.order, grouping.starts, column.values, groups, pools, seed, counts)
                least = min(least, dealt / UNIT)
                if self.pruned and blame > (1 - self.limits.tendency) * least:
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

    def _keys(self, side: Side, grouping: Grouping) -> list[Candidate]:
        """The key of several columns, where far more rows would have the same values if the last column were dealt."""
        columns = [self.columns[place] for place in side]
        present = np.logical_and.reduce([column.values >= 0 for column in columns])
        rows, repeats = int(np.count_nonzero(present)), grouping.n_rows - grouping.n_groups
        if rows <= 0.9 * self.n_rows or repeats > self.limits.key_error * rows:
            return []
        chance = min(self._repeats_by_chance(side, place, present) for place in side)
        figures = Figures(rows, rows - repeats, repeats, chance)
        if chance < self.limits.chance or figures.score < self.limits.tendency:
            return []
        return [Candidate(RuleShape.KEY, self._names(side), (), figures)]

    def _repeats_by_chance(self, side: Side, dealt: int, present: np.ndarray) -> float:
        """How many rows would repeat another if the values of one column were dealt to all rows anew: exact."""
        others = tuple(place for place in side if place != dealt)
        rows = np.flatnonzero(present)
        numbers = np.zeros(len(rows), np.int64)
        for place in others:
            _, numbers = np.unique(
                numbers * np.int64(self.columns[place].size + 1) + self.columns[place].values[rows], return_inverse=True
            )
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
