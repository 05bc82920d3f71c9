"""Order rules inside groups, in both directions: one column never falls, or never rises, as another rises.

Chance deals the second column anew inside each group; and where there are groups, it deals rows to groups of the same
sizes, or any groups would do for an order that nearly holds among all rows. It deals those that are in groups, and then
all, or which rows are in groups at all would count as something that the groups say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from refute.kernels.proposing.orders import Tiny, by_rank, most_by_chance, order_blame, sketched, sorted_groups
from refute.kernels.proposing.spans import deal, sort_parts
from refute.kernels.proposing.sure import sure_blame
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import CodedColumn, Grouping, Ids, Longs, matrix_of
from refute.proposing.scores import Figures, Limits

_FEW_VALUES = 5  # a column with fewer is no scale
_SMALL_GROUPS = 5.0  # rows of the mean group, below which any order is an accident
_FEW_ROWS, _MANY_DEALS = 100, 8  # expected blame below which one deal is too coarse, and how many are dealt then
FORMS = {"rises": 1, "falls": -1}
_NEVER = np.iinfo(np.int64).max


def is_scale(column: CodedColumn, size: int) -> bool:
    """Whether orders are about a column that has so many values."""
    return column.ordered and size >= _FEW_VALUES


def is_grouping(rows: int, groups: int, n_rows: int) -> bool:
    """Whether orders are looked for inside so many groups, of so many rows together."""
    return rows >= 0.5 * n_rows and rows >= _SMALL_GROUPS * groups > 0


@dataclass(slots=True, eq=False)
class OrderSearch:
    """What is needed to search order rules: columns, their groupings, and which of them are keys."""

    columns: Sequence[CodedColumn]
    singles: dict[int, Grouping]
    keys: frozenset[int]
    n_rows: int
    limits: Limits
    seed: int
    pruned: bool = True
    halt: Longs = field(default_factory=lambda: np.zeros(1, np.int64))  # set by another thread, to end what runs
    scales: list[int] = field(default_factory=list)  # what orders are about; by default, what has values enough
    _sketches: Tiny = field(init=False)

    def __post_init__(self) -> None:
        self.scales = self.scales or [place for place, one in enumerate(self.columns) if is_scale(one, one.size)]
        self._sketches = np.empty((self.n_rows, len(self.scales)), np.int8)
        for place, scale in enumerate(self.scales):
            sketched(self.columns[scale].values, self.columns[scale].size, self._sketches[:, place])

    def tasks(self) -> Iterator[Callable[[], list[Candidate]]]:
        """What searches the rules of each group column, or of all rows, with each column that rises."""
        grouped = [
            place for place, found in self.singles.items() if is_grouping(found.n_rows, found.n_groups, self.n_rows)
        ]
        for group in (None, *grouped):
            for x in self.scales:
                if group != x:
                    yield partial(self.searched, group, x)

    def searched(self, group: int | None, x: int) -> list[Candidate]:
        """The order rules of this column with those after it that are good enough."""
        grouping = Grouping.whole(self.n_rows) if group is None else self.singles[group]
        column = self.columns[x]
        rows, starts = self.sorted_rows(grouping, x)
        if len(rows) < self.limits.order_support * self.n_rows:
            return []
        by = () if group is None else (self.columns[group].name,)
        found: list[Candidate] = []
        for y, form in self._possible(rows, starts, group, x):
            figures = self.figures(rows, starts, column, self.columns[y], form, grouped=group is not None)
            if figures is not None:
                found.append(Candidate(RuleShape.ORDER, by, (column.name, self.columns[y].name), figures, form))
        return found

    def judged(self, group: int | None, x: int, y: int, form: str) -> list[Candidate]:
        """One order rule, where it is good enough."""
        rows, starts = self.sorted_rows(Grouping.whole(self.n_rows) if group is None else self.singles[group], x)
        figures = self.figures(rows, starts, self.columns[x], self.columns[y], form, grouped=group is not None)
        by = () if group is None else (self.columns[group].name,)
        names = (self.columns[x].name, self.columns[y].name)
        return [] if figures is None else [Candidate(RuleShape.ORDER, by, names, figures, form)]

    def sorted_rows(self, grouping: Grouping, x: int) -> tuple[Ids, Longs]:
        """The rows of a grouping by group and by what they have in this column."""
        column = self.columns[x]
        return sorted_groups(grouping.order, grouping.starts, column.values, by_rank(column.values, column.size))

    def _possible(self, rows: Ids, starts: Longs, group: int | None, x: int) -> Iterator[tuple[int, str]]:
        """The columns that may rise or fall as x rises."""
        most = int(self.limits.order_error * len(rows))
        ys, blamed = self.sure_blame(rows, starts, group, x, most if self.pruned else -1)
        for y, *both in zip(ys, *blamed.tolist(), strict=True):
            for form, blame in zip(FORMS, both, strict=True):
                if y >= 0 and (blame <= most or not self.pruned) and not self.halt[0]:
                    yield y, form

    def sure_blame(self, rows: Ids, starts: Longs, group: int | None, x: int, most: int) -> tuple[list[int], Longs]:
        """The scales after x, and how many rows are to blame at least where they rise, and where they fall; -1 for
        those that are not asked about."""
        ys = [y if y != group and not {x, y} <= self.keys else -1 for y in self.scales if y > x]
        codes, values = matrix_of(self.columns), self.columns[x].values
        blamed = sure_blame(rows, starts, values, codes, np.array(ys, np.int64), self._sketches, most, self.halt)
        return ys, blamed

    @staticmethod
    def _sizes(rows: Ids, starts: Longs, y: CodedColumn) -> Longs:
        """How many rows of each group have a value in a column, ascending."""
        return np.sort(np.add.reduceat(y.values[rows] >= 0, starts[:-1], dtype=np.int64))

    def _dealt_to_groups(self, kept: np.ndarray, sizes: Longs, x: CodedColumn, y: CodedColumn, sign: int) -> float:
        """The rows to blame where some rows are dealt to groups anew: what any groups of these sizes would do."""
        points = x.values[kept].astype(np.int64)
        points <<= 32
        points |= y.values[kept]
        bounds = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        every = np.arange(bounds[-1], dtype=np.int32)
        blame = 0
        for number in range(_MANY_DEALS):
            seed = np.uint64(self.seed + number)
            deal(points, seed)
            sort_parts(points, bounds)
            ys = points.astype(np.int32)  # which keeps the lower half
            xs = (points >> 32).astype(np.int32)
            blame += order_blame(every, bounds, xs, ys, sign, seed, 0, _NEVER)[1]
            if number == 0 and blame >= _FEW_ROWS:
                return float(blame)
        return blame / _MANY_DEALS

    def _by_any_groups(self, rows: Ids, starts: Longs, x: CodedColumn, y: CodedColumn, sign: int) -> Iterator[float]:
        """The rows to blame where groups of these sizes have other rows: of those in groups, then of all."""
        sizes = self._sizes(rows, starts, y)
        inside = rows[y.values[rows] >= 0]
        if np.count_nonzero(sizes) > 1:
            yield self._dealt_to_groups(inside, sizes, x, y, sign)
        everywhere = np.flatnonzero((x.values >= 0) & (y.values >= 0))
        if np.count_nonzero(sizes) == 1 or len(everywhere) > len(inside):
            yield self._dealt_to_groups(everywhere, sizes, x, y, sign)

    def figures(
        self, rows: Ids, starts: Longs, x: CodedColumn, y: CodedColumn, form: str, *, grouped: bool
    ) -> Figures | None:
        """The figures of one order, of rows by group and x, that is good enough."""
        limits, seed, sign = self.limits, np.uint64(self.seed), FORMS[form]
        total, chance_at_most = most_by_chance(rows, starts, x.values, y.values, np.zeros(y.size, np.int64))
        least = max(limits.chance, limits.order_chance * total)
        if total < limits.order_support * self.n_rows or chance_at_most < least:
            return None
        most = int(limits.order_error * total)
        _, blame, _, groups = order_blame(rows, starts, x.values, y.values, sign, seed, 0, most)
        if (
            blame > limits.order_error * total
            or Figures(total, groups, blame, chance_at_most).score < limits.order_lift
        ):
            return None
        chance = 0.0
        for deals in (1, _MANY_DEALS):
            chance = order_blame(rows, starts, x.values, y.values, sign, seed, deals, most)[2] / deals
            if chance >= _FEW_ROWS:
                break
        for dealt in self._by_any_groups(rows, starts, x, y, sign) if grouped else ():
            if not self._is_enough(Figures(total, groups, blame, chance), least):
                return None
            chance = min(chance, dealt)
        figures = Figures(total, groups, blame, chance)
        return figures if self._is_enough(figures, least) else None

    def _is_enough(self, figures: Figures, least: float) -> bool:
        return (figures.chance or 0.0) >= least and figures.score >= self.limits.order_lift
