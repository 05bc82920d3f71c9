"""Dominance over two forests of boxes: pairs of boxes are ruled out, taken whole, or split.

A forest has one k-d tree per group. `nodes[i]` is (start, stop, left child or -1), the right child follows the left;
`boxes[i]` holds the least and the greatest value per dimension. Points are rows of a matrix: `k` values to compare by
`<`, then values to compare by `!=`, then the position of the point, then its row for finding self pairs, which is left
out where positions show them. A side t has its values raised by a lag per dimension, so one forest serves `<=` and
`<` on both sides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.dominance.corners import count_below

Matrix = NDArray[np.int32]
Boxes = NDArray[np.int32]  # (nodes, 2, dimensions)
Longs = NDArray[np.int64]
Lag = NDArray[np.int32]
Partners = tuple[Longs, Longs]  # changes from point to point of s, and of t; both empty if nobody asks
Trees = tuple[Matrix, Matrix, Boxes, Lag]  # points, nodes, boxes, what is added to each dimension as side t

RULED_OUT, CERTAIN, OPEN = 0, 1, 2
DESCENDED = 4  # pairs of boxes per point that are looked at before any are swept: all of them where pairs are rare
LEAST_SWEPT = 1 << 14  # pairs of points from which two open orders are swept instead of descended into
MOST_SWEPT = 1 << 19  # points up to which they are, so the sweep's sorts stay small beside the trees


@njit(cache=True, nogil=True)
def _judge(s_box: NDArray[np.int32], t_box: NDArray[np.int32], k: int, lag: Lag) -> int:
    """Whether no pair, every pair, or perhaps some pair between the boxes satisfies all comparisons."""
    verdict = CERTAIN
    for d in range(k):
        if s_box[0, d] >= t_box[1, d] + lag[d]:
            return RULED_OUT
        if s_box[1, d] >= t_box[0, d] + lag[d]:
            verdict = OPEN
    for d in range(k, s_box.shape[1]):
        if s_box[0, d] > t_box[1, d] or s_box[1, d] < t_box[0, d]:
            continue
        if s_box[0, d] == s_box[1, d] and t_box[0, d] == t_box[1, d]:
            return RULED_OUT
        verdict = OPEN
    return verdict


@njit(cache=True, nogil=True, inline="always")
def _below(points: Matrix, i: int, boxes: Boxes, b: int, k: int, lag: Lag) -> bool:
    """Whether point i is below the top corner of box b, without which it has no partner there."""
    held = True
    for d in range(k):
        held &= points[i, d] < boxes[b, 1, d] + lag[d]
    return held


@njit(cache=True, nogil=True, inline="always")
def _matches(s_points: Matrix, i: int, t_points: Matrix, j: int, k: int, lag: Lag) -> bool:
    """Whether all comparisons hold between point i of s and point j of t, which may be the same row."""
    held = True
    for d in range(k):
        held &= s_points[i, d] < t_points[j, d] + lag[d]
    for d in range(k, len(lag)):
        held &= s_points[i, d] != t_points[j, d]
    return held


@njit(cache=True, nogil=True)
def _split(s_nodes: Matrix, t_nodes: Matrix, a: int, b: int, stack: Matrix, top: int) -> int:
    """Pushes the halves of the larger node that can be split, with the other; the new top. Not for two leaves."""
    s_size = s_nodes[a, 1] - s_nodes[a, 0]
    t_size = t_nodes[b, 1] - t_nodes[b, 0]
    if t_nodes[b, 2] < 0 or (s_nodes[a, 2] >= 0 and s_size >= t_size):
        stack[top, 0], stack[top, 1] = s_nodes[a, 2], b
        stack[top + 1, 0], stack[top + 1, 1] = s_nodes[a, 2] + 1, b
    else:
        stack[top, 0], stack[top, 1] = a, t_nodes[b, 2]
        stack[top + 1, 0], stack[top + 1, 1] = a, t_nodes[b, 2] + 1
    return top + 2


@njit(cache=True, nogil=True)
def _open_orders(s_box: NDArray[np.int32], t_box: NDArray[np.int32], k: int, lag: Lag) -> tuple[int, int]:
    """The one or two orders (one twice) that are all that is open between boxes that are not ruled out, or (-1, -1)."""
    first, second = -1, -1
    for d in range(k):
        if s_box[1, d] >= t_box[0, d] + lag[d]:
            if second != first:
                return -1, -1
            first, second = (d, d) if first < 0 else (first, d)
    for d in range(k, s_box.shape[1]):
        if s_box[0, d] <= t_box[1, d] and s_box[1, d] >= t_box[0, d]:
            return -1, -1
    return first, second


@njit(cache=True, nogil=True)
def _swept(
    s: Trees, s_span: tuple[int, int], t: Trees, t_span: tuple[int, int], axes: tuple[int, int], partners: Partners
) -> int:
    """The number of pairs between two ranges of points by two orders alone; adds to `partners` as `count_partners`."""
    s_points, t_points, lag = s[0], t[0], t[3]
    s_start, s_stop = s_span
    t_start, t_stop = t_span
    x, y = axes
    sx, sy = s_points[s_start:s_stop, x].copy(), s_points[s_start:s_stop, y].copy()
    tx, ty = t_points[t_start:t_stop, x] + lag[x], t_points[t_start:t_stop, y] + lag[y]
    found = np.empty(t_stop - t_start, np.int64)
    total = count_below(sx, sy, tx, ty, x == y, found)
    if len(partners[0]) > 0:
        for j in range(len(found)):
            partners[1][t_start + j] += found[j]
            partners[1][t_start + j + 1] -= found[j]
        found = np.empty(s_stop - s_start, np.int64)
        count_below(~tx, ~ty, ~sx, ~sy, x == y, found)  # as seen from s; ~x falls where x rises, and cannot overflow
        for i in range(len(found)):
            partners[0][s_start + i] += found[i]
            partners[0][s_start + i + 1] -= found[i]
    return int(total)


@njit(cache=True, nogil=True)
def find_pair(
    s: Trees,
    t: Trees,
    roots: Matrix,
    k: int,
    stop: NDArray[np.uint8],
) -> tuple[int, int]:
    """Positions of some pair, or (-1, -1). `roots` has a row (node of s, node of t) for each pair of trees.

    Once a pair is found `stop[0]` is set, and other threads that were given the same array end too.
    """
    s_points, s_nodes, s_boxes, _ = s
    t_points, t_nodes, t_boxes, lag = t
    stack = np.empty((256, 2), np.int32)
    place = len(lag)
    for r in range(len(roots)):
        if stop[0]:
            return -1, -1
        stack[0, 0], stack[0, 1] = roots[r, 0], roots[r, 1]
        top = 1
        while top:
            top -= 1
            a, b = stack[top, 0], stack[top, 1]
            verdict = _judge(s_boxes[a], t_boxes[b], k, lag)
            if verdict == RULED_OUT:
                continue
            if verdict == CERTAIN or (s_nodes[a, 2] < 0 and t_nodes[b, 2] < 0):
                for i in range(s_nodes[a, 0], s_nodes[a, 1]):
                    if not _below(s_points, i, t_boxes, b, k, lag):
                        continue
                    for j in range(t_nodes[b, 0], t_nodes[b, 1]):
                        if _matches(s_points, i, t_points, j, k, lag) and s_points[i, -1] != t_points[j, -1]:
                            stop[0] = 1
                            return s_points[i, place], t_points[j, place]
            else:
                top = _split(s_nodes, t_nodes, a, b, stack, top)
    return -1, -1


@njit(cache=True, nogil=True)
def count_partners(
    s: Trees,
    t: Trees,
    roots: Matrix,
    k: int,
    partners: Partners,
    patience: int,
) -> int:
    """The number of pairs; the partners per point are added to `partners` unless these arrays are empty.

    They are in the order of the forests and as differences: `cumsum` gives the numbers. Gives up, and returns -1, after
    looking at more than `patience` pairs of boxes, of which a point that is swept costs one.

    A box pair that is certain is taken whole, self pairs included: the caller takes those off. The arrays of
    `partners` are one longer than the sides. Once many boxes were looked at, large ones with at most two open orders
    are swept, so that k orders cost O(n log^(k-1) n) in linear space.
    """
    s_points, s_nodes, s_boxes, _ = s
    t_points, t_nodes, t_boxes, lag = t
    s_partners, t_partners = partners
    per_point = len(s_partners) > 0
    swept_from = patience - DESCENDED * (len(s_points) + len(t_points))
    total = 0
    stack = np.empty((256, 2), np.int32)
    for r in range(len(roots)):
        stack[0, 0], stack[0, 1] = roots[r, 0], roots[r, 1]
        top = 1
        while top:
            top -= 1
            a, b = stack[top, 0], stack[top, 1]
            patience -= 1
            if patience < 0:
                return -1
            verdict = _judge(s_boxes[a], t_boxes[b], k, lag)
            if verdict == RULED_OUT:
                continue
            s_start, s_stop = int(s_nodes[a, 0]), int(s_nodes[a, 1])
            t_start, t_stop = int(t_nodes[b, 0]), int(t_nodes[b, 1])
            if verdict == CERTAIN:
                total += (s_stop - s_start) * (t_stop - t_start)
                if per_point:
                    s_partners[s_start] += t_stop - t_start
                    s_partners[s_stop] -= t_stop - t_start
                    t_partners[t_start] += s_stop - s_start
                    t_partners[t_stop] -= s_stop - s_start
            elif s_nodes[a, 2] < 0 and t_nodes[b, 2] < 0:
                for i in range(s_start, s_stop):
                    if not _below(s_points, i, t_boxes, b, k, lag):
                        continue
                    for j in range(t_start, t_stop):
                        held = _matches(s_points, i, t_points, j, k, lag)
                        total += int(held)
                        if held and per_point:
                            s_partners[i] += 1
                            s_partners[i + 1] -= 1
                            t_partners[j] += 1
                            t_partners[j + 1] -= 1
            else:
                x, y = -1, -1
                s_size, t_size = s_stop - s_start, t_stop - t_start
                if patience < swept_from and s_size * t_size >= LEAST_SWEPT and s_size + t_size <= MOST_SWEPT:
                    x, y = _open_orders(s_boxes[a], t_boxes[b], k, lag)
                if x >= 0:
                    patience -= s_size + t_size
                    total += _swept(s, (s_start, s_stop), t, (t_start, t_stop), (x, y), partners)
                else:
                    top = _split(s_nodes, t_nodes, a, b, stack, top)
    return total


@njit(cache=True, nogil=True)
def share_out(s: Trees, t: Trees, roots: Matrix, k: int, tasks: Matrix) -> int:
    """Splits pairs of trees that may hold pairs until `tasks` (room, 2) is nearly full; how many there are then."""
    _, s_nodes, s_boxes, _ = s
    _, t_nodes, t_boxes, lag = t
    total = 0
    for r in range(min(len(roots), len(tasks))):
        tasks[r, 0], tasks[r, 1] = roots[r, 0], roots[r, 1]
        total += 1
    start = 0
    while start < total and total + 2 <= len(tasks):
        stop = total
        for r in range(start, stop):
            a, b = tasks[r, 0], tasks[r, 1]
            verdict = _judge(s_boxes[a], t_boxes[b], k, lag)
            if verdict == RULED_OUT:
                tasks[r, 0] = -1
            elif verdict == OPEN and (s_nodes[a, 2] >= 0 or t_nodes[b, 2] >= 0) and total + 2 <= len(tasks):
                total = _split(s_nodes, t_nodes, a, b, tasks, total)
                tasks[r, 0] = -1
        start = stop
    kept = 0
    for r in range(total):
        if tasks[r, 0] >= 0:
            tasks[kept, 0], tasks[kept, 1] = tasks[r, 0], tasks[r, 1]
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def list_pairs(
    s: Trees,
    t: Trees,
    roots: Matrix,
    k: int,
    state: Longs,
    stack: Matrix,
    found: Longs,
) -> int:
    """Fills `found` (2, room) with positions of the next pairs and returns how many; fewer than room at the end.

    `state` starts as zeros: next root, top of `stack`, whether a box pair is being listed, that pair (a, b), and the
    next points (i, j) of it.
    """
    s_points, s_nodes, s_boxes, _ = s
    t_points, t_nodes, t_boxes, lag = t
    place = len(lag)
    filled, room = 0, found.shape[1]
    while True:
        if state[2]:
            a, b = state[3], state[4]
            s_stop, t_start, t_stop = s_nodes[a, 1], t_nodes[b, 0], t_nodes[b, 1]
            i, j = state[5], state[6]
            while i < s_stop:
                if j == t_start and not _below(s_points, i, t_boxes, b, k, lag):
                    i += 1
                    continue
                while j < t_stop:
                    if _matches(s_points, i, t_points, j, k, lag) and s_points[i, -1] != t_points[j, -1]:
                        if filled == room:
                            state[5], state[6] = i, j
                            return filled
                        found[0, filled], found[1, filled] = s_points[i, place], t_points[j, place]
                        filled += 1
                    j += 1
                i += 1
                j = t_start
            state[2] = 0
        if state[1] == 0:
            if state[0] == len(roots):
                return filled
            stack[0, 0], stack[0, 1] = roots[state[0], 0], roots[state[0], 1]
            state[0] += 1
            state[1] = 1
        state[1] -= 1
        a, b = stack[state[1], 0], stack[state[1], 1]
        verdict = _judge(s_boxes[a], t_boxes[b], k, lag)
        if verdict == RULED_OUT:
            continue
        if verdict == CERTAIN or (s_nodes[a, 2] < 0 and t_nodes[b, 2] < 0):
            state[2], state[3], state[4] = 1, a, b
            state[5], state[6] = s_nodes[a, 0], t_nodes[b, 0]
        else:
            state[1] = _split(s_nodes, t_nodes, a, b, stack, state[1])
