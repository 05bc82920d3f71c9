"""Dominance by sweeping one dimension and keeping the points met so far in Fenwick trees over up to three others.

Points are rows of a matrix in ascending order of its first column. Columns: swept value, group, then (existence only)
the value that must be greater and a code, then up to three positions. A group's tree starts at `base[group]` and its
first dimension has `length[group]` positions; the other dimensions have the same `spans` positions in every group.

Matrices may be blocks of the points: `state` says where to go on in s and t, and a kernel ends when it has used up t,
or s while there is `more` of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.dominance.extrema import keep_two

Matrix = NDArray[np.int32]
Longs = NDArray[np.int64]


@njit(cache=True, nogil=True, plain=True)
def count_below(
    s: Matrix,
    t: Matrix,
    base: Longs,
    length: NDArray[np.int32],
    spans: Longs,
    tree: NDArray[np.int32],
    state: Longs,
    more: bool,
    below: Longs,
) -> int:
    """The number of pairs; the number of partners of each row of t is put into `below` unless that is empty.

    O(n log^d n) for d tree dimensions; `tree` is zero.
    """
    dims, span1, span2 = s.shape[1] - 2, spans[0], spans[1]
    total, i = 0, state[0]
    for j in range(state[1], len(t)):
        while i < len(s) and s[i, 0] < t[j, 0]:
            group = s[i, 1]
            at = base[group]
            if dims == 0:
                tree[at] += 1
            else:
                a = s[i, 2] + 1
                while a <= length[group]:
                    if dims == 1:
                        tree[at + a] += 1
                    else:
                        b = s[i, 3] + 1
                        while b <= span1:
                            if dims == 2:
                                tree[at + a * (span1 + 1) + b] += 1
                            else:
                                c = s[i, 4] + 1
                                row = at + (a * (span1 + 1) + b) * (span2 + 1)
                                while c <= span2:
                                    tree[row + c] += 1
                                    c += c & -c
                            b += b & -b
                    a += a & -a
            i += 1
        if more and i == len(s):
            state[0], state[1] = i, j
            return total
        group = t[j, 1]
        at = base[group]
        found = 0
        if dims == 0:
            found = tree[at]
        else:
            a = np.int64(t[j, 2])
            while a > 0:
                if dims == 1:
                    found += tree[at + a]
                else:
                    b = np.int64(t[j, 3])
                    while b > 0:
                        if dims == 2:
                            found += tree[at + a * (span1 + 1) + b]
                        else:
                            c = np.int64(t[j, 4])
                            row = at + (a * (span1 + 1) + b) * (span2 + 1)
                            while c > 0:
                                found += tree[row + c]
                                c &= c - 1
                        b &= b - 1
                a &= a - 1
        total += found
        if len(below):
            below[j] = found
    state[0], state[1] = i, len(t)
    return total


@njit(cache=True, nogil=True)
def count_below_few(
    s: Matrix, t: Matrix, spans: Longs, tables: NDArray[np.int32], state: Longs, more: bool, below: Longs
) -> int:
    """As `count_below` for one or two tree dimensions of few positions: every cell holds the points below it.

    `tables` (groups, cells) is zero; `spans` are the cells per dimension, one more than its positions. A point is added
    to all cells above it by vector instructions, and read off one.
    """
    dims, span = s.shape[1] - 2, spans[0]
    rows = tables.shape[1] // span
    total, i = 0, state[0]
    for j in range(state[1], len(t)):
        while i < len(s) and s[i, 0] < t[j, 0]:
            table = tables[s[i, 1]]
            last = s[i, s.shape[1] - 1]
            first = np.int64(s[i, 2]) + 1 if dims == 2 else 0
            for a in range(first, rows):
                cells = table[a * span : (a + 1) * span]
                for b in range(len(cells)):
                    cells[b] += np.int32(np.int32(b) > last)
            i += 1
        if more and i == len(s):
            state[0], state[1] = i, j
            return total
        cell = np.int64(t[j, 2])
        if dims == 2:
            cell = cell * span + t[j, 3]
        found = tables[t[j, 1], cell]
        total += found
        if len(below):
            below[j] = found
    state[0], state[1] = i, len(t)
    return total


@njit(cache=True, nogil=True, plain=True)
def find_above(
    s: Matrix,
    t: Matrix,
    base: Longs,
    length: NDArray[np.int32],
    spans: Longs,
    tree: NDArray[np.int32],
    state: Longs,
    more: bool,
) -> int:
    """The first row of t whose value (column 2) is above that of some dominated row of s, or -1.

    As `count_below` with least values in place of counts; positions are columns 4 to 6; `tree` starts as its maximum.
    """
    dims, span1, span2 = s.shape[1] - 4, spans[0], spans[1]
    i = state[0]
    for j in range(state[1], len(t)):
        while i < len(s) and s[i, 0] < t[j, 0]:
            group, value = s[i, 1], s[i, 2]
            at = base[group]
            if dims == 0:
                tree[at] = min(tree[at], value)
            else:
                a = s[i, 4] + 1
                while a <= length[group]:
                    if dims == 1:
                        tree[at + a] = min(tree[at + a], value)
                    else:
                        b = s[i, 5] + 1
                        while b <= span1:
                            if dims == 2:
                                cell = at + a * (span1 + 1) + b
                                tree[cell] = min(tree[cell], value)
                            else:
                                c = s[i, 6] + 1
                                row = at + (a * (span1 + 1) + b) * (span2 + 1)
                                while c <= span2:
                                    tree[row + c] = min(tree[row + c], value)
                                    c += c & -c
                            b += b & -b
                    a += a & -a
            i += 1
        if more and i == len(s):
            state[0], state[1] = i, j
            return -1
        group, value = t[j, 1], t[j, 2]
        at = base[group]
        if dims == 0:
            if tree[at] < value:
                return j
            continue
        a = np.int64(t[j, 4])
        while a > 0:
            if dims == 1:
                if tree[at + a] < value:
                    return j
            else:
                b = np.int64(t[j, 5])
                while b > 0:
                    if dims == 2:
                        if tree[at + a * (span1 + 1) + b] < value:
                            return j
                    else:
                        c = np.int64(t[j, 6])
                        row = at + (a * (span1 + 1) + b) * (span2 + 1)
                        while c > 0:
                            if tree[row + c] < value:
                                return j
                            c &= c - 1
                    b &= b - 1
            a &= a - 1
    state[0], state[1] = i, len(t)
    return -1


@njit(cache=True, nogil=True)
def find_above_coded(s: Matrix, t: Matrix, base: Longs, length: NDArray[np.int32], entries: Longs) -> int:
    """As `find_above` for at most one tree dimension, where the codes (column 3) must differ.

    `entries` (cells, 4) are those of `extrema.keep_two`.
    """
    dims = s.shape[1] - 4
    i = 0
    for j in range(len(t)):
        while i < len(s) and s[i, 0] < t[j, 0]:
            group = s[i, 1]
            at = base[group]
            if dims == 0:
                keep_two(entries[at], s[i, 2], s[i, 3])
            else:
                a = s[i, 4] + 1
                while a <= length[group]:
                    keep_two(entries[at + a], s[i, 2], s[i, 3])
                    a += a & -a
            i += 1
        group, value, code = t[j, 1], t[j, 2], t[j, 3]
        at = base[group]
        a = np.int64(t[j, 4]) if dims else np.int64(1)
        while a > 0:
            entry = entries[at + a] if dims else entries[at]
            if entry[0] < value and (entry[1] != code or entry[2] < value):
                return j
            a &= a - 1
    return -1


@njit(cache=True, nogil=True, plain=True)
def flag_two_orders(s: Matrix, t: Matrix, groups: int, s_flags: NDArray[np.bool_], t_flags: NDArray[np.bool_]) -> None:
    """Sets the flag of each row of s and of t that has a partner, for two orders: columns 0 and 2. O(n)."""
    least = np.full(groups, np.iinfo(np.int32).max, np.int32)
    i = 0
    for j in range(len(t)):
        while i < len(s) and s[i, 0] < t[j, 0]:
            least[s[i, 1]] = min(least[s[i, 1]], s[i, 2])
            i += 1
        t_flags[j] = least[t[j, 1]] < t[j, 2]
    greatest = np.full(groups, -1, np.int32)
    j = len(t) - 1
    for i in range(len(s) - 1, -1, -1):
        while j >= 0 and s[i, 0] < t[j, 0]:
            greatest[t[j, 1]] = max(greatest[t[j, 1]], t[j, 2])
            j -= 1
        s_flags[i] = s[i, 2] < greatest[s[i, 1]]
