"""Which values a suspect could have under a rule about order: those that fit all rows of its group that stay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refute.blame.contest import Chain, Flags, Longs
from refute.language.form import Form, operands


@dataclass(frozen=True, slots=True, eq=False)
class Fitting:
    """For one column, and each of some rows, the rows that stay and whose values are the bounds; -1 for no bound.

    `inclusive` says that the bounds themselves fit. Rows for which no value fits have no bounds and no `group`, which
    is how many rows that stay the interval is of.
    """

    column: str
    low: Longs
    high: Longs
    inclusive: bool
    group: Longs


def fitting(contest: Chain, rows: Longs, kept: Flags) -> tuple[Fitting, Fitting]:
    """The intervals of both columns, each with the other as it is.

    Rows that stay ascend in both ranks, so those with less in one rank are bounded by the last of them in the other.
    """
    stays = np.flatnonzero(kept[contest.rows])
    places = np.full(contest.n_rows, -1, np.int64)
    places[contest.rows] = np.arange(len(contest.rows))
    asked = contest.points[:, places[rows]]
    points, numbers = contest.points[:, stays], contest.rows[stays]
    group_low, group_high = (np.searchsorted(points[0], asked[0], side=side) for side in ("left", "right"))
    times = np.ones(len(numbers), np.int64) if contest.times is None else contest.times[numbers]
    before = np.append(0, np.cumsum(times))
    found = []
    orders = Form.of(contest.rule).order
    for column, other in ((0, 1), (1, 0)):
        below, above = _around(points, asked, 1 + other, strict=contest.strict[other])
        low = np.where(below > group_low, numbers[np.maximum(below - 1, 0)] if len(numbers) else -1, -1)
        high = np.where(above < group_high, numbers[np.minimum(above, len(numbers) - 1)] if len(numbers) else -1, -1)
        inclusive = contest.strict[column]
        value = np.append(contest.points[1 + column], 0)
        closed = (low >= 0) & (high >= 0) & (value[places[low]] >= value[places[high]] + inclusive)
        turned = contest.problem.order[column].turned != (column == 1)
        least, most = (np.where(closed, -1, one) for one in ((high, low) if turned else (low, high)))
        size = np.where(closed, 0, before[group_high] - before[group_low])
        name = operands(orders[column].predicate)[0]
        found.append(Fitting(name, least, most, inclusive, size))
    return found[0], found[1]


def _around(points: Longs, asked: Longs, rank: int, *, strict: bool) -> tuple[Longs, Longs]:
    """How many points come before those with this group and rank or more, and where those with more begin.

    Where the order is not strict, points with the same rank bound from both sides.
    """
    size = max(int(points[rank].max(initial=0)), int(asked[rank].max(initial=0))) + 1
    keys, wanted = points[0] * size + points[rank], asked[0] * size + asked[rank]
    left, right = np.searchsorted(keys, wanted, side="left"), np.searchsorted(keys, wanted, side="right")
    return (left, right) if strict else (right, left)
