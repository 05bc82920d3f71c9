"""One side of points as a forest: a k-d tree per group, made of that side alone in linear time and space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.kernels.dominance.boxes import Trees
from refute.kernels.dominance.forest import bit_tables, enclosing_boxes, grow_forest, interleave
from refute.kernels.sort.ranking import dense_ranks
from refute.kernels.sort.sorting import gather_column, segment_order, segment_starts, sorted_positions, taken
from refute.runtime.arrays import empty, full, give_back

Ints = NDArray[np.signedinteger]
Int32s = NDArray[np.int32]
Column = tuple[Ints, bool, int]  # codes from 0 on, whether they are turned, and what they are added to or taken from

LEAF = 12


@dataclass(frozen=True, slots=True)
class Forest:
    """Points in the order of their trees, nodes that are ranges of them, and the root of each group, -1 for none.

    A point is its values, then its position in the arrays given, then the number of its row where one was given.
    """

    points: Int32s
    nodes: Int32s
    boxes: Int32s
    roots: Int32s

    @classmethod
    def build(
        cls,
        size: int,
        columns: Sequence[Column],
        *,
        groups: tuple[Ints, int] | None = None,
        rows: Ints | None = None,
        leaf: int = LEAF,
        leading: int | None = None,
    ) -> Forest:
        """The forest over `size` points, at least one, of these columns; values, codes and rows fit 32 bits.

        `groups` are a number for each point and a bound above all. `rows` name the points, so that those of two forests
        that are one row never pair; without them, positions do. Boxes are halved along all columns in turn; along the
        `leading` one before all others, if there is one.
        """
        give_back(size)
        codes, bound = _cells(size, columns, leading)
        order = sorted_positions(codes, bound)
        give_back(size)
        starts = np.array([0, size], np.int64)
        if groups is not None:
            starts = segment_starts(*groups)
            order = taken(order, segment_order(taken(groups[0], order), starts))
        ordered = taken(codes, order)
        del codes
        give_back(size)
        leaf = leaf * max(len(columns) - 1, 2) // 2  # boxes of more dimensions are larger, and should be fewer
        nodes, roots = grow_forest(ordered, starts, leaf)
        del ordered
        give_back(size)
        points = empty(size * (len(columns) + (1 if rows is None else 2)), np.int32).reshape(size, -1)
        for place, column in enumerate(columns):
            gather_column(*column, order, points, place)
        points[:, len(columns)] = order
        if rows is not None:
            gather_column(rows, False, 0, order, points, len(columns) + 1)
        del order
        give_back(size)
        return cls(points, nodes, enclosing_boxes(points, nodes, len(columns)), roots)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def positions(self) -> Int32s:
        """The position of each point in the arrays that the forest was made of."""
        return self.points[:, self.boxes.shape[2]]

    def trees(self, lag: Int32s) -> Trees:
        """What the kernels read; `lag` is added to the values as side t."""
        return self.points, self.nodes, self.boxes, lag


def _cells(size: int, columns: Sequence[Column], leading: int | None) -> tuple[NDArray[np.int64], int]:
    """A number per point that sorts close points together, and a bound above all of them."""
    bounds = [int(codes.max()) + 1 for codes, _, _ in columns]
    values = []
    for (codes, _, _), bound in zip(columns, bounds, strict=True):
        values.append(dense_ranks(codes, codes, bound)[2])
        give_back(size)
    tables, top = bit_tables(values, leading)
    cells = full(size, 0, np.int64)
    for (codes, turned, _), bound, n_values, table in zip(columns, bounds, values, tables, strict=True):
        ranks = dense_ranks(codes, codes, bound)[0]  # once more, as keeping all of them would double the memory
        interleave(ranks, turned, n_values, table, cells)
        del ranks
        give_back(size)
    return cells, top
