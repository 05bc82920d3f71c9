"""Two k-d trees against each other: box pairs that cannot match are dropped, those that must match are taken whole.

A traversal holds triples (node of s, node of t, open axes). An axis is open while some pair of the two boxes satisfies
its comparison and some pair may not; an impossible axis drops the triple, and a closed one is never looked at again.
With no open axis left the product of the two nodes is certain. Equality axes come first, then order axes (`s < t`),
then difference axes, which need no expansion into `<` and `>` here (Rapidash, section 4.5): they are one more box test.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from refute.kernels.corner_counts import count_below
from refute.kernels.kd_tree import HI, LEFT, LO, RIGHT

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

IMPOSSIBLE = -1
LEAST_SWEPT = 1 << 14  # pairs of points from which two open axes are swept instead of descended into
MOST_SWEPT = 1 << 19  # points up to which they are, so that the sweep's sorts stay small beside the trees
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
def _distinct(s: Tree, a: Int, t: Tree, b: Int) -> bool:
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
def _reachable(s: Tree, a: Int, t: Tree, b: Int, axes: Axes, open_axes: Int) -> bool:
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
def _matches(s: Tree, a: Int, t: Tree, span: tuple[Int, Int], axes: Axes, open_axes: Int, keep: Int32s) -> Int:
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
def _descend(s: Tree, t: Tree, axes: Axes, stack: Int64s, top: Int) -> Int:
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
        for j in range(_descend(s, t, axes, stack, 0)):
            tasks[out] = stack[j]
            out += 1
    return out


@njit(cache=True, nogil=True)
def exists(s: Tree, t: Tree, axes: Axes, task: Int64s, stack: Int64s, keep: Int32s, found: Int64s) -> None:
    """Set `found` to (1, position in s, position in t) of a match with different ids under `task`, if there is one.

    Stops as soon as `found[0]` is set, by this call or by another thread's. `stack` has room for the depth of both
    trees; `keep` for the largest leaf of t.
    """
    stack[0] = task
    top = 1
    while top > 0 and found[0] == 0:
        top -= 1
        a, b, open_axes = stack[top, 0], stack[top, 1], stack[top, 2]
        inner = s.nodes[a, LEFT] >= 0 or t.nodes[b, LEFT] >= 0
        if inner and open_axes != 0:
            top = _descend(s, t, axes, stack, top)
            continue
        lo, hi = np.int64(t.nodes[b, LO]), np.int64(t.nodes[b, HI])
        if open_axes == 0:  # every pair matches, and two points of t cannot both have the id of the one of s
            hi = min(hi, lo + 2)
        for i in range(s.nodes[a, LO], s.nodes[a, HI]):
            if not _reachable(s, i, t, b, axes, open_axes):
                continue
            if _matches(s, i, t, (lo, hi), axes, open_axes, keep) == 0:
                continue
            for j in range(lo, hi):
                if keep[j - lo] and _distinct(s, i, t, j):
                    found[1], found[2] = i, j
                    found[0] = 1
                    return


@njit(cache=True, nogil=True)
def count(s: Tree, t: Tree, axes: Axes, task: Int64s, stack: Int64s, keep: Int32s) -> Int:
    """The number of matching pairs under `task`, those with equal ids included.

    Pairs of nodes with all axes open are few, a constant number for each node; those with at most two open axes are
    swept. Between them lie axes - 2 levels of nested descent: O(n log^(k-1) n) on order axes, in linear space.
    """
    total = np.int64(0)
    stack[0] = task
    top = 1
    while top > 0:
        top -= 1
        a, b, open_axes = stack[top, 0], stack[top, 1], stack[top, 2]
        lo, hi = np.int64(t.nodes[b, LO]), np.int64(t.nodes[b, HI])
        first, second = sweepable(s, a, t, b, axes, open_axes)
        if open_axes == 0:
            total += (s.nodes[a, HI] - s.nodes[a, LO]) * (hi - lo)
        elif first >= 0:
            s_span = slice(s.nodes[a, LO], s.nodes[a, HI])
            found = np.empty(hi - lo, np.int64)
            total += count_below(
                s.columns[first, s_span],
                s.columns[second, s_span],
                t.columns[first, lo:hi],
                t.columns[second, lo:hi],
                found,
            )
        elif s.nodes[a, LEFT] >= 0 or t.nodes[b, LEFT] >= 0:
            top = _descend(s, t, axes, stack, top)
        else:
            for i in range(s.nodes[a, LO], s.nodes[a, HI]):
                if _reachable(s, i, t, b, axes, open_axes):
                    total += _matches(s, i, t, (lo, hi), axes, open_axes, keep)
    return total


@njit(cache=True, nogil=True)
def partners(s: Tree, t: Tree, axes: Axes, task: Int64s, stack: Int64s, keep: Int32s, sums: tuple[Int64s, ...]) -> None:
    """Add each point's number of partners under `task` to `sums`: (s nodes, s points, t nodes, t points).

    A certain pair of nodes is noted at the nodes only; `spread` hands it down to the points at the end.
    """
    s_nodes, s_points, t_nodes, t_points = sums
    stack[0] = task
    top = 1
    while top > 0:
        top -= 1
        a, b, open_axes = stack[top, 0], stack[top, 1], stack[top, 2]
        lo, hi = np.int64(t.nodes[b, LO]), np.int64(t.nodes[b, HI])
        first, second = sweepable(s, a, t, b, axes, open_axes)
        if open_axes == 0:
            s_nodes[a] += hi - lo
            t_nodes[b] += s.nodes[a, HI] - s.nodes[a, LO]
        elif first >= 0:
            s_span = slice(s.nodes[a, LO], s.nodes[a, HI])
            sx, sy = s.columns[first, s_span], s.columns[second, s_span]
            tx, ty = t.columns[first, lo:hi], t.columns[second, lo:hi]
            found = np.empty(hi - lo, np.int64)
            count_below(sx, sy, tx, ty, found)
            t_points[lo:hi] += found
            found = np.empty(len(sx), np.int64)
            count_below(~tx, ~ty, ~sx, ~sy, found)  # as seen from s; ~x falls where x rises, and cannot overflow
            s_points[s_span] += found
        elif s.nodes[a, LEFT] >= 0 or t.nodes[b, LEFT] >= 0:
            top = _descend(s, t, axes, stack, top)
        else:
            for i in range(s.nodes[a, LO], s.nodes[a, HI]):
                if _reachable(s, i, t, b, axes, open_axes):
                    s_points[i] += _matches(s, i, t, (lo, hi), axes, open_axes, keep)
                    for j in range(lo, hi):
                        t_points[j] += keep[j - lo]


@njit(cache=True, nogil=True)
def spread(nodes: Int32s, node_sums: Int64s, point_sums: Int64s) -> None:
    """Add the sums noted at nodes to the points below them; parents stand before their children."""
    for node in range(len(nodes)):
        if nodes[node, LEFT] >= 0:
            node_sums[nodes[node, LEFT]] += node_sums[node]
            node_sums[nodes[node, RIGHT]] += node_sums[node]
        else:
            for i in range(nodes[node, LO], nodes[node, HI]):
                point_sums[i] += node_sums[node]


@njit(cache=True, nogil=True)
def pairs(s: Tree, t: Tree, axes: Axes, stack: Int64s, state: Int64s, keep: Int32s, out: Int64s) -> Int:
    """The number of pairs of positions written to `out[2, capacity]`; call again with the same state for the next ones.

    `state` is (top of the stack, next point of s in the pair of nodes at the top, next point of t). The traversal has
    ended when the top is 0. Memory is the stack; a pair of nodes may be left and resumed at any pair of points.
    """
    capacity = out.shape[1]
    filled = 0
    top = state[0]
    while top > 0:
        a, b, open_axes = stack[top - 1, 0], stack[top - 1, 1], stack[top - 1, 2]
        if open_axes != 0 and (s.nodes[a, LEFT] >= 0 or t.nodes[b, LEFT] >= 0):
            top = _descend(s, t, axes, stack, top - 1)
            continue
        i, j = max(state[1], np.int64(s.nodes[a, LO])), max(state[2], np.int64(t.nodes[b, LO]))
        end = np.int64(t.nodes[b, HI])
        while i < s.nodes[a, HI]:
            if _reachable(s, i, t, b, axes, open_axes):
                while j < end:
                    stop = min(end, j + len(keep))
                    if filled + stop - j > capacity:
                        state[0], state[1], state[2] = top, i, j
                        return filled
                    if _matches(s, i, t, (j, stop), axes, open_axes, keep) > 0:
                        for c in range(j, stop):
                            if keep[c - j] and _distinct(s, i, t, c):
                                out[0, filled], out[1, filled] = i, c
                                filled += 1
                    j = stop
            i += 1
            j = np.int64(t.nodes[b, LO])
        state[1], state[2] = 0, 0
        top -= 1
    state[0] = 0
    return filled
