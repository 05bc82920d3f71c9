"""Inversion kept up to date: boxes that a new point breaks are cut so that they refuse it.

Hydra, section 5, on boxes: a box that holds the point is replaced by the boxes that refuse it in one slot. A cut of
slot k can only lie inside a whole box that holds the point everywhere but in slot k, so those few are all it is
compared with.

For each bit of a space, a stack of bits says which boxes have it, 64 boxes a word: so whether a box misses a point
nowhere, once or more often is found for many boxes at a time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import ones

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ZERO = np.uint64(0)
_ONE = np.uint64(1)
_ALL = ~np.uint64(0)
_WIDE = 8  # words of a block, which are looked at together
BLOCK = 64 * _WIDE  # boxes of a block
AT_ONCE = 16  # boxes that are compared before the search for one around another may end


class CutMasks(NamedTuple):
    """How the K slots of a space lie in W words, and what is left of a mask that must refuse a state."""

    word: NDArray[np.int64]  # (K,)
    shift: NDArray[np.uint64]  # (K,)
    full: NDArray[np.uint64]  # (K,) the mask of all states
    simple: NDArray[np.bool_]  # (K,) whether cuts of different boxes never contain each other
    weight: NDArray[np.int64]  # (K, 32) predicates that a mask takes
    rest: NDArray[np.int64]  # (K, 32, 5, 3) the largest masks inside a mask that refuse a state, then zeros


@njit(cache=True, nogil=True)
def slots_of_bits(cuts: CutMasks, words: Scalar) -> Array:
    """The slot that owns each bit of the words of a box."""
    found = np.zeros(64 * words, np.int64)
    for k in range(cuts.word.shape[0]):
        for bit in range(64):
            if (cuts.full[k] >> np.uint64(bit)) & _ONE:
                found[cuts.word[k] * 64 + np.int64(cuts.shift[k]) + bit] = k
    return found


@njit(cache=True, nogil=True)
def stacked(boxes: Array, total: Scalar, blocks: Scalar) -> Array:
    """Which boxes have each bit: (blocks, 64 W, _WIDE) words of 64 boxes."""
    words = boxes.shape[1]
    found = np.zeros((blocks, 64 * words, _WIDE), np.uint64)
    for first in range(0, total, 64):
        last = min(first + 64, total)
        block, at = first // BLOCK, (first % BLOCK) >> 6
        for w in range(words):
            some = _ZERO
            for n in range(first, last):
                some |= boxes[n, w]
            for bit in range(64):
                if not (some >> np.uint64(bit)) & _ONE:
                    continue
                word = _ZERO
                for n in range(first, last):
                    word |= ((boxes[n, w] >> np.uint64(bit)) & _ONE) << np.uint64(n - first)
                found[block, w * 64 + bit, at] = word
    return found


@njit(cache=True, nogil=True)
def bits_of(cuts: CutMasks, point: Array, out: Array) -> None:
    """Write the place of the bit of a point in each slot (K,), counted over all words."""
    for k in range(cuts.word.shape[0]):
        state = point[cuts.word[k]] & (cuts.full[k] << cuts.shift[k])
        out[k] = cuts.word[k] * 64 + ones(state - _ONE)


@njit(cache=True, nogil=True)
def _put(stack: Array, n: Scalar, before: Array, after: Array) -> None:
    """Change the bits of box n from those of one box to those of another."""
    block, at, one = n // BLOCK, (n % BLOCK) >> 6, _ONE << np.uint64(n & 63)
    for w in range(before.shape[0]):
        changed = before[w] ^ after[w]
        while changed != _ZERO:
            low = changed & (~changed + _ONE)
            changed ^= low
            stack[block, w * 64 + ones(low - _ONE), at] ^= one


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
def look_at_many(stack: Array, bits: Array, broken: Array, near: Array) -> tuple[Scalar, Scalar]:
    """As `look_at_each`, given the bits (K,) of the point; empty places may be among those that miss it once."""
    breaks, misses = 0, 0
    once, twice = np.empty(_WIDE, np.uint64), np.empty(_WIDE, np.uint64)
    for block in range(stack.shape[0]):
        for i in range(_WIDE):
            once[i] = _ZERO
            twice[i] = _ZERO
        whole = _ZERO
        for k in range(bits.shape[0] - 1, -1, -1):  # the last slots are the most alike among boxes in order
            row = stack[block, bits[k]]
            whole = _ALL
            for i in range(_WIDE):
                twice[i] |= once[i] & ~row[i]
                once[i] |= ~row[i]
                whole &= twice[i]
            if whole == _ALL:
                break
        if whole == _ALL:
            continue
        for i in range(_WIDE):
            first = block * BLOCK + i * 64
            word = ~once[i]
            while word != _ZERO:
                low = word & (~word + _ONE)
                word ^= low
                broken[breaks] = first + ones(low - _ONE)
                breaks += 1
            word = once[i] & ~twice[i]
            while word != _ZERO:
                low = word & (~word + _ONE)
                word ^= low
                near[misses] = first + ones(low - _ONE)
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
def _by_slot(boxes: Array, near: Array, misses: Scalar, point: Array, slot_of: Array, starts: Array) -> Array:
    """The near boxes by the slot in which they miss the point: those of slot k are [starts[k] : starts[k + 1]]."""
    words = boxes.shape[1]
    slot = np.zeros(misses, np.int64)
    starts[:] = 0
    for m in range(misses):
        for w in range(words):
            missed = point[w] & ~boxes[near[m], w]
            if missed != _ZERO:
                slot[m] = slot_of[w * 64 + ones((missed & (~missed + _ONE)) - _ONE)]
                break
        starts[slot[m] + 1] += 1
    for k in range(1, starts.shape[0]):
        starts[k] += starts[k - 1]
    found = np.empty((misses, words), np.uint64)
    at = starts[:-1].copy()
    for m in range(misses):
        for w in range(words):
            found[at[slot[m]], w] = boxes[near[m], w]
        at[slot[m]] += 1
    return found


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
    blocks = total // BLOCK + total // (4 * BLOCK) + 1
    held = np.zeros((blocks * BLOCK, words), np.uint64)
    held[:total] = boxes
    many = points.shape[0] > few
    stack = stacked(held, total if many else 0, blocks if many else 0)
    slot_of = slots_of_bits(cuts, words)
    broken, near = np.empty(held.shape[0], np.int64), np.empty(held.shape[0], np.int64)
    bits, starts = np.empty(slots, np.int64), np.empty(slots + 1, np.int64)
    fresh = np.empty((64, words), np.uint64)
    nothing = np.zeros(words, np.uint64)
    for p in range(points.shape[0]):
        if many:
            bits_of(cuts, points[p], bits)
            breaks, misses = look_at_many(stack, bits, broken, near)
        else:
            breaks, misses = look_at_each(held, total, points[p], broken, near)
        if breaks == 0:
            continue
        around = _by_slot(held, near, misses, points[p], slot_of, starts)
        fresh, made = _cut_all(cuts, held, broken[:breaks], points[p], around, starts, limit, fresh)
        if total + made > held.shape[0]:
            more = (total + made) // BLOCK + 1  # as many again, and as many as are needed
            held = np.concatenate((held, np.zeros((more * BLOCK, words), np.uint64)))
            if many:
                stack = np.concatenate((stack, np.zeros((more, 64 * words, _WIDE), np.uint64)))
            broken = np.concatenate((broken, np.empty(more * BLOCK, np.int64)))
            near = np.empty(held.shape[0], np.int64)
        for n in range(max(made, breaks)):
            if n < breaks:
                at = broken[n]
            else:
                at = total
                total += 1
            after = fresh[n] if n < made else nothing
            if many:
                _put(stack, at, held[at], after)
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
