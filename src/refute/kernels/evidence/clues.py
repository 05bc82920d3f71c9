"""Clues of row pairs, counted: which comparisons come out how, for all pairs inside given rectangles of rows.

A clue is one integer per pair. A comparison that only knows equality owns one bit of it (equal), an ordered one two
bits (less, equal); greater and different are the absence of those. Bits that depend on one row alone (nulls, one-row
predicates) come from words per row and cost nothing per pair. Clues are filled comparison by comparison into a buffer
for one row against a stretch of rows, which the compiler vectorises, then counted in an open-addressing table with runs
merged. Codes follow the clues of FastADC and DCFinder; tiles and the derivation of reversed clues are ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

STRETCH = 1024  # rows of side t in one buffer: 4 KB per word, so buffer and codes stay in the first-level cache
_EMPTY = np.int64(-1)
SPREAD = np.uint64(0x9E3779B97F4A7C15)
_ZERO = np.int32(0)


class Facts(NamedTuple):
    """The comparisons of a clue, F of them over S rows of side s and T of side t, in W words of 32 bits.

    `s[f, i]` and `t[f, j]` are compared; `less[f]` is the bit of `<` (0 when only equality is asked), `equal[f]` that
    of `=`, both within word `word[f]`. `s_bits[w, i] | t_bits[w, j]` is what the pair's word w starts from.
    """

    s: NDArray[np.int32]  # (F, S)
    t: NDArray[np.int32]  # (F, T)
    word: NDArray[np.int64]  # (F,)
    less: NDArray[np.int32]  # (F,)
    equal: NDArray[np.int32]  # (F,)
    s_bits: NDArray[np.int32]  # (W, S)
    t_bits: NDArray[np.int32]  # (W, T)


class Cells(NamedTuple):
    """An open-addressing table of clues; the number of cells is a power of two.

    `first[c]` are the task in which the clue of cell c came first and its first pair there, as `i << 32 | j` for
    position i of side s and j of side t; without any room there, none is kept.
    """

    keys: NDArray[np.int64]  # (C,) -1 in empty cells
    counts: NDArray[np.int64]  # (C,) how many pairs have the clue
    first: NDArray[np.int64]  # (C, 2), or (0, 2)


@njit(cache=True, nogil=True)
def fill(facts: Facts, i: Scalar, start: Scalar, stop: Scalar, buffer: Array) -> None:
    """Write the clue words of row i of side s against rows start .. stop of side t into buffer[w, :stop - start]."""
    size = stop - start
    for w in range(facts.s_bits.shape[0]):
        bits = facts.s_bits[w, i]
        stretch = facts.t_bits[w, start:stop]
        out = buffer[w]
        for j in range(size):
            out[j] = bits | stretch[j]
    for f in range(facts.s.shape[0]):
        value = facts.s[f, i]
        stretch = facts.t[f, start:stop]
        out = buffer[facts.word[f]]
        equal = facts.equal[f]
        less = facts.less[f]
        if less == 0:
            for j in range(size):
                out[j] |= equal if stretch[j] == value else _ZERO
        else:
            for j in range(size):
                out[j] |= (less if value < stretch[j] else _ZERO) | (equal if stretch[j] == value else _ZERO)


@njit(cache=True, nogil=True)
def _place(keys: Array, key: Scalar, mask: Scalar) -> Scalar:
    """The position of `key` in the table, or of the empty cell where it belongs."""
    at = np.int64((np.uint64(key) * SPREAD) >> np.uint64(32)) & mask
    while keys[at] != key and keys[at] != _EMPTY:
        at = (at + 1) & mask
    return at


@njit(cache=True, nogil=True)
def grown(cells: Cells) -> Cells:
    """The table with twice the cells."""
    size = 2 * cells.keys.shape[0]
    keys = np.full(size, _EMPTY, np.int64)
    counts = np.zeros(size, np.int64)
    kept = cells.first.shape[0] > 0
    first = np.empty((size if kept else 0, 2), np.int64)
    for at in range(cells.keys.shape[0]):
        if cells.keys[at] != _EMPTY:
            place = _place(keys, cells.keys[at], size - 1)
            keys[place] = cells.keys[at]
            counts[place] = cells.counts[at]
            if kept:
                first[place] = cells.first[at]
    return Cells(keys, counts, first)


@njit(cache=True, nogil=True)
def tally(
    low: Array, high: Array, start: Scalar, stop: Scalar, cells: Cells, used: Scalar, task: Scalar, base: Scalar
) -> Scalar:
    """Add the clues of buffer positions start .. stop to the table; the caller has room for STRETCH new ones.

    The pair at position j is `base + j`, as `Cells` writes it.
    """
    keys, counts, first = cells
    mask = keys.shape[0] - 1
    kept = first.shape[0] > 0
    if start >= stop:
        return used
    last = (np.int64(high[start]) << 32) | np.int64(low[start])
    run = np.int64(0)
    for j in range(start, stop):
        key = (np.int64(high[j]) << 32) | np.int64(low[j])
        if key != last:
            at = _place(keys, last, mask)
            if keys[at] == _EMPTY:
                keys[at] = last
                if kept:
                    first[at, 0] = task
                    first[at, 1] = base + j - run
                used += 1
            counts[at] += run
            last = key
            run = np.int64(0)
        run += 1
    at = _place(keys, last, mask)
    if keys[at] == _EMPTY:
        keys[at] = last
        if kept:
            first[at, 0] = task
            first[at, 1] = base + stop - run
        used += 1
    counts[at] += run
    return used


@njit(cache=True, nogil=True)
def count_clues(facts: Facts, rectangles: Array, own: Array, cells: Cells, task: Scalar) -> Cells:
    """The table with the clues of all pairs in the rectangles added; at most two words of 31 bits.

    rectangles: (R, 4) rows s_start, s_stop, t_start, t_stop. With `own` empty both sides hold the same rows in the same
    order and only pairs i < j are taken; else `own[i]` is the position in t of row i of s, which is left out. `task` is
    noted with the first pair of each new clue. Cost: pairs x F / (vector width), plus one probe per run.
    """
    low = np.zeros((2, STRETCH), np.int32)
    used = np.int64(0)
    for at in range(cells.keys.shape[0]):
        if cells.keys[at] != _EMPTY:
            used += 1
    wide = facts.s_bits.shape[0] > 1
    zeros = np.zeros(STRETCH, np.int32)
    triangle = own.shape[0] == 0
    for r in range(rectangles.shape[0]):
        s_start, s_stop, t_start, t_stop = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2], rectangles[r, 3]
        for begin in range(t_start, t_stop, STRETCH):
            end = min(begin + STRETCH, t_stop)
            for i in range(s_start, s_stop):
                start = max(begin, i + 1) if triangle else begin
                if start >= end:
                    break
                if 2 * (used + STRETCH) > cells.keys.shape[0]:
                    cells = grown(cells)
                fill(facts, i, start, end, low)
                high = low[1] if wide else zeros
                base = (np.int64(i) << 32) + start
                if not triangle and start <= own[i] < end:
                    used = tally(low[0], high, 0, own[i] - start, cells, used, task, base)
                    used = tally(low[0], high, own[i] - start + 1, end - start, cells, used, task, base)
                else:
                    used = tally(low[0], high, 0, end - start, cells, used, task, base)
    return cells


@njit(cache=True, nogil=True)
def find_clues(facts: Facts, rectangles: Array, own: Array, keys: Array, out: Array) -> Scalar:
    """How many pairs in the rectangles have a clue of the table `keys`; the first are written to `out` (R, 2).

    As `count_clues` otherwise; at most two words of 31 bits. Positions, not row numbers, are written.
    """
    buffer = np.zeros((2, STRETCH), np.int32)
    mask = keys.shape[0] - 1
    wide = facts.s_bits.shape[0] > 1
    triangle = own.shape[0] == 0
    found = 0
    for r in range(rectangles.shape[0]):
        s_start, s_stop, t_start, t_stop = rectangles[r, 0], rectangles[r, 1], rectangles[r, 2], rectangles[r, 3]
        for begin in range(t_start, t_stop, STRETCH):
            end = min(begin + STRETCH, t_stop)
            for i in range(s_start, s_stop):
                start = max(begin, i + 1) if triangle else begin
                if start >= end:
                    break
                fill(facts, i, start, end, buffer)
                last, known = _EMPTY, False
                for j in range(end - start):
                    high = np.int64(buffer[1, j]) if wide else np.int64(0)
                    key = (high << 32) | np.int64(buffer[0, j])
                    if key != last:
                        last, known = key, keys[_place(keys, key, mask)] == key
                    if known and (triangle or own[i] != start + j):
                        if found < out.shape[0]:
                            out[found, 0] = i
                            out[found, 1] = start + j
                        found += 1
    return found


@njit(cache=True, nogil=True)
def clue_table(clues: Array) -> Array:
    """The clues (one integer each) as a table for `find_clues`."""
    size = 16
    while size < 4 * clues.shape[0]:
        size *= 2
    keys = np.full(size, _EMPTY, np.int64)
    for k in range(clues.shape[0]):
        keys[_place(keys, clues[k], size - 1)] = clues[k]
    return keys


@njit(cache=True, nogil=True)
def clues_of(facts: Facts, s_rows: Array, t_rows: Array) -> Array:
    """The clues of the given pairs (s_rows[k], t_rows[k]), as (K, W) int32."""
    words = facts.s_bits.shape[0]
    out = np.zeros((s_rows.shape[0], words), np.int32)
    for k in range(s_rows.shape[0]):
        i, j = s_rows[k], t_rows[k]
        for w in range(words):
            out[k, w] = facts.s_bits[w, i] | facts.t_bits[w, j]
        for f in range(facts.s.shape[0]):
            if facts.s[f, i] == facts.t[f, j]:
                out[k, facts.word[f]] |= facts.equal[f]
            elif facts.s[f, i] < facts.t[f, j]:
                out[k, facts.word[f]] |= facts.less[f]
    return out


@njit(cache=True, nogil=True)
def own_positions(s_rows: Array, t_rows: Array, rectangles: Array, place: Array, own: Array) -> None:
    """Write to `own` where, among the t rows of its rectangle, each s row stands itself; -1 where it does not.

    s_rows, t_rows: row numbers by position; rectangles: (R, 4), no s position in two of them; place: scratch, -1 for
    every row of the table, and left so.
    """
    for r in range(rectangles.shape[0]):
        for j in range(rectangles[r, 2], rectangles[r, 3]):
            place[t_rows[j]] = j
        for i in range(rectangles[r, 0], rectangles[r, 1]):
            own[i] = place[s_rows[i]]
        for j in range(rectangles[r, 2], rectangles[r, 3]):
            place[t_rows[j]] = -1
