"""Maximal boxes that come back when points are gone: those around each of them, and the boxes that lie within these.

A box before that lies within a new one misses a point that is gone in one slot alone: if it were larger in any slot in
which the new box is, it would be held back by such a point. So few boxes are compared with those around a point.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import ones
from refute.kernels.inversion.cut import any_bit, is_covered, look_at_each, predicates
from refute.kernels.inversion.stack import (
    CutMasks,
    bits_of,
    look_at_many,
    mark_without,
    places,
    slots_of_bits,
    stacked,
)
from refute.kernels.tracking.points import find_points, smallest_sets

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ROOM = 1 << 8
_AT_ONCE = 16  # points that are looked at before those are listed that have none of some bits


@njit(cache=True, nogil=True)
def _singles(cuts: CutMasks, points: Array, point: Array, out: Array) -> Scalar:
    """How many points differ from this one in one slot alone; their bits there are written to `out` (states, W)."""
    words = points.shape[1]
    asked = np.empty((1, words), np.uint64)
    at = np.empty(1, np.int64)
    found = 0
    for k in range(cuts.word.shape[0]):
        w, shift = cuts.word[k], cuts.shift[k]
        others = (cuts.full[k] << shift) & ~point[w]
        while others != _ZERO:
            low = others & (~others + _ONE)
            others ^= low
            asked[0] = point
            asked[0, w] = (point[w] & ~(cuts.full[k] << shift)) | low
            find_points(points, asked, at)
            if at[0] >= 0:
                out[found] = _ZERO
                out[found, w] = low
                found += 1
    return found


@njit(cache=True, nogil=True)
def _without(points: Array, bits: Array, out: Array) -> Scalar:
    """How many points have none of the bits (W,); their numbers are written to `out` (N,)."""
    words, total = points.shape[1], points.shape[0]
    found = 0
    if words == 1:  # as most spaces have it; compilers then compare several at once
        column, alone = points[:, 0], bits[0]
        for first in range(0, total, _AT_ONCE):
            part = column[first : min(first + _AT_ONCE, total)]
            some = 0
            for n in range(part.shape[0]):
                some += part[n] & alone == _ZERO
            if some:
                for n in range(part.shape[0]):
                    if part[n] & alone == _ZERO:
                        out[found] = first + n
                        found += 1
        return found
    for n in range(total):
        some_bits = _ZERO
        for w in range(words):
            some_bits |= points[n, w] & bits[w]
        if some_bits == _ZERO:
            out[found] = n
            found += 1
    return found


@njit(cache=True, nogil=True)
def _differences(cuts: CutMasks, points: Array, stack: Array, point: Array, room: Array) -> Array:
    """What points have that this one has not, those that differ in the fewest slots first; points ascend.

    Those that differ in one slot alone come first, and of the others only those that share no state with them there:
    no others are of the smallest ones. So few are left of many. stack: the points as bits, or none; room: at least
    (N,) int64 to work in.
    """
    words = points.shape[1]
    singles = np.empty((64 * words, words), np.uint64)
    alone = _singles(cuts, points, point, singles)
    banned = np.zeros(words, np.uint64)
    for n in range(alone):
        for w in range(words):
            banned[w] |= singles[n, w]
    if stack.shape[1]:
        total = places(mark_without(stack, points.shape[0], banned), room)
    else:
        total = _without(points, banned, room)
    size = np.zeros(total, np.int64)
    starts = np.zeros(64 * words + 2, np.int64)
    for n in range(total):
        for w in range(words):
            size[n] += ones(points[room[n], w] & ~point[w])
        starts[size[n] + 1] += 1
    for k in range(1, starts.shape[0]):
        starts[k] += starts[k - 1]
    found = np.empty((alone + total, words), np.uint64)
    found[:alone] = singles[:alone]
    for n in range(total):
        for w in range(words):
            found[alone + starts[size[n]], w] = points[room[n], w] & ~point[w]
        starts[size[n]] += 1
    return found


@njit(cache=True, nogil=True)
def _refusing(
    cuts: CutMasks, slots: Array, held: Array, broken: Array, near: Array, point: Array, other: Array, limit: Scalar
) -> Array:
    """The largest parts of broken boxes that hold a point and refuse another, and lie in no box that is near.

    other: (W,) what the other point has that the point has not; near: boxes that miss one bit of it. slots: the slot of
    each bit of a box.
    """
    words = held.shape[1]
    trial = np.empty(words, np.uint64)
    fresh = np.empty((2 * broken.shape[0], words), np.uint64)
    made = 0
    for w in range(words):
        left = other[w]
        while left != _ZERO:
            low = left & (~left + _ONE)
            left ^= low
            bit = ones(low - _ONE)
            k = slots[w * 64 + bit]
            shift, full = cuts.shift[k], cuts.full[k]
            first_of_slot = made
            for n in broken:
                mask = np.int64((held[n, w] >> shift) & full)
                for option in range(3):
                    rest = np.uint64(cuts.rest[k, mask, bit - np.int64(shift), option])
                    if rest == _ZERO:
                        break
                    if (rest << shift) & point[w] == _ZERO:
                        continue
                    for v in range(words):
                        trial[v] = held[n, v]
                    trial[w] = (trial[w] & ~(full << shift)) | (rest << shift)
                    if predicates(cuts, trial) > limit or _is_in_one(trial, held, near, w, low):
                        continue
                    if not cuts.simple[k] and is_covered(trial, fresh, first_of_slot, made, words):
                        continue
                    if made == fresh.shape[0]:
                        more = np.empty((2 * made, words), np.uint64)
                        more[:made] = fresh
                        fresh = more
                    fresh[made] = trial
                    made += 1
    kept = 0
    for n in range(made):
        if any_bit(fresh[n], words) != _ZERO:
            fresh[kept] = fresh[n]
            kept += 1
    return fresh[:kept]


@njit(cache=True, nogil=True)
def _is_in_one(box: Array, held: Array, near: Array, word: Scalar, bit: Scalar) -> bool:
    """Whether the box lies within one of those numbered, of those that do not have a bit."""
    for n in near:
        if held[n, word] & bit != _ZERO:
            continue
        outside = _ZERO
        for w in range(box.shape[0]):
            outside |= box[w] & ~held[n, w]
        if outside == _ZERO:
            return True
    return False


@njit(cache=True, nogil=True)
def boxes_around(
    cuts: CutMasks, full: Array, points: Array, stack: Array, point: Array, limit: Scalar, room: Array
) -> Array:
    """The maximal boxes (B, W) that hold a point (W,) and none of the others (N, W), which ascend, N > 0.

    The box `full` (W,) of all is cut so that it refuses one after the other, and never the point. Of the others, those
    suffice whose difference to the point holds no other's difference. stack: the others as bits, or a stack without
    room, for a single point; limit: most predicates of a rule; room: (N,) int64 to work in.
    """
    words = points.shape[1]
    differing = _differences(cuts, points, stack, point, room)
    least = np.empty(differing.shape[0], np.int64)
    count = smallest_sets(differing, least)
    slots = slots_of_bits(cuts, words)
    held = np.empty((_ROOM, words), np.uint64)
    held[0] = full
    total = 1
    broken, near = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
    for o in range(count):
        other = differing[least[o]]
        breaks, misses = look_at_each(held, total, other, broken, near)
        if breaks == 0:
            continue
        fresh = _refusing(cuts, slots, held, broken[:breaks], near[:misses], point, other, limit)
        made = fresh.shape[0]
        if total + made > held.shape[0]:
            more = np.empty((2 * (total + made), words), np.uint64)
            more[:total] = held[:total]
            held = more
            near = np.empty(held.shape[0], np.int64)
            wider = np.empty(held.shape[0], np.int64)
            wider[:breaks] = broken[:breaks]
            broken = wider
        for n in range(max(made, breaks)):
            if n >= breaks:
                held[total] = fresh[n]
                total += 1
            elif n < made:
                held[broken[n]] = fresh[n]
        for n in range(breaks - 1, made - 1, -1):  # those that nothing came in the place of; the last ones fill gaps
            total -= 1
            held[broken[n]] = held[total]
    return held[:total].copy()


@njit(cache=True, nogil=True)
def _mark_within(boxes: Array, near: Array, around: Array, inside: Array) -> None:
    """Mark the boxes, of those numbered, that lie within one of those around a point."""
    words = boxes.shape[1]
    first = around[:, 0].copy()  # in one piece, so that compilers compare several at once
    for n in near:
        if n >= boxes.shape[0] or inside[n]:
            continue
        some, word = 0, boxes[n, 0]
        for m in range(first.shape[0]):
            some += word & ~first[m] == _ZERO
        if words == 1 or some == 0:
            inside[n] = some > 0
            continue
        for m in range(first.shape[0]):
            outside = _ZERO
            for w in range(words):
                outside |= boxes[n, w] & ~around[m, w]
            if outside == _ZERO:
                inside[n] = True
                break


@njit(cache=True, nogil=True)
def grow_boxes(
    cuts: CutMasks, full: Array, boxes: Array, points: Array, dead: Array, limit: Scalar, few: Scalar, halt: Array
) -> tuple[Array, Array]:
    """The maximal boxes that hold one of the dead points (D, W) and none of the others (N, W), some more than once.

    boxes: (B, W) the maximal ones that held none of either; also gives which of these lie within a new one, as long as
    `limit` lets rules be of any length. The others ascend, N > 0; few: dead points up to which boxes are looked at one
    by one. Cost per dead point: a word of each of the others, a bit per box and slot, and the boxes around it.
    """
    total, words = boxes.shape
    many = dead.shape[0] > few
    stack = stacked(boxes, total if many else 0, total // 64 + 1 if many else 0)
    marked, marked_near = np.empty(stack.shape[1], np.uint64), np.empty(stack.shape[1], np.uint64)
    broken, near = np.empty(total, np.int64), np.empty(total + 64, np.int64)
    bits = np.empty(cuts.word.shape[0], np.int64)
    others = stacked(points, points.shape[0] if many else 0, points.shape[0] // 64 + 1 if many else 0)
    room = np.empty(points.shape[0], np.int64)
    inside = np.zeros(total, np.bool_)
    out = np.empty((_ROOM, words), np.uint64)
    made = 0
    for d in range(dead.shape[0]):
        if halt[0] != 0:
            break
        around = boxes_around(cuts, full, points, others, dead[d], limit, room)
        if made + around.shape[0] > out.shape[0]:
            more = np.empty((2 * (made + around.shape[0]), words), np.uint64)
            more[:made] = out[:made]
            out = more
        out[made : made + around.shape[0]] = around
        made += around.shape[0]
        if many:
            bits_of(cuts, dead[d], bits)
            look_at_many(stack, bits, marked, marked_near)
            misses = places(marked_near, near)
        else:
            _, misses = look_at_each(boxes, total, dead[d], broken, near)
        _mark_within(boxes, near[:misses], around, inside)
    return out[:made].copy(), inside
