"""Two k-d trees against each other: box pairs that cannot match are dropped, those that must match are taken whole.

A traversal holds triples (node of s, node of t, open axes). An axis is open while some pair of the two boxes satisfies
its comparison and some pair may not; an impossible axis drops the triple, and a closed one is never looked at again.
With no open axis left the product of the two nodes is certain. Equality axes come first, then order axes (`s < t`),
then difference axes, which need no expansion into `<` and `>` here (Rapidash, section 4.5): they are one more box test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.range_search.kd_tree import HI, LEFT, LO, RIGHT

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

IMPOSSIBLE = -1
LEAST_SWEPT = 1 << 14  # pairs of points from which two open axes are swept instead of descended into
MOST_SWEPT = 1 << 19  # points up to which they are, so the sweep's sorts stay small beside the trees
LAST_BIT = 62  # axes from here on share one bit of the open axes


class Tree(NamedTuple):
    """The arrays of a tree: nodes[., 4], boxes[., 2 * dims], columns[dims, n] and ids[n].

    Points of equal id never pair. No ids at all mean that no point could pair with itself.
    """

    nodes: Int32s
    boxes: Int32s
    columns: Int32s
    ids: Int64s


class Axes(NamedTuple):
    """How many axes there are of each kind, in their order."""

    equal: Int
    order: Int
    differ: Int


@njit(cache=True, nogil=True)
def _bit(axis: Int) -> Int:
    """The bit that stands for an axis."""
    return np.int64(1) << min(axis, LAST_BIT)


@njit(cache=True, nogil=True, inline="always")
def distinct(s: Tree, a: Int, t: Tree, b: Int) -> bool:
    """Whether the points at two positions may pair as far as their ids are concerned."""
    return len(s.ids) == 0 or s.ids[a] != t.ids[b]


@njit(cache=True, nogil=True)
def compare(s_boxes: Int32s, a: Int, t_boxes: Int32s, b: Int, axes: Axes, open_axes: Int) -> Int:
    """The axes still open between box a of s and box b of t, or IMPOSSIBLE."""
    dims = axes.equal + axes.order + axes.differ
    left = np.int64(0)
    for i in range(axes.equal):
        if open_axes & _bit(i):
            if s_boxes[a, i] > t_boxes[b, dims + i] or t_boxes[b, i] > s_boxes[a, dims + i]:
                return IMPOSSIBLE
            if s_boxes[a, i] != s_boxes[a, dims + i] or t_boxes[b, i] != t_boxes[b, dims + i]:
                left |= _bit(i)
    for i in range(axes.equal, axes.equal + axes.order):
        if open_axes & _bit(i):
            if s_boxes[a, i] >= t_boxes[b, dims + i]:
                return IMPOSSIBLE
            if s_boxes[a, dims + i] >= t_boxes[b, i]:
                left |= _bit(i)
    for i in range(axes.equal + axes.order, dims):
        if open_axes & _bit(i) and s_boxes[a, i] <= t_boxes[b, dims + i] and t_boxes[b, i] <= s_boxes[a, dims + i]:
            if s_boxes[a, i] == s_boxes[a, dims + i] and t_boxes[b, i] == t_boxes[b, dims + i]:
                return IMPOSSIBLE
            left |= _bit(i)
    return left


@njit(cache=True, nogil=True)
def reachable(s: Tree, a: Int, t: Tree, b: Int, axes: Axes, open_axes: Int) -> bool:
    """Whether point `a` of s may match something in node b of t."""
    dims = axes.equal + axes.order + axes.differ
    for i in range(axes.equal):
        if open_axes & _bit(i) and (s.columns[i, a] < t.boxes[b, i] or s.columns[i, a] > t.boxes[b, dims + i]):
            return False
    for i in range(axes.equal, axes.equal + axes.order):
        if open_axes & _bit(i) and s.columns[i, a] >= t.boxes[b, dims + i]:
            return False
    return True


@njit(cache=True, nogil=True)
def matches(s: Tree, a: Int, t: Tree, span: tuple[Int, Int], axes: Axes, open_axes: Int, keep: Int32s) -> Int:
    """The number of points of t in `span` that match point `a` of s on the open axes; `keep[j]` marks them."""
    lo, hi = span
    size = hi - lo
    for j in range(size):
        keep[j] = 1
    for i in range(axes.equal):
        if open_axes & _bit(i):
            value, row = s.columns[i, a], t.columns[i, lo:hi]
            for j in range(size):
                keep[j] &= np.int32(value == row[j])
    for i in range(axes.equal, axes.equal + axes.order):
        if open_axes & _bit(i):
            value, row = s.columns[i, a], t.columns[i, lo:hi]
            for j in range(size):
                keep[j] &= np.int32(value < row[j])
    for i in range(axes.equal + axes.order, axes.equal + axes.order + axes.differ):
        if open_axes & _bit(i):
            value, row = s.columns[i, a], t.columns[i, lo:hi]
            for j in range(size):
                keep[j] &= np.int32(value != row[j])
    found = np.int32(0)
    for j in range(size):
        found += keep[j]
    return np.int64(found)


@njit(cache=True, nogil=True)
def descend(s: Tree, t: Tree, axes: Axes, stack: Int64s, top: Int) -> Int:
    """The new top, after replacing the triple just popped from `top` by those of the larger node's halves."""
    a, b, open_axes = stack[top, 0], stack[top, 1], stack[top, 2]
    a_size, b_size = s.nodes[a, HI] - s.nodes[a, LO], t.nodes[b, HI] - t.nodes[b, LO]
    if t.nodes[b, LEFT] < 0 or (s.nodes[a, LEFT] >= 0 and a_size >= b_size):
        for side in (RIGHT, LEFT):
            child = s.nodes[a, side]
            left = compare(s.boxes, child, t.boxes, b, axes, open_axes)
            if left != IMPOSSIBLE:
                stack[top, 0], stack[top, 1], stack[top, 2] = child, b, left
                top += 1
    else:
        for side in (RIGHT, LEFT):
            child = t.nodes[b, side]
            left = compare(s.boxes, a, t.boxes, child, axes, open_axes)
            if left != IMPOSSIBLE:
                stack[top, 0], stack[top, 1], stack[top, 2] = a, child, left
                top += 1
    return top


@njit(cache=True, nogil=True)
def sweepable(s: Tree, a: Int, t: Tree, b: Int, axes: Axes, open_axes: Int) -> tuple[Int, Int]:
    """The one or two order axes (one twice) that are all that is open between nodes worth a sweep, else (-1, -1)."""
    first, second, n_open = -1, -1, 0
    for axis in range(axes.equal + axes.order + axes.differ):
        if open_axes & _bit(axis):
            n_open += 1
            if n_open > 2 or axis < axes.equal or axis >= axes.equal + axes.order:
                return -1, -1
            first, second = (axis, axis) if n_open == 1 else (first, axis)
    s_size, t_size = np.int64(s.nodes[a, HI] - s.nodes[a, LO]), np.int64(t.nodes[b, HI] - t.nodes[b, LO])
    if s_size * t_size < LEAST_SWEPT or s_size + t_size > MOST_SWEPT:
        return -1, -1
    return first, second


@njit(cache=True, nogil=True)
def widen(s: Tree, t: Tree, axes: Axes, tasks: Int64s, n_tasks: Int, sweeps: bool) -> Int:
    """The number of triples after expanding each open, inner one of `tasks[:n_tasks]` once; there is room for twice.

    With `sweeps`, those that would be swept stay whole.
    """
    old = tasks[:n_tasks].copy()
    stack = np.empty((4, 3), np.int64)
    out = 0
    for k in range(n_tasks):
        done = old[k, 2] == 0 or (s.nodes[old[k, 0], LEFT] < 0 and t.nodes[old[k, 1], LEFT] < 0)
        if done or (sweeps and sweepable(s, old[k, 0], t, old[k, 1], axes, old[k, 2])[0] >= 0):
            tasks[out] = old[k]
            out += 1
            continue
        stack[0] = old[k]
        for j in range(descend(s, t, axes, stack, 0)):
            tasks[out] = stack[j]
            out += 1
    return out
