"""All pairs of a table, or of its groups, as counted evidence: clues in tiles, reversed after deduplication."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.discover.evidence import Counts, Evidence, merged
from refute.discover.facts import Codebook
from refute.discover.layout import Clues
from refute.discover.work import Budget, Crew
from refute.kernels.evidence import Facts, count_clues
from refute.kernels.evidence_wide import count_clues_wide

Rectangles = NDArray[np.int64]
_CELLS = 1 << 12
_TASK_PAIRS = 1 << 24
_SIDE = 1024
_NO_ROWS = np.empty(0, np.int64)


class Tally:
    """A table of clues with their counts, fed with rectangles of row pairs."""

    def __init__(self, facts: Facts) -> None:
        self.words = facts.s_bits.shape[0]
        self._wide = self.words > 2
        cells: NDArray[Any] = np.zeros((_CELLS, self.words), np.int32) if self._wide else np.full(_CELLS, -1, np.int64)
        self._table = cells, np.zeros(_CELLS, np.int64)

    def add(self, facts: Facts, rectangles: Rectangles, own: NDArray[np.int64] = _NO_ROWS) -> Tally:
        """This tally, with the pairs of the rectangles added; see the kernel for `own`."""
        count = count_clues_wide if self._wide else count_clues
        self._table = count(facts, rectangles, own, *self._table)
        return self

    def keys(self) -> tuple[NDArray[np.int64], Counts]:
        """The distinct clues as one integer each, and their counts; for clues of at most two words."""
        cells, counts = self._table
        return cells[counts > 0], counts[counts > 0]

    def clues(self) -> tuple[Clues, Counts]:
        """The distinct clues (N, W) and their counts."""
        cells, counts = self._table
        used = np.flatnonzero(counts)
        if self._wide:
            return np.take(cells, used, axis=0), counts[used]
        keys = cells[used]
        low = (keys & 0xFFFFFFFF).astype(np.int32)
        both = np.stack([low, (keys >> 32).astype(np.int32)], axis=1)
        return both[:, : self.words], counts[used]


def tile_evidence(book: Codebook, budget: Budget, n_rows: int) -> tuple[Evidence, bool]:
    """The evidence of all pairs of rows, and whether all of them were looked at."""
    return rectangle_evidence(book, book.facts, triangle(n_rows), budget)


def rectangle_evidence(
    book: Codebook, facts: Facts, tasks: Iterable[Rectangles], budget: Budget, own: NDArray[np.int64] = _NO_ROWS
) -> tuple[Evidence, bool]:
    """The evidence of the pairs inside all rectangles, and whether all of them were looked at."""
    tallies, complete = tallied(facts, tasks, budget, own)
    return evidence_of(book, tallies), complete


def tallied(
    facts: Facts, tasks: Iterable[Rectangles], budget: Budget, own: NDArray[np.int64] = _NO_ROWS
) -> tuple[list[Tally], bool]:
    """Tallies that together count the pairs inside all rectangles, and whether all of them were looked at."""
    crew: Crew[Tally, Rectangles] = Crew(budget, lambda: Tally(facts), lambda tally, task: tally.add(facts, task, own))
    return crew.run(tasks)


def evidence_of(book: Codebook, tallies: Iterable[Tally]) -> Evidence:
    """The evidence of all pairs that the tallies counted."""
    parts = []
    for tally in tallies:
        clues, counts = tally.clues()
        parts.append(Evidence.from_clues(book, clues, counts))
    return merged(book.space, parts)


def triangle(n_rows: int) -> Iterator[Rectangles]:
    """All pairs i < j of n rows, as tasks of about equal size."""
    width = max(_SIDE, _TASK_PAIRS // _SIDE)
    for s_start in range(0, n_rows, _SIDE):
        s_stop = min(s_start + _SIDE, n_rows)
        for t_start in range(s_start, n_rows, width):
            yield np.array([[s_start, s_stop, t_start, min(t_start + width, n_rows)]], np.int64)
