"""Pairs of rows that agree on sets of equalities: those of a batch with all others, each pair once.

Which sets a pair agrees on can be read off its clue, in both roles. So a pair that two sets would give is left to the
first of them: clues are tallied set by set, and those that an earlier set has given are dropped as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import equal_masks, ranges_of, tasks_of
from refute.discovery.evidence.counted import Counts, Evidence, packed_pairs, turned_pairs, unpacked_pairs
from refute.discovery.evidence.tiles import ClueTally, Rectangles, tallied
from refute.discovery.space.layout import Clues
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget, Crew
from refute.kernels.evidence.clues import Facts
from refute.language.nulls import Nulls
from refute.language.predicate import Column
from refute.tracking.codes import Longs
from refute.tracking.groups import RowGroups
from refute.tracking.rows import TrackedRows

Chosen = frozenset[int]
Mask = NDArray[np.bool_]
_MANY_PAIRS = 1 << 22  # pairs from which threads are worth their start
_TASK_ROWS = 1 << 16


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


class _Tallied(NamedTuple):
    """Distinct clues of some pairs: how many, when first seen, and a pair (s, t) of each."""

    clues: Clues
    counts: Counts
    task: Longs
    pairs: Longs


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
        self._groups = {
            columns: self._groups.get(columns) or RowGroups(self._rows, columns, nulls_agree=agree)
            for columns in wanted
        }

    def groups(self, columns: tuple[int, ...]) -> RowGroups:
        """The rows by these columns."""
        return self._groups[columns]

    @property
    def nbytes(self) -> int:
        """The memory of all groups."""
        return sum(groups.nbytes for groups in self._groups.values())

    def reload(self, columns: frozenset[int] | None = None) -> None:
        """Makes groups anew: those over columns whose codes have moved, or all."""
        for key, groups in self._groups.items():
            if columns is None or columns & set(key):
                groups.load()

    def add(self, rows: Longs) -> None:
        """Takes rows into all groups."""
        for groups in self._groups.values():
            groups.add(rows)

    def drop(self, rows: Longs) -> None:
        """Lets rows go from all groups."""
        for groups in self._groups.values():
            groups.drop(rows)

    def holds(self, points: Words) -> Mask:
        """Which points agree on one of the sets, as they stand."""
        return held_by(self.sets, points)

    def evidence(self, batch: Longs, budget: Budget, before: Sequence[EqualSet] = ()) -> Evidence:
        """The evidence, with pairs, of the rows of a batch against all that are in groups, and among themselves.

        The batch itself is in no group. Each pair that agrees on a set in some role is counted once, in both roles, but
        for those that agree on one of the sets `before`.
        """
        if not len(batch):
            return Evidence.empty(self._space)
        found: list[tuple[_Tallied, Counts]] = []
        for number, one in enumerate(self.sets):
            earlier = (*before, *self.sets[:number])
            met = self._met(one, batch, False, budget)
            found.append((met, self._twice(met, earlier)))
            if not one.same:
                met = self._met(one, batch, True, budget)
                found.append((met, self._twice(met, (*earlier, one), forward=one)))
            among = self._among(one, batch, budget)
            found.append((among, self._twice(among, earlier, both=None if one.same else one)))
        return evidence_of_tallies(self._rows, found)

    def counted(self, tallies: Iterable[tuple[EqualSet, Sequence[ClueTally]]]) -> Evidence:
        """The evidence of all pairs that agree on the sets, given the tallies of each set over one table.

        Pairs are positions there.
        """
        found = []
        earlier: tuple[EqualSet, ...] = ()
        for one, parts in tallies:
            tallied_pairs = _joined(parts, None, None)
            found.append((tallied_pairs, self._twice(tallied_pairs, earlier, both=None if one.same else one)))
            earlier = (*earlier, one)
        return evidence_of_tallies(self._rows, found)

    def _twice(
        self,
        found: _Tallied,
        earlier: Sequence[EqualSet],
        *,
        forward: EqualSet | None = None,
        both: EqualSet | None = None,
    ) -> Counts:
        """Twice the number of pairs that each clue counts for: none where an earlier set has given them.

        `forward` is a set that was asked in the other role only: the pairs that it gives as (s, t) were given before.
        `both` is one that was asked in both roles at once: pairs that agree in both were met twice.
        """
        points = self._rows.layout.points(found.clues)
        ahead, back = points[: len(found.clues)], points[len(found.clues) :]
        before = [one for one in earlier if one is not forward]
        given = held_by(before, ahead) | held_by(before, back)
        if forward is not None:
            given |= forward.holds(ahead)
        twice = 2 * found.counts
        if both is not None:
            twice = np.where(both.holds(ahead) & both.holds(back), found.counts, twice)
        return np.where(given, 0, twice)

    def _met(self, one: EqualSet, batch: Longs, turned: bool, budget: Budget) -> _Tallied:
        """The pairs of the batch with rows in groups that agree on a set; `turned`, with the batch in the role of t."""
        asked, kept = (one.right, one.left) if turned else (one.left, one.right)
        groups = self._groups[kept]
        numbers = groups.numbers(self._rows.codes_of(batch, asked))
        order = np.argsort(numbers, kind="stable")
        order = order[np.searchsorted(numbers[order], 0) :]
        ordered = numbers[order]
        first = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(ordered) else order[:0]
        last = np.append(first[1:], len(ordered))[: len(first)]
        begin, end = groups.spans(ordered[first])
        ranges = np.stack([first, last, begin, end], axis=1)[end > begin].astype(np.int64)
        rows = batch[order]
        return tally_members(self._rows, rows, groups.members, ranges, budget)

    def _among(self, one: EqualSet, batch: Longs, budget: Budget) -> _Tallied:
        """The pairs of two rows of the batch that agree on a set; in both roles at once, where roles differ."""
        groups = self._groups[one.right]
        keys = [groups.numbers(self._rows.codes_of(batch, side)) for side in (one.left, one.right)]
        s_rows, s_key = batch[keys[0] >= 0], keys[0][keys[0] >= 0]
        t_rows, t_key = (s_rows, s_key) if one.same else (batch[keys[1] >= 0], keys[1][keys[1] >= 0])
        found = ranges_of(s_rows, t_rows, s_key, t_key, one.same)
        if not len(found.ranges):
            return _nothing(self._rows)
        facts = self._rows.facts(found.s_rows, found.t_rows)
        own = np.empty(0, np.int64)
        if not one.same:
            place = np.full(int(batch.max()) + 1, -1, np.int64)
            place[found.t_rows] = np.arange(len(found.t_rows))
            own = place[found.s_rows]
        if found.pairs < _MANY_PAIRS:
            parts = [ClueTally(facts, keeps_pairs=True).add(facts, found.ranges, own)]
        else:
            parts, _ = tallied(facts, tasks_of(found.ranges, found.same), budget, own, keeps_pairs=True)
        return _joined(parts, found.s_rows, found.t_rows)


def held_by(sets: Iterable[EqualSet], points: Words) -> Mask:
    """Which points agree on one of the sets, as they stand."""
    found = np.zeros(len(points), np.bool_)
    for one in sets:
        found |= one.holds(points)
    return found


def tally_members(
    rows: TrackedRows, batch: Longs, members: NDArray[np.int32], ranges: Rectangles, budget: Budget
) -> _Tallied:
    """The pairs of ranges (R, 4) of the batch with ranges of the members, which are numbers of rows."""
    pairs = int(((ranges[:, 1] - ranges[:, 0]) * (ranges[:, 3] - ranges[:, 2])).sum())
    if not pairs:
        return _nothing(rows)
    facts = rows.facts(batch)
    if pairs < _MANY_PAIRS or budget.threads == 1:
        parts = [ClueTally(facts, keeps_pairs=True).add_members(facts, rows.kept, members, ranges)]
    else:
        kept = rows.kept

        def start() -> tuple[ClueTally, Facts]:
            own = facts._replace(t=np.empty_like(facts.t), t_bits=np.zeros_like(facts.t_bits))
            return ClueTally(facts, keeps_pairs=True), own

        def work(state: tuple[ClueTally, Facts], task: tuple[int, Rectangles]) -> tuple[ClueTally, Facts]:
            state[0].add_members(state[1], kept, members, task[1], task[0])
            return state

        crew: Crew[tuple[ClueTally, Facts], tuple[int, Rectangles]] = Crew(budget, start, work)
        done, _ = crew.run(enumerate(_parts(ranges)))
        parts = [tally for tally, _ in done]
    return _joined(parts, batch, members)


def _parts(ranges: Rectangles) -> Iterator[Rectangles]:
    """The ranges as tasks, of which none has too many members."""
    small: list[list[int]] = []
    pairs = 0
    for s_start, s_stop, begin, end in ranges.tolist():
        for low in range(begin, end, _TASK_ROWS):
            high = min(low + _TASK_ROWS, end)
            small.append([s_start, s_stop, low, high])
            pairs += (s_stop - s_start) * (high - low)
            if pairs >= _MANY_PAIRS:
                yield np.array(small, np.int64)
                small, pairs = [], 0
    if small:
        yield np.array(small, np.int64)


def _nothing(rows: TrackedRows) -> _Tallied:
    none = np.empty(0, np.int64)
    return _Tallied(np.empty((0, rows.layout.words), np.int32), none, none, none)


def _joined(
    parts: Sequence[ClueTally], s_rows: NDArray[np.integer] | None, t_rows: NDArray[np.integer] | None
) -> _Tallied:
    """What tallies hold, with pairs of rows, or of positions where no rows are given."""
    counted = [tally.clues() for tally in parts]
    firsts = [tally.first_pairs() for tally in parts]
    s, t = unpacked_pairs(np.concatenate([pairs for _, pairs in firsts])).T
    if s_rows is not None and t_rows is not None:
        s, t = s_rows[s].astype(np.int64), t_rows[t].astype(np.int64)
    return _Tallied(
        np.concatenate([clues for clues, _ in counted]),
        np.concatenate([counts for _, counts in counted]),
        np.concatenate([tasks for tasks, _ in firsts]),
        packed_pairs(s, t),
    )


def evidence_of_tallies(rows: TrackedRows, found: Sequence[tuple[_Tallied, Counts]]) -> Evidence:
    """The evidence of tallied pairs, taken in both roles, given twice the number of pairs of each clue.

    Whichever thread did a task: of the pairs at a point, one of the earliest set and task stays.
    """
    layout = rows.layout
    kept = [twice > 0 for _, twice in found]
    if not any(some.any() for some in kept):
        return Evidence.empty(layout.space)
    chosen = [(*(part[some] for part in one), twice[some]) for (one, twice), some in zip(found, kept, strict=True)]
    clues, _, task, pairs, twice = (np.concatenate(parts) for parts in zip(*chosen, strict=True))
    stage = np.repeat(np.arange(len(found)), [np.count_nonzero(some) for some in kept])
    order = np.lexsort((pairs, task, stage))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    evidence = Evidence.of(
        layout.space, layout.points(clues), np.concatenate([twice, twice]), np.concatenate([2 * rank, 2 * rank + 1])
    )
    assert evidence.firsts is not None
    both = np.stack([pairs[order], turned_pairs(pairs[order])], axis=1).ravel()
    return Evidence(layout.space, evidence.points, evidence.counts // 2, both[evidence.firsts])
