"""Bulk loading of a static k-d tree: points are put in place, each node is a range of them with a tight box.

Rapidash (section 4.2 and table 2) names the k-d tree as its linear-space index. Built by insertion it degenerates on
sorted input; here every node is halved at the median of a sample, whatever the order of arrival. The partition is
Hoare's, which deals equal keys to both sides, so constant columns are halved as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

SAMPLE = 48  # points looked at to choose a node's axis and pivot
SLABS = 8  # pieces a sample is cut into to see what cuts along an axis would tell apart
STUDIED = 192  # points from which a node is worth that look
LO, HI, LEFT, RIGHT = 0, 1, 2, 3  # columns of the node table; LEFT is -1 for a leaf

Kinds = tuple[int, int]
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
def _open_slabs(taken: Int32s, by: Int, kinds: Kinds) -> Int:
    """How many ordered pairs of slabs could hold a match, if the node were cut into SLABS slabs along axis `by`.

    Half of all pairs remain when the other order axes know nothing of this one. Fewer remain when one of them falls
    where this one rises, as in most rules that hold, and then cuts along this axis are the ones that pay.
    """
    dims = taken.shape[1]
    order = np.argsort(taken[:, by])
    thick = len(taken) // SLABS
    low = np.empty((SLABS, dims), np.int32)
    high = np.empty((SLABS, dims), np.int32)
    for slab in range(SLABS):
        low[slab] = taken[order[slab * thick]]
        high[slab] = low[slab]
        for i in range(slab * thick + 1, (slab + 1) * thick):
            for axis in range(dims):
                low[slab, axis] = min(low[slab, axis], taken[order[i], axis])
                high[slab, axis] = max(high[slab, axis], taken[order[i], axis])
    remaining = 0
    for a in range(SLABS):
        for b in range(SLABS):
            possible = True
            for axis in range(kinds[0], kinds[0] + kinds[1]):
                if low[a, axis] >= high[b, axis]:
                    possible = False
                    break
            remaining += possible
    return remaining


@njit(cache=True, nogil=True)
def _choose(points: Int32s, lo: Int, hi: Int, kinds: Kinds, root: Int32s, taken: Int32s) -> tuple[Int, Int]:
    """The axis to cut a node along, and the median of a sample there.

    An equality axis that is not yet constant comes first: nothing else tells pairs apart as well. Then, in large nodes,
    the order axis along which the fewest slabs stay open. Otherwise, and among equals, the axis along which the node
    spreads widest, in ranks of the whole.
    """
    dims = root.shape[0]
    size = hi - lo
    m = min(size, SAMPLE)
    for i in range(m):
        row = lo + (i * size + (i * 7919) % size) // m  # hops over periodic data, and the same in every run
        for axis in range(dims):
            taken[i, axis] = points[row, axis]
    studied = size >= STUDIED and kinds[1] > 1
    best_axis, best_open, best_spread, best_width = 0, SLABS * SLABS + 1, -1, np.int64(0)
    for axis in range(dims):
        least, greatest = taken[:m, axis].min(), taken[:m, axis].max()
        if least == greatest:
            continue
        if axis < kinds[0]:
            best_axis = axis
            break
        remaining = SLABS * SLABS
        if studied and axis < kinds[0] + kinds[1]:
            remaining = _open_slabs(taken, axis, kinds)
        spread = _rank(root[axis], greatest) - _rank(root[axis], least)
        width = np.int64(greatest) - np.int64(least)
        clearly = remaining < best_open - SLABS // 2
        nearly = remaining <= best_open + SLABS // 2
        if clearly or (nearly and (spread > best_spread or (spread == best_spread and width > best_width))):
            best_axis, best_open, best_spread, best_width = axis, remaining, spread, width
    return best_axis, np.sort(taken[:m, best_axis])[m >> 1]


@njit(cache=True, nogil=True)
def split(points: Int32s, span: tuple[Int, Int], kinds: Kinds, root: Int32s) -> Int:
    """Where the right half of `points[lo:hi]` begins, after partitioning that range along its widest axis.

    `points` is int32[n, width]; its first `len(root)` columns are coordinates, the others travel along. `kinds` says
    how many of them are equality axes, which come first, and order axes, which follow. `root` holds a sorted sample of
    each coordinate, shape [dims, m].
    """
    lo, hi = span
    axis, pivot = _choose(points, lo, hi, kinds, root, np.empty((SAMPLE, root.shape[0]), np.int32))
    middle = _partition(points, lo, hi, axis, pivot)
    return min(middle, hi - 1)


@njit(cache=True, nogil=True)
def build(points: Int32s, kinds: Kinds, root: Int32s, leaf: Int, nodes: Int32s, first: Int, last: Int) -> Int:
    """The end of the nodes used, after arranging a subtree under node `first`, whose range is already set.

    `nodes` is int32[capacity, 4] with columns LO, HI, LEFT, RIGHT; new nodes are taken from `last` on. Children come
    after their parent. Cost O(n log n), no memory but the table. A full table leaves larger leaves, which are right
    too.
    """
    taken = np.empty((SAMPLE, root.shape[0]), np.int32)
    stack = [np.int64(first)]
    while len(stack) > 0:
        node = stack.pop()
        lo, hi = np.int64(nodes[node, LO]), np.int64(nodes[node, HI])
        nodes[node, LEFT] = -1
        nodes[node, RIGHT] = -1
        if hi - lo <= leaf or last + 2 > len(nodes):
            continue
        axis, pivot = _choose(points, lo, hi, kinds, root, taken)
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
