"""Order rules inside groups, in both directions: one column never falls, or never rises, as another rises.

Chance deals the second column anew inside each group; and where there are groups, it deals rows to groups of the same
sizes, or any groups would do for an order that nearly holds among all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from refute.kernels.proposing.orders import clashing_pairs, order_blame, sorted_groups
from refute.kernels.proposing.spans import deal, sort_parts
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, Grouping, Ids, Longs
from refute.proposing.scores import Figures, Limits

_FEW_VALUES = 5  # a column with fewer is no scale
_SMALL_GROUPS = 5.0  # rows of the mean group, below which any order is an accident
_FEW_ROWS, _MANY_DEALS = 100, 8  # expected blame below which one deal is too coarse, and how many are dealt then
_BOTH = ((1, "rises"), (-1, "falls"))


@dataclass(frozen=True, slots=True, eq=False)
class OrderSearch:
    """What is needed to search order rules: columns, their groupings, and which of them are keys."""

    columns: Sequence[CodedColumn]
    singles: dict[int, Grouping]
    keys: frozenset[int]
    n_rows: int
    limits: Limits
    seed: int
    pruned: bool = True

    def tasks(self) -> Iterator[Callable[[], list[Candidate]]]:
        """What searches the rules of each group column, or of all rows, with each column that rises."""
        scales = self._scales()
        grouped = [
            place
            for place, found in self.singles.items()
            if found.n_rows >= 0.5 * self.n_rows and found.n_rows >= _SMALL_GROUPS * found.n_groups > 0
        ]
        for group in (None, *grouped):
            for x in scales:
                if group != x:
                    yield partial(self.searched, group, x)

    def searched(self, group: int | None, x: int) -> list[Candidate]:
        """The order rules of this column with those after it that are good enough."""
        grouping = Grouping.whole(self.n_rows) if group is None else self.singles[group]
        column = self.columns[x]
        rows, starts = sorted_groups(grouping.order, grouping.starts, column.values)
        found: list[Candidate] = []
        if len(rows) < self.limits.order_support * self.n_rows:
            return found
        by = () if group is None else (self.columns[group].name,)
        most = int(self.limits.order_error * len(rows))
        for y in self._scales():
            if y <= x or y == group or {x, y} <= self.keys:
                continue
            other = self.columns[y]
            for sign, form in _BOTH:
                if self.pruned and clashing_pairs(rows, starts, column.values, other.values, sign, most) > most:
                    continue
                figures = self._figures(rows, starts, column, other, sign)
                if figures is not None:
                    found.append(Candidate(RuleShape.ORDER, by, (column.name, other.name), figures, form))
        return found

    def _dealt_to_groups(self, rows: Ids, starts: Longs, x: CodedColumn, y: CodedColumn, sign: int) -> float:
        """The rows to blame where the points are dealt to groups anew: what any groups of these sizes would do."""
        first, second = x.values[rows], y.values[rows]
        present = second >= 0
        groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[present]
        points = first[present].astype(np.int64) << 32 | second[present]
        deal(points, np.uint64(self.seed))
        sizes = np.sort(np.unique(groups, return_counts=True)[1])
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        sort_parts(points, bounds)
        xs, ys = (points >> 32).astype(np.int32), (points & 0xFFFFFFFF).astype(np.int32)
        every = np.arange(len(points), dtype=np.int32)
        return float(order_blame(every, bounds, xs, ys, sign, np.uint64(self.seed), 0)[1])

    def _figures(self, rows: Ids, starts: Longs, x: CodedColumn, y: CodedColumn, sign: int) -> Figures | None:
        limits, deals = self.limits, 1
        while True:
            total, blame, dealt, groups = order_blame(
                rows, starts, x.values, y.values, sign, np.uint64(self.seed), deals
            )
            chance = dealt / deals
            if chance >= _FEW_ROWS or deals == _MANY_DEALS:
                break
            deals = _MANY_DEALS
        if groups > 1 and blame <= limits.order_error * total and chance >= limits.chance:
            chance = min(chance, self._dealt_to_groups(rows, starts, x, y, sign))
        figures = Figures(total, groups, blame, chance)
        least = max(limits.chance, limits.order_chance * total)
        supported = total >= limits.order_support * self.n_rows and chance >= least
        fits = supported and figures.error <= limits.order_error and figures.score >= limits.order_lift
        return figures if fits else None

    def _scales(self) -> list[int]:
        return [place for place, one in enumerate(self.columns) if one.ordered and one.size >= _FEW_VALUES]
