"""SelectIndex (Algorithm 4): few indexes such that every rule has one for some of its predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from refute.tracking.incdc.columns import ColumnFigures
from refute.tracking.incdc.demands import ANY, BOTH, Demands, Mask, SlotColumns
from refute.tracking.incdc.order_index import negated
from refute.tracking.incdc.thresholds import Thresholds

SlotPair = tuple[int, int]
ColumnPair = tuple[int, int]
_SAME_WAY = int(BOTH[1, 1] | BOTH[4, 4])
_OTHER_WAY = int(BOTH[1, 4] | BOTH[4, 1])


@dataclass(frozen=True)
class Selection:
    """Indexes, and how they are used.

    `equalities`: slots whose columns have an equality index. `falling`: the columns of each order index, in ascending
    order, and whether the second falls where the first rises. `uses`: for two slots, or one given twice, the signs of
    both that are fetched.
    """

    equalities: tuple[int, ...] = ()
    falling: Mapping[ColumnPair, bool] = field(default_factory=dict)
    uses: Mapping[SlotPair, int] = field(default_factory=dict)

    def serves(self, demands: Demands) -> Mask:
        """Which boxes have all their pairs fetched by one of the indexes.

        One that fetches all signs of a slot still lacks rows that are null there: it serves boxes that ask for some.
        """
        found = demands.equal[:, list(self.equalities)].any(axis=1)
        for (k, m), wanted in self.uses.items():
            asked = (demands.signs[:, k] != ANY) & (demands.signs[:, m] != ANY)
            found |= asked & ((BOTH[demands.signs[:, k], demands.signs[:, m]] & ~wanted) == 0)
        return np.asarray(found)


def select_indexes(
    demands: Demands, figures: ColumnFigures, thresholds: Thresholds, given: Selection | None = None
) -> Selection:
    """The indexes for boxes, beside those given; some boxes may be served by none."""
    select = _SelectIndex(demands, figures, thresholds, given or Selection())
    limit = thresholds.equality
    select.equalities(lambda k: select.is_plain(k) and select.score(k) < limit, by_box=True)
    select.equalities(lambda k: select.score(k) < limit, by_box=True)
    if thresholds.orders:
        select.orders(lambda pair: min(map(figures.share, pair)) >= thresholds.distinct)
    select.equalities(lambda _: True, by_box=False)
    if thresholds.orders:
        select.orders(lambda _: True)
        select.single_orders()
    return select.chosen


class _SelectIndex:
    """The indexes chosen so far, and the boxes that are not yet served."""

    def __init__(self, demands: Demands, figures: ColumnFigures, thresholds: Thresholds, given: Selection) -> None:
        self._figures = figures
        self._thresholds = thresholds
        self._operands = demands.operands
        self._equalities = list(given.equalities)
        self._falling = dict(given.falling)
        self._uses = dict(given.uses)
        self._open = demands.some(~given.serves(demands))
        self._serve_by_orders()

    @property
    def chosen(self) -> Selection:
        return Selection(tuple(self._equalities), dict(self._falling), dict(self._uses))

    def is_plain(self, k: int) -> bool:
        """Whether a slot compares a column with itself."""
        operands = self._operands_of(k)
        return operands.left == operands.right

    def score(self, k: int) -> float:
        """The score of the equality index of a slot, or the larger one of both that it needs."""
        return max(map(self._figures.score, self._operands_of(k)))

    def _operands_of(self, k: int) -> SlotColumns:
        operands = self._operands[k]
        assert operands is not None, "one row is compared with itself"
        return operands

    def equalities(self, allowed: Callable[[int], bool], *, by_box: bool) -> None:
        """Equality indexes: the best one for each box that is open (lines 1 to 8), or the best ones first (line 20)."""
        slots = [k for k in np.flatnonzero(self._open.equal.any(axis=0)).tolist() if allowed(k)]
        slots.sort(key=lambda k: (self.score(k), k))
        while slots:
            asked = self._open.equal[:, slots]
            served = asked.any(axis=1)
            if not served.any():
                return
            wanted = asked[served.argmax()] if by_box else asked.any(axis=0)
            best = slots[int(wanted.argmax())]
            self._equalities.append(best)
            self._open = self._open.some(~self._open.equal[:, best])

    def orders(self, allowed: Callable[[ColumnPair], bool]) -> None:
        """Order indexes, those with the least score first (lines 9 to 19)."""
        while len(self._open):
            coverage = self._coverage()
            candidates = [pair for pair in coverage if pair not in self._falling and allowed(pair)]
            if not candidates:
                return

            def score(pair: ColumnPair, coverage: Mapping[ColumnPair, float] = coverage) -> tuple[float, ColumnPair]:
                return (1.0 - abs(self._figures.correlation(*pair))) / coverage[pair], pair

            best = min(candidates, key=score)
            self._add(best)
            self._serve_by_orders()
            while related := self._related(best):  # what Fetch+ needs beside it
                self._add(related)
                self._serve_by_orders()

    def single_orders(self) -> None:
        """An index of one column for boxes that compare rows by one slot alone."""
        for k in np.flatnonzero(self._open.orders.any(axis=0)).tolist():
            asked = self._open.orders[:, k]
            if not asked.any() or not self._may_cross(k):
                continue
            signs = int(np.bitwise_or.reduce(self._open.signs[asked, k]))
            self._use((k, k), int(BOTH[signs, signs]))
            for column in self._operands_of(k):
                self._falling.setdefault((column, column), False)
            self._open = self._open.some(~asked)

    def _may_cross(self, k: int) -> bool:
        return self._thresholds.crossing or self.is_plain(k)

    def _slot_pairs(self) -> Iterator[tuple[SlotPair, Mask]]:
        """Two slots that an order index may serve, and the open boxes that have both."""
        orders = self._open.orders
        slots = [k for k in np.flatnonzero(orders.any(axis=0)).tolist() if self._may_cross(k)]
        for k, m in combinations(slots, 2):
            both = orders[:, k] & orders[:, m]
            if both.any():
                yield (k, m), both

    def _needs(self, pair: SlotPair) -> frozenset[ColumnPair]:
        """The columns of the indexes by which two slots are served: one, or two where columns are crossed."""
        (a, b), (c, d) = (self._operands_of(k) for k in pair)
        return frozenset([(min(a, c), max(a, c)), (min(b, d), max(b, d))])

    def _coverage(self) -> dict[ColumnPair, float]:
        """How many rules each order index applies to, alone or beside another."""
        applies: dict[ColumnPair, Mask] = {}
        for pair, both in self._slot_pairs():
            for columns in self._needs(pair):
                applies[columns] = applies[columns] | both if columns in applies else both
        weights = self._open.weights
        return {columns: float(weights[some].sum()) for columns, some in applies.items()}

    def _related(self, first: ColumnPair) -> ColumnPair | None:
        """The index beside which the first one serves most rules that it applies to; None where none are left."""
        gains: dict[ColumnPair, float] = {}
        weights = self._open.weights
        for pair, both in self._slot_pairs():
            needed = self._needs(pair)
            for other in needed - {first} if first in needed else ():
                gains[other] = gains.get(other, 0.0) + float(weights[both].sum())
        return max(gains, key=lambda pair: (gains[pair], pair), default=None)

    def _add(self, columns: ColumnPair) -> None:
        """Takes an index, in the direction of the correlation if that is clear, else of most rules (line 17)."""
        r = self._figures.correlation(*columns)
        if abs(r) > self._thresholds.correlation:
            self._falling[columns] = r < 0
            return
        votes = 0.0
        for (k, m), both in self._slot_pairs():
            if columns in self._needs((k, m)):
                wanted = BOTH[self._open.signs[both, k], self._open.signs[both, m]]
                votes += float(((wanted & _SAME_WAY) > 0).sum()) - float(((wanted & _OTHER_WAY) > 0).sum())
        self._falling[columns] = votes < 0

    def _use(self, pair: SlotPair, wanted: int) -> None:
        """Adds to what is fetched for two slots; of plain ones in both roles, so that mirror images are served too."""
        if all(map(self.is_plain, pair)):
            wanted |= negated(wanted)
        self._uses[pair] = self._uses.get(pair, 0) | wanted

    def _serve_by_orders(self) -> None:
        """Notes for which signs the indexes that are there are used, and closes the boxes that they serve."""
        closed = np.zeros(len(self._open), np.bool_)
        for (k, m), both in self._slot_pairs():
            served = both & ~closed
            if served.any() and all(columns in self._falling for columns in self._needs((k, m))):
                wanted = BOTH[self._open.signs[served, k], self._open.signs[served, m]]
                self._use((k, m), int(np.bitwise_or.reduce(wanted)))
                closed |= served
        self._open = self._open.some(~closed)
