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
def number_keys(
    codes: Array, rows: Array, columns: Array, keys: Array, known: Scalar, cells: Array, out: Array
) -> Scalar:
    """Write the number of the key of each row, new ones behind those known; how many are known then.

    codes: (N, C) int32, of which the key of a row is what it has in the `columns` (K,). keys: (R, K) int32, of which
    the first `known` are known; there must be room for one more for each of the rows (n,). cells: a hash table, as long
    as a power of two and twice as long as there may be keys: numbers plus one, 0 in empty cells.
    """
    mask = np.uint64(cells.shape[0] - 1)
    width = columns.shape[0]
    for n in range(rows.shape[0]):
        row = codes[rows[n]]
        mixed = np.uint64(0)
        for k in range(width):
            mixed = (mixed ^ np.uint64(np.uint32(row[columns[k]]))) * _SPREAD
            mixed ^= mixed >> np.uint64(29)
        at = mixed & mask
        while True:
            cell = cells[at]
            if cell == 0:
                for k in range(width):
                    keys[known, k] = row[columns[k]]
                known += 1
                cells[at] = known
                out[n] = known - 1
                break
            same = True
            for k in range(width):
                if keys[cell - 1, k] != row[columns[k]]:
                    same = False
                    break
            if same:
                out[n] = cell - 1
                break
            at = (at + np.uint64(1)) & mask
    return known


class Outermost(NamedTuple):
    """Of each of G groups, how many rows it has, and some of the lowest and of the highest ones, at most E of each.

    Ends are in their order by value, then -1; rows that are not listed lie no further out than the last one listed.
    Two ends at least are kept as they are by rows that are equal to them; of more such rows, the newest are listed.
    """

    size: NDArray[np.int32]  # (G,)
    ends: NDArray[np.int32]  # (G, 2, E) the lowest ones, ascending, and the highest ones, descending
    values: NDArray[np.int32]  # (G, 2, E) of these rows; those of the highest ones as their complements


@njit(cache=True, nogil=True)
def keep_outermost(kept: Outermost, rows: Array, groups: Array, codes: Array, column: Scalar) -> None:
    """Take rows in, with those of their group that are outermost by the codes of a column, or by none if it is -1.

    codes: (N, C) of all rows.
    """
    for k in range(rows.shape[0]):
        _keep(kept, rows[k], groups[k], codes[rows[k], column] if column >= 0 else np.int32(0))


@njit(cache=True, nogil=True)
def _keep(kept: Outermost, row: Scalar, g: Scalar, value: Scalar) -> None:
    """Take a row in, among the ends of its group if it is known to belong there."""
    ends, values = kept.ends, kept.values
    last = ends.shape[2] - 1
    for side in range(2):
        own = ~value if side else value  # the complement turns the order round
        if ends[g, side, last] >= 0 and own >= values[g, side, last]:
            if own == values[g, side, last] and last >= 2:
                ends[g, side, last] = row
            continue
        listed, at = 0, -1
        while listed <= last and ends[g, side, listed] >= 0:
            if at < 0 and (own < values[g, side, listed] or (own == values[g, side, listed] and listed >= 2)):
                at = listed
            listed += 1
        if at < 0:
            whole = listed == kept.size[g] or (listed > 0 and own == values[g, side, listed - 1])
            if listed > last or not whole:
                continue
            at = listed
        for e in range(min(listed, last), at, -1):
            ends[g, side, e] = ends[g, side, e - 1]
            values[g, side, e] = values[g, side, e - 1]
        ends[g, side, at] = row
        values[g, side, at] = own
    kept.size[g] += 1


@njit(cache=True, nogil=True)
def drop_outermost(kept: Outermost, rows: Array, groups: Array, hurt: Array) -> None:
    """Let rows go. Groups whose ends are no longer known are marked in `hurt` (G,)."""
    for k in range(rows.shape[0]):
        g = groups[k]
        kept.size[g] -= 1
        for side in range(2):
            ends, values = kept.ends[g, side], kept.values[g, side]
            left = 0
            for e in range(ends.shape[0]):
                if ends[e] != rows[k]:
                    ends[left] = ends[e]
                    values[left] = values[e]
                    left += 1
            ends[left:] = -1
        low, high = kept.ends[g, 0], kept.ends[g, 1]
        if low[0] < 0 or high[0] < 0:
            hurt[g] = kept.size[g] > 0
        elif low[0] == high[0] and low[1] < 0 and high[1] < 0:
            hurt[g] = kept.size[g] > 1


@njit(cache=True, nogil=True)
def find_ends_again(kept: Outermost, hurt: Array, group: Array, alive: Array, codes: Array, column: Scalar) -> None:
    """Find the ends of groups marked in `hurt` (G,) again, and take the marks away. group, alive: (N,) of all rows."""
    for g in range(hurt.shape[0]):
        if hurt[g]:
            kept.size[g] = 0
            kept.ends[g] = -1
    for row in range(group.shape[0]):
        if alive[row] and hurt[group[row]]:
            _keep(kept, row, group[row], codes[row, column] if column >= 0 else np.int32(0))
    hurt[:] = False


@njit(cache=True, nogil=True)
def stand_ins(kept: Outermost, groups: Array, out: Array) -> None:
    """Write the lowest and the highest row of each of the groups to `out` (n, 2), two of them where there are two."""
    for k in range(groups.shape[0]):
        low, high = kept.ends[groups[k], 0], kept.ends[groups[k], 1]
        out[k, 0] = low[0]
        out[k, 1] = high[0]
        if low[0] == high[0]:
            out[k, 1] = low[1] if low[1] >= 0 else high[1]
