"""Dominance over two forests of boxes: pairs of boxes are ruled out, taken whole, or split.

A forest has one k-d tree per group. `nodes[i]` is (start, stop, left child or -1), the right child follows the left;
`boxes[i]` holds the least and the greatest value per dimension. Points are rows of a matrix: `k` values to compare by
`<`, then values to compare by `!=`, then the position of the point, then its row for telling self pairs.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Matrix = NDArray[np.int32]
Boxes = NDArray[np.int32]  # (nodes, 2, dimensions)
Longs = NDArray[np.int64]

RULED_OUT, CERTAIN, OPEN = 0, 1, 2
EXTRA = 2  # columns of a matrix that are no dimensions: position and row


def build_forest(points: Matrix, starts: Longs, leaf: int) -> tuple[Matrix, Boxes, NDArray[np.int32]]:
    """The nodes, boxes and root per group (-1 for none) over `points`, which are reordered in place.

    `starts` bounds the groups. O(n log n) time; a leaf holds at most `leaf` points.
    """
    sizes = np.diff(starts)
    room = int(np.sum(4 * (sizes // (leaf + 1)) + 3))  # a node that is split leaves at least half a leaf each side
    nodes = np.empty((room, 3), np.int32)
    boxes = np.empty((room, 2, points.shape[1] - EXTRA), np.int32)
    roots = np.empty(len(sizes), np.int32)
    total = _grow(points, starts, leaf, nodes, boxes, roots)
    return nodes[:total], boxes[:total], roots


@njit(cache=True, nogil=True)
def _grow(points: Matrix, starts: Longs, leaf: int, nodes: Matrix, boxes: Boxes, roots: NDArray[np.int32]) -> int:
    dims = boxes.shape[2]
    total = 0
    stack = np.empty(128, np.int64)
    for group in range(len(roots)):
        if starts[group] == starts[group + 1]:
            roots[group] = -1
            continue
        roots[group] = total
        nodes[total, 0], nodes[total, 1] = starts[group], starts[group + 1]
        stack[0] = total
        total += 1
        top = 1
        while top:
            top -= 1
            node = stack[top]
            start, stop = nodes[node, 0], nodes[node, 1]
            for d in range(dims):
                low = high = points[start, d]
                for i in range(start + 1, stop):
                    low = min(low, points[i, d])
                    high = max(high, points[i, d])
                boxes[node, 0, d], boxes[node, 1, d] = low, high
            nodes[node, 2] = -1
            widest, width = 0, np.int64(0)
            for d in range(dims):
                here = np.int64(boxes[node, 1, d]) - np.int64(boxes[node, 0, d])
                if here > width:
                    widest, width = d, here
            if stop - start <= leaf or width == 0:
                continue
            middle = (start + stop) // 2
            _select(points, start, stop, middle, widest)
            nodes[node, 2] = total
            nodes[total, 0], nodes[total, 1] = start, middle
            nodes[total + 1, 0], nodes[total + 1, 1] = middle, stop
            stack[top], stack[top + 1] = total, total + 1
            top += 2
            total += 2
    return total


@njit(cache=True, nogil=True)
def _select(points: Matrix, start: int, stop: int, middle: int, d: int) -> None:
    """Rows `[start, middle)` get values of dimension d no greater than those of `[middle, stop)`. Expected O(n)."""
    columns = points.shape[1]
    low, high = start, stop - 1
    while low < high:
        a, b, c = points[low, d], points[(low + high) >> 1, d], points[high, d]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while points[i, d] < pivot:
                i += 1
            while points[j, d] > pivot:
                j -= 1
            if i <= j:
                for column in range(columns):
                    points[i, column], points[j, column] = points[j, column], points[i, column]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True)
def _judge(s_box: NDArray[np.int32], t_box: NDArray[np.int32], k: int) -> int:
    """Whether no pair, every pair, or perhaps some pair between the boxes satisfies all comparisons."""
    verdict = CERTAIN
    for d in range(k):
        if s_box[0, d] >= t_box[1, d]:
            return RULED_OUT
        if s_box[1, d] >= t_box[0, d]:
            verdict = OPEN
    for d in range(k, s_box.shape[1]):
        if s_box[0, d] > t_box[1, d] or s_box[1, d] < t_box[0, d]:
            continue
        if s_box[0, d] == s_box[1, d] and t_box[0, d] == t_box[1, d]:
            return RULED_OUT
        verdict = OPEN
    return verdict


@njit(cache=True, nogil=True)
def _matches(s: NDArray[np.int32], t: NDArray[np.int32], k: int) -> bool:
    for d in range(k):
        if s[d] >= t[d]:
            return False
    last = len(s) - 1
    for d in range(k, last - 1):
        if s[d] == t[d]:
            return False
    return s[last] != t[last]


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
def find_pair(
    s_points: Matrix,
    s_nodes: Matrix,
    s_boxes: Boxes,
    t_points: Matrix,
    t_nodes: Matrix,
    t_boxes: Boxes,
    roots: Matrix,
    k: int,
) -> tuple[int, int]:
    """Positions of some pair, or (-1, -1). `roots` has a row (root of s, root of t) per group."""
    stack = np.empty((256, 2), np.int32)
    place = s_points.shape[1] - 2
    for r in range(len(roots)):
        stack[0, 0], stack[0, 1] = roots[r, 0], roots[r, 1]
        top = 1
        while top:
            top -= 1
            a, b = stack[top, 0], stack[top, 1]
            verdict = _judge(s_boxes[a], t_boxes[b], k)
            if verdict == RULED_OUT:
                continue
            if verdict == CERTAIN or (s_nodes[a, 2] < 0 and t_nodes[b, 2] < 0):
                for i in range(s_nodes[a, 0], s_nodes[a, 1]):
                    for j in range(t_nodes[b, 0], t_nodes[b, 1]):
                        if _matches(s_points[i], t_points[j], k):
                            return s_points[i, place], t_points[j, place]
            else:
                top = _split(s_nodes, t_nodes, a, b, stack, top)
    return -1, -1


@njit(cache=True, nogil=True)
def count_partners(
    s_points: Matrix,
    s_nodes: Matrix,
    s_boxes: Boxes,
    t_points: Matrix,
    t_nodes: Matrix,
    t_boxes: Boxes,
    roots: Matrix,
    k: int,
    partners: tuple[Longs, Longs],
) -> None:
    """Adds the partners per point, in the order of the forests and as differences: `cumsum` gives the numbers.

    A box pair that is certain is taken whole, self pairs included: the caller takes those off. The arrays of
    `partners` are one longer than the sides.
    """
    s_partners, t_partners = partners
    stack = np.empty((256, 2), np.int32)
    dims = s_boxes.shape[2]
    for r in range(len(roots)):
        stack[0, 0], stack[0, 1] = roots[r, 0], roots[r, 1]
        top = 1
        while top:
            top -= 1
            a, b = stack[top, 0], stack[top, 1]
            verdict = _judge(s_boxes[a], t_boxes[b], k)
            if verdict == RULED_OUT:
                continue
            s_start, s_stop, t_start, t_stop = s_nodes[a, 0], s_nodes[a, 1], t_nodes[b, 0], t_nodes[b, 1]
            if verdict == CERTAIN:
                s_partners[s_start] += t_stop - t_start
                s_partners[s_stop] -= t_stop - t_start
                t_partners[t_start] += s_stop - s_start
                t_partners[t_stop] -= s_stop - s_start
            elif s_nodes[a, 2] < 0 and t_nodes[b, 2] < 0:
                for i in range(s_start, s_stop):
                    for j in range(t_start, t_stop):
                        held = True
                        for d in range(k):
                            held &= s_points[i, d] < t_points[j, d]
                        for d in range(k, dims):
                            held &= s_points[i, d] != t_points[j, d]
                        if held:
                            s_partners[i] += 1
                            s_partners[i + 1] -= 1
                            t_partners[j] += 1
                            t_partners[j + 1] -= 1
            else:
                top = _split(s_nodes, t_nodes, a, b, stack, top)


@njit(cache=True, nogil=True)
def list_pairs(
    s_points: Matrix,
    s_nodes: Matrix,
    s_boxes: Boxes,
    t_points: Matrix,
    t_nodes: Matrix,
    t_boxes: Boxes,
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
    place = s_points.shape[1] - 2
    filled, room = 0, found.shape[1]
    while True:
        if state[2]:
            a, b = state[3], state[4]
            s_stop, t_start, t_stop = s_nodes[a, 1], t_nodes[b, 0], t_nodes[b, 1]
            i, j = state[5], state[6]
            while i < s_stop:
                while j < t_stop:
                    if _matches(s_points[i], t_points[j], k):
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
        verdict = _judge(s_boxes[a], t_boxes[b], k)
        if verdict == RULED_OUT:
            continue
        if verdict == CERTAIN or (s_nodes[a, 2] < 0 and t_nodes[b, 2] < 0):
            state[2], state[3], state[4] = 1, a, b
            state[5], state[6] = s_nodes[a, 0], t_nodes[b, 0]
        else:
            state[1] = _split(s_nodes, t_nodes, a, b, stack, state[1])
