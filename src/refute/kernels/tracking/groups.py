"""Rows by groups while they come and go: each group's members lie together in one pool, with room behind them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class Pool(NamedTuple):
    """Members of G groups. Those of group g are rows[start[g] : start[g] + size[g]], up to `room[g]` of them."""

    start: NDArray[np.int64]  # (G,)
    size: NDArray[np.int64]  # (G,)
    room: NDArray[np.int64]  # (G,)
    rows: NDArray[np.int32]  # (P,)
    place: NDArray[np.int32]  # (N,) where in `rows` each row is


@njit(cache=True, nogil=True)
def move_groups(pool: Pool, groups: Array, starts: Array, rows: Array) -> None:
    """Move the members of each of the groups to where `starts` says in `rows`, which may be the pool's own.

    Places there must not overlap with each other, nor with members that have not been moved yet.
    """
    for k in range(groups.shape[0]):
        g = groups[k]
        for m in range(pool.size[g]):
            row = pool.rows[pool.start[g] + m]
            rows[starts[k] + m] = row
            pool.place[row] = starts[k] + m
        pool.start[g] = starts[k]


@njit(cache=True, nogil=True)
def add_members(pool: Pool, rows: Array, groups: Array) -> None:
    """Add rows to their groups, which have room; a row of group -1 is in none."""
    for k in range(rows.shape[0]):
        g = groups[k]
        if g >= 0:
            at = pool.start[g] + pool.size[g]
            pool.rows[at] = rows[k]
            pool.place[rows[k]] = at
            pool.size[g] += 1


@njit(cache=True, nogil=True)
def drop_members(pool: Pool, rows: Array, groups: Array) -> None:
    """Take rows out of their groups; the last member of a group comes in the place of the one that goes."""
    for k in range(rows.shape[0]):
        g = groups[k]
        if g >= 0:
            pool.size[g] -= 1
            last = pool.rows[pool.start[g] + pool.size[g]]
            at = pool.place[rows[k]]
            pool.rows[at] = last
            pool.place[last] = at


@njit(cache=True, nogil=True)
def number_keys(asked: Array, keys: Array, known: Scalar, cells: Array, out: Array) -> Scalar:
    """Write the number of each asked key, new ones behind those known; how many are known then.

    asked: (n, K) int32. keys: (R, K) int32, of which the first `known` are known; there must be room for n more. cells:
    a hash table, as long as a power of two and twice as long as there may be keys: numbers plus one, 0 in empty cells.
    """
    mask = np.uint64(cells.shape[0] - 1)
    for n in range(asked.shape[0]):
        mixed = np.uint64(0)
        for k in range(asked.shape[1]):
            mixed = (mixed ^ np.uint64(np.uint32(asked[n, k]))) * _SPREAD
            mixed ^= mixed >> np.uint64(29)
        at = mixed & mask
        while True:
            cell = cells[at]
            if cell == 0:
                for k in range(asked.shape[1]):
                    keys[known, k] = asked[n, k]
                known += 1
                cells[at] = known
                out[n] = known - 1
                break
            same = True
            for k in range(asked.shape[1]):
                if keys[cell - 1, k] != asked[n, k]:
                    same = False
                    break
            if same:
                out[n] = cell - 1
                break
            at = (at + np.uint64(1)) & mask
    return known


@njit(cache=True, nogil=True)
def keep_outermost(rows: Array, groups: Array, codes: Array, column: Scalar, low: Array, high: Array) -> None:
    """Take rows in as the lowest or highest of their group, if they are, by the codes of a column, or none if it is -1.

    codes: (N, C) of all rows; low, high: (G,) rows, -1 in groups without any, two different ones where there are two.
    """
    for k in range(rows.shape[0]):
        row, g = rows[k], groups[k]
        if low[g] < 0:
            low[g] = row
            high[g] = row
            continue
        value, least, most = np.int32(0), np.int32(0), np.int32(0)
        if column >= 0:
            value, least, most = codes[row, column], codes[low[g], column], codes[high[g], column]
        if low[g] == high[g]:
            if value < least:
                low[g] = row
            else:
                high[g] = row
        elif value < least:
            low[g] = row
        elif value > most:
            high[g] = row
