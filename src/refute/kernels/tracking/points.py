"""Sorted points, and what is inside what, for points and boxes of any number of words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ZERO = np.uint64(0)


@njit(cache=True, nogil=True)
def find_points(points: Array, asked: Array, out: Array) -> None:
    """Write where each asked point is among the points, or `-1 - p` if it is not there and p is where it belongs.

    points: (N, W) ascending, each once; asked: (M, W); out: (M,) int64.
    """
    words = points.shape[1]
    for k in range(asked.shape[0]):
        low, high = 0, points.shape[0]
        found = -1
        while low < high:
            middle = (low + high) // 2
            order = 0
            for w in range(words):
                if points[middle, w] != asked[k, w]:
                    order = -1 if points[middle, w] < asked[k, w] else 1
                    break
            if order == 0:
                found = middle
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
        out[k] = found if found >= 0 else -1 - low


@njit(cache=True, nogil=True)
def _is_inside(inner: Array, n: Scalar, outer: Array, m: Scalar) -> bool:
    outside = _ZERO
    for w in range(inner.shape[1]):
        outside |= inner[n, w] & ~outer[m, w]
    return bool(outside == _ZERO)


@njit(cache=True, nogil=True)
def first_inside(boxes: Array, points: Array, out: Array) -> None:
    """Write for each box (N, W) the number of the first of the points (M, W) that it holds, -1 for none."""
    for n in range(boxes.shape[0]):
        out[n] = -1
        for m in range(points.shape[0]):
            if _is_inside(points, m, boxes, n):
                out[n] = m
                break


@njit(cache=True, nogil=True)
def first_around(inner: Array, boxes: Array, out: Array) -> None:
    """Write for each of the inner boxes (N, W) the number of the first of the boxes (M, W) around it, -1 for none."""
    for n in range(inner.shape[0]):
        out[n] = -1
        for m in range(boxes.shape[0]):
            if _is_inside(inner, n, boxes, m):
                out[n] = m
                break


@njit(cache=True, nogil=True)
def smallest_sets(sets: Array, out: Array) -> Scalar:
    """How many of the sets of bits (N, W), in order of their size, hold no other; their numbers are written to `out`.

    Of equal ones the first is kept. Cost: N times the number of those kept.
    """
    kept = 0
    for n in range(sets.shape[0]):
        least = True
        for k in range(kept):
            if _is_inside(sets, out[k], sets, n):
                least = False
                break
        if least:
            out[kept] = n
            kept += 1
    return kept


@njit(cache=True, nogil=True)
def mark_apart(some: Array, others: Array, alone: Array, others_alone: Array) -> None:
    """Mark the rows (N, W) and (M, W), both ascending and each once, that the other side does not have."""
    n, m = 0, 0
    while n < some.shape[0] and m < others.shape[0]:
        order = 0
        for w in range(some.shape[1]):
            if some[n, w] != others[m, w]:
                order = -1 if some[n, w] < others[m, w] else 1
                break
        if order <= 0:
            alone[n] = order < 0
            n += 1
        if order >= 0:
            others_alone[m] = order > 0
            m += 1
    alone[n:] = True
    others_alone[m:] = True


@njit(cache=True, nogil=True)
def forget_pairs(witnesses: Array, alive: Array) -> None:
    """Drop pairs `s << 32 | t` of which a row is not alive; those that are left come first in their row, then -1."""
    for n in range(witnesses.shape[0]):
        kept = 0
        for k in range(witnesses.shape[1]):
            pair = witnesses[n, k]
            if pair < 0:
                break
            if alive[pair >> 32] and alive[pair & 0xFFFFFFFF]:
                witnesses[n, kept] = pair
                kept += 1
        witnesses[n, kept:] = -1


@njit(cache=True, nogil=True)
def count_holding(boxes: Array, turned: Array, ahead: Array, back: Array, out: Array) -> None:
    """Write how many of the boxes (B, W) hold each point (N, W), with those in `turned` that hold it in the other role.

    ahead, back: (N, W) the point of a pair and that of the pair turned round; turned: (B,) boxes asked of both.
    """
    for n in range(ahead.shape[0]):
        out[n] = 0
        for b in range(boxes.shape[0]):
            out[n] += _is_inside(ahead, n, boxes, b)
            if turned[b]:
                out[n] += _is_inside(back, n, boxes, b)
