"""Points against a run: which rows of a point's group lie within its bounds on every axis.

A group is found by its hash; a bound on the first axis by search; others by zones, which are passed over where
no row can lie within the bounds, taken whole where all do, and looked through otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.runs.borrowed import borrowed
from refute.kernels.runs.pointers import Places, run_at
from refute.kernels.runs.query import Query, asked, lent
from refute.kernels.runs.remembered import (
    ABOVE,
    BELOW,
    HIGH,
    LISTED,
    LOW,
    MOST_LISTED,
    NUMBER,
    PAUSE,
    START,
    STOP,
    forget,
    look_at_listed,
    remember,
)
from refute.kernels.runs.rows import Arrays, Lines, Longs, hashed
from refute.kernels.runs.zones import FEW, told, visit, within

MANY = 64  # lines from which it pays to remember what was found among them


@njit(cache=True, nogil=True)
def count(runs: Places, newest: Lines, points: Lines, n_equal: int, asking: Lines, counts: Longs) -> None:
    """Adds to `counts` the number of rows for each point, its own row too if it is there.

    Rows are in runs and, the newest of them, lines in no order. `asking` is as `asked` takes it.
    """
    query = asked(points, asking)
    room = _ProbeRoom(np.empty((2, len(query.lines)), np.int64), np.empty(LISTED + 2 * MOST_LISTED, np.int64))
    nobody, nowhere = np.empty(0, np.uint8), np.empty((2, 0), np.int64)
    _count(runs, newest, query, room, n_equal, counts, nobody, nowhere)


class _ProbeRoom(NamedTuple):
    """Arrays for looking points up: the lines that share a start, and what is remembered of a group."""

    spans: Lines
    known: Longs


@njit(cache=True, nogil=True)
def _count(
    runs: Places,
    kept_newest: Lines,
    kept_query: Query,
    kept_room: _ProbeRoom,
    n_equal: int,
    counts: Longs,
    kept_nobody: NDArray[np.uint8],
    kept_nowhere: Lines,
) -> None:
    """As `count`, by arrays that its caller keeps."""
    newest, query, spans = borrowed(kept_newest), lent(kept_query), borrowed(kept_room.spans)
    nobody, nowhere, known = borrowed(kept_nobody), borrowed(kept_nowhere), borrowed(kept_room.known)
    for k in range(len(runs)):
        run, group = run_at(runs, k, n_equal, newest.shape[1]), (0, 0)
        _look_ahead(run, query.lines, spans)
        for p in range(len(query.lines)):
            if p == 0 or not _same_group(query.lines, p, query.lines, p - 1, n_equal):
                group = _group(run, query.lines, p, spans)
                forget(known, len(query.lines))
            if group[0] < group[1]:
                counts[p] += _visit_group(run, query, p, group, known, nobody, nowhere, 0)
    if len(newest):
        for p in range(len(query.lines)):
            counts[p] += _look_through(newest, n_equal, query, p, nobody, nowhere, 0)


@njit(cache=True, nogil=True)
def pairs(
    runs: Places,
    newest: Lines,
    points: Lines,
    n_equal: int,
    asking: Lines,
    alive: NDArray[np.uint8],
    most: int,
    out: Lines,
) -> int:
    """How many pairs there are of a point and an alive row. The first are put into `out` (2, room), as slots.

    The point comes first, but where it asks in a second way. Rows and `asking` are as in `count`. Stops once there are
    more than `most`.
    """
    query = asked(points, asking)
    room = _ProbeRoom(np.empty((2, len(query.lines)), np.int64), np.empty(LISTED + 2 * MOST_LISTED, np.int64))
    return _pairs(runs, newest, query, room, n_equal, alive, most, out)


@njit(cache=True, nogil=True)
def _pairs(
    runs: Places,
    kept_newest: Lines,
    kept_query: Query,
    kept_room: _ProbeRoom,
    n_equal: int,
    kept_alive: NDArray[np.uint8],
    most: int,
    kept_out: Lines,
) -> int:
    """As `pairs`, by arrays that its caller keeps."""
    newest, query, spans = borrowed(kept_newest), lent(kept_query), borrowed(kept_room.spans)
    alive, out, known = borrowed(kept_alive), borrowed(kept_out), borrowed(kept_room.known)
    total = 0
    for k in range(len(runs)):
        run, group = run_at(runs, k, n_equal, newest.shape[1]), (0, 0)
        _look_ahead(run, query.lines, spans)
        for p in range(len(query.lines)):
            if p == 0 or not _same_group(query.lines, p, query.lines, p - 1, n_equal):
                group = _group(run, query.lines, p, spans)
                forget(known, len(query.lines))
            if group[0] < group[1]:
                total += _visit_group(run, query, p, group, known, alive, out, total)
                if total > most:
                    return total
    if len(newest):
        for p in range(len(query.lines)):
            total += _look_through(newest, n_equal, query, p, alive, out, total)
            if total > most:
                break
    return total


@njit(cache=True, nogil=True, inline="always")
def _same_group(lines: Lines, i: int, groups: Lines, p: int, n_equal: int) -> bool:
    same = True
    for c in range(n_equal):
        same = same and lines[i, c] == groups[p, c]
    return same


@njit(cache=True, nogil=True)
def _comes_before(lines: Lines, i: int, groups: Lines, p: int, n_equal: int, value: np.uint64) -> bool:
    """Whether line i lies before all lines of a group, of this hash."""
    own = hashed(lines, i, n_equal)
    if own != value:
        return bool(own < value)
    for c in range(n_equal):
        if lines[i, c] != groups[p, c]:
            return bool(lines[i, c] < groups[p, c])
    return False


@njit(cache=True, nogil=True)
def _look_ahead(run: Arrays, groups: Lines, spans: Lines) -> int:
    """Puts the lines that share the start of each point's group into `spans`, and looks at the first and last of them.

    Points then wait for memory together, not one after the other. What is returned says nothing.
    """
    seen = 0
    if run.n_equal:
        shift = np.uint64(run.shift)
        for p in range(len(groups)):
            spans[0, p] = np.int64(hashed(groups, p, run.n_equal) >> shift)
        for p in range(len(groups)):
            bucket = spans[0, p]
            spans[0, p], spans[1, p] = run.starts[bucket], run.starts[bucket + 1]
        for p in range(len(groups)):
            seen ^= run.lines[min(spans[0, p], len(run.lines) - 1), 0] ^ run.lines[max(spans[1, p] - 1, 0), 0]
    return seen


@njit(cache=True, nogil=True)
def _group(run: Arrays, groups: Lines, p: int, spans: Lines) -> tuple[int, int]:
    """The lines of a point's group: mostly all that share its start, which their ends show."""
    lines, n_equal = run.lines, run.n_equal
    if n_equal == 0:
        return 0, len(lines)
    start, end = spans[0, p], spans[1, p]
    if start == end:
        return 0, 0
    if not _same_group(lines, start, groups, p, n_equal):
        stop = end
        value = hashed(groups, p, n_equal)
        while stop - start > FEW:
            middle = (start + stop) // 2
            if _comes_before(lines, middle, groups, p, n_equal, value):
                start = middle + 1
            else:
                stop = middle
        while start < end and not _same_group(lines, start, groups, p, n_equal):
            start += 1
            if start > stop:
                return 0, 0
        if start == end:
            return 0, 0
    if _same_group(lines, end - 1, groups, p, n_equal):
        return start, end
    step = 1
    while start + step < end and _same_group(lines, start + step, groups, p, n_equal):
        step *= 2
    low, high = start + step // 2 + 1, min(start + step, end)
    while low < high:
        middle = (low + high) // 2
        if _same_group(lines, middle, groups, p, n_equal):
            low = middle + 1
        else:
            high = middle
    return start, low


@njit(cache=True, nogil=True)
def _first(lines: Lines, start: int, stop: int, column: int, bound: int, above: bool) -> int:
    """The first line from `start` on whose cell is at least the bound, or `above` it."""
    while start < stop:
        middle = (start + stop) // 2
        if lines[middle, column] < bound or (above and lines[middle, column] == bound):
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True, nogil=True)
def _first_near(lines: Lines, start: int, stop: int, column: int, bound: int, above: bool, near: int) -> int:
    """As `_first`, from a line on that is probably not far: points of a group mostly ascend, and so do their bounds."""
    if near < start or near > stop:
        return _first(lines, start, stop, column, bound, above)
    step = 1
    if near < stop and (lines[near, column] < bound or (above and lines[near, column] == bound)):
        near += 1
        while near + step < stop:
            cell = lines[near + step, column]
            if cell > bound or (cell == bound and not above):
                return _first(lines, near, near + step, column, bound, above)
            near += step + 1
            step *= 4
        return _first(lines, near, stop, column, bound, above)
    while near - step >= start:
        cell = lines[near - step, column]
        if cell < bound or (above and cell == bound):
            return _first(lines, near - step + 1, near, column, bound, above)
        near -= step
        step *= 4
    return _first(lines, start, near, column, bound, above)


@njit(cache=True, nogil=True, inline="always")
def _visit_group(
    run: Arrays,
    query: Query,
    p: int,
    group: tuple[int, int],
    known: Longs,
    alive: NDArray[np.uint8],
    out: Lines,
    filled: int,
) -> int:
    """How many lines of its group lie within a point's bounds.

    Bounds for the first axis, by which lines ascend, come first in a query and are met by search; the last of them may
    ask for a difference, which leaves two stretches.
    """
    start, stop = group
    lines, axis = run.lines, run.n_equal
    b = 0
    while b < len(query.columns) and query.columns[b] == axis and start < stop:
        if query.differs[b]:
            bound = query.low[p, b]
            left = start if lines[start, axis] == bound else _first(lines, start, stop, axis, bound, False)
            right = stop if lines[stop - 1, axis] == bound else _first(lines, left, stop, axis, bound, True)
            total = 0
            if start < left:
                total = visit(run, query, p, (start, left, b + 1), alive, out, filled)
            if right < stop:
                total += visit(run, query, p, (right, stop, b + 1), alive, out, filled + total)
            return total
        if lines[start, axis] < query.low[p, b]:  # the ends are known already, and mostly one of them is not bound
            start = known[ABOVE] = _first_near(lines, start, stop, axis, query.low[p, b], False, known[ABOVE])
        if start < stop and lines[stop - 1, axis] > query.high[p, b]:
            stop = known[BELOW] = _first_near(lines, start, stop, axis, query.high[p, b], True, known[BELOW])
        b += 1
    if start >= stop:
        return 0
    if stop - start > MANY and b == len(query.columns) - 1 and not query.differs[b]:
        bound = known[LOW] <= query.low[p, b] and query.high[p, b] <= known[HIGH]
        if not (bound and known[START] <= start and stop <= known[STOP]):
            known[PAUSE] -= 1
            if known[PAUSE] >= 0 or not remember(run, query, p, (start, stop), known):
                return visit(run, query, p, (start, stop, b), alive, out, filled)
        if known[NUMBER] == 0:
            return 0
        return look_at_listed(run, query, p, (start, stop), known, alive, out, filled)
    return visit(run, query, p, (start, stop, b), alive, out, filled)


@njit(cache=True, nogil=True)
def _look_through(
    newest: Lines, n_equal: int, query: Query, p: int, alive: NDArray[np.uint8], out: Lines, filled: int
) -> int:
    """How many of these lines, which are few and in no order, are of a point's group and lie within its bounds."""
    total, last = 0, newest.shape[1] - 1
    own, first = query.lines[p, query.lines.shape[1] - 1], query.lines[p, 0]
    for i in range(len(newest)):
        if n_equal and newest[i, 0] != first:  # as most lines, so this is all that is read of them
            continue
        if _same_group(newest, i, query.lines, p, n_equal) and within(newest, i, query, p, 0):
            total += told(newest[i, last], own, p >= query.turned, alive, out, filled + total)
    return total
