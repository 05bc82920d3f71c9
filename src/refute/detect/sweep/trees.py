"""Points as two forests of boxes: the way that answers every shape of problem, in linear space."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.detect.sweep.tuning import DEFAULT
from refute.index.dual_tree import DualTree
from refute.index.forest import LEAF, Forest
from refute.plan.problem import Comparison
from refute.runtime.threads import together

SAMPLED = 1 << 11  # points of a side by which that is judged
IN_TURN, ALONE = 5, 3  # pairs of boxes per box: fewer are no reason to look for a leading order; at most so many in it


def dual_tree(points: Points, *, leaf: int = LEAF, threads: int = 1, leading: int = DEFAULT.leading) -> DualTree:
    """Both sides as forests; a side that equals the other, or is one above it in some orders, is built once.

    Sides of at least `leading` points are cut along one order first, where that pays.
    """
    many = min(points.n_s, points.n_t) >= leading
    return _built(points, leaf, threads, leading_order(points, leaf) if many else None)


def leading_order(points: Points, leaf: int = LEAF) -> int | None:
    """The order along which boxes of both sides should be halved first; None where all should take turns.

    Where one order falls as another rises, boxes along either of them meet hardly any other box, and a cut along a
    third order only makes more of them. That is judged by some points: they show a leading order if cuts in turn make
    boxes meet many others, while boxes along it meet nearly themselves alone. So must those of points that lie close
    together in this order, as what holds for points far apart need not hold for neighbours.
    """
    if len(points.order) < 3 or points.groups > SAMPLED:
        return None
    draw = np.random.default_rng(0)
    picks = [np.sort(draw.integers(0, n, SAMPLED)) for n in (points.n_s, points.n_t)]
    some = points.chosen(picks[0], picks[0] if points.aligned else picks[1])
    if _counts_within(some, leaf, None, IN_TURN):
        return None
    for place, order in enumerate(points.order):
        if _counts_within(some, leaf, place, ALONE) and all(
            _counts_within(_neighbours(points, order, share, draw), leaf, place, ALONE) for share in (0.3, 0.7)
        ):
            return place
    return None


def _counts_within(points: Points, leaf: int, leading: int | None, per_box: int) -> bool:
    """Whether looking at so many pairs of boxes per box counts all pairs."""
    if not points.n_s or not points.n_t:
        return True
    trees = _built(points, leaf, 1, leading)
    return trees.count(per_box * max(len(trees.s.nodes), len(trees.t.nodes))) is not None


def _neighbours(points: Points, order: Comparison, share: float, draw: np.random.Generator) -> Points:
    """Points that are near each other in one order, from about this share of it on."""
    known = np.sort(order.codes[0][draw.integers(0, points.n_s, SAMPLED)])
    first = int(share * SAMPLED)
    low, high = known[first], known[min(SAMPLED - 1, first + 2 + SAMPLED * SAMPLED // points.n_s)]
    picks = []
    for codes in order.codes:
        near = np.flatnonzero((codes >= low) & (codes <= high))
        picks.append(near if len(near) <= 2 * SAMPLED else np.sort(draw.choice(near, 2 * SAMPLED, replace=False)))
    return points.chosen(picks[0], picks[0] if points.aligned else picks[1])


def _built(points: Points, leaf: int, threads: int, leading: int | None) -> DualTree:
    compared = [ranked(each) if each.size > INT32 else each for each in points.order + points.differ]
    grouped = points.group is None or points.group.twin
    twin = points.aligned and grouped and all(each.same_codes for each in compared)
    lag = np.array([each.lag if twin else 0 for each in compared], np.int32)
    if twin:
        s = t = _forest(points, 0, compared, leaf, leading)
    else:
        s, t = together(threads, [partial(_forest, points, side, compared, leaf, leading) for side in (0, 1)])
    return DualTree.of(s, t, len(points.order), lag)


def _forest(points: Points, side: int, compared: Sequence[Comparison], leaf: int, leading: int | None) -> Forest:
    """The forest over the points of side s (0) or t (1)."""
    return Forest.build(
        points.n_t if side else points.n_s,
        [each.reading(side) for each in compared],
        groups=None if points.group is None else (points.group.codes[side], points.groups),
        rows=None if points.aligned else points.row_numbers()[side],
        leaf=leaf,
        leading=leading,
    )
