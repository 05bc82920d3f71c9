"""What each method is expected to cost, in visits of a row, and what it may cost at worst.

The weights were fitted to measurements of `exists` and `count` on 20,000 and 200,000 points, with one group and with
groups of 20, for none to four orders (one visit is about 5 ns there). `sweep` came out first on every shape but one: in
small groups, counts of three orders or more cost `refine` up to a quarter less, while its verdicts cost half as much
again. So `auto` takes `sweep` in practice; the other methods are there to be forced, and to check it.
"""

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


@dataclass(frozen=True, slots=True)
class _Weights:
    """Visits per row: `each` for every comparison, and `orders[k - 2]` times log2(group)^(k - 1) for k orders."""

    each: float
    orders: tuple[float, float, float]
    differ: float  # factor of one `!=`

    def visits(self, shape: Shape, group: float) -> float:
        found = self.each * (1 + shape.equal + shape.order + shape.differ)
        if shape.order >= 2:
            weight = self.orders[min(shape.order, 4) - 2]
            found += weight * math.log2(group) ** (shape.order - 1)
        return found * self.differ**shape.differ


_SWEEP = _Weights(each=2.0, orders=(0.5, 0.4, 0.05), differ=1.5)
_RANGE_SEARCH = _Weights(each=3.0, orders=(0.7, 1.2, 0.5), differ=3.0)
_REFINE = _Weights(each=5.0, orders=(1.0, 0.55, 0.11), differ=1.5)


def costs(shape: Shape, rows: int, group_rows: float | None = None) -> tuple[Cost, ...]:
    """The methods' costs for a table of `rows`, cheapest first. `group_rows` is the mean size of an equality group."""
    if shape.single:
        return (Cost(MethodName.SWEEP, float(rows * shape.one_row), "n"),)
    n = float(max(rows, 2))
    group = min(n, max(group_rows if group_rows is not None else (1.0 if shape.equal else n), 2.0))
    dimensions = max(shape.order + shape.differ, 1)
    tree = f"n^(2 - 1/{dimensions}) with a k-d tree, n log^{dimensions} n with a range tree"
    found = (
        Cost(MethodName.SWEEP, n * _SWEEP.visits(shape, group), _sweep_at_worst(shape)),
        Cost(MethodName.RANGE_SEARCH, n * _RANGE_SEARCH.visits(shape, group), tree),
        Cost(MethodName.REFINE, n * _REFINE.visits(shape, group), "n^2 pairs of clusters"),
    )
    return tuple(sorted(found, key=lambda cost: cost.expected))


def _sweep_at_worst(shape: Shape) -> str:
    match shape.order:
        case 0:
            return "n"
        case 1:
            return "n log n to count, n to verify"
        case 2:
            return "n log n"
        case 3:
            return "n log^2 n"
        case orders:
            return f"n log^{orders - 1} n to count, n^(2 - 1/{orders}) to verify, linear space"
