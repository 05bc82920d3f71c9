"""Clues of more than two words, counted; for predicate spaces of any width.

Distinct clues stand in a list in the order in which they were met. A table of hashes and places tells which are known,
so that it stays small beside them, grows without reading them, and is the only thing that is read at random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.evidence import Facts, fill

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_STRETCH = 256  # rows of side t in one buffer, so that a dozen words of them stay in the first-level cache
_APART = _STRETCH + 16  # the words of a clue start in different lines of that cache
_MULTIPLIER = np.uint32(0x9E3779B1)
_FINAL = np.uint32(0x85EBCA6B)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)


@njit(cache=True, nogil=True)
def _hash(buffer: Array, size: Scalar, hashes: Array) -> None:
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
def _grown(cells: Array) -> Array:
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
def _longer(clues: Array, counts: Array) -> tuple[Array, Array]:
    """The list with twice the room."""
    room, used = 2 * clues.shape[0], counts[-1]
    more, more_counts = np.empty((room, clues.shape[1]), np.int32), np.empty(room + 1, np.int64)
    more[:used] = clues[:used]
    more_counts[:used] = counts[:used]
    more_counts[-1] = used
    return more, more_counts


@njit(cache=True, nogil=True)
def _tally(
    buffer: Array, start: Scalar, stop: Scalar, hashes: Array, cells: Array, clues: Array, counts: Array
) -> None:
    """Add the clues of buffer positions start .. stop; `counts[-1]` is how many are known, and there is room."""
    mask = np.uint64(cells.shape[0] - 1)
    used = counts[-1]
    for j in range(start, stop):
        tag = np.uint64(hashes[j])
        at = tag & mask
        while True:
            cell = cells[at]
            if cell == 0:
                for w in range(clues.shape[1]):
                    clues[used, w] = buffer[w, j]
                counts[used] = 1
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
def count_clues_wide(
    facts: Facts, rectangles: Array, own: Array, cells: Array, clues: Array, counts: Array
) -> tuple[Array, Array, Array]:
    """As `count_clues` for clues of any number of words: the table, the distinct clues, and how often each occurs.

    cells: (power of two,) uint64, a hash of 32 bits and a place in the list plus one, or 0 where there is none; clues:
    (room, W) int32; counts: (room + 1,) int64, at last how many clues the list has, below 2^32.
    """
    words = facts.s_bits.shape[0]
    buffer = np.zeros((words, _APART), np.int32)
    hashes = np.zeros(_STRETCH, np.uint32)
    triangle = own.shape[0] == 0
    for r in range(rectangles.shape[0]):
        s_start, s_stop, t_start, t_stop = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2], rectangles[r, 3]
        for begin in range(t_start, t_stop, _STRETCH):
            end = min(begin + _STRETCH, t_stop)
            for i in range(s_start, s_stop):
                start = max(begin, i + 1) if triangle else begin
                if start >= end:
                    break
                used = counts[-1]
                if used + _STRETCH > clues.shape[0]:
                    clues, counts = _longer(clues, counts)
                if 2 * (used + _STRETCH) > cells.shape[0]:
                    cells = _grown(cells)
                fill(facts, i, start, end, buffer)
                _hash(buffer, end - start, hashes)
                if not triangle and start <= own[i] < end:
                    _tally(buffer, 0, own[i] - start, hashes, cells, clues, counts)
                    _tally(buffer, own[i] - start + 1, end - start, hashes, cells, clues, counts)
                else:
                    _tally(buffer, 0, end - start, hashes, cells, clues, counts)
    return cells, clues, counts
