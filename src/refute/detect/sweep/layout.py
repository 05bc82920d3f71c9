"""Points laid out for a sweep: which dimension is swept, which are kept in trees, and where each group's tree lies."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import combined, ranked, shared
from refute.detect.sweep.tuning import Tuning
from refute.kernels.sorting import segment_bounds, sorted_positions
from refute.plan.problem import Comparison, Ints
from refute.plan.share import Share

MAX_TREE = 3  # dimensions of a Fenwick tree


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Order comparisons by the part they play. `ragged`: the one tree dimension is ranked inside each group."""

    swept: Comparison
    tree: tuple[Comparison, ...]
    ragged: bool

    @property
    def steps(self) -> int:
        """Steps of one operation on the tree, at worst."""
        return prod(max(1, comparison.size.bit_length()) for comparison in self.tree)


def choose(
    points: Points, order: tuple[Comparison, ...], share: Share | None, tuning: Tuning, *, most: int = MAX_TREE
) -> Dimensions | None:
    """The largest domain swept and the others in trees that fit; None when they do not."""
    table = tuning.table(points.n_s + points.n_t)
    by_size = sorted(order, key=lambda comparison: comparison.size, reverse=True)
    if len(by_size) - 1 > most:
        return None
    swept, *rest = by_size
    if _cells(points, rest) > table:
        by_size = sorted((ranked(each, share) for each in by_size), key=lambda each: each.size, reverse=True)
        swept, *rest = by_size
    if swept.size > INT32:
        swept = ranked(swept, share)
    if _cells(points, rest) <= table:
        return Dimensions(swept, tuple(rest), False)
    return Dimensions(swept, tuple(rest), True) if len(rest) == 1 else None


def _cells(points: Points, tree: list[Comparison]) -> int:
    return points.groups * prod(comparison.size + 1 for comparison in tree)


@dataclass(frozen=True, slots=True)
class Layout:
    """Matrices for the kernels of `dominance_sweeps`; row i of `s` is the point `s_order[i]`."""

    s: NDArray[np.int32]
    t: NDArray[np.int32]
    s_order: Ints
    t_order: Ints
    base: NDArray[np.int64]
    length: NDArray[np.int32]
    spans: NDArray[np.int64]
    cells: int

    @classmethod
    def of(
        cls, points: Points, dimensions: Dimensions, carried: tuple[tuple[Ints, Ints], ...], share: Share | None
    ) -> Layout:
        """The layout with the columns `carried` between the group and the positions."""
        swept, tree = dimensions.swept, list(dimensions.tree)
        groups = points.groups
        if not tree:
            base, length = np.arange(groups, dtype=np.int64), np.zeros(groups, np.int32)
            cells = groups
        elif dimensions.ragged:
            tree[0], base, length = _ragged(points, tree[0])
            cells = int(length.sum()) + groups
        else:
            per_group = prod(comparison.size + 1 for comparison in tree)
            base = np.arange(groups, dtype=np.int64) * per_group
            length = np.full(groups, tree[0].size, np.int32)
            cells = groups * per_group
        spans = np.array([comparison.size for comparison in tree[1:]] + [0, 0], np.int64)[:2]
        s_columns = [swept.s, _group(points, 0), *(s for s, _ in carried), *(comparison.s for comparison in tree)]
        t_columns = [swept.t, _group(points, 1), *(t for _, t in carried), *(comparison.t for comparison in tree)]
        s_order = shared(share, "s order", (swept.label,), lambda: sorted_positions(swept.s, swept.size))
        s = _gathered(s_columns, s_order)
        if all(left is right for left, right in zip(s_columns, t_columns, strict=True)):
            return cls(s, s, s_order, s_order, base, length, spans, cells)
        t_order = s_order
        if swept.s is not swept.t:
            t_order = shared(share, "t order", (swept.label,), lambda: sorted_positions(swept.t, swept.size))
        return cls(s, _gathered(t_columns, t_order), s_order, t_order, base, length, spans, cells)


def _group(points: Points, side: int) -> Ints | None:
    if points.group is None:
        return None
    return points.group.t if side else points.group.s


def _gathered(columns: list[Ints | None], order: Ints) -> NDArray[np.int32]:
    matrix = np.empty((len(order), len(columns)), np.int32)
    for place, column in enumerate(columns):
        matrix[:, place] = 0 if column is None else column[order]
    return matrix


def _ragged(points: Points, comparison: Comparison) -> tuple[Comparison, NDArray[np.int64], NDArray[np.int32]]:
    """The order ranked inside each group, and where each group's tree starts and how long it is."""
    comparison = ranked(comparison)
    if points.group is None:
        return comparison, np.zeros(1, np.int64), np.array([comparison.size], np.int32)
    both = ranked(combined(points.group, comparison))
    first, last = segment_bounds(points.group.s, both.s, points.groups)
    if both.s is not both.t:
        t_first, t_last = segment_bounds(points.group.t, both.t, points.groups)
        first, last = np.minimum(first, t_first), np.maximum(last, t_last)
    length = np.maximum(last - first + 1, 0).astype(np.int32)
    base = np.concatenate(([0], np.cumsum(length[:-1] + np.int64(1))))
    s = both.s - first[points.group.s]
    t = s if both.s is both.t else both.t - first[points.group.t]
    return Comparison(s, t, comparison.size), base, length
