"""Dominance counts in many dimensions by divide and conquer (Bentley's ECDF): O(n log^(k-1) n) time, linear space.

The points of a side are the columns of a matrix (k, n). Row 0 is a sequence number over both sides, so its order
is that of the first comparison without ties; each group's columns ascend by it. To count in d dimensions both
sides are split at a value of dimension d - 1: low with low and high with high need d dimensions again, low s with high
t one less. The columns end in the order in which they came.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Ints = NDArray[np.signedinteger]
Matrix = NDArray[np.int32]
Longs = NDArray[np.int64]

VECTORS = 4  # dimensions up to which pairs are compared by vector instructions
IN_ARENA, RESTORE, OF_S = 1, 2, 4  # kinds of tasks


@njit(cache=True, nogil=True)
def sequence_numbers(
    s: Ints,
    t: Ints,
    s_starts: Longs,
    t_starts: Longs,
    turned: bool,
    lag: int,
    s_out: NDArray[np.int32],
    t_out: NDArray[np.int32],
) -> None:
    """Numbers of both sides where, in each group, `s_out[i] < t_out[j]` exactly if `s[i] < t[j] + lag`.

    Both sides ascend inside each group; with `turned` they descend, and `>` is asked for.
    """
    sign = -1 if turned else 1
    for g in range(len(s_starts) - 1):
        i = s_starts[g]
        for j in range(t_starts[g], t_starts[g + 1]):
            bound = sign * t[j] + lag
            while i < s_starts[g + 1] and sign * s[i] < bound:
                s_out[i] = i + j
                i += 1
            t_out[j] = i + j
        while i < s_starts[g + 1]:
            s_out[i] = i + t_starts[g + 1]
            i += 1


@njit(cache=True, nogil=True)
def count_divided(
    s: Matrix,
    t: Matrix,
    s_starts: Longs,
    t_starts: Longs,
    brute: int,
    per_t: NDArray[np.int32],
    spare: Matrix,
    arena: Matrix,
) -> int:
    """The number of pairs inside groups; partners are added to `per_t` by sequence number unless it is empty.

    Group g has the columns `s_starts[g]` to `s_starts[g + 1]`. At most `brute` pairs are compared one by one, fewer in
    more than VECTORS dimensions. `spare` (k, n) has room for the larger side and one more; `arena` (k, any) is scratch
    that the caches should hold.
    """
    total = 0
    stack = np.empty((160 * (len(s) + 1), 7), np.int64)
    for g in range(len(s_starts) - 1):
        if s_starts[g] < s_starts[g + 1] and t_starts[g] < t_starts[g + 1]:
            _push(stack, 0, (s_starts[g], s_starts[g + 1], t_starts[g], t_starts[g + 1]), len(s), 0, 0)
            total += _count(s, t, brute, per_t, spare, arena, stack)
    return total


@njit(cache=True, nogil=True)
def _push(stack: Longs, depth: int, span: tuple[int, int, int, int], d: int, top: int, task: int) -> None:
    task_span = stack[depth]
    task_span[0], task_span[1], task_span[2], task_span[3] = span
    task_span[4], task_span[5], task_span[6] = d, top, task


@njit(cache=True, nogil=True)
def _count(
    s_given: Matrix, t_given: Matrix, brute: int, per_t: NDArray[np.int32], spare: Matrix, arena: Matrix, stack: Longs
) -> int:
    """Works off a stack whose first task is set: start and stop in s, then in t, dimensions, top of the arena, kind.

    Few points are split by copying them to the arena above its top, which stays within the caches; many, or once the
    arena is full, in place by way of `spare`, and put back by a later task. Explicit, as cached kernels must not recur.
    """
    total, depth = 0, 1
    while depth:
        depth -= 1
        s_start, s_stop, t_start, t_stop = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        d, top, task = stack[depth, 4], stack[depth, 5], stack[depth, 6]
        s = arena if task & IN_ARENA else s_given
        t = arena if task & IN_ARENA else t_given
        if task & RESTORE:
            _restore(s if task & OF_S else t, s_start, s_stop, t_stop, d, spare)
            continue
        if s_start == s_stop or t_start == t_stop or s[0, s_start] > t[0, t_stop - 1]:
            continue
        low, high = 0, -1
        while d > 1:
            s_low, s_high = _range(s[d - 1][s_start:s_stop])
            t_low, t_high = _range(t[d - 1][t_start:t_stop])
            low, high = min(s_low, t_low), max(s_high, t_high)
            if s_low >= t_high:
                high = low - 1
                break
            if s_high >= t_low:
                break
            d -= 1
        if d == 1:
            total += _count_merged(s[0][s_start:s_stop], t[0][t_start:t_stop], per_t)
            continue
        if high < low:
            continue
        n_s, n_t = s_stop - s_start, t_stop - t_start
        if n_s * n_t <= (brute if d <= VECTORS else brute >> 6):
            total += _count_brute(s, t, (s_start, s_stop, t_start, t_stop), d, per_t)
            continue
        pivot = low + (high - low + 1) // 2
        if top + n_s + n_t + 4 <= arena.shape[1]:
            s_middle = top + 1 + _count_lower(s[d - 1][s_start:s_stop], pivot)
            t_place = top + n_s + 2
            t_middle = t_place + 1 + _count_lower(t[d - 1][t_start:t_stop], pivot)
            _copy_parts(s, s_start, s_stop, d, pivot, arena, top, s_middle)
            _copy_parts(t, t_start, t_stop, d, pivot, arena, t_place, t_middle)
            s_end, t_end = top + n_s + 1, t_place + n_t + 1
            _push(stack, depth, (top, s_middle - 1, t_middle, t_end), d - 1, t_end + 1, IN_ARENA)
            _push(stack, depth + 1, (s_middle, s_end, t_middle, t_end), d, t_end + 1, IN_ARENA)
            _push(stack, depth + 2, (top, s_middle - 1, t_place, t_middle - 1), d, t_end + 1, IN_ARENA)
            depth += 3
        else:
            s_middle = _partition(s, s_start, s_stop, d, pivot, spare)
            t_middle = _partition(t, t_start, t_stop, d, pivot, spare)
            _push(stack, depth, (s_start, s_middle, 0, s_stop), d, top, task | RESTORE | OF_S)
            _push(stack, depth + 1, (t_start, t_middle, 0, t_stop), d, top, task | RESTORE)
            _push(stack, depth + 2, (s_start, s_middle, t_middle, t_stop), d - 1, top, task)
            _push(stack, depth + 3, (s_middle, s_stop, t_middle, t_stop), d, top, task)
            _push(stack, depth + 4, (s_start, s_middle, t_start, t_middle), d, top, task)
            depth += 5
    return total


@njit(cache=True, nogil=True)
def _count_lower(keys: NDArray[np.int32], pivot: int) -> int:
    bound = np.int32(pivot)
    found = np.int32(0)
    for i in range(len(keys)):
        found += np.int32(keys[i] < bound)
    return int(found)


@njit(cache=True, nogil=True)
def _copy_parts(points: Matrix, start: int, stop: int, d: int, pivot: int, arena: Matrix, low: int, high: int) -> None:
    """Copies columns below the pivot in row d - 1 to `low` and on, others to `high` and on. No branches.

    The column that ends each part is written to as well.
    """
    keys = points[d - 1][start:stop]
    bound = np.int32(pivot)
    for row in range(d):
        values, into = points[row][start:stop], arena[row]
        a, b = low, high
        for i in range(len(keys)):
            below = int(keys[i] < bound)
            into[a] = values[i]
            into[b] = values[i]
            a += below
            b += 1 - below


@njit(cache=True, nogil=True)
def _range(values: NDArray[np.int32]) -> tuple[int, int]:
    low = high = values[0]
    for i in range(len(values)):
        low = min(low, values[i])
        high = max(high, values[i])
    return int(low), int(high)


@njit(cache=True, nogil=True)
def _count_merged(s: NDArray[np.int32], t: NDArray[np.int32], per_t: NDArray[np.int32]) -> int:
    total, i = 0, 0
    for j in range(len(t)):
        while i < len(s) and s[i] < t[j]:
            i += 1
        total += i
        if len(per_t):
            per_t[t[j]] += i
    return total


@njit(cache=True, nogil=True)
def _count_brute(s: Matrix, t: Matrix, span: tuple[int, int, int, int], d: int, per_t: NDArray[np.int32]) -> int:
    """Compares each of t with all s before it; contiguous rows and no branches, so it becomes vector instructions.

    Both sides ascend in row 0.
    """
    s_start, s_stop, t_start, t_stop = span
    total, n = 0, 0
    s0, s1 = s[0][s_start:s_stop], s[1][s_start:s_stop]
    s2, s3 = s[min(2, d - 1)][s_start:s_stop], s[min(3, d - 1)][s_start:s_stop]
    for j in range(t_start, t_stop):
        t0, t1 = t[0, j], t[1, j]
        t2, t3 = t[min(2, d - 1), j], t[min(3, d - 1), j]
        while n < len(s0) and s0[n] < t0:
            n += 1
        found = np.int32(0)
        if d == 2:
            for i in range(n):
                found += np.int32(s1[i] < t1)
        elif d == 3:
            for i in range(n):
                found += np.int32((s1[i] < t1) & (s2[i] < t2))
        elif d == 4:
            for i in range(n):
                found += np.int32((s1[i] < t1) & (s2[i] < t2) & (s3[i] < t3))
        else:
            for i in range(n):
                if (s1[i] < t1) & (s2[i] < t2) & (s3[i] < t3):
                    held = True
                    for row in range(4, d):
                        held &= s[row, s_start + i] < t[row, j]
                    found += np.int32(held)
        total += int(found)
        if len(per_t):
            per_t[t0] += found
    return total


@njit(cache=True, nogil=True)
def _partition(points: Matrix, start: int, stop: int, d: int, pivot: int, spare: Matrix) -> int:
    """Moves columns below the pivot in row d - 1 to the front, both parts in their order; where the rest starts."""
    keys = points[d - 1][start:stop]
    bound = np.int32(pivot)
    middle = start
    for row in range(d):  # the keys last
        values, rest = points[row][start:stop], spare[row]
        a, b = 0, 0
        for i in range(len(keys)):
            below = int(keys[i] < bound)
            value = values[i]
            values[a] = value
            rest[b] = value
            a += below
            b += 1 - below
        values[a:] = rest[:b]
        middle = start + a
    return middle


@njit(cache=True, nogil=True)
def _restore(points: Matrix, start: int, middle: int, stop: int, d: int, spare: Matrix) -> None:
    """Merges two parts that ascend in row 0 into one that does: by row 0 first who comes last, then row by row."""
    kept = stop - middle
    if kept == 0 or middle == start:
        return
    from_left = np.empty(stop - start, np.uint8)
    order = points[0]
    left, right = middle - 1, stop - 1
    place = stop - start
    while left >= start and right >= middle:
        place -= 1
        takes_left = int(order[left] > order[right])
        from_left[place] = takes_left
        left -= takes_left
        right -= 1 - takes_left
    for rest in range(place):
        from_left[rest] = right < middle
    for row in range(d):
        values, rests = points[row][start:stop], spare[row][: kept + 1]
        rests[1:] = values[middle - start :]
        a, b = middle - start - 1, kept
        for i in range(stop - start - 1, -1, -1):
            takes_left = int(from_left[i])
            values[i] = values[a] if takes_left else rests[b]
            a -= takes_left
            b -= 1 - takes_left
