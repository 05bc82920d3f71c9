"""Inversion kept up to date: boxes that a new point breaks are cut so that they refuse it.

Hydra, section 5, on boxes: a box that holds the point is replaced by the boxes that refuse it in one slot. A cut of
slot k can only lie inside a whole box that holds the point everywhere but in slot k, so those few are all it is
compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import ones
from refute.kernels.inversion.stack import (
    CutMasks,
    bits_of,
    look_at_many,
    near_by_slot,
    places,
    put,
    slots_of_bits,
    stacked,
    with_room,
)

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
AT_ONCE = 64  # boxes that are compared before the search for one around another may end


@njit(cache=True, nogil=True)
def look_at_each(boxes: Array, total: Scalar, point: Array, broken: Array, near: Array) -> tuple[Scalar, Scalar]:
    """How many boxes hold the point, and how many miss it in one bit alone; their numbers are written."""
    breaks, misses = 0, 0
    for n in range(total):
        missed = 0
        for w in range(boxes.shape[1]):
            word = point[w] & ~boxes[n, w]
            if word != _ZERO:
                missed += 2 if word & (word - _ONE) != _ZERO else 1
                if missed > 1:
                    break
        if missed == 0:
            broken[breaks] = n
            breaks += 1
        elif missed == 1:
            near[misses] = n
            misses += 1
    return breaks, misses


@njit(cache=True, nogil=True)
def predicates(cuts: CutMasks, box: Array) -> Scalar:
    total = np.int64(0)
    for k in range(cuts.word.shape[0]):
        total += cuts.weight[k, np.int64((box[cuts.word[k]] >> cuts.shift[k]) & cuts.full[k])]
    return total


@njit(cache=True, nogil=True)
def is_within(box: Array, others: Array, start: Scalar, stop: Scalar) -> bool:
    """Whether the box lies within one of others[start:stop]."""
    words = box.shape[0]
    if words == 1:  # as most spaces have it; compilers then compare several at once
        alone, column = box[0], others[:, 0]
        for first in range(start, stop, AT_ONCE):
            part = column[first : min(first + AT_ONCE, stop)]
            found = 0
            for n in range(part.shape[0]):
                found += alone & ~part[n] == _ZERO
            if found:
                return True
        return False
    for first in range(start, stop, AT_ONCE):
        inside = False
        for n in range(first, min(first + AT_ONCE, stop)):
            outside = _ZERO
            for w in range(words):
                outside |= box[w] & ~others[n, w]
            inside |= outside == _ZERO
        if inside:
            return True
    return False


@njit(cache=True, nogil=True)
def _by_slot(boxes: Array, near: Array, point: Array, slot_of: Array, starts: Array, out: Array) -> None:
    """Write the near boxes by the slot k in which they miss the point: out[starts[k] : starts[k + 1]]."""
    words = boxes.shape[1]
    slot = np.zeros(near.shape[0], np.int64)
    starts[:] = 0
    for m in range(near.shape[0]):
        for w in range(words):
            missed = point[w] & ~boxes[near[m], w]
            if missed != _ZERO:
                slot[m] = slot_of[w * 64 + ones((missed & (~missed + _ONE)) - _ONE)]
                break
        starts[slot[m] + 1] += 1
    for k in range(1, starts.shape[0]):
        starts[k] += starts[k - 1]
    at = starts[:-1].copy()
    for m in range(near.shape[0]):
        for w in range(words):
            out[at[slot[m]], w] = boxes[near[m], w]
        at[slot[m]] += 1


@njit(cache=True, nogil=True)
def _cut_all(
    cuts: CutMasks, held: Array, broken: Array, point: Array, around: Array, starts: Array, limit: Scalar, fresh: Array
) -> tuple[Array, Scalar]:
    """The largest parts of broken boxes that refuse a point and lie in no whole box, in `fresh` or a longer array."""
    words = held.shape[1]
    trial = np.empty(words, np.uint64)
    made = 0
    for k in range(cuts.word.shape[0]):
        word, shift, full = cuts.word[k], cuts.shift[k], cuts.full[k]
        state = np.int64(0)
        while ((point[word] >> shift) >> np.uint64(state)) & _ONE == _ZERO:
            state += 1
        first_of_slot = made
        for n in broken:
            mask = np.int64((held[n, word] >> shift) & full)
            for option in range(3):
                kept = cuts.rest[k, mask, state, option]
                if kept == 0:
                    break
                for w in range(words):
                    trial[w] = held[n, w]
                trial[word] = (trial[word] & ~(full << shift)) | (np.uint64(kept) << shift)
                if is_within(trial, around, starts[k], starts[k + 1]) or predicates(cuts, trial) > limit:
                    continue
                if not cuts.simple[k] and is_covered(trial, fresh, first_of_slot, made, words):
                    continue
                if made == fresh.shape[0]:
                    more = np.empty((2 * made, words), np.uint64)
                    more[:made] = fresh
                    fresh = more
                fresh[made] = trial
                made += 1
    kept_ones = 0
    for n in range(made):
        if any_bit(fresh[n], words) != _ZERO:
            fresh[kept_ones] = fresh[n]
            kept_ones += 1
    return fresh, kept_ones


@njit(cache=True, nogil=True)
def cut_boxes(cuts: CutMasks, boxes: Array, points: Array, limit: Scalar, few: Scalar) -> Array:
    """The maximal boxes after all points were seen, in no order, given the maximal boxes before.

    boxes: (N, W); points: (P, W); limit: most predicates of a rule; few: points up to which boxes are looked at one by
    one. Cost per point: a bit per box and slot, and per broken box and slot the whole boxes that miss the point in that
    slot alone.
    """
    words, slots = boxes.shape[1], cuts.word.shape[0]
    total = boxes.shape[0]
    room = total // 64 + total // 256 + 1  # words of 64 boxes
    held = np.zeros((room * 64, words), np.uint64)
    held[:total] = boxes
    many = points.shape[0] > few
    stack = stacked(held, total if many else 0, room if many else 0)
    slot_of = slots_of_bits(cuts, words)
    broken, near = np.empty(held.shape[0], np.int64), np.empty(held.shape[0], np.int64)
    marked, marked_near = np.empty(stack.shape[1], np.uint64), np.empty(stack.shape[1], np.uint64)
    around = np.empty((held.shape[0], words), np.uint64)
    bits, starts = np.empty(slots, np.int64), np.empty(slots + 1, np.int64)
    fresh = np.empty((64, words), np.uint64)
    nothing = np.zeros(words, np.uint64)
    for p in range(points.shape[0]):
        if many:
            bits_of(cuts, points[p], bits)
            look_at_many(stack, bits, marked, marked_near)
            breaks, misses = places(marked, broken), 0
        else:
            breaks, misses = look_at_each(held, total, points[p], broken, near)
        if breaks == 0:
            continue
        if many:
            near_by_slot(stack, held, bits, marked_near, starts, around)
        else:
            _by_slot(held, near[:misses], points[p], slot_of, starts, around)
        fresh, made = _cut_all(cuts, held, broken[:breaks], points[p], around, starts, limit, fresh)
        if total + made > held.shape[0]:
            room = (total + made) // 32 + 1  # as many again, and as many as are needed
            held = np.concatenate((held, np.zeros((room * 64 - held.shape[0], words), np.uint64)))
            if many:
                stack = with_room(stack, room)
            marked, marked_near = np.empty(stack.shape[1], np.uint64), np.empty(stack.shape[1], np.uint64)
            around = np.empty((held.shape[0], words), np.uint64)
            broken = np.concatenate((broken, np.empty(held.shape[0] - broken.shape[0], np.int64)))
            near = np.empty(held.shape[0], np.int64)
        for n in range(max(made, breaks)):
            if n < breaks:
                at = broken[n]
            else:
                at = total
                total += 1
            after = fresh[n] if n < made else nothing
            if many:
                put(stack, at, held[at], after)
            held[at] = after
    kept = 0
    for n in range(total):
        if any_bit(held[n], words) != _ZERO:
            held[kept] = held[n]
            kept += 1
    return held[:kept].copy()


@njit(cache=True, nogil=True)
def any_bit(box: Array, words: Scalar) -> Scalar:
    found = _ZERO
    for w in range(words):
        found |= box[w]
    return found


@njit(cache=True, nogil=True)
def is_covered(box: Array, fresh: Array, start: Scalar, stop: Scalar, words: Scalar) -> bool:
    """Whether another cut of the slot contains this one; cuts that this one contains are blanked."""
    for n in range(start, stop):
        inside, contains = True, True
        for w in range(words):
            inside &= box[w] & ~fresh[n, w] == _ZERO
            contains &= fresh[n, w] & ~box[w] == _ZERO
        if inside and any_bit(fresh[n], words) != _ZERO:
            return True
        if contains:
            for w in range(words):
                fresh[n, w] = _ZERO
    return False
