"""Pairs of rows that agree on sets of equalities: those of a batch with all others, each pair counted once.

Every set gives the pairs that agree on it, so a pair comes as often as there are sets, and roles in them, in which it
agrees. That can be read off its clue: so all are tallied together, and the count of a clue is divided by that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import equal_masks, ranges_of, tasks_of
from refute.discovery.evidence.counted import Counts, Evidence, packed_pairs, turned_pairs, unpacked_pairs
from refute.discovery.evidence.tiles import ClueTally, Rectangles
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget, Crew
from refute.kernels.evidence.clues import Facts
from refute.kernels.tracking.points import count_holding
from refute.language.nulls import Nulls
from refute.language.predicate import Column
from refute.tracking.codes import Ints, Longs
from refute.tracking.meeting.groups import RowGroups
from refute.tracking.rows import TrackedRows

Chosen = frozenset[int]
Mask = NDArray[np.bool_]
MANY_PAIRS = 1 << 22
"""Pairs from which threads are worth their start."""
_TASK_ROWS = 1 << 16
_ALONE = np.zeros(1, np.int64)
PARTS = 24
"""Bits of a task that number its parts; those above are the place of what its positions mean among the sources."""


@dataclass(frozen=True)
class EqualSet:
    """A set of slots whose operands are equal: the columns that s and t are looked up by, and the box of such pairs."""

    chosen: Chosen
    left: tuple[int, ...]
    right: tuple[int, ...]
    box: Words

    @classmethod
    def of(cls, space: PredicateSpace, rows: TrackedRows, chosen: Chosen) -> EqualSet:
        """The set over the columns of tracked rows."""
        left, right = [], []
        masks = np.array([[slot.kind.full for slot in space.slots]], np.uint8)
        equal = equal_masks(space)
        for k in sorted(chosen):
            slot = space.slots[k]
            assert isinstance(slot.right, Column)
            left.append(rows.at[slot.left.name])
            right.append(rows.at[slot.right.name])
            masks[0, k] = equal[k]
        return cls(chosen, tuple(left), tuple(right), space.boxes(masks)[0])

    @property
    def same(self) -> bool:
        """Whether pairs agree in both roles or in none."""
        return self.left == self.right

    def holds(self, points: Words) -> Mask:
        """Which points agree on the set."""
        return np.asarray(~(points & ~self.box).any(axis=1))


class MetRows(NamedTuple):
    """Where the positions of tallied pairs are rows: those of side s, and those of side t."""

    s_rows: NDArray[np.integer]
    t_rows: NDArray[np.integer]


class Cover:
    """Sets of equalities, and the groups by which pairs that agree on one of them are found."""

    def __init__(self, space: PredicateSpace, rows: TrackedRows, sets: Sequence[Chosen]) -> None:
        self._rows = rows
        self._groups: dict[tuple[int, ...], RowGroups] = {}
        self.lay(space, sets)

    def lay(self, space: PredicateSpace, sets: Sequence[Chosen]) -> None:
        """Changes to these sets of a space; groups that are there are kept where they are of use."""
        self._space = space
        self.sets = tuple(EqualSet.of(space, self._rows, chosen) for chosen in sets)
        wanted = dict.fromkeys(columns for one in self.sets for columns in (one.left, one.right))
        agree = self._rows.nulls is Nulls.EQUAL
        known = self._groups
        self._groups = {key: known.get(key) or RowGroups(self._rows, key, nulls_agree=agree) for key in wanted}
        self._numbers: dict[tuple[tuple[int, ...], tuple[int, ...]], Longs] = {}

    @property
    def nbytes(self) -> int:
        """The memory of all groups."""
        return sum(groups.nbytes for groups in self._groups.values())

    @property
    def work(self) -> float:
        """How many members a row meets on average, by all sets."""
        alone = sum(self._groups[one.right].work for one in self.sets)
        return alone + sum(self._groups[one.left].work for one in self.sets if not one.same)

    def reload(self, columns: frozenset[int] | None = None) -> None:
        """Makes groups anew: those over columns whose codes have moved, or all."""
        for key, groups in self._groups.items():
            if columns is None or columns & set(key):
                groups.load()

    def add(self, rows: Longs) -> None:
        """Takes the rows of the batch whose evidence was asked for last into all groups."""
        for key, groups in self._groups.items():
            groups.add(rows, self._numbers.get((key, key)))

    def drop(self, rows: Longs) -> None:
        """Lets rows go from all groups."""
        for groups in self._groups.values():
            groups.drop(rows)

    def lost(self, going: Longs, budget: Budget) -> Evidence:
        """Lets rows go from all groups; the evidence of the pairs that they were in, without these."""
        self._numbers = {(key, key): groups.drop(going) for key, groups in self._groups.items()}
        if not len(going):
            return Evidence.empty(self._space)
        facts = self._rows.facts(going)
        return self._met(going, facts, ClueTally(facts), budget)

    def holds(self, points: Words) -> Mask:
        """Which points agree on one of the sets, as they stand."""
        return held_by(self.sets, points)

    def evidence(
        self, batch: Longs, budget: Budget, before: Sequence[EqualSet] = (), *, among: bool = True
    ) -> Evidence:
        """The evidence, with pairs, of the rows of a batch against all in groups, and `among` themselves.

        The batch itself is in no group. Each pair that agrees on a set in some role is counted once, in both roles, but
        for those that agree on one of the sets `before`.
        """
        self._numbers = {}
        if not len(batch):
            return Evidence.empty(self._space)
        facts = self._rows.facts(batch)
        return self._met(batch, facts, ClueTally(facts, keeps_pairs=True), budget, before, among=among)

    def _met(
        self,
        batch: Longs,
        facts: Facts,
        tally: ClueTally,
        budget: Budget,
        before: Sequence[EqualSet] = (),
        *,
        among: bool = True,
    ) -> Evidence:
        """The evidence of the rows of a batch against all in groups, and `among` themselves, with pairs if kept."""
        tallies = [tally]
        sources: list[MetRows] = []
        if len(batch) == 1:
            sources.append(MetRows(batch, self._members_of(batch)))
            ranges = np.array([[0, 1, 0, len(sources[0].t_rows)]], np.int64)
            tally_members(tallies, self._rows, facts, _ALONE, sources, ranges, budget)
            return self._counted(tallies, sources, before)
        for one in self.sets:
            for asked, kept in [(one.left, one.right)] if one.same else [(one.left, one.right), (one.right, one.left)]:
                numbers = self._numbered(batch, asked, kept)
                asking, ranges = self._asking(self._groups[kept], numbers)
                sources.append(MetRows(batch, self._groups[kept].members))
                tally_members(tallies, self._rows, facts, asking, sources, ranges, budget)
            if among and len(batch) > 1:
                self._among(one, batch, tallies, sources, budget)
        return self._counted(tallies, sources, before)

    def counted(self, tallies: Iterable[ClueTally]) -> Evidence:
        """The evidence of all pairs that agree on the sets, given the tallies of all sets over one table.

        Its pairs are positions, and mean nothing.
        """
        return self._counted(list(tallies), None, ())

    def _members_of(self, batch: Longs) -> Ints:
        """The members of all groups that a row alone asks for, one group after the other."""
        found = []
        for one in self.sets:
            for asked, kept in [(one.left, one.right)] if one.same else [(one.left, one.right), (one.right, one.left)]:
                number = self._numbered(batch, asked, kept)
                if number[0] >= 0:
                    (begin,), (end,) = self._groups[kept].spans(number)
                    found.append(self._groups[kept].members[begin:end])
        return np.concatenate(found) if found else np.empty(0, np.int32)

    def _numbered(self, batch: Longs, asked: tuple[int, ...], kept: tuple[int, ...]) -> Longs:
        """The groups that the rows of a batch ask for by some columns, among those by other columns."""
        if (asked, kept) not in self._numbers:
            self._numbers[asked, kept] = self._groups[kept].numbers(batch, asked)
        return self._numbers[asked, kept]

    def _asking(self, groups: RowGroups, numbers: Longs) -> tuple[Longs, Rectangles]:
        """The rows of a batch in the order of the groups that they ask for, and the ranges that they meet."""
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        first = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        first = np.concatenate([np.zeros(1, np.int64), first])
        last = np.append(first[1:], len(ordered))
        wanted = ordered[first] >= 0
        first, last = first[wanted], last[wanted]
        begin, end = groups.spans(ordered[first])
        return order, np.stack([first, last, begin, end], axis=1)[end > begin]

    def _among(
        self, one: EqualSet, batch: Longs, tallies: list[ClueTally], sources: list[MetRows], budget: Budget
    ) -> None:
        """Tallies the pairs of two rows of the batch that agree on a set; where roles differ, both orders of each."""
        keys = [self._numbered(batch, side, one.right) for side in (one.left, one.right)]
        s_rows, s_key = batch[keys[0] >= 0], keys[0][keys[0] >= 0]
        t_rows, t_key = (s_rows, s_key) if one.same else (batch[keys[1] >= 0], keys[1][keys[1] >= 0])
        found = ranges_of(s_rows, t_rows, s_key, t_key, one.same)
        if not len(found.ranges):
            return
        facts = self._rows.facts(found.s_rows, found.t_rows)
        own = np.empty(0, np.int64)
        if not one.same:
            place = np.full(int(batch.max()) + 1, -1, np.int64)
            place[found.t_rows] = np.arange(len(found.t_rows))
            own = place[found.s_rows]
        task = len(sources) << PARTS
        sources.append(MetRows(found.s_rows, found.t_rows))
        if found.pairs < MANY_PAIRS or budget.threads == 1:
            tallies[0].add(facts, found.ranges, own, task)
            return
        crew: Crew[ClueTally, tuple[int, Rectangles]] = Crew(
            budget,
            lambda: ClueTally(facts, keeps_pairs=tallies[0].keeps_pairs),
            lambda tally, part: tally.add(facts, part[1], own, task + part[0]),
        )
        tallies.extend(crew.run(enumerate(tasks_of(found.ranges, found.same)))[0])

    def _counted(self, tallies: list[ClueTally], sources: list[MetRows] | None, before: Sequence[EqualSet]) -> Evidence:
        """The evidence of tallied pairs, each of which was met once for every set and role in which it agrees."""

        boxes = np.stack([one.box for one in self.sets]) if self.sets else np.empty((0, self._space.words), np.uint64)
        turned = np.array([not one.same for one in self.sets], np.bool_)

        def times(ahead: Words, back: Words) -> Longs:
            found = np.empty(len(ahead), np.int64)
            count_holding(boxes, turned, ahead, back, found)
            if before:
                found[held_by(before, ahead) | held_by(before, back)] = 0
            return found

        return evidence_of_tallies(self._rows, tallies, sources, times)


def evidence_of_tallies(
    rows: TrackedRows,
    tallies: Sequence[ClueTally],
    sources: Sequence[MetRows] | None,
    times: Callable[[Words, Words], Longs] | None = None,
) -> Evidence:
    """The evidence of tallied pairs; `times` gives for points of clues, in both roles, how often each pair was met.

    Those that were met 0 times are left out. Whichever thread did a task: of the pairs at a point, one of the earliest
    task stays, if tallies keep pairs.
    """
    layout = rows.layout
    space = layout.space
    listed = [tally.clues() for tally in tallies]
    clues, counts = (np.concatenate(parts) for parts in zip(*listed, strict=True))
    points = layout.points(clues)
    ahead, back = points[: len(clues)], points[len(clues) :]
    often = np.ones(len(clues), np.int64) if times is None else times(ahead, back)
    new = np.flatnonzero(often)
    if not len(new):
        return Evidence.empty(space)
    whole, scaled = _common(often[new], counts[new])
    both_ways, both_counts = np.concatenate([ahead[new], back[new]]), np.concatenate([scaled, scaled])
    if not tallies[0].keeps_pairs:
        found = Evidence.of(space, both_ways, both_counts)
        return Evidence(space, found.points, found.counts // whole)
    task, places = (np.concatenate(p)[new] for p in zip(*(one.first_pairs() for one in tallies), strict=True))
    pairs = places if sources is None else _rows_of(sources, task >> PARTS, places)
    order = np.lexsort((pairs, task))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = Evidence.of(space, both_ways, both_counts, np.concatenate([2 * rank, 2 * rank + 1]))
    assert found.firsts is not None
    both = np.stack([pairs[order], turned_pairs(pairs[order])], axis=1).ravel()
    return Evidence(space, found.points, found.counts // whole, both[found.firsts])


def met_evidence(rows: TrackedRows, batch: Longs, others: Longs, budget: Budget) -> Evidence:
    """The evidence, with pairs, of rows against others, and among themselves; counts mean nothing."""
    facts = rows.facts(batch)
    tallies = [ClueTally(facts, keeps_pairs=True)]
    sources = [MetRows(batch, others)]
    ranges = np.array([[0, len(batch), 0, len(others)]], np.int64)
    tally_members(tallies, rows, facts, np.arange(len(batch)), sources, ranges, budget)
    if len(batch) > 1:
        own = rows.facts(batch, batch)
        whole = np.array([[0, len(batch), 0, len(batch)]], np.int64)
        tallies[0].add(own, whole, task=len(sources) << PARTS)
        sources.append(MetRows(batch, batch))
    return evidence_of_tallies(rows, tallies, sources)


def held_by(sets: Iterable[EqualSet], points: Words) -> Mask:
    """Which points agree on one of the sets, as they stand."""
    found = np.zeros(len(points), np.bool_)
    for one in sets:
        found |= one.holds(points)
    return found


def _common(times: Longs, counts: Counts) -> tuple[int, Counts]:
    """A number that all of `times` divide, and the counts divided by their times, as many times that number."""
    if times.max() == 1:
        return 1, counts
    whole = int(np.lcm.reduce(np.flatnonzero(np.bincount(times))))
    if whole * int(counts.sum()) >= 1 << 62:
        raise OverflowError("Pairs agree in too many ways to be counted. Use fewer columns.")
    return whole, counts * (whole // times)


def tally_members(
    tallies: list[ClueTally],
    rows: TrackedRows,
    facts: Facts,
    asking: Longs,
    sources: list[MetRows],
    ranges: Rectangles,
    budget: Budget,
) -> None:
    """Tallies ranges (R, 4) of the rows that ask with ranges of the members of the last source."""
    members = sources[-1].t_rows.astype(np.int32, copy=False)
    task = (len(sources) - 1) << PARTS
    pairs = int(((ranges[:, 1] - ranges[:, 0]) * (ranges[:, 3] - ranges[:, 2])).sum())
    if not pairs:
        return
    kept = rows.kept
    if pairs < MANY_PAIRS or budget.threads == 1:
        tallies[0].add_members(facts, kept, asking, members, ranges, task)
        return

    def start() -> tuple[ClueTally, Facts]:
        room = facts._replace(t=np.empty_like(facts.t), t_bits=np.zeros_like(facts.t_bits))
        return ClueTally(facts, keeps_pairs=tallies[0].keeps_pairs), room

    def work(state: tuple[ClueTally, Facts], part: tuple[int, Rectangles]) -> tuple[ClueTally, Facts]:
        state[0].add_members(state[1], kept, asking, members, part[1], task + part[0])
        return state

    crew: Crew[tuple[ClueTally, Facts], tuple[int, Rectangles]] = Crew(budget, start, work)
    tallies.extend(tally for tally, _ in crew.run(enumerate(parts_of(ranges)))[0])


def parts_of(ranges: Rectangles) -> Iterator[Rectangles]:
    """The ranges as tasks, of which none has too many members."""
    pieces = -(-(ranges[:, 3] - ranges[:, 2]) // _TASK_ROWS)
    begin = ranges[:, 2].repeat(pieces)
    begin += _TASK_ROWS * (np.arange(len(begin)) - (np.cumsum(pieces) - pieces).repeat(pieces))
    small = ranges.repeat(pieces, axis=0)
    small[:, 2] = begin
    small[:, 3] = np.minimum(begin + _TASK_ROWS, small[:, 3])
    pairs = np.cumsum((small[:, 1] - small[:, 0]) * (small[:, 3] - small[:, 2]))
    yield from np.split(small, np.flatnonzero(np.diff(pairs // MANY_PAIRS)) + 1)


def _rows_of(sources: Sequence[MetRows], which: Longs, places: Longs) -> Longs:
    """Packed positions as packed rows, given by which source each is meant."""
    s, t = unpacked_pairs(places).T.copy()
    if len(sources) == 1:
        return packed_pairs(sources[0].s_rows[s], sources[0].t_rows[t].astype(np.int64))
    for number in np.unique(which).tolist():
        some = which == number
        s[some] = sources[number].s_rows[s[some]]
        t[some] = sources[number].t_rows[t[some]]
    return packed_pairs(s, t)
