"""Clues of more than two words, counted; for predicate spaces of any width."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.evidence import SPREAD, STRETCH, Cells, Facts, fill

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy


@njit(cache=True, nogil=True)
def _place_wide(table: Array, counts: Array, clue: Array) -> Scalar:
    """The position of a clue of many words, or of the empty cell where it belongs."""
    mask = np.int64(counts.shape[0] - 1)
    state = np.uint64(0)
    for w in range(clue.shape[0]):
        state = (state ^ np.uint64(clue[w])) * SPREAD
        state ^= state >> np.uint64(29)
    at = np.int64(state >> np.uint64(20)) & mask
    while counts[at] != 0:
        same = True
        for w in range(clue.shape[0]):
            if table[at, w] != clue[w]:
                same = False
                break
        if same:
            return at
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def _grown_wide(cells: Cells) -> Cells:
    """The table of many-word clues with twice the cells."""
    size = 2 * cells.counts.shape[0]
    table = np.zeros((size, cells.keys.shape[1]), np.int32)
    counts = np.zeros(size, np.int64)
    kept = cells.first.shape[0] > 0
    first = np.empty((size if kept else 0, 2), np.int64)
    for at in range(cells.counts.shape[0]):
        if cells.counts[at] != 0:
            place = _place_wide(table, counts, cells.keys[at])
            table[place] = cells.keys[at]
            counts[place] = cells.counts[at]
            if kept:
                first[place] = cells.first[at]
    return Cells(table, counts, first)


@njit(cache=True, nogil=True)
def count_clues_wide(facts: Facts, rectangles: Array, own: Array, cells: Cells, task: Scalar) -> Cells:
    """As `count_clues` for clues of any number of words: a count of 0 marks an empty cell."""
    words = facts.s_bits.shape[0]
    buffer = np.zeros((words, STRETCH), np.int32)
    clue = np.zeros(words, np.int32)
    used = np.int64(np.count_nonzero(cells.counts))
    triangle = own.shape[0] == 0
    for r in range(rectangles.shape[0]):
        s_start, s_stop, t_start, t_stop = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2], rectangles[r, 3]
        for begin in range(t_start, t_stop, STRETCH):
            end = min(begin + STRETCH, t_stop)
            for i in range(s_start, s_stop):
                start = max(begin, i + 1) if triangle else begin
                if start >= end:
                    break
                if 3 * (used + STRETCH) > 2 * cells.counts.shape[0]:
                    cells = _grown_wide(cells)
                fill(facts, i, start, end, buffer)
                for j in range(end - start):
                    if not triangle and own[i] == start + j:
                        continue
                    for w in range(words):
                        clue[w] = buffer[w, j]
                    at = _place_wide(cells.keys, cells.counts, clue)
                    if cells.counts[at] == 0:
                        cells.keys[at] = clue
                        if cells.first.shape[0] > 0:
                            cells.first[at, 0] = task
                            cells.first[at, 1] = (np.int64(i) << 32) + start + j
                        used += 1
                    cells.counts[at] += 1
    return cells
