"""How close pairs come to breaking rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import ones

Array = NDArray[Any]


@njit(cache=True, nogil=True)
def covered(boxes: Array, asked: Array, sizes: Array, points: Array, counts: Array, out: Array) -> None:
    """Write each rule's coverage over the counted points to `out`.

    boxes: (N, W) rules; asked: (N, W) all states of the slots that have a predicate, and sizes: (N,) how many those
    are; points: (E, W); counts: (E,) floats; out: (N,). A pair that satisfies k of m predicates, 0 <= k < m, weighs
    (k + 1) / m; coverage is the mean weight. Cost: N x E x W.
    """
    words = boxes.shape[1]
    for n in range(boxes.shape[0]):
        total, weighed = 0.0, 0.0
        for e in range(points.shape[0]):
            true = np.int64(0)
            for w in range(words):
                true += ones(points[e, w] & boxes[n, w] & asked[n, w])
            if true < sizes[n]:
                total += counts[e]
                weighed += counts[e] * (true + 1)
        out[n] = weighed / (total * sizes[n]) if total > 0 else 0.0


@njit(cache=True, nogil=True)
def weights_either_way(
    boxes: Array, here: Array, there: Array, counts: Array, ordered: Array, unordered: Array
) -> None:
    """Write how many pairs each box (N, W) holds: in either order, and at least in one.

    here, there: (E, W) the points of pairs, and of the same with their rows exchanged; counts: (E,) of pairs; ordered,
    unordered: (N,). Cost: N x E.
    """
    words = boxes.shape[1]
    for n in range(boxes.shape[0]):
        one, either = np.int64(0), np.int64(0)
        for e in range(here.shape[0]):
            outside, turned_outside = np.uint64(0), np.uint64(0)
            for w in range(words):
                outside |= here[e, w] & ~boxes[n, w]
                turned_outside |= there[e, w] & ~boxes[n, w]
            ways = (outside == np.uint64(0)) + (turned_outside == np.uint64(0))
            if ways > 0:
                one += ways * counts[e]
                either += counts[e]
        ordered[n], unordered[n] = one, either


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
