"""Traversals of two k-d trees at once: the first match, the number of matches, partners, and a listing of matches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.dominance.corners import count_below
from refute.kernels.dominance.pairs import Axes, Tree, descend, distinct, matches, reachable, sweepable
from refute.kernels.range_search.kd_tree import HI, LEFT, LO, RIGHT

Int = Any  # an integer scalar of whatever width Numba infers
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


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
            top = descend(s, t, axes, stack, top)
            continue
        lo, hi = np.int64(t.nodes[b, LO]), np.int64(t.nodes[b, HI])
        if open_axes == 0:  # every pair matches, and two points of t cannot both have the id of the one of s
            hi = min(hi, lo + 2)
        for i in range(s.nodes[a, LO], s.nodes[a, HI]):
            if not reachable(s, i, t, b, axes, open_axes):
                continue
            if matches(s, i, t, (lo, hi), axes, open_axes, keep) == 0:
                continue
            for j in range(lo, hi):
                if keep[j - lo] and distinct(s, i, t, j):
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
            top = descend(s, t, axes, stack, top)
        else:
            for i in range(s.nodes[a, LO], s.nodes[a, HI]):
                if reachable(s, i, t, b, axes, open_axes):
                    total += matches(s, i, t, (lo, hi), axes, open_axes, keep)
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
            top = descend(s, t, axes, stack, top)
        else:
            for i in range(s.nodes[a, LO], s.nodes[a, HI]):
                if reachable(s, i, t, b, axes, open_axes):
                    s_points[i] += matches(s, i, t, (lo, hi), axes, open_axes, keep)
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
            top = descend(s, t, axes, stack, top - 1)
            continue
        i, j = max(state[1], np.int64(s.nodes[a, LO])), max(state[2], np.int64(t.nodes[b, LO]))
        end = np.int64(t.nodes[b, HI])
        while i < s.nodes[a, HI]:
            if reachable(s, i, t, b, axes, open_axes):
                while j < end:
                    stop = min(end, j + len(keep))
                    if filled + stop - j > capacity:
                        state[0], state[1], state[2] = top, i, j
                        return filled
                    if matches(s, i, t, (j, stop), axes, open_axes, keep) > 0:
                        for c in range(j, stop):
                            if keep[c - j] and distinct(s, i, t, c):
                                out[0, filled], out[1, filled] = i, c
                                filled += 1
                    j = stop
            i += 1
            j = np.int64(t.nodes[b, LO])
        state[1], state[2] = 0, 0
        top -= 1
    state[0] = 0
    return filled
