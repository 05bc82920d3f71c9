"""Dense ranks of sparse integers, jointly over two sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.encode.integers import count_before, hash_codes, mark, rank_by_bits, relabel
from refute.kernels.sort.distinct import distinct_values
from refute.kernels.sort.sorting import sorted_positions
from refute.kernels.sparing import is_spared
from refute.runtime.arrays import empty, full

Ints = NDArray[np.signedinteger]

SAMPLE = 1 << 13  # values that show whether they repeat
REPEATS = 8  # times that a sampled value must occur on average, before hashing is cheaper than a sort
BITMAP = 64  # a bitmap of the values that occur may have this many bits per value before a sort is cheaper


def dense_ranks(s: Ints, t: Ints, size: int) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Ranks of both sides among the values that occur, in the same order, and how many values occur.

    Values lie in `[0, size)`. Give one array twice where it serves both sides. O(n): a bitmap of the values with
    counts per word where `size` allows, a hash table where values repeat much, else a radix sort.
    """
    n = len(s) if s is t else len(s) + len(t)
    if is_spared(rank_by_bits, n):
        known, places = np.unique(s if s is t else np.concatenate((s, t)), return_inverse=True)
        all_ranks = places.astype(np.int32)
        return (all_ranks, all_ranks, len(known)) if s is t else (all_ranks[: len(s)], all_ranks[len(s) :], len(known))
    s_ranks = empty(len(s), np.int32)
    if size <= BITMAP * n + 4096:
        words = full(size // 64 + 1, 0, np.uint64)
        mark(s, words)
        if s is not t:
            mark(t, words)
        before = empty(len(words), np.int32)
        total = int(count_before(words, before))
        rank_by_bits(s, words, before, s_ranks)
        if s is t:
            return s_ranks, s_ranks, total
        t_ranks = empty(len(t), np.int32)
        rank_by_bits(t, words, before, t_ranks)
        return s_ranks, t_ranks, total
    few = _by_hash((s,) if s is t else (s, t))
    if few is not None:
        return few[0][0], few[0][-1], few[1]
    if s is t:
        return s_ranks, s_ranks, _rank_sorted(s, sorted_positions(s, size), s_ranks)
    both = np.concatenate((s, t))
    ranks = empty(n, np.int32)
    total = _rank_sorted(both, sorted_positions(both, size), ranks)
    return ranks[: len(s)], ranks[len(s) :], total


def _by_hash(sides: Sequence[Ints]) -> tuple[list[NDArray[np.int32]], int] | None:
    """The ranks of each side, and how many values occur; None where these are many, by a sample or in fact."""
    sample = np.concatenate([side[:: len(side) // SAMPLE + 1] for side in sides])
    distinct = distinct_values(sample)
    if distinct > len(sample) // REPEATS:
        return None
    room = 4 * distinct
    slots, keys = full(1 << (2 * room).bit_length(), -1, np.int64), empty(room, np.int64)
    numbers = empty(len(slots), np.int32)
    ranks = [empty(len(side), np.int32) for side in sides]
    known = 0
    for side, out in zip(sides, ranks, strict=True):
        known = int(hash_codes(side, slots, numbers, keys, known, out))
        if known < 0:
            return None
    places = np.empty(known, np.int32)
    places[np.argsort(keys[:known])] = np.arange(known, dtype=np.int32)
    for out in ranks:
        relabel(out, places)
    return ranks, known


@njit(cache=True, nogil=True)
def _rank_sorted(values: Ints, positions: Ints, ranks: NDArray[np.int32]) -> int:
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


@njit(cache=True, nogil=True, plain=True)
def ranks_in_groups(
    values: Ints, groups: Ints, positions: Ints, ranks: NDArray[np.int32], sizes: NDArray[np.int32]
) -> None:
    """Ranks of values among those of their group, and how many values each group has; `sizes` is zero.

    `positions` are in ascending order of group, then value.
    """
    rank = np.int32(0)
    for p in range(len(positions)):
        here = positions[p]
        if p == 0 or groups[here] != groups[positions[p - 1]]:
            rank = np.int32(0)
        elif values[here] != values[positions[p - 1]]:
            rank += np.int32(1)
        ranks[here] = rank
        sizes[groups[here]] = rank + 1
