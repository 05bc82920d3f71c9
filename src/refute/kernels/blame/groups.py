"""Groups of rows that must agree: what each value weighs, which value weighs most, and how rows are trusted by it.

A group is a left-hand side of a dependency, a pair is a group with one value in it; in a key every row is a pair of its
own. Weights are whole numbers, so sums are the same in whatever order they are taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Ids = NDArray[np.int32]
Flags = NDArray[np.bool_]

EXPECTED = 5  # rows that two values must be expected to share for it to mean something that they share fewer
KNOWN = 50  # rows expected in the mean where rare combinations speak against a row
UNLIKELY = 33_423  # in 1/65536: a little over a half, for values that meet less than half as often as by chance
RARE = 6554  # a tenth


@njit(cache=True, nogil=True, plain=True)
def pair_weights(rows: Longs, pairs: Ids, weights: Longs, sums: Longs) -> None:
    """Adds to `sums` the weight of each pair: point i is row `rows[i]` of pair `pairs[i]`. O(points)."""
    for i in range(len(rows)):
        sums[pairs[i]] += weights[rows[i]]


@njit(cache=True, nogil=True, plain=True)
def group_weights(pair_groups: Ids, sums: Longs, totals: Longs) -> None:
    """Adds to `totals` the weight of each group, the sum over its pairs. O(pairs)."""
    for p in range(len(pair_groups)):
        totals[pair_groups[p]] += sums[p]


@njit(cache=True, nogil=True, plain=True)
def heaviest_pairs(pair_groups: Ids, sums: Longs, common: Longs, best: Ids) -> None:
    """Writes the heaviest pair of each group to `best`, which comes filled with -1; of equals the more common value,
    then the pair with the lower number, whose first row comes first. O(pairs)."""
    for p in range(len(pair_groups)):
        held = best[pair_groups[p]]
        if held < 0 or sums[p] > sums[held] or (sums[p] == sums[held] and common[p] > common[held]):
            best[pair_groups[p]] = p


@njit(cache=True, nogil=True, plain=True)
def drop_ties(pair_groups: Ids, sums: Longs, common: Longs, best: Ids) -> None:
    """Writes -1 to `best` for groups in which another pair is as heavy, and as common, as the best. O(pairs)."""
    for p in range(len(pair_groups)):
        held = best[pair_groups[p]]
        if held >= 0 and held != p and sums[p] == sums[held] and common[p] == common[held]:
            best[pair_groups[p]] = -1


@njit(cache=True, nogil=True, plain=True)
def mark_outvoted(rows: Longs, pairs: Ids, pair_groups: Ids, best: Ids, kept: Flags) -> None:
    """Clears the flags of rows that are not of the best pair of their group. O(points)."""
    for i in range(len(rows)):
        if best[pair_groups[pairs[i]]] != pairs[i]:
            kept[rows[i]] = False


@njit(cache=True, nogil=True, plain=True)
def lean(sums: Longs, common: Longs) -> None:
    """Tips weights towards values that are common in their column: by 1/1024 for each doubling of their number.

    The logarithm has four bits after the point and is linear between powers of two, so it is whole numbers throughout.
    """
    for p in range(len(sums)):
        number = common[p] + 1
        high = 0
        while number >> (high + 1):
            high += 1
        sixteenths = (high << 4) + ((number << 4) >> high) - 16
        sums[p] += (sums[p] * sixteenths) >> 14


@njit(cache=True, nogil=True, plain=True)
def lower_to_share(rows: Longs, pairs: Ids, pair_groups: Ids, sums: Longs, totals: Longs, share: Longs) -> None:
    """Lowers the `share` of each row, in 1/65536, to that of its pair in its group. O(points)."""
    for i in range(len(rows)):
        total = totals[pair_groups[pairs[i]]]
        if total > 0:
            own = (sums[pairs[i]] << 16) // total
            if own < share[rows[i]]:
                share[rows[i]] = own


@njit(cache=True, nogil=True)
def lower_to_lift(
    rows: Longs, left: Ids, right: Ids, both: Ids, counts: tuple[Longs, Longs, Longs], times: Longs, share: Longs
) -> None:
    """Lowers the `share` of rows whose two values meet less than half as often as by chance to a little over a half:
    true tables have such values too, so two rows that agree outweigh a third.

    `counts` are the numbers of rows with each value on the left, on the right, and with each combination; `times` how
    many rows a point is. Where fewer than five rows were expected, and fewer are there, nothing is known; that is held
    against a row, to a tenth, only where most others are known well, with fifty expected in the mean. O(points).
    """
    lefts, rights, boths = counts
    n = times.sum()
    total = 0
    for i in range(len(rows)):
        total += times[i] * (lefts[left[i]] * rights[right[i]] // n)
    known = total >= KNOWN * n
    for i in range(len(rows)):
        expected = lefts[left[i]] * rights[right[i]]  # times n
        seen = boths[both[i]] * n
        lift = 1 << 16
        if expected >= EXPECTED * n:
            if 2 * seen < expected:
                lift = UNLIKELY
        elif known and seen < EXPECTED * n:
            lift = RARE
        if lift < share[rows[i]]:
            share[rows[i]] = lift


@njit(cache=True, nogil=True, plain=True)
def use_matched(order: Longs, pairs: Ids, pair_groups: Ids, best: Ids, spare: Longs, free: Longs, used: Longs) -> None:
    """Tells as used the rows of a matching: all that are not of the best pair of their group, and as many that are.

    `order` lists the points (row number and point, two columns) in the order in which rows of the best pair are taken;
    `spare` comes with the number to take in each group and is counted down; `free` tells how many rows a row stands for
    that can be used. O(points).
    """
    for at in range(len(order)):
        row, i = order[at, 0], order[at, 1]
        group = pair_groups[pairs[i]]
        if best[group] != pairs[i]:
            used[row] = free[row]
        elif spare[group] > 0:
            used[row] = min(spare[group], free[row])
            spare[group] -= used[row]
