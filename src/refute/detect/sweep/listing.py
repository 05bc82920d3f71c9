"""The pairs themselves, in bounded chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from refute.detect.sweep.counting import point_partners
from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import reduce
from refute.detect.sweep.trees import dual_tree
from refute.detect.sweep.tuning import DEFAULT, Tuning
from refute.plan.first_rows import prefix_sizes
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share


def pairs(
    problem: Problem, share: Share | None = None, limit: int | None = None, *, tuning: Tuning = DEFAULT
) -> Iterator[tuple[Rows, Rows]]:
    """The violating pairs as chunks of row numbers (of s, of t), at most `limit` in all.

    What is kept between two chunks does not grow with the number of pairs.
    """
    if limit is not None and limit <= 0:
        return
    points = reduce(problem, share)
    if points is None:
        return
    if limit is not None and limit <= 16 * tuning.chunk:
        for chunks in _attempts(points, limit, tuning):
            if sum(len(s) for s, _ in chunks) == limit:
                yield from chunks
                return
    yield from _limited(_listed(points, share, limit, tuning), limit)


def _attempts(points: Points, limit: int, tuning: Tuning) -> Iterator[list[tuple[Rows, Rows]]]:
    """Pairs inside growing prefixes of the points, which cost what the prefix and the pairs cost."""
    for size in prefix_sizes(max(points.n_s, points.n_t), first=2 * tuning.probe, growth=16):
        yield list(_limited(_listed(points.prefix(size), None, limit, tuning), limit))


def _limited(chunks: Iterator[tuple[Rows, Rows]], limit: int | None) -> Iterator[tuple[Rows, Rows]]:
    left = limit
    for s, t in chunks:
        if left is None:
            yield s, t
            continue
        yield s[:left], t[:left]
        left -= min(left, len(s))
        if not left:
            return


def _listed(points: Points, share: Share | None, limit: int | None, tuning: Tuning) -> Iterator[tuple[Rows, Rows]]:
    if len(points.order) <= 2 and len(points.differ) <= 2 and max(points.n_s, points.n_t) > tuning.probe:
        points = _paired_only(points, share, tuning)
    if not points.n_s or not points.n_t:
        return
    chunk = tuning.chunk if limit is None else min(tuning.chunk, limit)
    for s, t in dual_tree(points, leaf=tuning.leaf, leading=tuning.leading).pairs(chunk):
        yield points.rows_of_s(s), points.rows_of_t(t)


def _paired_only(points: Points, share: Share | None, tuning: Tuning) -> Points:
    """The points that have partners: counting them is cheaper than a forest over those that have none."""
    s_partners, t_partners = point_partners(points, share, tuning)
    s, t = np.flatnonzero(s_partners), np.flatnonzero(t_partners)
    if len(s) == points.n_s and len(t) == points.n_t:
        return points
    return points.chosen(s, s if points.twin and np.array_equal(s, t) else t)
