"""Points against a run: which rows of a point's group lie within its bounds on every axis.

A group is found by its hash; a bound on the first axis by binary search; others by zones, which are passed over where
no row can lie within the bounds, taken whole where all do, and looked through otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.runs.borrowed import borrowed
from refute.kernels.runs.places import Places, run_at
from refute.kernels.runs.query import Query, asked, lent
from refute.kernels.runs.rows import BLOCK_BITS, FAN_BITS, Arrays, Lines, Longs, hashed

FEW = 12  # lines that are looked through one by one
RULED_OUT, CERTAIN, OPEN = 0, 1, 2


@njit(cache=True, nogil=True)
def count(runs: Places, newest: Lines, points: Lines, n_equal: int, asking: Lines, counts: Longs) -> None:
    """Adds to `counts` the number of rows for each point, its own row too if it is there.

    Rows are in runs and, the newest of them, lines in no order. `asking` is as `asked` takes it.
    """
    query = asked(points, asking)
    spans = np.empty((2, len(query.lines)), np.int64)
    nobody, nowhere = np.empty(0, np.uint8), np.empty((2, 0), np.int64)
    _count(runs, newest, query, spans, n_equal, counts, nobody, nowhere)


@njit(cache=True, nogil=True)
def _count(
    runs: Places,
    kept_newest: Lines,
    kept_query: Query,
    kept_spans: Lines,
    n_equal: int,
    counts: Longs,
    kept_nobody: NDArray[np.uint8],
    kept_nowhere: Lines,
) -> None:
    """As `count`, by arrays that its caller keeps."""
    newest, query, spans = borrowed(kept_newest), lent(kept_query), borrowed(kept_spans)
    nobody, nowhere = borrowed(kept_nobody), borrowed(kept_nowhere)
    for k in range(len(runs)):
        run, group = run_at(runs, k, n_equal, newest.shape[1]), (0, 0)
        _look_ahead(run, query.lines, spans)
        for p in range(len(query.lines)):
            if p == 0 or not _same_group(query.lines, p, query.lines, p - 1, n_equal):
                group = _group(run, query.lines, p, spans)
            if group[0] < group[1]:
                counts[p] += _visit_group(run, query, p, group, nobody, nowhere, 0)
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
    spans = np.empty((2, len(query.lines)), np.int64)
    return _pairs(runs, newest, query, spans, n_equal, alive, most, out)


@njit(cache=True, nogil=True)
def _pairs(
    runs: Places,
    kept_newest: Lines,
    kept_query: Query,
    kept_spans: Lines,
    n_equal: int,
    kept_alive: NDArray[np.uint8],
    most: int,
    kept_out: Lines,
) -> int:
    """As `pairs`, by arrays that its caller keeps."""
    newest, query, spans = borrowed(kept_newest), lent(kept_query), borrowed(kept_spans)
    alive, out = borrowed(kept_alive), borrowed(kept_out)
    total = 0
    for k in range(len(runs)):
        run, group = run_at(runs, k, n_equal, newest.shape[1]), (0, 0)
        _look_ahead(run, query.lines, spans)
        for p in range(len(query.lines)):
            if p == 0 or not _same_group(query.lines, p, query.lines, p - 1, n_equal):
                group = _group(run, query.lines, p, spans)
            if group[0] < group[1]:
                total += _visit_group(run, query, p, group, alive, out, total)
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


@njit(cache=True, nogil=True, inline="always")
def _visit_group(
    run: Arrays, query: Query, p: int, group: tuple[int, int], alive: NDArray[np.uint8], out: Lines, filled: int
) -> int:
    """How many lines of its group lie within a point's bounds.

    Bounds for the first axis, by which lines ascend, come first in a query and are met by binary search; the last of
    them may ask for a difference, which leaves two stretches.
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
                total = _visit(run, query, p, (start, left, b + 1), alive, out, filled)
            if right < stop:
                total += _visit(run, query, p, (right, stop, b + 1), alive, out, filled + total)
            return total
        if lines[start, axis] < query.low[p, b]:  # the ends are known already, and mostly one of them is not bound
            start = _first(lines, start, stop, axis, query.low[p, b], False)
        if start < stop and lines[stop - 1, axis] > query.high[p, b]:
            stop = _first(lines, start, stop, axis, query.high[p, b], True)
        b += 1
    return _visit(run, query, p, (start, stop, b), alive, out, filled) if start < stop else 0


@njit(cache=True, nogil=True, inline="always")
def _visit(
    run: Arrays, query: Query, p: int, span: tuple[int, int, int], alive: NDArray[np.uint8], out: Lines, filled: int
) -> int:
    """How many of these lines lie within a point's bounds, the first of which are met.

    With `alive`, those of alive rows alone, which are put out too.
    """
    i, stop, met = span
    if met == len(query.columns):
        return _look(run, query, p, (i, stop, met), alive, out, filled)
    total = 0
    block = 1 << BLOCK_BITS
    top = len(run.levels) - 2
    one = met == len(query.columns) - 1 and not query.differs[met]  # the usual case, for which boxes are judged here
    axis, other = query.columns[met] - run.n_equal, query.columns[met] - run.n_equal + run.zones.shape[1] // 2
    low, high = query.low[p, met], query.high[p, met]
    while i < stop:
        end = min((i | (block - 1)) + 1, stop)
        verdict = OPEN
        if end - i > FEW:
            level = 0
            if i & (block - 1) == 0:
                while level < top:
                    size = block << (FAN_BITS * (level + 1))
                    if i & (size - 1) or i + size > stop:
                        break
                    level += 1
            while True:
                box = run.levels[level] + (i >> (BLOCK_BITS + FAN_BITS * level))
                if not one:
                    verdict = _judge(run, query, p, met, box)
                elif run.zones[box, other] < low or run.zones[box, axis] > high:
                    verdict = RULED_OUT
                else:
                    verdict = CERTAIN if run.zones[box, axis] >= low and run.zones[box, other] <= high else OPEN
                if verdict != OPEN or level == 0:
                    break
                level -= 1
            if level:
                end = i + (block << (FAN_BITS * level))
        if verdict != RULED_OUT:
            left = len(query.columns) if verdict == CERTAIN else met
            total += _look(run, query, p, (i, end, left), alive, out, filled + total)
        i = end
    return total


@njit(cache=True, nogil=True)
def _judge(run: Arrays, query: Query, p: int, met: int, box: int) -> int:
    """Whether no row, every row, or perhaps some row of a box lies within a point's bounds."""
    axes = run.zones.shape[1] // 2
    verdict = CERTAIN
    for b in range(met, len(query.columns)):
        axis = query.columns[b] - run.n_equal
        least, greatest = run.zones[box, axis], run.zones[box, axes + axis]
        low, high = query.low[p, b], query.high[p, b]
        if query.differs[b]:
            if least == greatest and least == low:
                return RULED_OUT
            if least <= low and low <= greatest:
                verdict = OPEN
        elif greatest < low or least > high:
            return RULED_OUT
        elif least < low or greatest > high:
            verdict = OPEN
    return verdict


@njit(cache=True, nogil=True)
def _look(
    run: Arrays, query: Query, p: int, span: tuple[int, int, int], alive: NDArray[np.uint8], out: Lines, filled: int
) -> int:
    """As `_visit`, line by line."""
    start, stop, met = span
    last = run.lines.shape[1] - 1
    if met == len(query.columns) and len(alive) == 0:
        return int(run.nets[stop] - run.nets[start]) if len(run.nets) else stop - start
    total = 0
    own = query.lines[p, query.lines.shape[1] - 1]
    one = met == len(query.columns) - 1 and not query.differs[met]
    column, low, high = 0, np.int64(0), np.int64(0)
    if one:
        column, low, high = query.columns[met], query.low[p, met], query.high[p, met]
        met += 1
    for i in range(start, stop):
        held = not one or (low <= run.lines[i, column] and run.lines[i, column] <= high)
        if held and _within(run.lines, i, query, p, met):
            total += _told(run.lines[i, last], own, p >= query.turned, alive, out, filled + total)
    return total


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
        if _same_group(newest, i, query.lines, p, n_equal) and _within(newest, i, query, p, 0):
            total += _told(newest[i, last], own, p >= query.turned, alive, out, filled + total)
    return total


@njit(cache=True, nogil=True, inline="always")
def _within(lines: Lines, i: int, query: Query, p: int, met: int) -> bool:
    """Whether a line lies within a point's bounds, the first of which are met."""
    held = True
    for b in range(met, len(query.columns)):
        cell = lines[i, query.columns[b]]
        if query.differs[b]:
            held = held and cell != query.low[p, b]
        else:
            held = held and query.low[p, b] <= cell and cell <= query.high[p, b]
    return held


@njit(cache=True, nogil=True, inline="always")
def _told(slot: int, own: int, turned: bool, alive: NDArray[np.uint8], out: Lines, place: int) -> int:
    """What a line of this slot adds to a number; with `alive`, its pair with a point is put out, if there is room."""
    if len(alive) == 0:
        return 1 if slot >= 0 else -1
    if slot < 0 or slot == own or alive[slot] == 0:
        return 0
    if place < out.shape[1]:
        out[0, place] = slot if turned else own
        out[1, place] = own if turned else slot
    return 1
