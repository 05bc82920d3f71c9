"""Orders inside groups: the fewest rows to remove so that one column never falls as another rises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.proposing.chance import drawn, mixed
from refute.kernels.sort.parts import sort_part

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True, nogil=True)
def sorted_groups(order: Ids, starts: Longs, ranks: Ids) -> tuple[Ids, Longs]:
    """The rows that have a rank, by group and rank, of groups with at least three of them. O(rows log rows)."""
    rows, ends = np.empty(len(order), np.int32), np.empty(len(starts), np.int64)
    keys = np.empty(len(order), np.int64)
    ends[0] = 0
    filled, groups = 0, 0
    for group in range(len(starts) - 1):
        present = 0
        for at in range(starts[group], starts[group + 1]):
            row = order[at]
            if ranks[row] >= 0:
                keys[present] = (np.int64(ranks[row]) << 32) | np.int64(row)
                present += 1
        if present < 3:
            continue
        sort_part(keys, 0, present)
        for at in range(present):
            rows[filled] = np.int32(keys[at] & 0xFFFFFFFF)
            filled += 1
        groups += 1
        ends[groups] = filled
    return rows[:filled].copy(), ends[: groups + 1].copy()


@njit(cache=True, nogil=True)
def clashing_pairs(rows: Ids, starts: Longs, x: Ids, y: Ids, sign: int, limit: int) -> int:
    """How many disjoint pairs of rows clash: each needs a row removed, so no fewer rows are to blame.

    Ends as soon as there are more than `limit`. `rows` as `sorted_groups` gives them, by x; `sign` is 1 where y should
    rise, -1 where it should fall. O(rows).
    """
    held_x, held_y = np.empty(len(rows) + 1, np.int32), np.empty(len(rows) + 1, np.int32)
    pairs = 0
    for group in range(len(starts) - 1):
        held, present, own = 0, 0, 0
        for at in range(starts[group], starts[group + 1]):
            value = y[rows[at]]
            if value < 0:
                continue
            present += 1
            value *= sign
            if held and held_y[held - 1] > value and held_x[held - 1] < x[rows[at]]:
                held -= 1
                own += 1
            else:
                held_y[held] = value
                held_x[held] = x[rows[at]]
                held += 1
            if present > 2 and pairs + own > limit:
                return pairs + own
        if present > 2:  # rows of smaller groups are not judged
            pairs += own
    return pairs


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
    rows: Ids, starts: Longs, x: Ids, y: Ids, sign: int, seed: np.uint64, deals: int
) -> tuple[int, int, int, int]:
    """Rows of groups in which both columns vary, the fewest to remove so that y never falls as x rises, the same after
    y was dealt anew inside each group (the sum over `deals`), and how many groups these are.

    A deal depends on what a group holds alone, not on where it stands. O(rows log rows) for each deal.
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
        if size < 3 or xs[0] == xs[size - 1]:
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
