"""The pairs of rows that agree on a set of equalities: how many there are, and their evidence.

Once all of them are seen, every candidate rule whose equalities include the set is settled, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.codebook import Codebook
from refute.discovery.evidence.counted import Evidence
from refute.discovery.evidence.tiles import ClueTally, Rectangles, evidence_in_time, tallied, task_pairs
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.space.states import BOTH_NULL, EQUAL
from refute.discovery.work import Budget, Crew
from refute.kernels.evidence.clues import Facts, clue_table, find_clues
from refute.language.nulls import Nulls
from refute.language.predicate import Column
from refute.relation import Relation
from refute.relation.keys.composite import composite

Rows = NDArray[np.int64]
_TASK_PAIRS = 1 << 22
_LARGE_GROUP = 2048


@dataclass(frozen=True, slots=True)
class Agreement:
    """The rows of both sides ordered by what they must agree on, and the ranges that do: s[a:b] with t[c:d]."""

    s_rows: Rows
    t_rows: Rows
    ranges: Rectangles
    same: bool  # whether both sides are the same rows, so a range pairs its rows among themselves

    @property
    def pairs(self) -> int:
        """How many unordered pairs (ordered ones, where the sides differ) agree."""
        sizes = (self.ranges[:, 1] - self.ranges[:, 0]).astype(np.float64)
        others = (self.ranges[:, 3] - self.ranges[:, 2]).astype(np.float64)
        return int((sizes * (sizes - 1) / 2 if self.same else sizes * others).sum())


class Agreements:
    """Finds agreeing pairs for sets of slots of a table."""

    def __init__(self, relation: Relation, book: Codebook, nulls: Nulls) -> None:
        self._relation = relation
        self._book = book
        self._nulls = nulls
        self.slots = book.space.slots

    def find(self, chosen: tuple[int, ...], rows: Rows | None = None) -> Agreement:
        """The agreement of the chosen slots over all rows, or over the given ones."""
        same = all(len(self.slots[k].columns) == 1 for k in chosen)
        s_rows = t_rows = np.arange(self._relation.n_rows) if rows is None else rows
        for k in chosen if self._nulls is Nulls.SQL else ():
            left, right = self._names(k)
            s_rows = self._present(left, s_rows)
            t_rows = s_rows if same else self._present(right, t_rows)
        columns = []
        for k in chosen:
            first, second = self._relation.encode_joint(self._names(k), ordered=False, dense=True)
            parts = [first.values[s_rows]] if same else [first.values[s_rows], second.values[t_rows]]
            columns.append((np.concatenate(parts) + 1, first.size + 1))
        key, _ = composite(columns, len(s_rows) if same else len(s_rows) + len(t_rows))
        return ranges_of(s_rows, t_rows, key[: len(s_rows)], key if same else key[len(s_rows) :], same)

    def evidence(self, found: Agreement, budget: Budget) -> tuple[Evidence, bool]:
        """The evidence of all agreeing pairs, and whether all of them were looked at."""
        tallies, complete = self.tallied(found, budget)
        sides = found.s_rows, found.t_rows
        return evidence_in_time(self._book, tallies, budget, sides, complete=complete)

    def tallied(self, found: Agreement, budget: Budget) -> tuple[list[ClueTally], bool]:
        """Tallies that together count all agreeing pairs, and whether all of them were looked at."""
        facts, own = self._facts(found)
        tasks = tasks_of(found.ranges, found.same, task_pairs(facts))
        return tallied(facts, tasks, budget, own, keeps_pairs=self._book.keeps_pairs)

    def rare_pairs(self, found: Agreement, most: int, budget: Budget, tallies: Sequence[ClueTally] = ()) -> Rows:
        """Up to `most` agreeing pairs (s, t) whose clues are the rarest among all agreeing pairs.

        `tallies` count all of the pairs, where that was done before.
        """
        tallies = tallies or self.tallied(found, budget)[0]
        if tallies[0].words > 2:
            return np.empty((0, 2), np.int64)
        keys = np.concatenate([tally.keys()[0] for tally in tallies])
        clues, numbers = np.unique(keys, return_inverse=True)
        counts = np.bincount(numbers, np.concatenate([tally.keys()[1] for tally in tallies]))
        order = np.argsort(counts, kind="stable")
        rare = clues[order[np.cumsum(counts[order]) <= most]]
        table = clue_table(rare)
        facts, own = self._facts(found)

        def search(kept: list[Rows], task: Rectangles) -> list[Rows]:
            return [*kept, _find(facts, task, own, table)]

        crew: Crew[list[Rows], Rectangles] = Crew(budget, list, search)
        parts, _ = crew.run(tasks_of(found.ranges, found.same) if len(rare) else ())
        pairs = np.concatenate([np.empty((0, 2), np.int64), *(part for kept in parts for part in kept)])
        return np.stack([found.s_rows[pairs[:, 0]], found.t_rows[pairs[:, 1]]], axis=1)

    def _facts(self, found: Agreement) -> tuple[Facts, Rows]:
        """The facts of an agreement's rows, and the place of each s row among the t rows where the sides differ."""
        facts = picked(self._book.facts, found.s_rows, found.t_rows)
        if found.same:
            return facts, np.empty(0, np.int64)
        own = np.full(self._relation.n_rows, -1, np.int64)
        own[found.t_rows] = np.arange(len(found.t_rows))
        return facts, own[found.s_rows]

    def _names(self, k: int) -> tuple[str, str]:
        right = self.slots[k].right
        assert isinstance(right, Column)
        return self.slots[k].left.name, right.name

    def _present(self, name: str, rows: Rows) -> Rows:
        return rows[~self._relation.is_null(name)[rows]] if self._relation.null_count(name) else rows


def _find(facts: Facts, rectangles: Rectangles, own: Rows, table: NDArray[np.int64]) -> Rows:
    """The positions of the pairs inside the rectangles whose clues are in the table."""
    room = 1 << 10
    while True:
        out = np.empty((room, 2), np.int64)
        found = find_clues(facts, rectangles, own, table, out)
        if found <= room:
            return out[:found].copy()
        room = found


def equal_masks(space: PredicateSpace) -> NDArray[np.uint8]:
    """Per slot, the states in which its operands are equal; 0 for slots that do not compare two rows."""
    return np.array(
        [
            sum(1 << k for k, atoms in enumerate(slot.kind.states) if not atoms & ~(EQUAL | BOTH_NULL))
            if slot.is_pair
            else 0
            for slot in space.slots
        ],
        np.uint8,
    )


def picked(facts: Facts, s_rows: Rows, t_rows: Rows) -> Facts:
    """The facts of some rows of each side."""
    s = np.ascontiguousarray(facts.s[:, s_rows])
    s_bits = np.ascontiguousarray(facts.s_bits[:, s_rows])
    if s_rows is t_rows and facts.s is facts.t:
        t = s
    else:
        t = np.ascontiguousarray(facts.t[:, t_rows])
    return facts._replace(s=s, t=t, s_bits=s_bits, t_bits=np.ascontiguousarray(facts.t_bits[:, t_rows]))


def ranges_of(s_rows: Rows, t_rows: Rows, s_key: NDArray[np.int64], t_key: NDArray[np.int64], same: bool) -> Agreement:
    """The agreement of rows with these keys: rows in order of their keys, those without a partner left out."""
    s_order = np.argsort(s_key, kind="stable")
    s_sorted = s_key[s_order]
    starts = np.flatnonzero(np.concatenate([[True], s_sorted[1:] != s_sorted[:-1]])) if len(s_sorted) else s_order[:0]
    stops = np.append(starts[1:], len(s_sorted))[: len(starts)]  # none where there are no rows
    if same:
        several = stops - starts > 1
        sizes = (stops - starts)[several]
        kept = np.repeat(several, stops - starts)
        ends = np.cumsum(sizes)
        begins = ends - sizes
        rows = s_rows[s_order[kept]]
        return Agreement(rows, rows, np.stack([begins, ends, begins, ends], axis=1).astype(np.int64), True)
    t_order = np.argsort(t_key, kind="stable")
    t_sorted = t_key[t_order]
    t_starts = np.searchsorted(t_sorted, s_sorted[starts], side="left")
    t_stops = np.searchsorted(t_sorted, s_sorted[starts], side="right")
    matched = t_stops > t_starts
    ranges = np.stack([starts, stops, t_starts, t_stops], axis=1)[matched].astype(np.int64)
    return Agreement(s_rows[s_order], t_rows[t_order], ranges, False)


def tasks_of(ranges: Rectangles, same: bool, pairs: int = _TASK_PAIRS) -> Iterator[Rectangles]:
    """The ranges in tasks of about equal work, at most so many `pairs`; large groups are cut into tiles."""
    pairs = min(pairs, _TASK_PAIRS)
    side = min(_LARGE_GROUP, math.isqrt(pairs))
    sizes = ranges[:, 1] - ranges[:, 0]
    others = ranges[:, 3] - ranges[:, 2]
    large = (sizes > side) | (others > side)
    for start, stop, t_start, t_stop in ranges[large].tolist():
        for a in range(start, stop, side):
            low = a if same else t_start
            for c in range(low, t_stop, side):
                yield np.array([[a, min(a + side, stop), c, min(c + side, t_stop)]], np.int64)
    small = ranges[~large]
    work = np.cumsum(sizes[~large] * others[~large] + 64)
    if len(small):
        cuts = np.searchsorted(work, np.arange(pairs, int(work[-1]) + pairs, pairs))
        begin = 0
        for end in np.minimum(cuts + 1, len(small)).tolist():
            if end > begin:
                yield np.ascontiguousarray(small[begin:end])
                begin = end
