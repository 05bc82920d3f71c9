"""All pairs of a table, or of its groups, as counted evidence: clues in tiles, reversed after deduplication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.codebook import Codebook
from refute.discovery.evidence.counted import (
    Counts,
    Evidence,
    Firsts,
    merged,
    packed_pairs,
    turned_pairs,
    unpacked_pairs,
)
from refute.discovery.space.layout import Clues
from refute.discovery.work import Budget, Crew
from refute.kernels.evidence.clues import Cells, Facts, count_clues
from refute.kernels.evidence.members import KeptRows, count_members, count_members_wide
from refute.kernels.evidence.wide import ListedClues, count_clues_wide

Rectangles = NDArray[np.int64]
Sides = tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]
_CELLS = 1 << 12
_TASK_PAIRS = 1 << 24
_SIDE = 1024
_NO_ROWS = np.empty(0, np.int64)


class ClueTally:
    """A table of clues with their counts, fed with rectangles of row pairs."""

    def __init__(self, facts: Facts, *, keeps_pairs: bool = False) -> None:
        self.words = facts.s_bits.shape[0]
        counts, first = np.zeros(_CELLS + 1, np.int64), np.empty((_CELLS if keeps_pairs else 0, 2), np.int64)
        self._table: Cells | ListedClues = Cells(np.full(_CELLS, -1, np.int64), counts[:-1], first)
        if self.words > 2:
            self._table = ListedClues(
                np.zeros(_CELLS, np.uint64), np.empty((_CELLS, self.words), np.int32), counts, first
            )

    @property
    def keeps_pairs(self) -> bool:
        """Whether the first pair of each clue is kept."""
        return len(self._table.first) > 0

    def add(self, facts: Facts, rectangles: Rectangles, own: NDArray[np.int64] = _NO_ROWS, task: int = 0) -> ClueTally:
        """This tally, with the pairs of the rectangles added; see the kernels for `own` and `task`."""
        if isinstance(self._table, ListedClues):
            self._table = count_clues_wide(facts, rectangles, own, self._table, task)
        else:
            self._table = count_clues(facts, rectangles, own, self._table, task)
        return self

    def add_members(
        self,
        part: Facts,
        kept: KeptRows,
        asking: NDArray[np.int64],
        members: NDArray[np.int32],
        ranges: Rectangles,
        task: int = 0,
    ) -> ClueTally:
        """This tally, with rows against the members of their groups added; see the kernels."""
        if isinstance(self._table, ListedClues):
            self._table = count_members_wide(part, kept, asking, members, ranges, self._table, task)
        else:
            self._table = count_members(part, kept, asking, members, ranges, self._table, task)
        return self

    def keys(self) -> tuple[NDArray[np.int64], Counts]:
        """The distinct clues as one integer each, and their counts; for clues of at most two words."""
        assert isinstance(self._table, Cells)
        used = self._used
        return self._table.keys[used], self._table.counts[used]

    def clues(self) -> tuple[Clues, Counts]:
        """The distinct clues (N, W) and their counts."""
        if isinstance(self._table, ListedClues):
            return self._table.clues[self._used], self._table.counts[self._used]
        keys, counts = self.keys()
        low = (keys & 0xFFFFFFFF).astype(np.int32)
        both = np.stack([low, (keys >> 32).astype(np.int32)], axis=1)
        return both[:, : self.words], counts

    def first_pairs(self) -> tuple[NDArray[np.int64], Firsts]:
        """Per distinct clue the task in which it came first, and its first pair there, as packed positions."""
        first = self._table.first[self._used]
        return first[:, 0], first[:, 1]

    @property
    def _used(self) -> NDArray[np.int64] | slice:
        """Where clues stand."""
        counts = self._table.counts
        return slice(int(counts[-1])) if isinstance(self._table, ListedClues) else np.flatnonzero(counts)


def tile_evidence(book: Codebook, budget: Budget, n_rows: int) -> tuple[Evidence, bool]:
    """The evidence of all pairs of rows, and whether all of them were looked at; none where they were not, as that of
    some is of no use and may take long to put together."""
    tallies, complete = tallied(book.facts, triangle(n_rows), budget, keeps_pairs=book.keeps_pairs)
    return evidence_of(book, tallies) if complete else Evidence.empty(book.space), complete


def rectangle_evidence(
    book: Codebook,
    facts: Facts,
    tasks: Iterable[Rectangles],
    budget: Budget,
    own: NDArray[np.int64] = _NO_ROWS,
    rows: Sides = (None, None),
) -> tuple[Evidence, bool]:
    """The evidence of the pairs inside all rectangles, and whether all of them were looked at.

    `rows` are the numbers of the rows of s and of t, where they are not those of all rows.
    """
    tallies, complete = tallied(facts, tasks, budget, own, keeps_pairs=book.keeps_pairs)
    return evidence_of(book, tallies, rows), complete


def tallied(
    facts: Facts,
    tasks: Iterable[Rectangles],
    budget: Budget,
    own: NDArray[np.int64] = _NO_ROWS,
    *,
    keeps_pairs: bool = False,
) -> tuple[list[ClueTally], bool]:
    """Tallies that together count the pairs inside all rectangles, and whether all of them were looked at."""
    crew: Crew[ClueTally, tuple[int, Rectangles]] = Crew(
        budget,
        lambda: ClueTally(facts, keeps_pairs=keeps_pairs),
        lambda tally, task: tally.add(facts, task[1], own, task[0]),
    )
    return crew.run(enumerate(tasks))


def evidence_of(book: Codebook, tallies: Sequence[ClueTally], rows: Sides = (None, None)) -> Evidence:
    """The evidence of all pairs that the tallies counted; `rows` are the numbers of the rows at their positions."""
    counted = [tally.clues() for tally in tallies]
    if not book.keeps_pairs or not counted:
        return merged(book.space, [Evidence.from_clues(book, *one) for one in counted])
    clues, counts = (np.concatenate(parts) for parts in zip(*counted, strict=True))
    tasks, positions = (np.concatenate(p) for p in zip(*(tally.first_pairs() for tally in tallies), strict=True))
    s, t = (
        side if numbers is None else numbers[side]
        for side, numbers in zip(unpacked_pairs(positions).T, rows, strict=True)
    )
    # Whichever thread did a task: of the pairs at a point, the one of the earliest task stays, of those the lowest.
    pairs = packed_pairs(s, t)
    order = np.lexsort((pairs, tasks))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = Evidence.of(
        book.space, book.points(clues), np.concatenate([counts, counts]), np.concatenate([2 * rank, 2 * rank + 1])
    )
    if found.firsts is None:  # there was no pair
        return found
    both = np.stack([pairs[order], turned_pairs(pairs[order])], axis=1).ravel()
    return replace(found, firsts=both[found.firsts])


def triangle(n_rows: int) -> Iterator[Rectangles]:
    """All pairs i < j of n rows, as tasks of about equal size."""
    width = max(_SIDE, _TASK_PAIRS // _SIDE)
    for s_start in range(0, n_rows, _SIDE):
        s_stop = min(s_start + _SIDE, n_rows)
        for t_start in range(s_start, n_rows, width):
            yield np.array([[s_start, s_stop, t_start, min(t_start + width, n_rows)]], np.int64)
