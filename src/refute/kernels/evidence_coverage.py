"""How close pairs come to breaking rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def covered(masks: Array, used: Array, states: Array, counts: Array, out: Array) -> None:
    """Write each rule's coverage over the counted points to `out`.

    masks, used: (N, K) accepted states and whether a slot has a predicate; states: (E, K); counts: (E,) floats; out:
    (N,). A pair that satisfies k of m predicates, 0 <= k < m, weighs (k + 1) / m; coverage is the mean weight. Cost: N
    x E x K.
    """
    slots = masks.shape[1]
    which = np.empty(slots, np.int64)
    for n in range(masks.shape[0]):
        size = 0
        for k in range(slots):
            if used[n, k]:
                which[size] = k
                size += 1
        total, weighed = 0.0, 0.0
        for e in range(states.shape[0]):
            true = 0
            for p in range(size):
                k = which[p]
                true += (masks[n, k] >> states[e, k]) & 1
            if true < size:
                total += counts[e]
                weighed += counts[e] * (true + 1) / size
        out[n] = weighed / total if total > 0 else 0.0


@njit(cache=True, nogil=True)
def weights_inside(boxes: Array, points: Array, counts: Array, out: Array) -> None:
    """Write the total count of the points (E, W) inside each box (N, W) to `out` (N,). Cost: N x E."""
    words = boxes.shape[1]
    for n in range(boxes.shape[0]):
        total = np.int64(0)
        for e in range(points.shape[0]):
            inside = True
            for w in range(words):
                if points[e, w] & ~boxes[n, w] != np.uint64(0):
                    inside = False
                    break
            if inside:
                total += counts[e]
        out[n] = total
