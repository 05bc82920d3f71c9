"""Maximal boxes that come back when points are gone: those around each of them, and the boxes that lie within these.

A box before that lies within a new one misses a point that is gone in one slot alone: if it were larger in any slot in
which the new box is, it would be held back by such a point. So few boxes are compared with those around a point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import Choices, ones
from refute.kernels.inversion.cut import CutMasks, look_at_each
from refute.kernels.inversion.hitting import invert
from refute.kernels.tracking.points import smallest_sets

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROOM = 1 << 8


@njit(cache=True, nogil=True)
def _state(cuts: CutMasks, k: Scalar, point: Array) -> Scalar:
    """The state of a point in a slot, -1 if it has none."""
    bits = (point[cuts.word[k]] >> cuts.shift[k]) & cuts.full[k]
    return np.int64(-1) if bits == _ZERO else ones((bits & (~bits + _ONE)) - _ONE)


@njit(cache=True, nogil=True)
def _differences(points: Array, point: Array) -> Array:
    """What each point has that this one has not, those that differ in the fewest slots first."""
    words = points.shape[1]
    size = np.zeros(points.shape[0], np.int64)
    starts = np.zeros(64 * words + 2, np.int64)
    for n in range(points.shape[0]):
        for w in range(words):
            size[n] += ones(points[n, w] & ~point[w])
        starts[size[n] + 1] += 1
    for k in range(1, starts.shape[0]):
        starts[k] += starts[k - 1]
    found = np.empty((points.shape[0], words), np.uint64)
    for n in range(points.shape[0]):
        for w in range(words):
            found[starts[size[n]], w] = points[n, w] & ~point[w]
        starts[size[n]] += 1
    return found


@njit(cache=True, nogil=True)
def boxes_around(choices: Choices, cuts: CutMasks, points: Array, point: Array, limit: Scalar, halt: Array) -> Array:
    """The maximal boxes (B, W) that hold a point (W,) and none of the others (N, W), N > 0.

    Only choices that accept the point's states are made: whatever is weaker than one accepts them too. Of the others,
    those suffice whose difference to the point holds no other's difference. limit: most predicates of a rule; halt:
    (2,) not zero once the search should stop, and how many results there are.
    """
    slots, words = cuts.word.shape[0], points.shape[1]
    width = choices.siblings.shape[1]
    differing = _differences(points, point)
    kept = np.empty(differing.shape[0], np.int64)
    count = smallest_sets(differing, kept)
    refused = np.empty((count, slots), np.uint8)
    start = np.zeros((2, width), np.uint64)
    for k in range(slots):
        own = _state(cuts, k, point)
        for n in range(count):
            other = _state(cuts, k, differing[kept[n]])
            refused[n, k] = own if other < 0 else other
        for x in range(width):
            start[1, x] |= choices.siblings[k, x] & ~choices.refusing[k, own, x]
    room = _ROOM
    while True:
        out = np.zeros((room, 2 * width), np.uint64)
        found = invert(choices, refused, start, limit, 0, halt, out)
        if found <= room:
            break
        room = found
    boxes = np.zeros((found, words), np.uint64)
    for k in range(slots):
        for n in range(found):
            boxes[n, cuts.word[k]] |= cuts.full[k] << cuts.shift[k]
    for n in range(found):
        for x in range(width):
            word = out[n, x]
            while word != _ZERO:
                low = word & (~word + _ONE)
                word ^= low
                choice = 64 * x + ones(low - _ONE)
                k = choices.slot[choice]
                refusing = cuts.full[k] & ~np.uint64(choices.mask[choice])
                boxes[n, cuts.word[k]] &= ~(refusing << cuts.shift[k])
    return boxes


@njit(cache=True, nogil=True)
def mark_inside(boxes: Array, point: Array, around: Array, marks: Array) -> None:
    """Mark the boxes (N, W) that miss the point (W,) in one slot alone and lie within one of the boxes around it."""
    broken, near = np.empty(boxes.shape[0], np.int64), np.empty(boxes.shape[0], np.int64)
    _, misses = look_at_each(boxes, boxes.shape[0], point, broken, near)
    for m in range(misses):
        n = near[m]
        for b in range(around.shape[0]):
            outside = _ZERO
            for w in range(boxes.shape[1]):
                outside |= boxes[n, w] & ~around[b, w]
            if outside == _ZERO:
                marks[n] = True
                break
