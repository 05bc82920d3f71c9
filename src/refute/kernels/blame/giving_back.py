"""Rows that were put aside and can come back, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.blame.waiting import drop_first, queued, raise_up
from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Table = NDArray[np.int64]  # two dimensions
Flags = NDArray[np.bool_]
States = NDArray[np.int8]

SAME, LESS, OTHER = 0, 1, 2  # kinds of comparison
WAITING, TAKEN, OUT, REFUSED = 0, 1, 2, 3  # states of candidates; one that is refused is put out in its block


@njit(cache=True, nogil=True)
def count_open(groups: Table, pairs: Table, pair_groups: Longs, live: tuple[Longs, Longs], doubts: Longs) -> None:
    """Writes how many candidates each pair has, how many such pairs each group, and in how many groups with several
    each candidate is.

    `groups` and `pairs` are (rules, candidates): the group and the pair of each, -1 where a rule is not about it; no
    two rules share a number. `live` and `doubts` come with zeros. O(rules times candidates).
    """
    of_pairs, of_groups = live
    for rule in range(len(groups)):
        for i in range(groups.shape[1]):
            if pairs[rule, i] >= 0:
                of_pairs[pairs[rule, i]] += 1
    for pair in range(len(of_pairs)):
        if of_pairs[pair] > 0:
            of_groups[pair_groups[pair]] += 1
    for rule in range(len(groups)):
        for i in range(groups.shape[1]):
            if groups[rule, i] >= 0 and of_groups[groups[rule, i]] > 1:
                doubts[i] += 1


@njit(cache=True, nogil=True)
def list_members(groups: Table, starts: Longs, members: Longs) -> None:
    """Writes the candidates of each group to `members`, from `starts[group]` on; `starts` comes with the number of
    members of each group at the place after it. O(rules times candidates)."""
    for group in range(1, len(starts)):
        starts[group] += starts[group - 1]
    filled = starts.copy()
    for rule in range(len(groups)):
        for i in range(groups.shape[1]):
            group = groups[rule, i]
            if group >= 0:
                members[filled[group]] = i
                filled[group] += 1


@njit(cache=True, nogil=True)
def give_back(
    block: tuple[int, int],
    tiers: Longs,
    places: tuple[Table, Table],
    members: tuple[Longs, Longs],
    live: tuple[Longs, Longs, Longs],
    states: States,
    rules: tuple[Longs, Longs, Longs, Longs],
    sides: tuple[Table, Table],
) -> None:
    """Takes candidates `block[0]` to `block[1]` that clash with none taken before: of those still waiting always one of
    the lowest tier, of these one with the fewest doubts left, of these the first.

    A doubt is a group in which candidates of another pair wait, or a row that one of the block stands for that waits
    and clashes by comparisons. `places` are groups and pairs as `count_open` has them, `members` starts and members as
    `list_members` has them, `live` what `count_open` counted; these and `states` are kept up, also for candidates of
    later blocks. Comparisons `starts[r]` to `starts[r + 1]` of a rule, by `kinds`, are asked of `met`, some candidates
    of the block, ascending: `rules` is (kinds, starts, met, how many rows each of these stands for), `sides` has
    (comparisons, met) integers for `s` and `t`.
    O(rules times candidates) over all blocks, n log n of each, and the square of those met.
    """
    first, last = block
    kinds, starts, met, times = rules
    doubts = live[2]
    met_at = np.full(last - first, -1, np.int64)
    for at in range(len(met)):
        met_at[met[at] - first] = at
        for other in range(at):
            waits = states[met[at]] == WAITING and states[met[other]] == WAITING
            if waits and _clash(kinds, starts, sides, at, other):
                doubts[met[at]] += times[other]
                doubts[met[other]] += times[at]
    fallen, eased = np.empty(len(states), np.int64), np.empty(len(members[1]), np.int64)
    heap, where = queued(np.flatnonzero(states[first:last] == WAITING) + first, first, last, tiers, doubts)
    size = len(heap)
    number = 0
    for i in range(first, last):
        if states[i] == REFUSED:
            states[i] = OUT
            fallen[number] = i
            number += 1
    while True:
        for at in range(number):
            easier = _eased(fallen[at], places, members, live, states, eased)
            own = met_at[fallen[at] - first] if first <= fallen[at] < last else -1
            for other in range(len(met) if own >= 0 else 0):
                if states[met[other]] == WAITING and _clash(kinds, starts, sides, own, other):
                    doubts[met[other]] -= times[own]
                    raise_up(heap, where, met[other], first, tiers, doubts)
            for one in eased[:easier]:
                doubts[one] -= 1
                if first <= one < last:
                    raise_up(heap, where, one, first, tiers, doubts)
        while size > 0 and states[heap[0]] != WAITING:
            size = drop_first(heap, where, size, first, tiers, doubts)
        if size == 0:
            return
        chosen = heap[0]
        states[chosen] = TAKEN
        number = _shut_out(chosen, places, members, live[1], states, fallen)
        own = met_at[chosen - first]
        for other in range(len(met) if own >= 0 else 0):
            if states[met[other]] == WAITING and _clash(kinds, starts, sides, own, other):
                states[met[other]] = OUT
                fallen[number] = met[other]
                number += 1


@njit(cache=True, nogil=True)
def _shut_out(
    chosen: int,
    places: tuple[Table, Table],
    members: tuple[Longs, Longs],
    of_groups: Longs,
    states: States,
    fallen: Longs,
) -> int:
    """Puts those out that wait in groups of a candidate with another pair, and lists them; how many they are."""
    groups, pairs = places
    starts, listed = members
    number = 0
    for rule in range(len(groups)):
        group = groups[rule, chosen]
        if group < 0 or of_groups[group] < 2:
            continue
        for at in range(starts[group], starts[group + 1]):
            one = listed[at]
            if states[one] == WAITING and pairs[rule, one] != pairs[rule, chosen]:
                states[one] = OUT
                fallen[number] = one
                number += 1
    return number


@njit(cache=True, nogil=True)
def _eased(
    gone: int,
    places: tuple[Table, Table],
    members: tuple[Longs, Longs],
    live: tuple[Longs, Longs, Longs],
    states: States,
    eased: Longs,
) -> int:
    """Tells groups that a candidate is out, and lists those that are left with one pair in a group; how many."""
    groups, pairs = places
    starts, listed = members
    of_pairs, of_groups, _ = live
    number = 0
    for rule in range(len(groups)):
        group = groups[rule, gone]
        if group < 0:
            continue
        of_pairs[pairs[rule, gone]] -= 1
        if of_pairs[pairs[rule, gone]] > 0:
            continue
        of_groups[group] -= 1
        if of_groups[group] != 1:
            continue
        for at in range(starts[group], starts[group + 1]):
            if states[listed[at]] == WAITING:
                eased[number] = listed[at]
                number += 1
    return number


@njit(cache=True, nogil=True)
def _clash(kinds: Longs, starts: Longs, sides: tuple[Table, Table], i: int, j: int) -> bool:
    """Whether two of those met clash under some rule, in either role."""
    for rule in range(len(starts) - 1):
        if _satisfied(kinds, starts[rule], starts[rule + 1], sides, i, j):
            return True
        if _satisfied(kinds, starts[rule], starts[rule + 1], sides, j, i):
            return True
    return False


@njit(cache=True, nogil=True)
def _satisfied(kinds: Longs, first: int, last: int, sides: tuple[Table, Table], i: int, j: int) -> bool:
    """Whether i as `s` and j as `t` satisfy all comparisons."""
    s, t = sides
    for m in range(first, last):
        if kinds[m] == SAME:
            if s[m, i] != t[m, j]:
                return False
        elif kinds[m] == LESS:
            if s[m, i] >= t[m, j]:
                return False
        elif s[m, i] == t[m, j]:
            return False
    return True
