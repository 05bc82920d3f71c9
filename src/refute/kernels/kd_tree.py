"""Bulk loading of a static k-d tree: points are put in place, each node is a range of them with a tight box.

Rapidash (section 4.2 and table 2) names the k-d tree as its linear-space index. Built by insertion it degenerates on
sorted input; here every node is halved at the median of a sample, whatever the order of arrival. The partition is
Hoare's, which deals equal keys to both sides, so that constant columns are halved as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

SAMPLE = 48  # points looked at to choose a node's axis and pivot
LO, HI, LEFT, RIGHT = 0, 1, 2, 3  # columns of the node table; LEFT is -1 for a leaf

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]


@njit(cache=True, nogil=True)
def _rank(sorted_sample: Int32s, value: Int) -> Int:
    """The number of sampled values below `value`."""
    lo, hi = 0, len(sorted_sample)
    while lo < hi:
        mid = (lo + hi) >> 1
        if sorted_sample[mid] < value:
            lo = mid + 1
        else:
            hi = mid
    return lo


@njit(cache=True, nogil=True)
def _partition(points: Int32s, lo: Int, hi: Int, axis: Int, pivot: Int) -> Int:
    """The first position of the right part after moving rows: left has `<= pivot`, right `>= pivot`, both not empty."""
    width = points.shape[1]
    i, j = lo, hi - 1
    while True:
        while points[i, axis] < pivot:
            i += 1
        while points[j, axis] > pivot:
            j -= 1
        if i >= j:
            break
        for c in range(width):
            held = points[i, c]
            points[i, c] = points[j, c]
            points[j, c] = held
        i += 1
        j -= 1
    return i if i > lo else lo + 1


@njit(cache=True, nogil=True)
def _choose(points: Int32s, lo: Int, hi: Int, n_equal: Int, root: Int32s, taken: Int32s) -> tuple[Int, Int]:
    """The axis along which a sample of the node spreads widest in ranks of the whole, and the sample's median there.

    An equality axis that is not yet constant comes first: nothing else tells pairs apart as well.
    """
    dims = root.shape[0]
    size = hi - lo
    m = min(size, SAMPLE)
    best_axis, best_spread, best_width = -1, -1, np.int64(0)
    for axis in range(dims):
        least = greatest = points[lo, axis]
        for i in range(m):
            # an odd stride hops over periodic data; the sample is the same in every run
            value = points[lo + (i * size + (i * 7919) % size) // m, axis]
            least = min(least, value)
            greatest = max(greatest, value)
        if least == greatest:
            continue
        spread = _rank(root[axis], greatest) - _rank(root[axis], least)
        width = np.int64(greatest) - np.int64(least)
        if spread > best_spread or (spread == best_spread and width > best_width):
            best_axis, best_spread, best_width = axis, spread, width
        if axis < n_equal:
            break
    if best_axis < 0:
        best_axis = 0
    for i in range(m):
        taken[i] = points[lo + (i * size + (i * 7919) % size) // m, best_axis]
    ordered = np.sort(taken[:m])
    return best_axis, ordered[m >> 1]


@njit(cache=True, nogil=True)
def split(points: Int32s, span: tuple[Int, Int], n_equal: Int, root: Int32s) -> Int:
    """Where the right half of `points[lo:hi]` begins, after partitioning that range along its widest axis.

    `points` is int32[n, width]; its first `len(root)` columns are coordinates, equality axes first, the others travel
    along. `root` holds a sorted sample of each coordinate, shape [dims, m].
    """
    lo, hi = span
    axis, pivot = _choose(points, lo, hi, n_equal, root, np.empty(SAMPLE, np.int32))
    middle = _partition(points, lo, hi, axis, pivot)
    return min(middle, hi - 1)


@njit(cache=True, nogil=True)
def build(points: Int32s, n_equal: Int, root: Int32s, leaf: Int, nodes: Int32s, first: Int, last: Int) -> Int:
    """The end of the nodes used, after arranging a subtree under node `first`, whose range is already set.

    `nodes` is int32[capacity, 4] with columns LO, HI, LEFT, RIGHT; new nodes are taken from `last` on. Children come
    after their parent. Cost O(n log n), no memory but the table. A full table leaves larger leaves, which are right
    too.
    """
    taken = np.empty(SAMPLE, np.int32)
    stack = [np.int64(first)]
    while len(stack) > 0:
        node = stack.pop()
        lo, hi = np.int64(nodes[node, LO]), np.int64(nodes[node, HI])
        nodes[node, LEFT] = -1
        nodes[node, RIGHT] = -1
        if hi - lo <= leaf or last + 2 > len(nodes):
            continue
        axis, pivot = _choose(points, lo, hi, n_equal, root, taken)
        middle = min(_partition(points, lo, hi, axis, pivot), hi - 1)
        nodes[node, LEFT] = last
        nodes[node, RIGHT] = last + 1
        nodes[last, LO], nodes[last, HI] = lo, middle
        nodes[last + 1, LO], nodes[last + 1, HI] = middle, hi
        stack.append(np.int64(last + 1))
        stack.append(np.int64(last))
        last += 2
    return last


@njit(cache=True, nogil=True)
def enclose(columns: Int32s, nodes: Int32s, boxes: Int32s) -> None:
    """Fill `boxes[node] = (minima, maxima)`, children before parents."""
    dims = columns.shape[0]
    for node in range(len(nodes) - 1, -1, -1):
        left, right = nodes[node, LEFT], nodes[node, RIGHT]
        if left >= 0:
            for axis in range(dims):
                boxes[node, axis] = min(boxes[left, axis], boxes[right, axis])
                boxes[node, dims + axis] = max(boxes[left, dims + axis], boxes[right, dims + axis])
        else:
            lo, hi = nodes[node, LO], nodes[node, HI]
            for axis in range(dims):
                least = greatest = columns[axis, lo]
                for i in range(lo + 1, hi):
                    least = min(least, columns[axis, i])
                    greatest = max(greatest, columns[axis, i])
                boxes[node, axis] = least
                boxes[node, dims + axis] = greatest


@njit(cache=True, nogil=True)
def depth(nodes: Int32s) -> Int:
    """The number of levels of a tree."""
    level = np.zeros(len(nodes), np.int32)
    deepest = np.int32(0)
    for node in range(len(nodes)):
        deepest = max(deepest, level[node])
        if nodes[node, LEFT] >= 0:
            level[nodes[node, LEFT]] = level[node] + 1
            level[nodes[node, RIGHT]] = level[node] + 1
    return np.int64(deepest) + 1
