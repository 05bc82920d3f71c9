"""Points as two forests of boxes: the way that answers every shape of problem, in linear space."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from refute.detect.sweep.points import INT32, Points
from refute.detect.sweep.reduce import ranked
from refute.index.dual_tree import DualTree
from refute.index.forest import LEAF, Forest
from refute.plan.problem import Comparison
from refute.runtime.threads import together


def dual_tree(points: Points, *, leaf: int = LEAF, threads: int = 1) -> DualTree:
    """Both sides as forests; a side that equals the other, or is one above it in some orders, is built once."""
    compared = [ranked(each) if each.size > INT32 else each for each in points.order + points.differ]
    grouped = points.group is None or points.group.twin
    twin = points.aligned and grouped and all(each.same_codes for each in compared)
    lag = np.array([each.lag if twin else 0 for each in compared], np.int32)
    if twin:
        s = t = _forest(points, 0, compared, leaf)
    else:
        s, t = together(threads, [partial(_forest, points, side, compared, leaf) for side in (0, 1)])
    return DualTree.of(s, t, len(points.order), lag)


def _forest(points: Points, side: int, compared: Sequence[Comparison], leaf: int) -> Forest:
    """The forest over the points of side s (0) or t (1)."""
    return Forest.build(
        points.n_t if side else points.n_s,
        [each.reading(side) for each in compared],
        groups=None if points.group is None else (points.group.codes[side], points.groups),
        rows=None if points.aligned else points.row_numbers()[side],
        leaf=leaf,
    )
