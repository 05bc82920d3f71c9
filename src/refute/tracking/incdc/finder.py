"""The candidate pairs of rows that come, by indexes over the rows that are there (Algorithm 5, lines 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from refute.discovery.evidence.counted import Evidence, merged
from refute.discovery.evidence.tiles import ClueTally, Rectangles
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget, Crew
from refute.tracking.codes import Longs
from refute.tracking.incdc.columns import ColumnFigures
from refute.tracking.incdc.demands import Demands, SlotColumns, leading
from refute.tracking.incdc.order_index import OrderIndex, exchanged, negated
from refute.tracking.incdc.selection import ColumnPair, Selection, select_indexes
from refute.tracking.incdc.thresholds import Thresholds
from refute.tracking.meeting.cover import (
    MANY_PAIRS,
    PARTS,
    Cover,
    EqualSet,
    MetRows,
    evidence_of_tallies,
    parts_of,
    tally_members,
)
from refute.tracking.meeting.residual import Residual
from refute.tracking.rows import TrackedRows


@dataclass(frozen=True, slots=True)
class Visit:
    """One visit of an order index: the columns that rows ask by, and the signs of members that are wanted."""

    index: ColumnPair
    asking: tuple[int, int]
    wanted: int


class IndexFinder:
    """Finds all pairs of new rows that lie in a box, and others that agree with one in what its index compares.

    What indexes are made for stays served when boxes are cut, as those that come ask for more. Boxes that grow where
    rows have gone may need further indexes, which are added. Once the rows have grown by so much, indexes are chosen
    and built anew. Boxes that no index serves are left to `rest`.
    """

    def __init__(self, rows: TrackedRows, thresholds: Thresholds, rest: Residual) -> None:
        self._rows = rows
        self._thresholds = thresholds
        self._rest = rest
        self._chosen = Selection()
        self._equal: Cover | None = None
        self.orders: dict[ColumnPair, OrderIndex] = {}
        self._visits: list[Visit] = []
        self._within: list[Visit] = []
        self._planned = 0  # rows when indexes were chosen
        self._boxes: tuple[PredicateSpace, Words] | None = None
        self._seen = Selection()  # by what the rows that came last were seen
        self.candidates = 0
        """Pairs that the rows which came last were found in by indexes."""

    @property
    def work(self) -> float:
        """Nothing: indexes are chosen by the thresholds of the paper, and no set is counted."""
        return 0.0

    @property
    def nbytes(self) -> int:
        """The memory of all indexes."""
        equal = 0 if self._equal is None else self._equal.nbytes
        return equal + sum(one.nbytes for one in self.orders.values()) + self._rest.nbytes

    @property
    def selection(self) -> Selection:
        """The indexes that there are."""
        return self._chosen

    def plan(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> None:
        """Makes sure that pairs in all boxes are found when rows come."""
        self._boxes = space, leading(space, boxes)
        if not self._planned:
            self._planned = self._rows.n_alive
        self._choose(self._chosen)

    def _choose(self, given: Selection) -> None:
        """Indexes beside those given, for the boxes that these do not serve."""
        assert self._boxes is not None
        space, boxes = self._boxes
        demands = Demands.of(space, self._rows, boxes)
        if not given.serves(demands).all():
            figures = ColumnFigures(self._rows, self._thresholds)
            given = select_indexes(demands, figures, self._thresholds, given)
        self._lay(space, demands.operands, given)
        self._rest.plan(space, boxes[~given.serves(demands)], ())

    def _lay(self, space: PredicateSpace, operands: Sequence[SlotColumns | None], chosen: Selection) -> None:
        """Builds the indexes that are not there yet."""
        self._chosen = chosen
        sets = [frozenset([k]) for k in chosen.equalities]
        if self._equal is None:
            self._equal = Cover(space, self._rows, sets)
        else:
            self._equal.lay(space, sets)
        for columns, falling in chosen.falling.items():
            if columns not in self.orders:
                optimal = self._thresholds.optimal
                self.orders[columns] = OrderIndex(self._rows, columns, falling=falling, optimal=optimal)
        self._visits, self._within = visits_of(chosen.uses, operands)

    def evidence(self, coming: Longs, counted: Sequence[EqualSet], budget: Budget) -> Evidence:
        """The evidence of pairs that new rows are in, and takes the rows in."""
        found = [self._rest.evidence(coming, counted, budget), *self._fetched(coming, budget)]
        if self._rows.n_alive > (1.0 + self._thresholds.growth) * self._planned:
            self._begin_anew()
        return merged(self._rows.space, found)

    def _begin_anew(self) -> None:
        """Chooses all indexes again, and builds them from the rows that are there."""
        self._planned = self._rows.n_alive
        self._equal = None
        self.orders = {}
        self._choose(Selection())

    def _fetched(self, coming: Longs, budget: Budget) -> list[Evidence]:
        """The evidence of pairs by all indexes, which take the rows in."""
        assert self._equal is not None
        self._seen = self._chosen
        equal = self._equal.evidence(coming, budget)
        self._equal.add(coming)
        ordered = self._by_orders(coming, budget)
        for index in self.orders.values():
            index.add(coming)
        self.candidates = int(equal.counts.sum()) // 2 + ordered[1]
        return [equal, ordered[0]]

    def _by_orders(self, coming: Longs, budget: Budget) -> tuple[Evidence, int]:
        """The evidence of pairs by order indexes, and how many pairs these were."""
        tallies = [ClueTally(self._rows.facts(coming), keeps_pairs=True)]
        sources: list[MetRows] = []
        pairs = 0
        for visit in self._visits:
            index = self.orders[visit.index]
            ranges = index.fetch(coming, visit.asking, visit.wanted)
            sources.append(MetRows(coming, index.members))
            pairs += self._tally(tallies, sources, ranges, budget)
        for visit in self._within if len(coming) > 1 else ():
            members, ranges = self.orders[visit.index].among(coming, visit.asking, visit.wanted)
            sources.append(MetRows(coming, members))
            pairs += self._tally(tallies, sources, ranges, budget, within=True)
        return evidence_of_tallies(self._rows, tallies, sources), pairs

    def _tally(
        self,
        tallies: list[ClueTally],
        sources: list[MetRows],
        ranges: Rectangles,
        budget: Budget,
        *,
        within: bool = False,
    ) -> int:
        """Tallies ranges of the rows and members of the last source, but for a row with itself; how many pairs."""
        coming, members = (side.astype(np.int64, copy=False) for side in sources[-1])
        pairs = int((ranges[:, 3] - ranges[:, 2]).sum())
        own = np.full(len(coming), -1, np.int64)
        if within:
            own[np.searchsorted(coming, members)] = np.arange(len(members))
        elif pairs < len(members):  # too few to put all members side by side
            facts = self._rows.facts(coming)
            tally_members(tallies, self._rows, facts, np.arange(len(coming)), sources, ranges, budget)
            return pairs
        facts = self._rows.facts(coming, members)
        task = (len(sources) - 1) << PARTS
        if pairs < MANY_PAIRS or budget.threads == 1:
            tallies[0].add(facts, ranges, own, task)
            return pairs
        crew: Crew[ClueTally, tuple[int, Rectangles]] = Crew(
            budget,
            lambda: ClueTally(facts, keeps_pairs=True),
            lambda tally, part: tally.add(facts, part[1], own, task + part[0]),
        )
        tallies.extend(crew.run(enumerate(parts_of(ranges)))[0])
        return pairs

    def unseen(self, space: PredicateSpace, boxes: Words, counted: Sequence[EqualSet]) -> bool:
        """Whether the rows that came last may be in a pair that lies in one of the boxes and was not seen."""
        boxes = leading(space, boxes)
        left = boxes[~self._seen.serves(Demands.of(space, self._rows, boxes))]
        return self._rest.unseen(space, left, counted)

    def look(self, coming: Longs, counted: Sequence[EqualSet], budget: Budget) -> Evidence:
        """The evidence of rows that came last by ways that are new since then."""
        found = [self._rest.look(coming, counted, budget)]
        if self._seen != self._chosen:
            self._drop(coming)
            found.extend(self._fetched(coming, budget))
        return merged(self._rows.space, found)

    def drop(self, going: Longs) -> None:
        """Lets rows go that are no longer alive."""
        self._drop(going)
        self._rest.drop(going)

    def _drop(self, rows: Longs) -> None:
        if self._equal is not None:
            self._equal.drop(rows)
        for index in self.orders.values():
            index.drop(rows)

    def reload(self, columns: frozenset[int] | None = None) -> None:
        """Makes anew what depends on the codes of some columns, or everything."""
        if self._equal is not None:
            self._equal.reload(columns)
        for key, index in self.orders.items():
            if columns is None:
                index.load()
            elif columns & set(key):
                index.recode()
        self._rest.reload(columns)


def visits_of(
    uses: Mapping[tuple[int, int], int], operands: Sequence[SlotColumns | None]
) -> tuple[list[Visit], list[Visit]]:
    """The visits by which rows that come meet those that are there, in both roles, and those of a batch each other."""
    visits: dict[tuple[ColumnPair, tuple[int, int]], int] = {}
    within: dict[tuple[ColumnPair, tuple[int, int]], int] = {}
    for (k, m), wanted in uses.items():
        first, second = operands[k], operands[m]
        assert first is not None and second is not None
        s_columns, t_columns = (first.left, second.left), (first.right, second.right)
        _note(visits, s_columns, t_columns, wanted)
        _note(visits, t_columns, s_columns, negated(wanted))
        half = wanted & _UPPER if s_columns == t_columns else wanted
        _note(within, s_columns, t_columns, half)
    return [Visit(*key, wanted) for key, wanted in visits.items()], [
        Visit(*key, wanted) for key, wanted in within.items()
    ]


_UPPER = sum(1 << bit for bit in range(4, 9))  # of signs and their negation one, where both are wanted


def _note(
    visits: dict[tuple[ColumnPair, tuple[int, int]], int], index: ColumnPair, asking: tuple[int, int], wanted: int
) -> None:
    """Adds what is wanted to the visit of an index, whose columns ascend."""
    if index[0] > index[1]:
        index, asking, wanted = index[::-1], asking[::-1], exchanged(wanted)
    visits[index, asking] = visits.get((index, asking), 0) | wanted
