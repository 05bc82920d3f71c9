"""All pairs of a table, or of its groups, as counted evidence: clues in tiles, reversed after deduplication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
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
from refute.discovery.space.clue_layout import Clues
from refute.discovery.work import Budget, Crew, TimeIsUpError
from refute.kernels.evidence.clues import Cells, Facts, count_clues
from refute.kernels.evidence.members import KeptRows, count_members, count_members_wide
from refute.kernels.evidence.wide import ListedClues, count_clues_wide

Rectangles = NDArray[np.int64]
Sides = tuple[NDArray[np.int64] | None, NDArray[np.int64] | None]
_CELLS = 1 << 12
_TASK_PAIRS = 1 << 24  # of clues of one or two words, some ten nanoseconds each
_WIDE_TASK_PAIRS = 1 << 19  # of wider ones, which may take a microsecond each: nobody looks at the clock in a task
_SIDE = 1024
_NARROW = 2  # words of a clue up to which it is one integer
_NO_ROWS = np.empty(0, np.int64)


class ClueTally:
    """A table of clues with their counts, fed with rectangles of row pairs."""

    def __init__(self, facts: Facts, *, keeps_pairs: bool = False) -> None:
        self.words = facts.s_bits.shape[0]
        counts, first = np.zeros(_CELLS + 1, np.int64), np.empty((_CELLS if keeps_pairs else 0, 2), np.int64)
        self._table: Cells | ListedClues = Cells(np.full(_CELLS, -1, np.int64), counts[:-1], first)
        if self.words > _NARROW:
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
    tasks = triangle(n_rows, task_pairs(book.facts))
    tallies, complete = tallied(book.facts, tasks, budget, keeps_pairs=book.keeps_pairs)
    if complete:
        with suppress(TimeIsUpError):
            return evidence_of(book, tallies, checked=budget.raise_if_expired), True
    return Evidence.empty(book.space), False


def rectangle_evidence(
    book: Codebook,
    facts: Facts,
    tasks: Iterable[Rectangles],
    budget: Budget,
    own: NDArray[np.int64] = _NO_ROWS,
    rows: Sides = (None, None),
) -> tuple[Evidence, bool]:
    """The evidence of the pairs inside all rectangles, and whether all of them were looked at.

    `rows` are the numbers of the rows of s and of t, where they are not those of all rows. There is none where time is
    up before it is put together.
    """
    tallies, complete = tallied(facts, tasks, budget, own, keeps_pairs=book.keeps_pairs)
    return evidence_in_time(book, tallies, budget, rows, complete=complete)


def evidence_in_time(
    book: Codebook, tallies: Sequence[ClueTally], budget: Budget, rows: Sides, *, complete: bool
) -> tuple[Evidence, bool]:
    """The evidence of all pairs that the tallies counted, unless the time of the whole search is up before."""
    with suppress(TimeIsUpError), budget.within(1.0):
        return evidence_of(book, tallies, rows, checked=budget.raise_if_expired), complete
    return Evidence.empty(book.space), False


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


def evidence_of(
    book: Codebook,
    tallies: Sequence[ClueTally],
    rows: Sides = (None, None),
    *,
    checked: Callable[[], None] = lambda: None,
) -> Evidence:
    """The evidence of all pairs that the tallies counted; `rows` are the numbers of the rows at their positions.

    `checked` is called between steps that may take long, and ends them by an error of its own.
    """
    counted = [tally.clues() for tally in tallies]
    if not book.keeps_pairs or not counted:
        parts = [Evidence.from_clues(book, *one, checked=checked) for one in counted]
        return merged(book.space, parts, checked=checked)
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
        book.space,
        book.points(clues, checked),
        np.concatenate([counts, counts]),
        np.concatenate([2 * rank, 2 * rank + 1]),
        checked=checked,
    )
    if found.firsts is None:  # there was no pair
        return found
    both = np.stack([pairs[order], turned_pairs(pairs[order])], axis=1).ravel()
    return replace(found, firsts=both[found.firsts])


def task_pairs(facts: Facts) -> int:
    """How many pairs a task has, so it takes at most about half a second."""
    return _TASK_PAIRS if facts.s_bits.shape[0] <= _NARROW else _WIDE_TASK_PAIRS


def triangle(n_rows: int, pairs: int = _TASK_PAIRS) -> Iterator[Rectangles]:
    """All pairs i < j of n rows, as tasks of about equal size, so many `pairs` each."""
    side = min(_SIDE, math.isqrt(pairs))
    width = max(side, pairs // side)
    for s_start in range(0, n_rows, side):
        s_stop = min(s_start + side, n_rows)
        for t_start in range(s_start, n_rows, width):
            yield np.array([[s_start, s_stop, t_start, min(t_start + width, n_rows)]], np.int64)
