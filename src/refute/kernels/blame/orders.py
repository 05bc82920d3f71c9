"""The heaviest rows that can stay under a rule about order: a chain of points, or spans that do not overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Flags = NDArray[np.bool_]


@njit(cache=True, nogil=True, plain=True)
def heaviest_chain(points: Longs, weights: Longs, strict: tuple[bool, bool], size: int, kept: Flags) -> None:
    """Marks the heaviest set of points of each group of which no two have `x < x'` and `y > y'`.

    `points` is (3, n): group, x, y, with y in [0, size), sorted by group, then x, then y: ascending where the order of
    x is strict, else descending. An order that is not strict clashes on equal values too. With a strict x, equal points
    are harmless together and count as one heavy point; where neither is strict only the heaviest of them stays.
    A Fenwick tree over y holds the heaviest chain that ends at or below each value, of equals the one that comes first,
    whatever other points there are: n log size.
    """
    x_strict, y_strict = strict
    n = points.shape[1]
    together = x_strict or y_strict
    start = np.empty(n + 1, np.int64)  # of each run of equal points
    total, before = np.zeros(n, np.int64), np.full(n, -1, np.int64)
    tree, ends = np.zeros(size + 1, np.int64), np.full(size + 1, -1, np.int64)
    first = 0
    while first < n:
        last = first
        while last < n and points[0, last] == points[0, first]:
            last += 1
        runs = 0
        for q in range(first, last):
            if q == first or points[1, q] != points[1, q - 1] or points[2, q] != points[2, q - 1]:
                start[runs] = q
                total[runs] = 0
                runs += 1
            total[runs - 1] = total[runs - 1] + weights[q] if together else max(total[runs - 1], weights[q])
        start[runs] = last
        top = 0
        for run in range(runs):
            y = points[2, start[run]]
            best, end = np.int64(0), -1
            at = y + 1 if y_strict else y
            while at > 0:
                if tree[at] > best or (tree[at] == best and 0 <= ends[at] < end):
                    best, end = tree[at], ends[at]
                at -= at & -at
            total[run] += best
            before[run] = end
            if total[run] > total[top]:
                top = run
            at = y + 1
            while at <= size:
                if total[run] > tree[at]:
                    tree[at], ends[at] = total[run], run
                at += at & -at
        for run in range(runs):
            at = points[2, start[run]] + 1
            while at <= size:
                tree[at], ends[at] = 0, -1
                at += at & -at
        run = top
        while run >= 0:
            if together:
                for q in range(start[run], start[run + 1]):
                    kept[q] = True
            else:
                heaviest = start[run]
                for q in range(start[run], start[run + 1]):
                    if weights[q] > weights[heaviest]:
                        heaviest = q
                kept[heaviest] = True
            run = before[run]
        first = last


@njit(cache=True, nogil=True)
def clashing_weights(points: Longs, weights: Longs, strict: tuple[bool, bool], size: int, found: Longs) -> None:
    """Adds to `found`, for each point, what the points weigh with which it clashes; as above, one order is strict.

    Two sweeps, of those with more in y that come before and those with less that come after: n log size.
    """
    x_strict, y_strict = strict
    n = points.shape[1]
    tree = np.zeros(size + 1, np.int64)
    first = 0
    while first < n:
        last = first
        while last < n and points[0, last] == points[0, first]:
            last += 1
        for backward in (False, True):
            seen, at = 0, first
            while at < last:  # a run of points with one x
                to = at
                i = last - 1 - (at - first) if backward else at
                while to < last:
                    j = last - 1 - (to - first) if backward else to
                    if points[1, j] != points[1, i]:
                        break
                    to += 1
                for adds in (not x_strict, x_strict):
                    for k in range(at, to):
                        j = last - 1 - (k - first) if backward else k
                        y = size - 1 - points[2, j] if backward else points[2, j]
                        if adds:
                            seen += weights[j]
                            place = y + 1
                            while place <= size:
                                tree[place] += weights[j]
                                place += place & -place
                        else:  # all that was seen, less what has too little in y
                            place = y + 1 if y_strict else y
                            less = 0
                            while place > 0:
                                less += tree[place]
                                place -= place & -place
                            found[j] += seen - less
                at = to
            for j in range(first, last):
                place = (size - 1 - points[2, j] if backward else points[2, j]) + 1
                while place <= size:
                    tree[place] = 0
                    place += place & -place
        first = last


@njit(cache=True, nogil=True)
def heaviest_spans(spans: Longs, weights: Longs, closed: bool, kept: Flags) -> None:
    """Marks the heaviest spans of each group of which no two overlap.

    `spans` is (3, n): group, start, end, none of which ends before it starts, sorted by group, then end, then start.
    Spans that touch overlap if they are `closed`. Weighted interval scheduling: the last span that ends in time is
    found by bisection, n log n.
    """
    n = spans.shape[1]
    best, last_fit = np.zeros(n + 1, np.int64), np.empty(n, np.int64)
    first = 0
    for j in range(n):
        if j == 0 or spans[0, j] != spans[0, j - 1]:
            first = j
        low, high = first, j
        while low < high:  # how many of the spans before this one end in time
            mid = (low + high) // 2
            if spans[2, mid] < spans[1, j] or (not closed and spans[2, mid] == spans[1, j]):
                low = mid + 1
            else:
                high = mid
        last_fit[j] = low
        taken = weights[j] + (best[low] if low > first else 0)
        best[j + 1] = max(best[j] if j > first else 0, taken)
    j = n - 1
    while j >= 0:
        group_first = j == 0 or spans[0, j] != spans[0, j - 1]
        without = np.int64(0) if group_first else best[j]
        if best[j + 1] > without:
            kept[j] = True
            j = last_fit[j] - 1
        else:
            j -= 1


@njit(cache=True, nogil=True)
def lessen_by_turned(spans: Longs, turned: Longs, closed: bool, size: int, weights: Longs, net: Longs) -> None:
    """Takes from the `net` weight of each span what the turned spans weigh with which it clashes.

    A span is turned that ends before it starts; it clashes with what reaches over it on both sides, and with no other
    that is turned. `spans` is sorted as above, values in [0, size); `turned` has the places of turned ones, by group
    and then start. A Fenwick tree over their ends holds those that start in time: n log size.
    """
    n = spans.shape[1]
    tree = np.zeros(size + 1, np.int64)
    first, to = 0, 0
    while first < n:
        last, begin, total = first, to, 0
        while last < n and spans[0, last] == spans[0, first]:
            if spans[2, last] >= spans[1, last]:
                while to < len(turned) and spans[0, turned[to]] == spans[0, first]:
                    start = spans[1, turned[to]]
                    if not (start < spans[2, last] or (closed and start == spans[2, last])):
                        break
                    total += weights[turned[to]]
                    at = spans[2, turned[to]] + 1
                    while at <= size:
                        tree[at] += weights[turned[to]]
                        at += at & -at
                    to += 1
                at = spans[1, last] if closed else spans[1, last] + 1
                net[last] -= total
                while at > 0:  # those that end too soon
                    net[last] += tree[at]
                    at -= at & -at
            last += 1
        for k in range(begin, to):
            at = spans[2, turned[k]] + 1
            while at <= size:
                tree[at] = 0
                at += at & -at
        while to < len(turned) and spans[0, turned[to]] == spans[0, first]:
            to += 1
        first = last


@njit(cache=True, nogil=True)
def keep_turned(spans: Longs, turned: Longs, closed: bool, kept: Flags) -> None:
    """Marks the turned spans that clash with none that is kept; arguments as above.

    Spans that are kept do not overlap, so only the first that ends after a turned one starts can reach over it: n.
    """
    n = spans.shape[1]
    at = 0
    for k in range(len(turned)):
        j = turned[k]
        while at < n and (
            spans[0, at] < spans[0, j]
            or (
                spans[0, at] == spans[0, j]
                and (
                    not kept[at]
                    or spans[2, at] < spans[1, at]
                    or spans[2, at] < spans[1, j]
                    or (not closed and spans[2, at] == spans[1, j])
                )
            )
        ):
            at += 1
        if at == n or spans[0, at] != spans[0, j]:
            kept[j] = True
        else:
            over = spans[1, at] < spans[2, j] or (closed and spans[1, at] == spans[2, j])
            kept[j] = not over
