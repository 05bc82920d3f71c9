"""Rows that were put aside and can come back, one after the other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Longs = NDArray[np.int64]
Ids = NDArray[np.int32]
Flags = NDArray[np.bool_]

SAME, LESS, OTHER = 0, 1, 2  # kinds of comparison


@njit(cache=True, nogil=True)
def give_back(
    groups: Longs, pairs: Ids, held: Ids, kinds: Longs, starts: Longs, sides: tuple[Longs, Longs], taken: Flags
) -> None:
    """Marks in `taken`, in their order, the candidates that clash with no row that is kept or was taken before.

    `groups` and `pairs` are (rules, candidates): the group and the pair of each under rules that groups decide, -1
    where a rule is not about it; `held` has the pair that is kept in each group, or -1, and is kept up. Comparisons
    `starts[r]` to `starts[r + 1]` are those of a rule that pairs decide, with (comparisons, candidates) integers for
    `s` and `t`; these candidates are known to clash with no row that was kept before. Candidates times those taken.
    """
    s, t = sides
    chosen = np.empty(len(taken), np.int64)
    found = 0
    for i in range(len(taken)):
        free = True
        for rule in range(len(groups)):
            group = groups[rule, i]
            if group >= 0 and held[group] >= 0 and held[group] != pairs[rule, i]:
                free = False
                break
        for rule in range(len(starts) - 1):
            if not free:
                break
            for at in range(found):
                j = chosen[at]
                if _clash(kinds, starts[rule], starts[rule + 1], s, t, i, j):
                    free = False
                    break
                if _clash(kinds, starts[rule], starts[rule + 1], s, t, j, i):
                    free = False
                    break
        if free:
            taken[i] = True
            chosen[found] = i
            found += 1
            for rule in range(len(groups)):
                if groups[rule, i] >= 0:
                    held[groups[rule, i]] = pairs[rule, i]


@njit(cache=True, nogil=True)
def _clash(kinds: Longs, first: int, last: int, s: Longs, t: Longs, i: int, j: int) -> bool:
    """Whether candidate i as `s` and candidate j as `t` satisfy all comparisons."""
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
