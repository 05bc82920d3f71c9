"""A static k-d tree over points in rank space, bulk-loaded in linear space."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.kernels.range_search import kd_tree as kernel

Int32s = NDArray[np.int32]

LEAF = 32
ROOT_SAMPLE = 512  # points that stand for the distribution of each coordinate
PARALLEL = 1 << 16  # points from which a second thread pays


@dataclass(frozen=True, slots=True)
class KdTree:
    """Points in tree order, and nodes that each cover a range of them; node 0 is the root, parents come first."""

    nodes: Int32s  # [., 4]: first position, end, left child or -1, right child or -1
    boxes: Int32s  # [., 2 * dims]: minima, then maxima
    columns: Int32s  # [dims, n], in tree order
    origin: Int32s  # the number of the point at each position, as it was given

    @classmethod
    def build(
        cls,
        columns: Sequence[Int32s],
        *,
        n_equal: int = 0,
        n_order: int | None = None,
        leaf: int = LEAF,
        threads: int = 1,
    ) -> KdTree:
        """The tree over at least one point, given as one int32 array per coordinate.

        The first `n_equal` coordinates are compared for equality, so they are split before all others, and the next
        `n_order` by order (None: all others). Cost O(n log n), the same whatever order the points come in.
        """
        n, dims = len(columns[0]), len(columns)
        assert n > 0
        assert all(column.dtype == np.int32 and len(column) == n for column in columns)
        points = np.empty((n, dims + 1), np.int32)
        for axis, column in enumerate(columns):
            points[:, axis] = column
        points[:, dims] = np.arange(n, dtype=np.int32)
        sampled = np.linspace(0, n - 1, min(n, ROOT_SAMPLE)).astype(np.int64)
        root = np.ascontiguousarray(np.sort(points[sampled, :dims], axis=0).T)
        kinds = (n_equal, dims - n_equal if n_order is None else n_order)
        nodes = _arrange(points, kinds, root, leaf, threads)
        origin = points[:, dims].copy()
        ordered = np.ascontiguousarray(points[:, :dims].T)
        return cls(nodes, _boxes(ordered, nodes), ordered, origin)

    def with_columns(self, columns: Sequence[Int32s]) -> KdTree:
        """A tree of the same arrangement over other coordinates of the same points.

        Right for any coordinates, and as tight as a tree of their own where they rise with those of this tree.
        """
        ordered = np.empty((len(columns), len(self.origin)), np.int32)
        for axis, column in enumerate(columns):
            np.take(column, self.origin, out=ordered[axis])
        return KdTree(self.nodes, _boxes(ordered, self.nodes), ordered, self.origin)

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def depth(self) -> int:
        """The number of levels."""
        return int(kernel.depth(self.nodes))

    @property
    def largest_leaf(self) -> int:
        """The number of points in the largest leaf."""
        leaves = self.nodes[self.nodes[:, kernel.LEFT] < 0]
        return int((leaves[:, kernel.HI] - leaves[:, kernel.LO]).max())


def _arrange(points: Int32s, kinds: tuple[int, int], root: Int32s, leaf: int, threads: int) -> Int32s:
    """The node table, after moving the rows of `points` into tree order; halves are built by two threads if large."""
    n = len(points)
    capacity = 8 * n // leaf + 64
    nodes = np.empty((2 * capacity, 4), np.int32)
    nodes[0] = (0, n, -1, -1)
    if threads < 2 or n < PARALLEL:
        return nodes[: kernel.build(points, kinds, root, leaf, nodes, 0, 1)].copy()
    middle = kernel.split(points, (0, n), kinds, root)
    nodes[0] = (0, n, 1, 2)
    nodes[1] = (0, middle, -1, -1)
    nodes[2] = (middle, n, -1, -1)
    left, right = nodes[:capacity], nodes[1:].copy()
    with ThreadPoolExecutor(2) as pool:
        done = pool.submit(kernel.build, points, kinds, root, leaf, left, 1, 3)
        # in the table of the right half the node stands at 1, and what follows it begins at 2
        right_end = kernel.build(points, kinds, root, leaf, right, 1, 2)
        left_end = done.result()
    tail = right[1:right_end]
    inner = tail[:, kernel.LEFT] >= 0
    tail[inner, kernel.LEFT] += left_end - 2
    tail[inner, kernel.RIGHT] += left_end - 2
    nodes[2] = tail[0]
    return np.concatenate((nodes[:left_end], tail[1:]))


def _boxes(columns: Int32s, nodes: Int32s) -> Int32s:
    """The tight box of every node."""
    boxes = np.empty((len(nodes), 2 * len(columns)), np.int32)
    kernel.enclose(columns, nodes, boxes)
    return boxes
