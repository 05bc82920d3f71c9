"""The last predicates of small cluster pairs, checked pair by pair: below some size a loop beats any sort."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.refinement.id_sets import Ids, Int64s, Side, Values

EQUAL, DIFFER, ORDER = 0, 1, 2


class Gathered(NamedTuple):
    """The sets of a side one after another, with a row of values per predicate."""

    ids: Any  # int32 (ids)
    values: Any  # int64 (predicates, ids)
    offsets: Any  # int64 (pairs + 1)


@njit(cache=True, nogil=True)
def _pack(side: Side, out: Ids) -> None:
    n = 0
    for c in range(len(side.starts)):
        for i in range(side.starts[c], side.ends[c]):
            out[n] = side.ids[i]
            n += 1


@njit(cache=True, nogil=True)
def _look_up(ids: Ids, values: Values, out: Int64s) -> None:
    for i in range(len(ids)):
        out[i] = values[ids[i]]


@njit(cache=True, nogil=True)
def _kept(kind: int, value: int, others: Int64s, found: Ids, n: int) -> Any:
    """Keeps the first n candidates whose value compares with `value`; returns how many are left. O(n)."""
    kept = 0
    if kind == ORDER:
        for k in range(n):
            j = found[k]
            found[kept] = j
            kept += value < others[j]
    elif kind == EQUAL:
        for k in range(n):
            j = found[k]
            found[kept] = j
            kept += value == others[j]
    else:
        for k in range(n):
            j = found[k]
            found[kept] = j
            kept += value != others[j]
    return kept


@njit(cache=True, nogil=True)
def _nested(kinds: Int64s, a: Any, b: Any, a_counts: Int64s, b_counts: Int64s, listed: Any) -> Any:
    """Counts the partners of each id on both sides, and lists them by A's ids if `listed` has room. O(pairs of ids)."""
    widest = 0
    for c in range(len(b.offsets) - 1):
        widest = max(widest, b.offsets[c + 1] - b.offsets[c])
    found = np.empty(widest + 1, np.int32)
    total = np.int64(0)
    for c in range(len(a.offsets) - 1):
        first, width = b.offsets[c], b.offsets[c + 1] - b.offsets[c]
        for i in range(a.offsets[c], a.offsets[c + 1]):
            n = width
            for k in range(n):
                found[k] = k
            for p in range(len(kinds)):
                n = _kept(kinds[p], a.values[p, i], b.values[p, first : first + width], found, n)
            a_counts[i] = n
            for k in range(n):
                b_counts[first + found[k]] += 1
            if len(listed):
                for k in range(n):
                    listed[total + k] = b.ids[first + found[k]]
            total += n
    return total


def gather(side: Side, columns: Sequence[Values]) -> Gathered:
    """The sets of a side with the values of the given columns."""
    offsets = np.concatenate((np.zeros(1, np.int64), np.cumsum(side.ends - side.starts)))
    ids = np.empty(int(offsets[-1]), np.int32)
    _pack(side, ids)
    values = np.empty((len(columns), len(ids)), np.int64)
    for row, column in zip(values, columns, strict=True):
        _look_up(ids, column, row)
    return Gathered(ids, values, offsets)


def count_nested(kinds: Int64s, a: Gathered, b: Gathered) -> tuple[int, Int64s, Int64s]:
    """The number of pairs that satisfy all predicates, and of partners per element of A and of B."""
    a_counts, b_counts = np.empty(len(a.ids), np.int64), np.zeros(len(b.ids), np.int64)
    total = _nested(kinds, a, b, a_counts, b_counts, np.empty(0, np.int32))
    return int(total), a_counts, b_counts


def list_nested(kinds: Int64s, a: Gathered, b: Gathered) -> tuple[Side, Side]:
    """The pairs that satisfy all predicates, as cluster pairs of one id of A and its partners."""
    total, a_counts, b_counts = count_nested(kinds, a, b)
    listed = np.empty(total, np.int32)
    if total:
        _nested(kinds, a, b, a_counts, b_counts, listed)
    some = np.flatnonzero(a_counts)
    ends = np.cumsum(a_counts[some])
    return Side(a.ids, some, some + 1), Side(listed, ends - a_counts[some], ends)
