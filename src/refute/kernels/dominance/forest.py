"""Forests of boxes over points: one k-d tree per group, built in linear time from points in Morton order.

`nodes[i]` is (start, stop, left child or -1), the right child follows the left; `boxes[i]` holds the least and the
greatest value per dimension. Points are rows of a matrix, dimensions first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.runtime.arrays import empty

Matrix = NDArray[np.int32]
Boxes = NDArray[np.int32]  # (nodes, 2, dimensions)
Longs = NDArray[np.int64]
BitTables = tuple[Longs, int]

MORTON_BITS = 62


def bit_tables(sizes: list[int], leading: int | None = None) -> BitTables:
    """For each dimension and byte of its values, the bits of a code that sorts close points together (Morton order).

    Bits are taken from the dimensions in turn, the most significant first, as many as fit; those of the `leading`
    dimension, if there is one, before all others. The second result is a bound above all codes. Shape (dimensions, 4,
    256).
    """
    lengths = [max(1, (size - 1).bit_length()) for size in sizes]
    turns = [(d, length - 1 - turn) for turn in range(32) for d, length in enumerate(lengths) if turn < length]
    turns = sorted(turns, key=lambda taken: taken[0] != leading)[:MORTON_BITS]
    tables = np.zeros((len(sizes), 4, 256), np.int64)
    byte = np.arange(256)
    for place, (d, bit) in enumerate(reversed(turns)):
        tables[d, bit // 8] |= ((byte >> (bit % 8)) & 1) << place
    return tables, 1 << len(turns)


def grow_forest(codes: Longs, starts: Longs, leaf: int) -> tuple[Matrix, NDArray[np.int32]]:
    """The nodes and the root per group (-1 for none) over points whose codes, given here, ascend inside each group.

    `starts` bounds the groups; a leaf holds at most `leaf` points. Nodes are split where the highest bit changes, so
    that they are cells of a k-d tree. O(n).
    """
    roots = np.empty(len(starts) - 1, np.int32)
    total = _grow(codes, starts, leaf, np.empty((0, 3), np.int32), roots)
    nodes = empty((total, 3), np.int32)
    _grow(codes, starts, leaf, nodes, roots)
    return nodes, roots


def enclosing_boxes(points: Matrix, nodes: Matrix, dims: int) -> Boxes:
    """The box of every node over the first `dims` columns of its points. O(n)."""
    boxes = empty((len(nodes), 2, dims), np.int32)
    _enclose(points, nodes, boxes)
    return boxes


@njit(cache=True, nogil=True)
def interleave(ranks: NDArray[np.int32], turned: bool, size: int, tables: Longs, codes: Longs) -> None:
    """Adds the bits of one dimension to the codes; `tables` are those of `bit_tables` for it.

    Ranks are below `size`, and read from there down if turned.
    """
    top, sign = (size - 1, -1) if turned else (0, 1)
    for i in range(len(ranks)):
        value = top + sign * ranks[i]
        code = codes[i]
        for chunk in range(4):
            code |= tables[chunk, (value >> (8 * chunk)) & 255]
        codes[i] = code


@njit(cache=True, nogil=True)
def _grow(codes: Longs, starts: Longs, leaf: int, nodes: Matrix, roots: NDArray[np.int32]) -> int:
    """Fills `nodes`, parents before children, and returns how many there are; only counts them when it is empty."""
    total = 0
    stack = np.empty((256, 3), np.int64)
    for group in range(len(roots)):
        if starts[group] == starts[group + 1]:
            roots[group] = -1
            continue
        roots[group] = total
        stack[0, 0], stack[0, 1], stack[0, 2] = starts[group], starts[group + 1], total
        total += 1
        top = 1
        while top:
            top -= 1
            start, stop, node = stack[top, 0], stack[top, 1], stack[top, 2]
            child = -1
            if stop - start > leaf:
                child = total
                total += 2
                middle = _split_place(codes, start, stop)
                stack[top, 0], stack[top, 1], stack[top, 2] = start, middle, child
                stack[top + 1, 0], stack[top + 1, 1], stack[top + 1, 2] = middle, stop, child + 1
                top += 2
            if len(nodes):
                nodes[node, 0], nodes[node, 1], nodes[node, 2] = start, stop, child
    return total


@njit(cache=True, nogil=True)
def _split_place(codes: Longs, start: int, stop: int) -> int:
    """Where the highest bit that is not the same for all codes changes; the middle when all codes are the same."""
    differing = codes[start] ^ codes[stop - 1]
    if differing == 0:
        return (start + stop) // 2
    bit = np.int64(1)
    while differing > 1:
        differing >>= 1
        bit <<= 1
    bound = (codes[stop - 1] // bit) * bit
    low, high = start, stop - 1
    while low < high:
        middle = (low + high) // 2
        if codes[middle] < bound:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _enclose(points: Matrix, nodes: Matrix, boxes: Boxes) -> None:
    dims = boxes.shape[2]
    for node in range(len(nodes) - 1, -1, -1):
        child = nodes[node, 2]
        for d in range(dims):
            if child >= 0:
                boxes[node, 0, d] = min(boxes[child, 0, d], boxes[child + 1, 0, d])
                boxes[node, 1, d] = max(boxes[child, 1, d], boxes[child + 1, 1, d])
            else:
                low = high = points[nodes[node, 0], d]
                for i in range(nodes[node, 0] + 1, nodes[node, 1]):
                    low = min(low, points[i, d])
                    high = max(high, points[i, d])
                boxes[node, 0, d], boxes[node, 1, d] = low, high
