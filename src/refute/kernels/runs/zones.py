"""Lines of a run that lie within a point's bounds: judged by zones, and looked at where these leave it open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.runs.query import Query
from refute.kernels.runs.rows import BLOCK_BITS, FAN_BITS, Arrays, Lines

FEW = 12  # lines that are looked through one by one
RULED_OUT, CERTAIN, OPEN = 0, 1, 2


@njit(cache=True, nogil=True, inline="always")
def visit(
    run: Arrays, query: Query, p: int, span: tuple[int, int, int], alive: NDArray[np.uint8], out: Lines, filled: int
) -> int:
    """How many of these lines lie within a point's bounds, the first of which are met.

    With `alive`, those of alive rows alone, which are put out too.
    """
    i, stop, met = span
    if met == len(query.columns):
        return _look(run, query, p, (i, stop, met), alive, out, filled)
    total = 0
    while i < stop:
        end, verdict = step(run, query, p, (i, stop, met))
        if verdict != RULED_OUT:
            left = len(query.columns) if verdict == CERTAIN else met
            total += _look(run, query, p, (i, end, left), alive, out, filled + total)
        i = end
    return total


@njit(cache=True, nogil=True, inline="always")
def step(run: Arrays, query: Query, p: int, span: tuple[int, int, int]) -> tuple[int, int]:
    """How far the first of these lines are judged alike by boxes, and whether none, each, or perhaps some are within.

    The boxes are as large as they can be.
    """
    i, stop, met = span
    block = 1 << BLOCK_BITS
    top = len(run.levels) - 2
    one = met == len(query.columns) - 1 and not query.differs[met]  # the usual case, for which boxes are judged here
    axis, other = query.columns[met] - run.n_equal, query.columns[met] - run.n_equal + run.zones.shape[1] // 2
    low, high = query.low[p, met], query.high[p, met]
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
    return end, verdict


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
    """As `visit`, line by line."""
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
        if held and within(run.lines, i, query, p, met):
            total += told(run.lines[i, last], own, p >= query.turned, alive, out, filled + total)
    return total


@njit(cache=True, nogil=True, inline="always")
def within(lines: Lines, i: int, query: Query, p: int, met: int) -> bool:
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
def told(slot: int, own: int, turned: bool, alive: NDArray[np.uint8], out: Lines, place: int) -> int:
    """What a line of this slot adds to a number; with `alive`, its pair with a point is put out, if there is room."""
    if len(alive) == 0:
        return 1 if slot >= 0 else -1
    if slot < 0 or slot == own or alive[slot] == 0:
        return 0
    if place < out.shape[1]:
        out[0, place] = slot if turned else own
        out[1, place] = own if turned else slot
    return 1
