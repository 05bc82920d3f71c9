"""The pairs themselves, in bounded chunks."""

from __future__ import annotations

from collections.abc import Iterator

from refute.detect.sweep.forest import Forests
from refute.detect.sweep.reduce import reduce
from refute.plan.problem import Problem, Rows
from refute.plan.share import Share

CHUNK = 1 << 16


def pairs(
    problem: Problem, share: Share | None = None, limit: int | None = None, *, chunk: int = CHUNK
) -> Iterator[tuple[Rows, Rows]]:
    """The violating pairs as chunks of row numbers (of s, of t), at most `limit` in all."""
    points = reduce(problem, share)
    if points is None or (limit is not None and limit <= 0):
        return
    left = limit
    for s, t in Forests.of(points, share).pairs(chunk if left is None else min(chunk, left)):
        if left is not None:
            s, t = s[:left], t[:left]
            left -= len(s)
        yield points.rows_of_s(s), points.rows_of_t(t)
        if left == 0:
            return
