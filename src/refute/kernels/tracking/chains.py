"""Chains: rows in parts, in each of which two values ascend together (IncDC, Sections 5 and 6).

A chain index is three flat arrays, chain after chain: the rows, and the two values of each. A value that is to fall
where the other rises comes as `~value`, so both ascend here. Rows with the same two values lie side by side.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy


@njit(cache=True, nogil=True)
def _follows(a: Scalar, b: Scalar, c: Scalar, d: Scalar, strict_a: Scalar, strict_b: Scalar) -> bool:
    """Whether (c, d) may come behind (a, b) in a chain: the same two values always may."""
    if a == c and b == d:
        return True
    first = a < c or (a == c and not strict_a)
    return bool(first and (b < d or (b == d and not strict_b)))


@njit(cache=True, nogil=True)
def fewest_chains(a: Array, b: Array, strict_a: Scalar, strict_b: Scalar, tails: Array, out: Array) -> Scalar:
    """How many chains rows need at the least; the chain of each row is written to `out` (OptIndex, Algorithm 3).

    a, b: (n,) ascending by a, and where a is the same by b: ascending, or descending if `strict_a`, so that such rows
    never follow each other. tails: (n,) room for the last row of each chain. A row goes behind the tail that leaves the
    least difference in b. Tails fall from chain to chain, so that is the first that it may follow. Cost: n log(chains).
    """
    chains = 0
    for n in range(a.shape[0]):
        low, high = 0, chains
        while low < high:
            middle = (low + high) // 2
            tail = tails[middle]
            if b[tail] < b[n] or (b[tail] == b[n] and (not strict_b or a[tail] == a[n])):
                high = middle
            else:
                low = middle + 1
        if low == chains:
            chains += 1
        tails[low] = n
        out[n] = low
    return chains


@njit(cache=True, nogil=True)
def plain_runs(a: Array, b: Array, strict_a: Scalar, strict_b: Scalar, out: Array) -> Scalar:
    """How many chains there are if a row only goes behind the one before it; the chain of each is written to `out`."""
    chains = 0
    for n in range(a.shape[0]):
        if n == 0 or not _follows(a[n - 1], b[n - 1], a[n], b[n], strict_a, strict_b):
            chains += 1
        out[n] = chains - 1
    return chains


@njit(cache=True, nogil=True)
def _lower(values: Array, low: Scalar, high: Scalar, value: Scalar) -> Scalar:
    """The first place in values[low:high], which ascend, that is not below the value."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _upper(values: Array, low: Scalar, high: Scalar, value: Scalar) -> Scalar:
    """The first place in values[low:high], which ascend, that is above the value."""
    while low < high:
        middle = (low + high) // 2
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def fetch_ranges(a: Array, b: Array, starts: Array, asked: Array, wanted: Scalar, out: Array) -> Scalar:
    """How many ranges of members compare as wanted with what is asked; the first are written to `out` (R, 4).

    a, b: values of the members, chain c at starts[c] : starts[c + 1]. asked: (n, 2) int32. wanted: bit 3 x + y for a
    member whose values are x and y, 0 for less, 1 for equal, 2 for greater than those asked. A range is n, n + 1 and
    members from, to. Places where a value changes from less to equal to greater part each chain into five at most
    (Fetch, Algorithm 1, with the reversed use of Section 6.2). Cost: chains x log(members) for each n.
    """
    found = 0
    for n in range(asked.shape[0]):
        for c in range(starts.shape[0] - 1):
            begin, end = starts[c], starts[c + 1]
            a_low = _lower(a, begin, end, asked[n, 0])
            a_high = _upper(a, a_low, end, asked[n, 0])
            b_low = _lower(b, begin, end, asked[n, 1])
            b_high = _upper(b, b_low, end, asked[n, 1])
            at = begin
            last = np.int64(-1)  # where the range that was written last ends
            while at < end:
                stop = end
                for cut in (a_low, a_high, b_low, b_high):
                    if at < cut < stop:
                        stop = cut
                x = 0 if at < a_low else (1 if at < a_high else 2)
                y = 0 if at < b_low else (1 if at < b_high else 2)
                if wanted >> (3 * x + y) & 1:
                    if last == at:
                        if found <= out.shape[0]:
                            out[found - 1, 3] = stop
                    else:
                        if found < out.shape[0]:
                            out[found, 0] = n
                            out[found, 1] = n + 1
                            out[found, 2] = at
                            out[found, 3] = stop
                        found += 1
                    last = stop
                at = stop
    return found


@njit(cache=True, nogil=True)
def place_rows(a: Array, b: Array, starts: Array, new: Array, strict: Array, tails: Array, out: Array) -> Scalar:
    """How many chains there are once new rows are placed; their chains and places are written to `out` (n, 2).

    As `fetch_ranges`; new: (n, 2) values, in the order that `fewest_chains` takes. strict: two flags. tails: room for
    as many chains as there may be, all -1. A row goes to the longest chain that it fits (Section 6.3), between rows
    that were there and behind new ones of the chain, else it makes a chain; its place is among the rows that were
    there.
    """
    chains = starts.shape[0] - 1
    made = chains
    for n in range(new.shape[0]):
        x, y = new[n, 0], new[n, 1]
        best, best_at, best_size = np.int64(-1), np.int64(0), np.int64(-1)
        for c in range(made):
            begin, end = (starts[c], starts[c + 1]) if c < chains else (np.int64(0), np.int64(0))
            if end - begin <= best_size:
                continue
            tail = tails[c]
            if tail >= 0 and not _follows(new[tail, 0], new[tail, 1], x, y, strict[0], strict[1]):
                continue
            at = _lower(a, begin, end, x)
            stop = _upper(a, at, end, x)
            at = _upper(b, at, stop, y)  # by both values: where the first is the same, the second decides
            if at > begin and not _follows(a[at - 1], b[at - 1], x, y, strict[0], strict[1]):
                continue
            if at < end and not _follows(x, y, a[at], b[at], strict[0], strict[1]):
                continue
            best, best_at, best_size = np.int64(c), np.int64(at), np.int64(end - begin)
        if best < 0:
            best, best_at = np.int64(made), np.int64(0)
            made += 1
        tails[best] = n
        out[n, 0] = best
        out[n, 1] = best_at
    return made
