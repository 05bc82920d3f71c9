"""A nested range tree that is filled in sweep order, over a skeleton built from all points beforehand.

Rapidash inserts points into a range tree while it sweeps (Algorithms 2 and 6). All points are known here, so the
skeleton is laid out once, balanced whatever the order of arrival, and an insertion only switches a point on.

Coordinates are ranks without ties, 0 .. n-1 in every dimension, so a query is a corner: all ranks below `q`. A node of
depth i lists its points by rank in dimension i. A prefix of that list falls into blocks of 2^level points, one for each
set bit of its length, and each is the left one of two neighbours: so every left block, and no right one, has a node of
depth i + 1. The last depth holds a Fenwick tree. Prefix remainders below 2^CUT points are looked at one by one.
Space O(n log^(d-1) n), an insertion or a query O(log^d n) (table 2).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Flags = NDArray[np.bool_]

CUT = 3  # blocks smaller than 2^CUT have no node


class RangeTree(NamedTuple):
    """The arrays of a tree over n points in d dimensions.

    `ranks[d, n]`: the rank of point p in dimension i. `points[d, n]`: the point of each rank. `values[words]`: the
    sorted lists of all nodes but the root's, each followed by its blocks' nodes. `tallies[words]`: the Fenwick
    trees of the last depth, at the places of their lists. `active[n]`: points switched on. `words[d, levels]`: the
    size of a node of 2^level points at a depth. `stack[., 3]`: nodes that a visit has still to see.
    """

    ranks: Int32s
    points: Int32s
    values: Int32s
    tallies: Int32s
    active: Flags
    words: Int64s
    stack: Int64s


@njit(cache=True, nogil=True)
def node_words(words: Int64s, depth: Int, size: Int) -> Int:
    """The words of a node over `size` points, given those of the depths below."""
    total = np.int64(size)
    if depth + 1 < len(words):
        level = CUT
        while size >> level:
            total += (((size >> level) + 1) >> 1) * words[depth + 1, level]
            level += 1
    return total


@njit(cache=True, nogil=True)
def measure(words: Int64s) -> None:
    """Fill `words[depth, level]` with the size of a node of 2^level points."""
    for depth in range(len(words) - 1, -1, -1):
        for level in range(words.shape[1]):
            words[depth, level] = node_words(words, depth, 1 << level)


@njit(cache=True, nogil=True)
def lay_out(tree: RangeTree) -> None:
    """Write the lists of all nodes.

    A node's points are sorted once by the next dimension and then, from the largest blocks down, dealt out to the
    halves of each block, which keeps them sorted: O(n) per level and no comparison. Nodes wait on a stack, as a
    compiled function that calls itself cannot be cached.
    """
    dims, n = tree.ranks.shape
    place = np.empty(n, np.int32)  # of a point in its node's own list
    stack = np.empty((dims * ((n >> CUT) + 64), 3), np.int64)
    stack[0] = 0, 0, n
    top = 1 if dims > 1 else 0
    while top > 0:
        top -= 1
        depth, start, size = stack[top]
        here = np.empty(size, np.int32)
        for x in range(size):
            rank = np.int32(x) if depth == 0 else tree.values[start + x]
            point = tree.points[depth, rank]
            place[point] = x
            here[x] = tree.ranks[depth + 1, point]
        here.sort()
        for x in range(size):
            here[x] = tree.points[depth + 1, here[x]]
        dealt = np.empty_like(here)
        level = 0
        while size >> (level + 1):
            level += 1
        end = start + node_words(tree.words, depth, size) - (size if depth == 0 else 0)
        span = np.int64(2) << level  # the points are sorted within runs of `span` positions
        for at in range(level, CUT - 1, -1):
            half = span >> 1
            for begin in range(0, size, span):
                left, right = begin, min(begin + half, size)
                for x in range(begin, min(begin + span, size)):
                    point = here[x]
                    if place[point] - begin < half:
                        dealt[left] = point
                        left += 1
                    else:
                        dealt[right] = point
                        right += 1
            here, dealt = dealt, here
            span = half
            words = tree.words[depth + 1, at]
            end -= (((size >> at) + 1) >> 1) * words  # levels lie in ascending order
            for block in range(0, size >> at, 2):
                child = end + (block >> 1) * words
                for x in range(span):
                    tree.values[child + x] = tree.ranks[depth + 1, here[(block << at) + x]]
                if depth + 2 < dims:
                    stack[top] = depth + 1, child, span
                    top += 1


@njit(cache=True, nogil=True)
def plant(ranks: Int32s, low: bool) -> RangeTree:
    """An empty range tree over points with these ranks, shape [d, n], d >= 1; `low` for minima instead of counts."""
    dims, n = ranks.shape
    points = np.empty((dims, n), np.int32)
    for i in range(dims):
        for p in range(n):
            points[i, ranks[i, p]] = p
    levels = CUT + 1
    while n >> levels:
        levels += 1
    words = np.zeros((dims, levels + 1), np.int64)
    measure(words)
    total = node_words(words, 0, n)
    tallies = np.full(total, np.iinfo(np.int32).max if low else 0, np.int32)
    stack = np.empty((dims * (levels + 2), 3), np.int64)
    tree = RangeTree(ranks, points, np.empty(total, np.int32), tallies, np.zeros(n, np.bool_), words, stack)
    lay_out(tree)
    return tree
