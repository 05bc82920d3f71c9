"""Points of evidence: read off clues, distinguished, and looked up; for predicate spaces of any width."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.evidence.clues import SPREAD

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy


CHUNK = 8  # bits of a clue that are read at once
_BLOCK = 128  # clues that are read chunk by chunk: they, their points and a chunk's bits fit the first-level cache


class Reading(NamedTuple):
    """How points are read off clues, by G chunks: the first `forward` for the pair (s, t), the others for (t, s).

    A chunk is `(clue[word] >> shift) & 255`; `bits` is what each value of it sets in word `into` of the point.
    """

    forward: int
    word: NDArray[np.int64]  # (G,)
    shift: NDArray[np.int32]  # (G,)
    into: NDArray[np.int64]  # (G,)
    bits: NDArray[np.uint64]  # (G, 256)


@njit(cache=True, nogil=True)
def points_of_clues(reading: Reading, clues: Array, out: Array, begin: int, end: int) -> None:
    """Write the points of N pairs to out[:N], and those of the pairs with rows exchanged to out[N:]; of some pairs.

    clues: (N, W) int32; out: (2N, words) uint64. Cost: (end - begin) x G.
    """
    total, words = clues.shape
    block = np.empty((words, _BLOCK), np.int32)  # by words, so loops run over what stands side by side
    points = np.empty((out.shape[1], _BLOCK), np.uint64)
    for start in range(begin, end, _BLOCK):
        size = min(_BLOCK, end - start)
        for n in range(size):
            for w in range(words):
                block[w, n] = clues[start + n, w]
        for side in range(2):
            points[:] = 0
            first, last = (0, reading.forward) if side == 0 else (reading.forward, reading.word.shape[0])
            for g in range(first, last):
                read, found = block[reading.word[g]], points[reading.into[g]]
                bits, shift = reading.bits[g], reading.shift[g]
                for n in range(size):
                    found[n] |= bits[(read[n] >> shift) & 255]
            shown = side * total + start
            for n in range(size):
                for w in range(out.shape[1]):
                    out[shown + n, w] = points[w, n]


@njit(cache=True, nogil=True)
def distinct_points(points: Array, counts: Array, first: Array, totals: Array) -> Scalar:
    """How many distinct points there are; writes where each occurs first and the sum of its counts.

    points: (N, words) uint64, fewer than 2^31; counts, first, totals: (N,) int64. Cost: N probes of an open-addressing
    table.
    """
    size = 16
    while size < 2 * points.shape[0]:
        size *= 2
    cells = np.full(size, -1, np.int32)
    words = points.shape[1]
    found = 0
    for n in range(points.shape[0]):
        state = np.uint64(0)
        for w in range(words):
            state = (state ^ points[n, w]) * SPREAD
            state ^= state >> np.uint64(29)
        at = np.int64(state >> np.uint64(20)) & (size - 1)
        while cells[at] >= 0:
            known = first[cells[at]]
            same = True
            for w in range(words):
                if points[known, w] != points[n, w]:
                    same = False
                    break
            if same:
                break
            at = (at + 1) & (size - 1)
        if cells[at] < 0:
            cells[at] = found
            first[found] = n
            totals[found] = 0
            found += 1
        totals[cells[at]] += counts[n]
    return found


@njit(cache=True, nogil=True)
def contained_points(points: Array, known: Array, out: Array) -> None:
    """Mark the points that are among the known ones; both (., words) ascend. Cost: linear in both."""
    words = points.shape[1]
    at = 0
    for n in range(points.shape[0]):
        while at < known.shape[0]:
            sign = 0
            for w in range(words):
                if known[at, w] != points[n, w]:
                    sign = -1 if known[at, w] < points[n, w] else 1
                    break
            if sign >= 0:
                out[n] = sign == 0
                break
            at += 1
