"""Dense ranks of sparse integers, jointly over two sides."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from refute.kernels.sorting import sorted_positions

Ints = NDArray[np.signedinteger]


def dense_ranks(s: Ints, t: Ints, size: int) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Ranks of both sides among the values that occur, in the same order, and how many values occur.

    Values lie in `[0, size)`. Give one array twice where it serves both sides. A table of presence where `size` is
    within 16 times the number of values, else a radix sort.
    """
    n = len(s) if s is t else len(s) + len(t)
    if size <= 16 * n + 1024:
        rank_of = np.zeros(size + 1, np.int32)
        _mark(s, rank_of)
        if s is not t:
            _mark(t, rank_of)
        total = _running_count(rank_of)
        s_ranks = _looked_up(s, rank_of)
        return s_ranks, (s_ranks if s is t else _looked_up(t, rank_of)), total
    both = s if s is t else np.concatenate((s, t))
    ranks = np.empty(n, np.int32)
    total = _ranks_of_sorted(both, sorted_positions(both, size), ranks)
    return (ranks, ranks, total) if s is t else (ranks[: len(s)], ranks[len(s) :], total)


def _looked_up(values: Ints, rank_of: NDArray[np.int32]) -> NDArray[np.int32]:
    return rank_of[values]


@njit(cache=True, nogil=True)
def _mark(values: Ints, present: NDArray[np.int32]) -> None:
    for i in range(len(values)):
        present[values[i]] = 1


@njit(cache=True, nogil=True)
def _running_count(present: NDArray[np.int32]) -> int:
    total = 0
    for value in range(len(present)):
        here = present[value]
        present[value] = total
        total += here
    return total


@njit(cache=True, nogil=True)
def _ranks_of_sorted(values: Ints, positions: Ints, ranks: NDArray[np.int32]) -> int:
    if len(values) == 0:
        return 0
    rank = 0
    last = values[positions[0]]
    for p in range(len(positions)):
        value = values[positions[p]]
        if value != last:
            rank += 1
            last = value
        ranks[positions[p]] = rank
    return rank + 1
