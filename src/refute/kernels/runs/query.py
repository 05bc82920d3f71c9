"""What points ask of the lines of a run: bounds for cells, from both sides or one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.runs.borrowed import borrowed
from refute.kernels.runs.rows import Lines, Longs

BELOW, AT_MOST, ABOVE, AT_LEAST, SAME = range(5)


class Query(NamedTuple):
    """Points: lines that begin with the cells of their groups, and bounds for a row's cells in some columns of a run.

    A cell must lie between `low` and `high`; where `differs`, it must not be `low` instead. Points of one group should
    follow each other: their group is looked up once.
    """

    lines: Lines  # (points, cells); a row never pairs with itself, which the last cell ensures
    low: Lines  # (points, bounds)
    high: Lines  # (points, bounds)
    columns: Longs
    differs: Longs
    turned: int  # points from here on ask in a second way: of a pair, they come after the row


@njit(cache=True, nogil=True)
def asked(points: Lines, asking: Lines) -> Query:
    """What points ask, one of whose cells stands in a relation to a row's cell for each column of `asking`.

    Its lines are: which cell of a row, whether that is to differ, and then, for every way in which points ask, which
    cell of a point and the kind of the relation. All points ask in the first way, then all in the next.
    """
    least, greatest = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    n, ways, n_bounds = len(points), (len(asking) - 2) // 2, asking.shape[1]
    low, high = np.empty((ways * n, n_bounds), np.int64), np.empty((ways * n, n_bounds), np.int64)
    lines = points if ways == 1 else np.empty((ways * n, points.shape[1]), np.int64)
    for way in range(ways):
        if ways > 1:
            lines[way * n : (way + 1) * n] = points
        for b in range(n_bounds):
            column, kind = asking[2 + 2 * way, b], asking[3 + 2 * way, b]
            for point in range(n):
                p = way * n + point
                cell = points[point, column]
                low[p, b] = least if kind in (BELOW, AT_MOST) else cell
                high[p, b] = greatest if kind in (ABOVE, AT_LEAST) else cell
                if (kind == BELOW and cell == least) or (kind == ABOVE and cell == greatest):
                    low[p, b], high[p, b] = 1, 0
                elif kind == BELOW:
                    high[p, b] = cell - 1
                elif kind == ABOVE:
                    low[p, b] = cell + 1
    return Query(lines, low, high, asking[0], asking[1], n)


@njit(cache=True, nogil=True)
def lent(query: Query) -> Query:
    """The query with arrays that whoever gave it has to keep."""
    return Query(
        borrowed(query.lines),
        borrowed(query.low),
        borrowed(query.high),
        borrowed(query.columns),
        borrowed(query.differs),
        query.turned,
    )
