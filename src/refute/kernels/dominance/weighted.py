"""Weighted dominance in two dimensions: how much weight lies below each point."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Ints = NDArray[np.int64]


@njit(cache=True, nogil=True)
def weight_below(s_points: Ints, s_weights: Ints, t_points: Ints, size: int, below: Ints) -> None:
    """For each t point, the weight of the s points of its group that are less in both ranks.

    `s_points` and `t_points` are (3, n) arrays of group, first and second rank, each sorted by group and then by first
    rank; second ranks lie in [0, size). Writes `below`, of one number per t point. A Fenwick tree over the second rank
    is filled in order of the first and emptied after each group: (n_s + n_t) log size.
    """
    tree = np.zeros(size + 1, dtype=np.int64)
    i = 0
    first = 0
    for j in range(t_points.shape[1]):
        group = t_points[0, j]
        if j == 0 or group != t_points[0, j - 1]:
            for back in range(first, i):
                _add(tree, s_points[2, back], -s_weights[back])
            while i < s_points.shape[1] and s_points[0, i] < group:
                i += 1
            first = i
        while i < s_points.shape[1] and s_points[0, i] == group and s_points[1, i] < t_points[1, j]:
            _add(tree, s_points[2, i], s_weights[i])
            i += 1
        total = 0
        at = t_points[2, j]
        while at > 0:
            total += tree[at]
            at -= at & -at
        below[j] = total


@njit(cache=True, nogil=True)
def _add(tree: Ints, rank: int, weight: int) -> None:
    at = rank + 1
    while at < len(tree):
        tree[at] += weight
        at += at & -at
