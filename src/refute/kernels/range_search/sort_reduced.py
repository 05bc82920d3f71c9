"""The sweep of Rapidash's Algorithm 6 over a range tree: sorting by one dimension takes it out of the tree.

Points of s stand group by group in sweep order, and so do the points of t, the queries. Before query j the first
`upto[j]` points of its group have been switched on: those, and no others, are below it in the sorted dimension, which
is what the paper's `Temp` does for ties. `ranks[d, n_s]` and `corners[n_t, d]` are the other dimensions, as ranks
without ties within each group, so a point is below a query where `rank < corner`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.range_search.range_tree import RangeTree, plant
from refute.kernels.range_search.visits import count, has_lower, insert, report

Int = Any  # an integer scalar of whatever width Numba infers
Ints = NDArray[np.signedinteger]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

SMALL = 64  # groups with no more points on one side are compared point by point


@njit(cache=True, nogil=True)
def rank_within(
    orders: tuple[Ints, Ints], values: tuple[Ints, Ints], starts: tuple[Int64s, Int64s], ranks: Int32s, corners: Int32s
) -> None:
    """Fill `ranks[p]` of each point of s, and `corners[q]` of each of t: how many of s are below it in its group.

    `orders` sort each side by group and value; `starts` are the ends of groups in them, from 0 on. O(n).
    """
    s_order, t_order = orders
    s_values, t_values = values
    s_starts, t_starts = starts
    for g in range(len(s_starts) - 1):
        first, end = s_starts[g], s_starts[g + 1]
        for i in range(first, end):
            ranks[s_order[i]] = i - first
        i = first
        for j in range(t_starts[g], t_starts[g + 1]):
            value = t_values[t_order[j]]
            while i < end and s_values[s_order[i]] < value:
                i += 1
            corners[t_order[j]] = i - first


@njit(cache=True, nogil=True)
def is_large(s_size: Int, t_size: Int) -> bool:
    """Whether a group is worth a tree."""
    return bool(s_size > SMALL and t_size > SMALL)


@njit(cache=True, nogil=True)
def _below(ranks: Int32s, point: Int, corner: Int32s) -> bool:
    """Whether a point is below a query in every dimension."""
    for i in range(len(corner)):  # noqa: SIM110 (compiled, a generator costs more than the loop)
        if ranks[i, point] >= corner[i]:
            return False
    return True


@njit(cache=True, nogil=True)
def count_partners(
    ranks: Int32s, corners: Int32s, upto: Int32s, starts: tuple[Int64s, Int64s], span: tuple[Int, Int], found: Int64s
) -> Int:
    """The number of pairs in groups `span`, with `found[q]` set to each query's own (Algorithms 5 and 6, f = count)."""
    s_starts, t_starts = starts
    total = np.int64(0)
    for g in range(span[0], span[1]):
        first, size = s_starts[g], s_starts[g + 1] - s_starts[g]
        begin, end = t_starts[g], t_starts[g + 1]
        if len(ranks) == 0:
            for j in range(begin, end):
                found[j] = upto[j]
                total += found[j]
        elif not is_large(size, end - begin):
            for j in range(begin, end):
                here = np.int64(0)
                for p in range(first, first + upto[j]):
                    here += _below(ranks, p, corners[j])
                found[j] = here
                total += here
        else:
            tree = plant(ranks[:, first : first + size].copy(), False)
            inserted = 0
            for j in range(begin, end):
                while inserted < upto[j]:
                    insert(tree, inserted, -1)
                    inserted += 1
                found[j] = count(tree, corners[j])
                total += found[j]
    return total


@njit(cache=True, nogil=True)
def first_partnered(
    ranks: Int32s, corners: Int32s, upto: Int32s, starts: tuple[Int64s, Int64s], span: tuple[Int, Int], own: Int64s
) -> Int:
    """The first query in groups `span` with more than `own[q]` partners, or -1; stops there."""
    s_starts, t_starts = starts
    for g in range(span[0], span[1]):
        first, size = s_starts[g], s_starts[g + 1] - s_starts[g]
        begin, end = t_starts[g], t_starts[g + 1]
        if len(ranks) == 0 or not is_large(size, end - begin):
            for j in range(begin, end):
                here = np.int64(0)
                for p in range(first, first + upto[j]):
                    here += _below(ranks, p, corners[j])
                    if here > own[j]:
                        return j
        else:
            tree = plant(ranks[:, first : first + size].copy(), False)
            inserted = 0
            for j in range(begin, end):
                while inserted < upto[j]:
                    insert(tree, inserted, -1)
                    inserted += 1
                if count(tree, corners[j]) > own[j]:
                    return j
    return -1


@njit(cache=True, nogil=True)
def first_with_lower(
    ranks: Int32s, corners: Int32s, upto: Int32s, starts: tuple[Int64s, Int64s], span: tuple[Int, Int]
) -> Int:
    """The first query in groups `span` with any partner, or -1, where no point can be its own partner.

    The last dimension needs no tree: what matters is the least rank among the points that pass the others, the running
    minimum of Algorithm 4. So the tree has two dimensions less than there are comparisons.
    """
    s_starts, t_starts = starts
    last = len(ranks) - 1
    for g in range(span[0], span[1]):
        first, size = s_starts[g], s_starts[g + 1] - s_starts[g]
        begin, end = t_starts[g], t_starts[g + 1]
        if last == 0:
            lowest, inserted = np.int64(size), 0
            for j in range(begin, end):
                while inserted < upto[j]:
                    lowest = min(lowest, np.int64(ranks[0, first + inserted]))
                    inserted += 1
                if lowest < corners[j, 0]:
                    return j
        elif not is_large(size, end - begin):
            for j in range(begin, end):
                for p in range(first, first + upto[j]):
                    if _below(ranks, p, corners[j]):
                        return j
        else:
            tree = plant(ranks[:last, first : first + size].copy(), True)
            lows = ranks[last, first : first + size].copy()
            inserted = 0
            for j in range(begin, end):
                while inserted < upto[j]:
                    insert(tree, inserted, np.int64(lows[inserted]))
                    inserted += 1
                if has_lower(tree, corners[j], lows, np.int64(corners[j, last])):
                    return j
    return -1


@njit(cache=True, nogil=True)
def report_pairs(tree: RangeTree, corners: Int32s, upto: Int32s, state: Int64s, out: Int64s) -> Int:
    """The number of pairs (point, query) written to `out[2, capacity]` from `state` = (query, inserted) on.

    Stops before a query whose partners do not fit; the capacity is at least the number of points (Algorithm 6).
    """
    filled = 0
    while state[0] < len(upto):
        j = state[0]
        while state[1] < upto[j]:
            insert(tree, state[1], -1)
            state[1] += 1
        if filled + upto[j] > out.shape[1] and filled + count(tree, corners[j]) > out.shape[1]:
            break
        end = report(tree, corners[j], out[0], filled)
        for x in range(filled, end):
            out[1, x] = j
        filled = end
        state[0] += 1
    return filled


@njit(cache=True, nogil=True)
def compare_pairs(
    ranks: Int32s, corners: Int32s, upto: Int32s, starts: tuple[Int64s, Int64s], state: Int64s, out: Int64s
) -> Int:
    """As `report_pairs` without a tree, for groups from `state` = (group, query) on, up to the first one that is large.

    Looks at every point switched on, which is exact work where the sorted dimension is the only one.
    """
    s_starts, t_starts = starts
    filled = 0
    while state[0] < len(s_starts) - 1:
        first, begin, end = s_starts[state[0]], t_starts[state[0]], t_starts[state[0] + 1]
        if len(ranks) > 0 and is_large(s_starts[state[0] + 1] - first, end - begin):
            break
        state[1] = max(state[1], begin)
        while state[1] < end:
            j = state[1]
            if filled + upto[j] > out.shape[1]:
                return filled
            for p in range(first, first + upto[j]):
                if _below(ranks, p, corners[j]):
                    out[0, filled], out[1, filled] = p, j
                    filled += 1
            state[1] += 1
        state[0] += 1
    return filled
