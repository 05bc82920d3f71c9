"""Which index answers: the faster range tree within a budget of memory, the linear k-d tree beyond it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from refute.detect.sweep.points import Points
from refute.index.range_tree import tree_bytes

LEAST_MEMORY = 64 << 20  # bytes that are always there for an index
MOST_EXPANDED = 3  # differences that are expanded into orders: each doubles the work and adds a dimension
MOST_COUNTED = 1 << 16  # points from which pairs of boxes count faster than range trees of two and more dimensions
MOST_SEARCHED = 1 << 9  # the same for a first clash and for listings
MOST_AGREEING = 6  # differences that are counted by what agreement leaves over: each only doubles the work


class IndexKind(Enum):
    """An index over the points of a group."""

    AUTO = "auto"
    RANGE_TREE = "range tree"
    KD_TREE = "k-d tree"


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeOptions:
    """How to search: which index, and how many bytes a range tree may take (None: three times the columns it reads)."""

    index: IndexKind = IndexKind.AUTO
    memory: int | None = None

    def __post_init__(self) -> None:
        if self.memory is not None and self.memory < 0:
            raise ValueError(f"memory must not be negative, but it is {self.memory}.")


def choose(
    points: Points, dims: int, options: RangeOptions, *, most_differ: int = MOST_EXPANDED, most_points: int
) -> IndexKind:
    """The index for a search whose range trees would have `dims` dimensions.

    A pair of k-d trees need not look at every point, so it is the faster one, too, where range trees of several
    dimensions would hold more than `most_points` points.
    """
    if options.index is not IndexKind.AUTO:
        return options.index
    if len(points.differ) > most_differ:
        return IndexKind.KD_TREE
    memory = options.memory
    if memory is None:
        columns = sum(each.s.nbytes + (0 if each.s is each.t else each.t.nbytes) for each in points.comparisons)
        memory = max(LEAST_MEMORY, 3 * columns)
    largest = points.n_s if points.group is None else int(np.bincount(points.group.s).max())
    if dims > 1 and largest > most_points:
        return IndexKind.KD_TREE
    return IndexKind.RANGE_TREE if tree_bytes(largest, dims) <= memory else IndexKind.KD_TREE
