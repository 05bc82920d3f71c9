"""Sorted runs of rows: how they are arranged, found by hash, and summed up in zones.

A run is a matrix of 64-bit integers, one line per row: `n_equal` cells by which rows are grouped, then axes, then the
row's slot. A negative last cell, `~slot`, takes the row of that slot back. Lines ascend by the hash of the group, the
group, the first axis, and the slot, so that rows of one group lie together and two runs merge in one pass.

`starts[x]` is the first line whose hash, shifted right by `shift`, is at least x. Zones are boxes of axes: of every 32
lines, of every 8 such blocks, and so on; `levels` says where the boxes of each size begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.runs.borrowed import borrowed

Longs = NDArray[np.int64]
Lines = NDArray[np.int64]  # (rows, width)
Starts = NDArray[np.int32]
Zones = NDArray[np.int64]  # (boxes, 2 * axes): minima, then maxima

BLOCK_BITS = 5
FAN_BITS = 3
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_AT_HAND = 1 << 12  # lines that stay in a core's cache
_SOME = 4  # lines of a bucket for which it pays to look whether they are of one group
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Arrays(NamedTuple):
    """The arrays of a run, as kernels take them."""

    lines: Lines
    starts: Starts
    zones: Zones
    levels: Longs
    nets: Longs  # how many rows there are before each line, those taken back subtracted; empty if none is
    n_equal: int
    shift: int  # 64 less the bits of a hash that `starts` distinguishes, at least one


@njit(cache=True, nogil=True, inline="always")
def hashed(lines: Lines, line: int, n_equal: int) -> np.uint64:
    """The hash of a line's group: the same on every machine, and different for different groups of one column."""
    value = np.uint64(0)
    for c in range(n_equal):
        value = (value ^ np.uint64(lines[line, c])) * _MULTIPLIER
        value ^= value >> _HALF
    return value * _MULTIPLIER


@njit(cache=True, nogil=True)
def precedes(lines: Lines, i: int, others: Lines, j: int, leading: int) -> int:
    """-1, 0 or 1: whether line i comes before, is the row of, or comes after line j, where their hashes are equal."""
    for c in range(leading):
        if lines[i, c] != others[j, c]:
            return -1 if lines[i, c] < others[j, c] else 1
    last = lines.shape[1] - 1
    slot, other = lines[i, last], others[j, last]
    slot, other = max(slot, ~slot), max(other, ~other)
    return 0 if slot == other else -1 if slot < other else 1


@njit(cache=True, nogil=True)
def arrange(lines: Lines, n_equal: int, leading: int, order: Longs, spare: Longs) -> None:
    """Fills `order` with the lines in the order of a run: `order[k]` is the line that comes k-th. O(n log n).

    Lines are dealt by the first bits of their hashes, about one to a bucket; those of a bucket are sorted by insertion
    or, where they are many, by merging. `spare` is as long.
    """
    n, bits = len(lines), 1
    while (1 << bits) < n and bits < 20:
        bits += 1
    room = _ArrangeRoom(np.empty(n, np.uint64), np.zeros(1 << bits, np.int64), np.empty((2, n), np.int64), 64 - bits)
    _arrange(lines, n_equal, leading, order, spare, room)


class _ArrangeRoom(NamedTuple):
    """Arrays that arranging lines needs: a hash of each, where buckets begin, and two cells of each."""

    hashes: NDArray[np.uint64]
    ends: Longs
    cells: Lines
    shift: int


@njit(cache=True, nogil=True)
def _arrange(
    kept_lines: Lines, n_equal: int, leading: int, kept_order: Longs, kept_spare: Longs, kept_room: _ArrangeRoom
) -> None:
    """As `arrange`, by arrays that its caller keeps."""
    lines, order, spare = borrowed(kept_lines), borrowed(kept_order), borrowed(kept_spare)
    hashes, ends, shift = borrowed(kept_room.hashes), borrowed(kept_room.ends), np.uint64(kept_room.shift)
    cells, others = borrowed(kept_room.cells[0]), borrowed(kept_room.cells[1])
    n = len(lines)
    for i in range(n):
        hashes[i] = hashed(lines, i, n_equal)
        ends[hashes[i] >> shift] += 1
    total = 0
    for bucket in range(len(ends)):
        total += ends[bucket]
        ends[bucket] = total
    for i in range(n - 1, -1, -1):
        bucket = hashes[i] >> shift
        ends[bucket] -= 1
        order[ends[bucket]] = i
    for bucket in range(len(ends)):
        first, last = ends[bucket], ends[bucket + 1] if bucket + 1 < len(ends) else n
        if last - first > _SOME and _is_one_group(lines, n_equal, order[first:last]):
            if leading > n_equal:
                for k in range(first, last):
                    cells[k] = lines[order[k], n_equal]
                _sort_by_cell(cells[first:last], order[first:last], others[first:last], spare[first:last])
        elif last - first > 1:
            _sort(lines, hashes, leading, order[first:last], spare[first:last])


@njit(cache=True, nogil=True)
def _is_one_group(lines: Lines, n_equal: int, order: Longs) -> bool:
    """Whether lines that are given by their places are of one group, and their slots ascend."""
    last = lines.shape[1] - 1
    for k in range(1, len(order)):
        i, j = order[k - 1], order[k]
        if max(lines[i, last], ~lines[i, last]) > max(lines[j, last], ~lines[j, last]):
            return False
        for c in range(n_equal):
            if lines[i, c] != lines[j, c]:
                return False
    return True


@njit(cache=True, nogil=True)
def _sort_by_cell(cells: Longs, order: Longs, others: Longs, spare: Longs) -> None:
    """Sorts lines that are given by their places, as `_sort` does, by one cell of each; equal ones stay as they are.

    Cells lie side by side and move with the places; `others` and `spare` are as long.
    """
    n = len(order)
    for start in range(0, n, 8):
        for i in range(start + 1, min(start + 8, n)):
            cell, moved = cells[i], order[i]
            j = i
            while j > start and cells[j - 1] > cell:
                cells[j], order[j] = cells[j - 1], order[j - 1]
                j -= 1
            cells[j], order[j] = cell, moved
    width = 8
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            for k in range(start, stop):
                if j == stop or (i < middle and cells[i] <= cells[j]):
                    others[k], spare[k] = cells[i], order[i]
                    i += 1
                else:
                    others[k], spare[k] = cells[j], order[j]
                    j += 1
        cells[:], order[:] = others, spare
        width *= 2


@njit(cache=True, nogil=True)
def _sort(lines: Lines, hashes: NDArray[np.uint64], leading: int, order: Longs, spare: Longs) -> None:
    """Sorts lines that are given by their places: a merge sort, from runs of eight that are sorted by insertion."""
    n = len(order)
    for start in range(0, n, 8):
        for i in range(start + 1, min(start + 8, n)):
            moved = order[i]
            j = i
            while j > start and _before(lines, hashes, moved, order[j - 1], leading):
                order[j] = order[j - 1]
                j -= 1
            order[j] = moved
    width = 8
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            i, j = start, middle
            if middle == stop or not _before(lines, hashes, order[middle], order[middle - 1], leading):
                spare[start:stop] = order[start:stop]
                continue
            for k in range(start, stop):
                if j == stop or (i < middle and not _before(lines, hashes, order[j], order[i], leading)):
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        order[:] = spare
        width *= 2


@njit(cache=True, nogil=True, inline="always")
def _before(lines: Lines, hashes: NDArray[np.uint64], i: int, j: int, leading: int) -> bool:
    if hashes[i] != hashes[j]:
        return bool(hashes[i] < hashes[j])
    return bool(precedes(lines, i, lines, j, leading) < 0)


@njit(cache=True, nogil=True)
def describe(out: Arrays, first: int, stop: int, bucket: int) -> int:
    """The starts and the zones of blocks of the lines from `first` on; `bucket` is the first whose start is not known.

    The first is then returned. Lines before must have been described. O(lines).
    """
    if out.n_equal and first < stop:
        bucket = _find_starts(out.lines, out.starts, (first, stop), bucket, (out.n_equal, out.shift))
    _sum_up_zones(out.lines, out.zones, out.n_equal, first, stop)
    return bucket


@njit(cache=True, nogil=True)
def _find_starts(
    kept_lines: Lines, kept_starts: Starts, span: tuple[int, int], bucket: int, hashing: tuple[int, int]
) -> int:
    """As `describe`, the starts alone. No branch depends on a hash, which a processor would mostly guess wrong."""
    lines, starts = borrowed(kept_lines), borrowed(kept_starts)
    first, stop = span
    n_equal, shift = hashing[0], np.uint64(hashing[1])
    end = int(np.int64(hashed(lines, stop - 1, n_equal) >> shift)) + 1
    while first < stop and np.int64(hashed(lines, first, n_equal) >> shift) < bucket:
        first += 1
    for x in range(bucket, end):
        starts[x] = -1
    for k in range(stop - 1, first - 1, -1):
        starts[np.int64(hashed(lines, k, n_equal) >> shift)] = k
    start = np.int32(stop)
    for x in range(end - 1, bucket - 1, -1):
        start = starts[x] if starts[x] >= 0 else start
        starts[x] = start
    return max(bucket, end)


@njit(cache=True, nogil=True)
def _sum_up_zones(kept_lines: Lines, kept_zones: Zones, n_equal: int, first: int, stop: int) -> None:
    """As `describe`, the zones alone."""
    lines, zones = borrowed(kept_lines), borrowed(kept_zones)
    axes = zones.shape[1] // 2
    for d in range(axes):
        k = first
        while k < stop:
            zone = k >> BLOCK_BITS
            end = min((zone + 1) << BLOCK_BITS, stop)
            low = high = lines[k, n_equal + d]
            if k & ((1 << BLOCK_BITS) - 1):
                low, high = min(low, zones[zone, d]), max(high, zones[zone, axes + d])
            for i in range(k, end):
                low = min(low, lines[i, n_equal + d])
                high = max(high, lines[i, n_equal + d])
            zones[zone, d] = low
            zones[zone, axes + d] = high
            k = end


@njit(cache=True, nogil=True)
def finish(out: Arrays, n: int, bucket: int) -> None:
    """The starts behind the last line, of n, and the zones of blocks of blocks."""
    for x in range(bucket, len(out.starts)):
        out.starts[x] = n
    axes = out.zones.shape[1] // 2
    boxes = (n + (1 << BLOCK_BITS) - 1) >> BLOCK_BITS
    for level in range(1, len(out.levels) - 1):
        below, here = out.levels[level - 1], out.levels[level]
        parts, boxes = boxes, (boxes + (1 << FAN_BITS) - 1) >> FAN_BITS
        for box in range(boxes):
            for d in range(axes):
                low, high = _GREATEST, _LEAST
                for part in range(box << FAN_BITS, min((box + 1) << FAN_BITS, parts)):
                    low = min(low, out.zones[below + part, d])
                    high = max(high, out.zones[below + part, axes + d])
                out.zones[here + box, d] = low
                out.zones[here + box, axes + d] = high


@njit(cache=True, nogil=True)
def build(lines: Lines, leading: int, out: Arrays) -> int:
    """Makes a run of lines in any order, but for its nets; how many lines take a row back. O(n log n)."""
    n, width = lines.shape
    order = np.empty(n, np.int64)
    arrange(lines, out.n_equal, leading, order, np.empty(n, np.int64))
    negative = 0
    for k in range(n):
        for c in range(width):
            out.lines[k, c] = lines[order[k], c]
        negative += int(lines[k, width - 1] < 0)
    finish(out, n, describe(out, 0, n, 0))
    return negative


@njit(cache=True, nogil=True)
def sum_up(lines: Lines, nets: Longs) -> int:
    """Fills `nets`, unless it is empty, with how many rows come before each line; how many lines take a row back."""
    last = lines.shape[1] - 1
    total, negative = 0, 0
    for i in range(len(lines)):
        if len(nets):
            nets[i] = total
        total += 1 if lines[i, last] >= 0 else -1
        negative += int(lines[i, last] < 0)
    if len(nets):
        nets[len(lines)] = total
    return negative


@njit(cache=True, nogil=True)
def merge_some(one: Lines, two: Lines, keys: tuple[int, int], out: Lines, state: Longs, most: int) -> bool:
    """Merges up to `most` more lines of two runs into a third; whether all are. A row and what takes it back both go.

    `keys` are the number of cells that are hashed, and that lines are sorted by. `state` starts as zeros: the next line
    of each run, and how many are written.
    """
    n_equal, leading = keys
    i, j, k = state[0], state[1], state[2]
    n, m, width = len(one), len(two), one.shape[1]
    stop = k + most
    first = hashed(one, i, n_equal) if i < n else np.uint64(0)
    second = hashed(two, j, n_equal) if j < m else np.uint64(0)
    while i < n and j < m and k < stop:
        sign = -1 if first < second else 1
        if first == second:
            sign = precedes(one, i, two, j, leading)
        if sign < 0:
            for c in range(width):
                out[k, c] = one[i, c]
            k += 1
        elif sign > 0:
            for c in range(width):
                out[k, c] = two[j, c]
            k += 1
        if sign <= 0:
            i += 1
            if i < n:
                first = hashed(one, i, n_equal)
        if sign >= 0:
            j += 1
            if j < m:
                second = hashed(two, j, n_equal)
    if j == m:
        while i < n and k < stop:
            for c in range(width):
                out[k, c] = one[i, c]
            i += 1
            k += 1
    elif i == n:
        while j < m and k < stop:
            for c in range(width):
                out[k, c] = two[j, c]
            j += 1
            k += 1
    state[0], state[1], state[2] = i, j, k
    return bool(i == n and j == m)


@njit(cache=True, nogil=True)
def merge(one: Lines, two: Lines, leading: int, out: Arrays, state: Longs, most: int) -> bool:
    """Goes on to make one run of two, by up to `most` lines, but for its nets; whether it is made.

    `state` starts as four zeros: those of `merge_some`, and the first bucket whose start is not known.
    """
    before, left, done = state[2], most, False
    while True:  # lines are described while they are at hand
        done = merge_some(one, two, (out.n_equal, leading), out.lines, state, min(left, _AT_HAND))
        state[3] = describe(out, before, state[2], state[3])
        before, left = state[2], left - (state[2] - before)
        if done or left <= 0:
            break
    if done:
        finish(out, state[2], state[3])
    return done


@njit(cache=True, nogil=True)
def repeats_groups(lines: Lines, n_equal: int) -> bool:
    """Whether some group has more than one line."""
    for i in range(1, len(lines)):
        same = True
        for c in range(n_equal):
            same = same and lines[i, c] == lines[i - 1, c]
        if same:
            return True
    return False
