"""Orders inside groups: the fewest rows to remove so that one column never falls as another rises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.proposing.chance import drawn, mixed
from refute.kernels.sort.in_place import sort_part

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
Tiny = NDArray[np.int8]
_LEVELS = 127  # of coarse ranks


@njit(cache=True, nogil=True)
def by_rank(ranks: Ids, size: int) -> Ids:
    """The rows that have a rank, of `size` ranks, by rank and then by row. O(rows + size)."""
    at = np.zeros(size + 1, np.int64)
    for row in range(len(ranks)):
        if ranks[row] >= 0:
            at[ranks[row] + 1] += 1
    for rank in range(size):
        at[rank + 1] += at[rank]
    rows = np.empty(at[size], np.int32)
    for row in range(len(ranks)):
        if ranks[row] >= 0:
            rows[at[ranks[row]]] = row
            at[ranks[row]] += 1
    return rows


@njit(cache=True, nogil=True)
def sorted_groups(order: Ids, starts: Longs, ranks: Ids, ranked: Ids) -> tuple[Ids, Longs]:
    """The rows that have a rank, by group and rank, of groups with at least two of them. O(rows).

    `ranked` has them by rank, as `by_rank` gives them.
    """
    groups = len(starts) - 1
    group_of = np.full(len(ranks), -1, np.int32)
    at = np.zeros(groups, np.int64)
    ends = np.empty(groups + 1, np.int64)
    ends[0] = 0
    kept = 0
    for group in range(groups):
        present = 0
        for place in range(starts[group], starts[group + 1]):
            present += ranks[order[place]] >= 0
        if present < 2:
            continue
        for place in range(starts[group], starts[group + 1]):
            group_of[order[place]] = group
        at[group] = ends[kept]
        kept += 1
        ends[kept] = ends[kept - 1] + present
    rows = np.empty(ends[kept], np.int32)
    for place in range(len(ranked)):
        group = group_of[ranked[place]]
        if group >= 0:
            rows[at[group]] = ranked[place]
            at[group] += 1
    return rows, ends[: kept + 1].copy()


@njit(cache=True, nogil=True, plain=True)
def sketched(ranks: Ids, size: int, sketch: Tiny) -> None:
    """Fills `sketch` with coarse ranks, 0 to 126, that ascend as ranks do and have rows alike; -1 for null. O(rows)."""
    counts = np.zeros(size + 1, np.int64)
    present = 0
    for row in range(len(ranks)):
        if ranks[row] >= 0:
            counts[ranks[row] + 1] += 1
            present += 1
    for rank in range(size):
        counts[rank + 1] += counts[rank]
    for row in range(len(ranks)):
        if ranks[row] < 0:
            sketch[row] = -1
        elif size <= _LEVELS:
            sketch[row] = ranks[row]
        else:
            sketch[row] = counts[ranks[row]] * _LEVELS // present


@njit(cache=True, nogil=True, inline="always", plain=True)
def most_by_chance(rows: Ids, starts: Longs, x: Ids, y: Ids, counts: Longs) -> tuple[int, int]:
    """Rows of groups in which both columns vary, and the most that any order of y in them would blame: rows with the
    same x, or with the same y, never clash.

    `rows` as `sorted_groups` gives them, by x; `counts` has room for every y and comes and goes as zeros. O(rows).
    """
    total, blame = 0, 0
    for group in range(len(starts) - 1):
        size, most_x, most_y, run, last = 0, 0, 0, 0, -1
        for at in range(starts[group], starts[group + 1]):
            row = rows[at]
            value = y[row]
            if value >= 0:
                size += 1
                counts[value] += 1
                most_y = max(most_y, counts[value])
                run = run + 1 if x[row] == last else 1
                most_x = max(most_x, run)
                last = x[row]
        for at in range(starts[group], starts[group + 1]):
            if y[rows[at]] >= 0:
                counts[y[rows[at]]] = 0
        if most_x < size and most_y < size:
            total += size
            blame += size - max(most_x, most_y)
    return total, blame


@njit(cache=True, nogil=True)
def longest(xs: Ids, ys: Ids, size: int, tops: Ids) -> int:
    """The most points, sorted by x, that stay so that y never falls as x rises; equal x are in no order.

    Changes the order of `ys` where x is equal. O(size log size).
    """
    length, first = 0, 0
    while first < size:
        last = first + 1
        while last < size and xs[last] == xs[first]:
            last += 1
        if last - first > 1:
            sort_part(ys, first, last)
        for at in range(first, last):
            low, high = 0, length
            while low < high:
                middle = (low + high) >> 1
                if tops[middle] <= ys[at]:
                    low = middle + 1
                else:
                    high = middle
            tops[low] = ys[at]
            if low == length:
                length += 1
        first = last
    return length


@njit(cache=True, nogil=True)
def order_blame(
    rows: Ids, starts: Longs, x: Ids, y: Ids, sign: int, seed: np.uint64, deals: int, limit: int
) -> tuple[int, int, int, int]:
    """Rows of groups in which both columns vary, the fewest to remove so that y never falls as x rises, the same after
    y was dealt anew inside each group (the sum over `deals`), and how many groups these are.

    A deal depends on what a group holds alone, not on where it stands. Ends as soon as more than `limit` rows are to
    blame. O(rows log rows) for each deal.
    """
    n = len(rows)
    xs, ys, tops = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    total, blame, chance, groups = 0, 0, 0, 0
    for group in range(len(starts) - 1):
        size = 0
        for at in range(starts[group], starts[group + 1]):
            if y[rows[at]] >= 0:
                xs[size] = x[rows[at]]
                ys[size] = y[rows[at]] * sign
                size += 1
        if size < 2 or xs[0] == xs[size - 1]:
            continue
        low, high = ys[0], ys[0]
        for at in range(size):
            low, high = min(low, ys[at]), max(high, ys[at])
        if low == high:
            continue
        removed = size - longest(xs, ys, size, tops)
        total += size
        blame += removed
        groups += 1
        if blame > limit:
            break
        if deals:
            state = mixed(seed + np.uint64(size) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(removed))
            sort_part(ys, 0, size)
            for _ in range(deals):
                for at in range(size - 1, 0, -1):
                    state += np.uint64(0x9E3779B97F4A7C15)
                    other = drawn(state, at + 1)
                    held = ys[at]
                    ys[at] = ys[other]
                    ys[other] = held
                chance += size - longest(xs, ys, size, tops)
    return total, blame, chance, groups
