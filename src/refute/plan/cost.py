"""What each method is expected to cost, in visits of a row, and what it may cost at worst."""

from __future__ import annotations

import math
from dataclasses import dataclass

from refute.plan.method import MethodName
from refute.plan.shape import Shape


@dataclass(frozen=True, slots=True)
class Cost:
    """An estimate: expected visits of a row for this table, and the worst case as a formula in n rows."""

    method: MethodName
    expected: float
    worst: str


def costs(shape: Shape, rows: int, group_rows: float | None = None) -> tuple[Cost, ...]:
    """The methods' costs for a table of `rows`, cheapest first. `group_rows` is the mean size of an equality group."""
    if shape.single:
        return (Cost(MethodName.SWEEP, float(rows * shape.one_row), "n"),)
    n = float(max(rows, 2))
    group = min(n, max(group_rows if group_rows is not None else (1.0 if shape.equal else n), 2.0))
    found = (_sweep(shape, n, group), _range_search(shape, n, group), _refine(shape, n, group))
    return tuple(sorted(found, key=lambda cost: cost.expected))


def _sweep(shape: Shape, n: float, group: float) -> Cost:
    """Sorts and running extrema (DESIGN: dominance in rank space)."""
    dimensions = shape.order + max(shape.differ - 1, 0) * (shape.order > 0)
    if dimensions == 0:
        return Cost(MethodName.SWEEP, n * (shape.equal + shape.differ + 1), "n")
    if dimensions == 1:
        return Cost(MethodName.SWEEP, 2 * n, "n log n to count, n to verify")
    if dimensions == 2:
        return Cost(MethodName.SWEEP, n * math.log2(group), "n log n")
    if dimensions == 3:
        return Cost(MethodName.SWEEP, n * math.log2(group) ** 2, "n log^2 n")
    return Cost(MethodName.SWEEP, n * math.log2(group) ** (dimensions - 1), f"n^(2 - 1/{dimensions}), linear space")


def _range_search(shape: Shape, n: float, group: float) -> Cost:
    """One orthogonal range search per row (Rapidash), a `!=` as two of them."""
    dimensions = max(shape.order + shape.differ, 1)
    searches = 2.0 ** min(shape.differ, 16)
    expected = 4 * n * searches * math.log2(group) ** dimensions
    return Cost(
        MethodName.RANGE_SEARCH,
        expected,
        f"n^(2 - 1/{dimensions}) with a k-d tree, n log^{dimensions} n with a range tree",
    )


def _refine(shape: Shape, n: float, group: float) -> Cost:
    """Cluster pairs refined predicate by predicate (FACET); intermediate pairs grow with the group."""
    expected = 8 * n * (shape.equal + 1) + n * group ** (0.5 * (shape.order + shape.differ))
    return Cost(MethodName.REFINE, expected, "n^2 pairs of clusters")
