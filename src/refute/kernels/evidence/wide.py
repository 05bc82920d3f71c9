"""Clues of more than two words, counted; for predicate spaces of any width.

Distinct clues stand in a list in the order in which they were met. A table of hashes and places shows which are known,
so that it stays small beside them, grows without reading them, and is the only thing that is read at random.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.evidence.clues import Facts, fill

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

WIDE_STRETCH = 256  # rows of side t in one buffer, so a dozen words of them stay in the first-level cache
APART = WIDE_STRETCH + 16  # the words of a clue start in different lines of that cache
_MULTIPLIER = np.uint32(0x9E3779B1)
_FINAL = np.uint32(0x85EBCA6B)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


class ListedClues(NamedTuple):
    """A list of distinct clues, and the table that shows which are known; with room for more of both."""

    cells: NDArray[np.uint64]  # (power of two,) a hash of 32 bits and a place in the list plus one; 0 in empty cells
    clues: NDArray[np.int32]  # (room, W)
    counts: NDArray[np.int64]  # (room + 1,) how often each clue occurs, at last how many there are, below 2^32
    first: NDArray[np.int64]  # (room, 2) as in `Cells`, or (0, 2)


@njit(cache=True, nogil=True)
def hash_clues(buffer: Array, size: Scalar, hashes: Array) -> None:
    """Write the hashes of the clues buffer[:, :size]; word by word, which the compiler vectorises."""
    hashes[:size] = 0
    for w in range(buffer.shape[0]):
        words = buffer[w]
        for j in range(size):
            mixed = np.uint32((hashes[j] ^ np.uint32(words[j])) * _MULTIPLIER)
            hashes[j] = mixed ^ (mixed >> np.uint32(15))
    for j in range(size):
        mixed = np.uint32(hashes[j] * _FINAL)
        hashes[j] = mixed ^ (mixed >> np.uint32(13))


@njit(cache=True, nogil=True)
def grown_wide(cells: Array) -> Array:
    """The table with twice the cells."""
    grown = np.zeros(2 * cells.shape[0], np.uint64)
    mask = np.uint64(grown.shape[0] - 1)
    for cell in cells:
        if cell:
            at = (cell >> _HALF) & mask
            while grown[at]:
                at = (at + _ONE) & mask
            grown[at] = cell
    return grown


@njit(cache=True, nogil=True)
def longer(listed: ListedClues) -> ListedClues:
    """The list with twice the room."""
    cells, clues, counts, first = listed
    room, used = 2 * clues.shape[0], counts[-1]
    more, more_counts = np.empty((room, clues.shape[1]), np.int32), np.empty(room + 1, np.int64)
    more[:used] = clues[:used]
    more_counts[:used] = counts[:used]
    more_counts[-1] = used
    if first.shape[0] > 0:
        more_first = np.empty((room, 2), np.int64)
        more_first[:used] = first[:used]
        first = more_first
    return ListedClues(cells, more, more_counts, first)


@njit(cache=True, nogil=True)
def tally_wide(
    buffer: Array, start: Scalar, stop: Scalar, hashes: Array, listed: ListedClues, task: Scalar, base: Scalar
) -> None:
    """Add the clues of buffer positions start .. stop, of which `base + j` is the pair at j; there is room."""
    cells, clues, counts, first = listed
    mask = np.uint64(cells.shape[0] - 1)
    used = counts[-1]
    kept = first.shape[0] > 0
    for j in range(start, stop):
        tag = np.uint64(hashes[j])
        at = tag & mask
        while True:
            cell = cells[at]
            if cell == 0:
                for w in range(clues.shape[1]):
                    clues[used, w] = buffer[w, j]
                counts[used] = 1
                if kept:
                    first[used, 0] = task
                    first[used, 1] = base + j
                used += 1
                cells[at] = (tag << _HALF) | np.uint64(used)
                break
            if cell >> _HALF == tag:
                known = np.int64(cell & _LOW) - 1
                different = np.int32(0)
                for w in range(clues.shape[1]):
                    different |= clues[known, w] ^ buffer[w, j]
                if different == 0:
                    counts[known] += 1
                    break
            at = (at + _ONE) & mask
    counts[-1] = used


@njit(cache=True, nogil=True)
def count_clues_wide(facts: Facts, rectangles: Array, own: Array, listed: ListedClues, task: Scalar) -> ListedClues:
    """As `count_clues` for clues of any number of words: the list with the clues of the pairs in the rectangles."""
    words = facts.s_bits.shape[0]
    buffer = np.zeros((words, APART), np.int32)
    hashes = np.zeros(WIDE_STRETCH, np.uint32)
    triangle = own.shape[0] == 0
    for r in range(rectangles.shape[0]):
        s_start, s_stop, t_start, t_stop = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2], rectangles[r, 3]
        for begin in range(t_start, t_stop, WIDE_STRETCH):
            end = min(begin + WIDE_STRETCH, t_stop)
            for i in range(s_start, s_stop):
                start = max(begin, i + 1) if triangle else begin
                if start >= end:
                    break
                used = listed.counts[-1]
                if used + WIDE_STRETCH > listed.clues.shape[0]:
                    listed = longer(listed)
                if 2 * (used + WIDE_STRETCH) > listed.cells.shape[0]:
                    listed = ListedClues(grown_wide(listed.cells), listed.clues, listed.counts, listed.first)
                fill(facts, i, start, end, buffer)
                hash_clues(buffer, end - start, hashes)
                base = (np.int64(i) << 32) + start
                if not triangle and start <= own[i] < end:
                    tally_wide(buffer, 0, own[i] - start, hashes, listed, task, base)
                    tally_wide(buffer, own[i] - start + 1, end - start, hashes, listed, task, base)
                else:
                    tally_wide(buffer, 0, end - start, hashes, listed, task, base)
    return listed
