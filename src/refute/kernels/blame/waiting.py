"""Candidates that wait for their turn: a binary heap in which one whose turn comes sooner can move up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]


@njit(cache=True, nogil=True)
def queued(waiting: Longs, first: int, last: int, tiers: Longs, doubts: Longs) -> tuple[Longs, Longs]:
    """A heap of some of the candidates `first` to `last`, and where in it each of these is, or -1. O(n log n)."""
    heap = waiting.copy()
    where = np.full(last - first, -1, np.int64)
    for at in range(len(heap)):
        where[heap[at] - first] = at
    for at in range(len(heap)):
        raise_up(heap, where, heap[at], first, tiers, doubts)
    return heap, where


@njit(cache=True, nogil=True)
def raise_up(heap: Longs, where: Longs, one: int, first: int, tiers: Longs, doubts: Longs) -> None:
    """Moves a candidate that waits up to its place, after its doubts became fewer. O(log n)."""
    at = where[one - first]
    while at > 0:
        parent = (at - 1) >> 1
        if not _sooner(one, heap[parent], tiers, doubts):
            break
        heap[at] = heap[parent]
        where[heap[at] - first] = at
        at = parent
    heap[at] = one
    where[one - first] = at


@njit(cache=True, nogil=True)
def drop_first(heap: Longs, where: Longs, size: int, first: int, tiers: Longs, doubts: Longs) -> int:
    """Takes the first one out of a heap; its size after that. O(log n)."""
    where[heap[0] - first] = -1
    size -= 1
    if size == 0:
        return 0
    one = heap[size]
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _sooner(heap[child + 1], heap[child], tiers, doubts):
            child += 1
        if not _sooner(heap[child], one, tiers, doubts):
            break
        heap[at] = heap[child]
        where[heap[at] - first] = at
        at = child
    heap[at] = one
    where[one - first] = at
    return size


@njit(cache=True, nogil=True)
def _sooner(one: int, other: int, tiers: Longs, doubts: Longs) -> bool:
    """By tier, then by doubts left, then by number."""
    if tiers[one] != tiers[other]:
        return bool(tiers[one] < tiers[other])
    if doubts[one] != doubts[other]:
        return bool(doubts[one] < doubts[other])
    return one < other
