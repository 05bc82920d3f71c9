"""Inversion kept up to date: boxes that a new point breaks are cut so that they refuse it.

Hydra, section 5, on boxes: a box that holds the point is replaced by the boxes that refuse it in one slot. A cut of
slot k can only lie inside a whole box that holds the point everywhere but in slot k, so those few are all it is
compared with.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ZERO = np.uint64(0)
_ONE = np.uint64(1)


class CutMasks(NamedTuple):
    """How the K slots of a space lie in W words, and what is left of a mask that must refuse a state."""

    word: NDArray[np.int64]  # (K,)
    shift: NDArray[np.uint64]  # (K,)
    full: NDArray[np.uint64]  # (K,) the mask of all states
    simple: NDArray[np.bool_]  # (K,) whether cuts of different boxes never contain each other
    weight: NDArray[np.int64]  # (K, 32) predicates that a mask takes
    rest: NDArray[np.int64]  # (K, 32, 5, 3) the largest masks inside a mask that refuse a state, then zeros


@njit(cache=True, nogil=True)
def _slot_of(cuts: CutMasks, word: Scalar, bit: Scalar) -> Scalar:
    """The slot that owns a bit of a word."""
    found = 0
    for k in range(cuts.word.shape[0]):
        if cuts.word[k] == word and bit >= cuts.shift[k]:
            found = k
    return found


@njit(cache=True, nogil=True)
def _predicates(cuts: CutMasks, box: Array) -> Scalar:
    total = np.int64(0)
    for k in range(cuts.word.shape[0]):
        total += cuts.weight[k, np.int64((box[cuts.word[k]] >> cuts.shift[k]) & cuts.full[k])]
    return total


@njit(cache=True, nogil=True)
def _inside(box: Array, others: Array, which: Array, count: Scalar, words: Scalar) -> bool:
    """Whether the box lies within one of others[which[:count]]."""
    for n in range(count):
        other = which[n]
        inside = True
        for w in range(words):
            if box[w] & ~others[other, w] != _ZERO:
                inside = False
                break
        if inside:
            return True
    return False


@njit(cache=True, nogil=True)
def cut_boxes(cuts: CutMasks, boxes: Array, points: Array, limit: Scalar) -> Array:
    """The maximal boxes after all points were seen, given the maximal boxes before.

    boxes: (N, W); points: (P, W); limit: most predicates of a rule. Cost per point: N words, and per broken box and
    slot the whole boxes that miss the point in that slot alone.
    """
    words = boxes.shape[1]
    slots = cuts.word.shape[0]
    held = boxes.copy()
    total = boxes.shape[0]
    fresh = np.empty((64, words), np.uint64)
    trial = np.empty(words, np.uint64)
    near_slot = np.empty(total + 1, np.int64)
    for p in range(points.shape[0]):
        if near_slot.shape[0] < total + 1:
            near_slot = np.empty(2 * total + 1, np.int64)
        broken = 0
        for n in range(total):  # -1: broken, -2: misses the point in several slots, else the only slot
            slot = np.int64(-1)
            for w in range(words):
                missed = points[p, w] & ~held[n, w]
                if missed != _ZERO:
                    if slot != -1 or missed & (missed - _ONE) != _ZERO:
                        slot = np.int64(-2)
                        break
                    slot = np.int64(w)
            near_slot[n] = slot
            if slot == -1:
                broken += 1
        if broken == 0:
            continue
        near = np.empty((slots, 64), np.int64)
        sizes = np.zeros(slots, np.int64)
        for n in range(total):
            if near_slot[n] >= 0:
                w = near_slot[n]
                missed = points[p, w] & ~held[n, w]
                bit = _ZERO
                while (missed >> bit) & _ONE == _ZERO:
                    bit += _ONE
                k = _slot_of(cuts, w, bit)
                if sizes[k] == near.shape[1]:
                    wider = np.empty((slots, 2 * near.shape[1]), np.int64)
                    wider[:, : near.shape[1]] = near
                    near = wider
                near[k, sizes[k]] = n
                sizes[k] += 1
        made = 0
        for k in range(slots):
            word, shift, full = cuts.word[k], cuts.shift[k], cuts.full[k]
            state = np.int64(0)
            while ((points[p, word] >> shift) >> np.uint64(state)) & _ONE == _ZERO:
                state += 1
            first_of_slot = made
            for n in range(total):
                if near_slot[n] != -1:
                    continue
                mask = np.int64((held[n, word] >> shift) & full)
                for option in range(3):
                    kept = cuts.rest[k, mask, state, option]
                    if kept == 0:
                        break
                    for w in range(words):
                        trial[w] = held[n, w]
                    trial[word] = (trial[word] & ~(full << shift)) | (np.uint64(kept) << shift)
                    if _predicates(cuts, trial) > limit:
                        continue
                    if _inside(trial, held, near[k], sizes[k], words):
                        continue
                    if not cuts.simple[k] and _covered(trial, fresh, first_of_slot, made, words):
                        continue
                    if made == fresh.shape[0]:
                        more = np.empty((2 * made, words), np.uint64)
                        more[:made] = fresh
                        fresh = more
                    fresh[made] = trial
                    made += 1
        kept_boxes = 0
        for n in range(total):
            if near_slot[n] != -1:
                held[kept_boxes] = held[n]
                kept_boxes += 1
        if kept_boxes + made > held.shape[0]:
            larger = np.empty((2 * (kept_boxes + made), words), np.uint64)
            larger[:kept_boxes] = held[:kept_boxes]
            held = larger
        for n in range(made):
            if _any(fresh[n], words) != _ZERO:
                held[kept_boxes] = fresh[n]
                kept_boxes += 1
        total = kept_boxes
    return held[:total].copy()


@njit(cache=True, nogil=True)
def _any(box: Array, words: Scalar) -> Scalar:
    found = _ZERO
    for w in range(words):
        found |= box[w]
    return found


@njit(cache=True, nogil=True)
def _covered(box: Array, fresh: Array, start: Scalar, stop: Scalar, words: Scalar) -> bool:
    """Whether another cut of the slot contains this one; cuts that this one contains are blanked."""
    for n in range(start, stop):
        inside, contains = True, True
        for w in range(words):
            inside &= box[w] & ~fresh[n, w] == _ZERO
            contains &= fresh[n, w] & ~box[w] == _ZERO
        if inside and _any(fresh[n], words) != _ZERO:
            return True
        if contains:
            for w in range(words):
                fresh[n, w] = _ZERO
    return False
