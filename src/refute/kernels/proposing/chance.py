"""The rows that chance would blame: those of groups whose values are dealt anew from one pool.

A pool is the sizes of its groups and how often each value comes, nothing else, so a table gives the same figures in
whatever order its rows come. Groups of two and three are settled by formula, larger ones by deals that the pool itself
seeds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.proposing.groups import UNIT
from refute.kernels.sort.in_place import sort_part

Ids = NDArray[np.int32]
Longs = NDArray[np.int64]
_DEALS = 256  # at least, shared by all pools
_CARDS = 20_000  # at most, that are dealt to find out about groups of one size


@njit(cache=True, nogil=True)
def mixed(state: np.uint64) -> np.uint64:
    """A number that looks random, for each number (SplitMix64)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@njit(cache=True, nogil=True)
def drawn(state: np.uint64, below: int) -> int:
    """A whole number from 0 on and below another, for the state of a generator."""
    return np.int64((mixed(state) >> np.uint64(11)) % np.uint64(below))  # type: ignore[return-value]


@njit(cache=True, nogil=True, inline="always")
def pool_blame(sizes: Ids, values: Ids, rows: int, seed: np.uint64, deck: Ids, seen: Longs) -> int:
    """The rows to blame that are expected where `values` are dealt to groups of these sizes, in parts of UNIT.

    Pools of so many `rows` in all share deals, as their errors cancel out. `sizes` and `values` ascend and have the
    same sum; `deck` has room for that many, `seen` for a number for each value and comes and goes as zeros.
    """
    if len(values) < 2:
        return 0
    total, twos, threes = 0.0, 0.0, 0.0
    state = seed
    for value in range(len(values)):
        count = float(values[value])
        total += count
        twos += count * (count - 1)
        threes += count * (count - 1) * (count - 2)
        state = mixed(state + np.uint64(values[value]))
    n = int(total)
    laid = False
    expected = 0.0
    first = 0
    while first < len(sizes):
        size, last = sizes[first], first
        while last < len(sizes) and sizes[last] == size:
            last += 1
        groups = last - first
        first = last
        if size == n:
            expected += groups * float(n - values[len(values) - 1])
        elif size == 2:
            expected += groups * (1.0 - twos / (total * (total - 1)))
        elif size == 3:
            all_ways = total * (total - 1) * (total - 2)
            same = threes / all_ways
            two = 3.0 * (twos * (total - 2) - threes) / all_ways
            expected += groups * (two + 2.0 * (1.0 - same - two))
        else:
            if not laid:
                laid = True
                at = 0
                for value in range(len(values)):
                    for _ in range(values[value]):
                        deck[at] = value
                        at += 1
            deals = min(max(groups, _DEALS * n // rows), 1 + _CARDS // size)
            blame = 0
            for _ in range(deals):
                most = 0
                for at in range(size):
                    state += np.uint64(0x9E3779B97F4A7C15)
                    other = at + drawn(state, n - at)
                    card = deck[other]
                    deck[other] = deck[at]
                    deck[at] = card
                    seen[card] += 1
                    most = max(most, seen[card])
                for at in range(size):
                    seen[deck[at]] = 0
                blame += size - most
            expected += groups * blame / deals
    return int(expected * UNIT)


@njit(cache=True, nogil=True)
def dealt_blame(
    order: Ids, starts: Longs, codes: Ids, groups: Longs, pools: Longs, rows: int, seed: np.uint64, counts: Longs
) -> int:
    """The rows to blame that are expected where values are dealt inside pools, in parts of UNIT.

    `groups` lists the groups of each pool, pool after pool; `pools` has where each begins, with the end last. A pool
    of one group cannot be dealt otherwise. `rows` is how many there are of groups in which two have a value at least;
    `counts` as for `refine`. O(rows), and sorts of sizes and values.
    """
    half = len(counts) // 2
    deck = np.empty(len(order), np.int32)
    sizes, values = np.empty(len(starts), np.int32), np.empty(half, np.int32)
    seen = counts[:half]
    totals = counts[half:]
    expected = 0
    for pool in range(len(pools) - 1):
        n_sizes, n_values = 0, 0
        for place in range(pools[pool], pools[pool + 1]):
            group = groups[place]
            present = 0
            for at in range(starts[group], starts[group + 1]):
                present += codes[order[at]] >= 0
            if present < 2:
                continue
            sizes[n_sizes] = present
            n_sizes += 1
            for at in range(starts[group], starts[group + 1]):
                code = codes[order[at]]
                if code >= 0:
                    totals[code] += 1
        for place in range(pools[pool], pools[pool + 1]):
            group = groups[place]
            for at in range(starts[group], starts[group + 1]):
                code = codes[order[at]]
                if code >= 0 and totals[code] > 0:
                    values[n_values] = totals[code]
                    n_values += 1
                    totals[code] = 0
        if n_sizes:
            sort_part(sizes, 0, n_sizes)
            sort_part(values, 0, n_values)
            expected += pool_blame(sizes[:n_sizes], values[:n_values], rows, seed, deck, seen)
    return expected
