"""The two shapes in which refinement kernels pass id sets: ranges over one array, and ranges sorted by a key.

Many cluster pairs travel together, so a kernel call refines thousands of them. A side of such a batch is one
array of ids and a range of it per cluster pair; ranges may overlap, since the pairs that FACET's inequality
refinements build (section 5.3) share their sets with their neighbours: here sharing costs two numbers, not a copy.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Ids = NDArray[np.int32]
Values = NDArray[np.signedinteger]
Int64s = NDArray[np.int64]


class Side(NamedTuple):
    """One side of a batch: pair c holds `ids[starts[c]:ends[c]]`."""

    ids: Any
    starts: Any
    ends: Any


class Keyed(NamedTuple):
    """The id sets of a side, packed one after another, each ascending by `keys`; `offsets` has one entry more."""

    ids: Any
    keys: Any
    offsets: Any


def room_for(side: Side) -> Keyed:
    """Arrays that take all ids of a side."""
    size = int((side.ends - side.starts).sum())
    return Keyed(np.empty(size, np.int32), np.empty(size, np.int64), np.empty(len(side.starts) + 1, np.int64))


def trimmed(keyed: Keyed) -> Keyed:
    """The arrays cut to what was written."""
    return Keyed(keyed.ids[: keyed.offsets[-1]], keyed.keys[: keyed.offsets[-1]], keyed.offsets)


@njit(cache=True, nogil=True)
def _total_product(a_starts: Int64s, a_ends: Int64s, b_starts: Int64s, b_ends: Int64s) -> Any:
    """The sum over pairs of |A| * |B|. O(pairs)."""
    total = np.int64(0)
    for c in range(len(a_starts)):
        total += (a_ends[c] - a_starts[c]) * (b_ends[c] - b_starts[c])
    return total


def total_product(a: Side, b: Side) -> int:
    """The number of pairs of ids that a batch stands for: below 2^62, as ids are 31 bits and no pair stands twice."""
    return int(_total_product(a.starts, a.ends, b.starts, b.ends))


@njit(cache=True, nogil=True)
def _add_partners(ids: Ids, starts: Int64s, ends: Int64s, others: Int64s, sign: int, out: Int64s) -> None:
    """Adds `sign * others[c]` to `out[id]` for each id of each range c. O(pairs + span of the ranges)."""
    low, high = len(ids), 0
    for c in range(len(starts)):
        low = min(low, starts[c])
        high = max(high, ends[c])
    if low >= high:
        return
    change = np.zeros(high - low + 1, np.int64)
    for c in range(len(starts)):
        change[starts[c] - low] += others[c]
        change[ends[c] - low] -= others[c]
    running = np.int64(0)
    for i in range(low, high):
        running += change[i - low]
        out[ids[i]] += sign * running


def add_partners(side: Side, other: Side, sign: int, out: Int64s) -> None:
    """Adds to `out` how many partners the batch gives to each id of `side`."""
    _add_partners(side.ids, side.starts, side.ends, other.ends - other.starts, sign, out)


@njit(cache=True, nogil=True)
def _fill_pairs(a: Side, b: Side, first: int, skip: int, s: Int64s, t: Int64s) -> Any:
    """Writes pairs of ids from past the first `skip` of pair `first` on into s and t; returns how many. O(output)."""
    written = 0
    for c in range(first, len(a.starts)):
        width = b.ends[c] - b.starts[c]
        if width == 0 or a.ends[c] == a.starts[c]:
            continue
        i = a.starts[c] + skip // width
        j = b.starts[c] + skip % width
        skip = 0
        while i < a.ends[c]:
            left = min(b.ends[c] - j, len(s) - written)
            for k in range(left):
                s[written + k] = a.ids[i]
                t[written + k] = b.ids[j + k]
            written += left
            if written == len(s):
                return written
            j = b.starts[c]
            i += 1
    return written


def fill_pairs(a: Side, b: Side, first: tuple[int, int], size: int) -> tuple[Int64s, Int64s]:
    """Up to `size` pairs of ids, from the given position (pair, offset within it) on."""
    s, t = np.empty(size, np.int64), np.empty(size, np.int64)
    written = _fill_pairs(a, b, first[0], first[1], s, t)
    return s[:written], t[:written]


@njit(cache=True, nogil=True)
def _first_distinct(a: Side, b: Side, s_rows: Int64s, t_rows: Int64s) -> Any:
    """The first pair of ids with different row numbers (a row array of length 0 is the identity). O(pairs)."""
    for c in range(len(a.starts)):
        i, j = a.starts[c], b.starts[c]
        if i == a.ends[c] or j == b.ends[c]:
            continue
        x, y = np.int64(a.ids[i]), np.int64(b.ids[j])
        x_row = s_rows[x] if len(s_rows) else x
        y_row = t_rows[y] if len(t_rows) else y
        if x_row != y_row:
            return x, y
        if j + 1 < b.ends[c]:
            return x, np.int64(b.ids[j + 1])
        if i + 1 < a.ends[c]:
            return np.int64(a.ids[i + 1]), y
    return np.int64(-1), np.int64(-1)


def first_distinct(a: Side, b: Side, s_rows: Int64s | None, t_rows: Int64s | None) -> tuple[int, int] | None:
    """Some pair of ids of the batch that are different rows, or None."""
    none = np.empty(0, np.int64)
    s, t = _first_distinct(a, b, none if s_rows is None else s_rows, none if t_rows is None else t_rows)
    return None if s < 0 else (int(s), int(t))
