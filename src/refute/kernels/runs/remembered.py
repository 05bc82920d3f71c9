"""What is remembered from one point of a group to the next: they mostly ask for almost the same lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.runs.query import Query
from refute.kernels.runs.rows import Arrays, Lines, Longs
from refute.kernels.runs.zones import RULED_OUT, step, told, within

# What is remembered of a group from point to point: where bounds of its first axis led, -1 for nowhere yet; a stretch
# of lines, and bounds for another cell of these, within which none lies but those that are listed; their number; for
# how many points nothing more is remembered, after too many lines were found, and for how many the next time.
ABOVE, BELOW, START, STOP, LOW, HIGH, NUMBER, PAUSE, NEXT_PAUSE, LISTED = range(10)
MOST_LISTED = 16
MOST_PAUSE = 256
FEW_POINTS = 1 << 13
NEVER = 1 << 62


@njit(cache=True, nogil=True, inline="always")
def forget(known: Longs, points: int) -> None:
    """Begins with a group of which nothing is known. Its first point remembers nothing: it may be the only one.

    Few points are mostly of different groups, or ask for different lines, and remember nothing at all.
    """
    known[ABOVE] = known[BELOW] = -1
    known[START] = known[STOP] = 0
    known[PAUSE] = 1 if points > FEW_POINTS else NEVER
    known[NEXT_PAUSE] = 1


@njit(cache=True, nogil=True)
def remember(run: Arrays, query: Query, p: int, stretch: tuple[int, int], known: Longs) -> bool:
    """Sees to it that the lines of a stretch within a point's last bound are listed; whether they are few enough.

    If not, what is known stays. Points of a group mostly ask for almost the same lines, so few of them are new.
    """
    start, stop = stretch
    last = len(query.columns) - 1
    low, high = query.low[p, last], query.high[p, last]
    first, end = known[START], known[STOP]
    place, number = LISTED, known[NUMBER]
    if first < end and known[LOW] <= low and high <= known[HIGH] and start <= end and first <= stop:
        if start < first:
            number = _list(run, query, p, (start, first), known, place, number)
        if end < stop and number >= 0:
            number = _list(run, query, p, (end, stop), known, place, number)
        start, stop = min(start, first), max(stop, end)
    else:
        place += MOST_LISTED
        number = _list(run, query, p, (start, stop), known, place, 0)
    if number < 0:
        known[PAUSE] = known[NEXT_PAUSE]
        known[NEXT_PAUSE] = min(2 * known[NEXT_PAUSE], MOST_PAUSE)
        return False
    for k in range(number if place > LISTED else 0):
        known[LISTED + k] = known[place + k]
    known[START], known[STOP], known[LOW], known[HIGH], known[NUMBER] = start, stop, low, high, number
    known[PAUSE], known[NEXT_PAUSE] = 0, 1
    return True


@njit(cache=True, nogil=True)
def _list(run: Arrays, query: Query, p: int, stretch: tuple[int, int], known: Longs, place: int, number: int) -> int:
    """Lists the lines of a stretch within a point's last bound behind so many others; how many are listed then.

    -1 if they are too many.
    """
    i, stop = stretch
    last = len(query.columns) - 1
    column, low, high = query.columns[last], query.low[p, last], query.high[p, last]
    while i < stop:
        end, verdict = step(run, query, p, (i, stop, last))
        if verdict != RULED_OUT:
            for line in range(i, end):
                if low <= run.lines[line, column] and run.lines[line, column] <= high:
                    if number == MOST_LISTED:
                        return -1
                    known[place + number] = line
                    number += 1
        i = end
    return number


@njit(cache=True, nogil=True)
def look_at_listed(
    run: Arrays,
    query: Query,
    p: int,
    stretch: tuple[int, int],
    known: Longs,
    alive: NDArray[np.uint8],
    out: Lines,
    filled: int,
) -> int:
    """As `visit`, where all lines of a stretch that may lie within a point's last bound are listed."""
    total = 0
    start, stop = stretch
    last, slot = len(query.columns) - 1, run.lines.shape[1] - 1
    own = query.lines[p, query.lines.shape[1] - 1]
    for k in range(known[NUMBER]):
        line = known[LISTED + k]
        if start <= line and line < stop and within(run.lines, line, query, p, last):
            total += told(run.lines[line, slot], own, p >= query.turned, alive, out, filled + total)
    return total
