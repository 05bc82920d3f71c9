"""Visits to a nested range tree: switch a point on, and count, test or report those on below a corner.

A visit keeps the nodes it has still to see on the tree's own stack; so one tree serves one thread at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.range_search.range_tree import CUT, RangeTree

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


@njit(cache=True, nogil=True)
def _below(values: Int32s, start: Int, size: Int, bound: Int) -> Int:
    """The number of values below `bound` in a sorted list."""
    lo, hi = np.int64(0), np.int64(size)
    while lo < hi:
        mid = (lo + hi) >> 1
        if values[start + mid] < bound:
            lo = mid + 1
        else:
            hi = mid
    return lo


@njit(cache=True, nogil=True)
def _first_child(depth: Int, start: Int, size: Int) -> Int:
    """Where the nodes of the smallest blocks begin; the root's own list is 0 .. n-1 and not written."""
    return start + (size if depth > 0 else 0)


@njit(cache=True, nogil=True)
def _add(tree: RangeTree, start: Int, size: Int, at: Int, low: Int) -> None:
    """Switch position `at` of a last-depth node on: add one, or with `low` >= 0 note the minimum `low`."""
    x = at + 1
    while x <= size:
        if low < 0:
            tree.tallies[start + x - 1] += 1
        else:
            tree.tallies[start + x - 1] = min(tree.tallies[start + x - 1], low)
        x += x & -x


@njit(cache=True, nogil=True)
def insert(tree: RangeTree, point: Int, low: Int) -> None:
    """Switch a point on; `low` as in `_add`."""
    dims, n = tree.ranks.shape
    stack = tree.stack
    tree.active[point] = True
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n
    top = 1
    while top > 0:
        top -= 1
        depth, start, size = stack[top, 0], stack[top, 1], stack[top, 2]
        rank = tree.ranks[depth, point]
        x = np.int64(rank) if depth == 0 else _below(tree.values, start, size, rank)
        if depth + 1 == dims:
            _add(tree, start, size, x, low)
            continue
        child = _first_child(depth, start, size)
        level = CUT
        while size >> level:
            block, full = x >> level, size >> level
            if block & 1 == 0 and block < full:
                stack[top, 0], stack[top, 2] = depth + 1, np.int64(1) << level
                stack[top, 1] = child + (block >> 1) * tree.words[depth + 1, level]
                top += 1
            child += ((full + 1) >> 1) * tree.words[depth + 1, level]
            level += 1


@njit(cache=True, nogil=True)
def _push(tree: RangeTree, top: Int, end: Int) -> Int:
    """The new top, after pushing the blocks of the first `end` points of the node that was popped from `top`."""
    stack = tree.stack
    depth, start, size = stack[top, 0], stack[top, 1], stack[top, 2]
    child = _first_child(depth, start, size)
    level = CUT
    while end >> level:
        if (end >> level) & 1:
            stack[top, 0], stack[top, 2] = depth + 1, np.int64(1) << level
            stack[top, 1] = child + (((end >> level) - 1) >> 1) * tree.words[depth + 1, level]
            top += 1
        child += (((size >> level) + 1) >> 1) * tree.words[depth + 1, level]
        level += 1
    return top


@njit(cache=True, nogil=True)
def _remainder(tree: RangeTree, depth: Int, start: Int, x: Int, corner: Int32s) -> Int:
    """The point at place x of a node if it is on and below the corner in the dimensions after `depth`, else -1."""
    rank = np.int64(x) if depth == 0 else np.int64(tree.values[start + x])
    point = tree.points[depth, rank]
    if not tree.active[point]:
        return -1
    for i in range(depth + 1, len(tree.ranks)):
        if tree.ranks[i, point] >= corner[i]:
            return -1
    return np.int64(point)


@njit(cache=True, nogil=True)
def count(tree: RangeTree, corner: Int32s) -> Int:
    """The number of active points with every rank below the corner's."""
    dims, n = tree.ranks.shape
    stack = tree.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n
    top, total = 1, np.int64(0)
    while top > 0:
        top -= 1
        depth, start, size = stack[top, 0], stack[top, 1], stack[top, 2]
        end = np.int64(corner[0]) if depth == 0 else _below(tree.values, start, size, corner[depth])
        if depth + 1 == dims:
            while end > 0:
                total += tree.tallies[start + end - 1]
                end &= end - 1
            continue
        for x in range((end >> CUT) << CUT, end):
            total += _remainder(tree, depth, start, x, corner) >= 0
        top = _push(tree, top, end)
    return total


@njit(cache=True, nogil=True)
def has_lower(tree: RangeTree, corner: Int32s, lows: Int32s, bound: Int) -> bool:
    """Whether some point that `count` would count has `lows[point] < bound`; the tree was filled with these lows."""
    dims, n = tree.ranks.shape
    stack = tree.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n
    top = 1
    while top > 0:
        top -= 1
        depth, start, size = stack[top, 0], stack[top, 1], stack[top, 2]
        end = np.int64(corner[0]) if depth == 0 else _below(tree.values, start, size, corner[depth])
        if depth + 1 == dims:
            while end > 0:
                if tree.tallies[start + end - 1] < bound:
                    return True
                end &= end - 1
            continue
        for x in range((end >> CUT) << CUT, end):
            point = _remainder(tree, depth, start, x, corner)
            if point >= 0 and lows[point] < bound:
                return True
        top = _push(tree, top, end)
    return False


@njit(cache=True, nogil=True)
def _active_place(tallies: Int32s, start: Int, size: Int, nth: Int) -> Int:
    """The place of the nth active point of a last-depth node, by descent in its Fenwick tree."""
    step = np.int64(1)
    while step << 1 <= size:
        step <<= 1
    place, left = np.int64(0), np.int64(nth)
    while step:
        if place + step <= size and tallies[start + place + step - 1] <= left:
            place += step
            left -= tallies[start + place - 1]
        step >>= 1
    return place


@njit(cache=True, nogil=True)
def report(tree: RangeTree, corner: Int32s, out: Int64s, filled: Int) -> Int:
    """The end of `out` after writing the points that `count` would count from position `filled` on."""
    dims, n = tree.ranks.shape
    stack = tree.stack
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, n
    top = 1
    while top > 0:
        top -= 1
        depth, start, size = stack[top, 0], stack[top, 1], stack[top, 2]
        end = np.int64(corner[0]) if depth == 0 else _below(tree.values, start, size, corner[depth])
        if depth + 1 == dims:
            total = np.int64(0)
            while end > 0:
                total += tree.tallies[start + end - 1]
                end &= end - 1
            for nth in range(total):
                place = _active_place(tree.tallies, start, size, nth)
                rank = place if depth == 0 else np.int64(tree.values[start + place])
                out[filled] = tree.points[depth, rank]
                filled += 1
            continue
        for x in range((end >> CUT) << CUT, end):
            point = _remainder(tree, depth, start, x, corner)
            if point >= 0:
                out[filled] = point
                filled += 1
        top = _push(tree, top, end)
    return filled
