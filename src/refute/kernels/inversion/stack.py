"""Boxes as a stack of bits: for each bit of a space, which boxes have it, 64 boxes a word.

So whether a box misses a point nowhere, once or more often is found for many boxes at a time: compilers take several
words at once, as each row of the stack lies in one piece.
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
_AT_ONCE = 256  # words that are looked at before the next ones: what is noted of them stays at hand


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
def stacked(boxes: Array, total: Scalar, room: Scalar) -> Array:
    """Which boxes have each bit: (64 W, room) words of 64 boxes, and a last row of ones, which no box misses."""
    words = boxes.shape[1]
    found = np.zeros((64 * words + 1, room), np.uint64)
    found[64 * words] = _ALL
    for first in range(0, total, 64):
        last = min(first + 64, total)
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
                found[w * 64 + bit, first >> 6] = word
    return found


@njit(cache=True, nogil=True)
def with_room(stack: Array, room: Scalar) -> Array:
    """The stack, with room for more words of boxes."""
    found = np.zeros((stack.shape[0], room), np.uint64)
    found[:, : stack.shape[1]] = stack
    found[-1] = _ALL
    return found


@njit(cache=True, nogil=True)
def put(stack: Array, n: Scalar, before: Array, after: Array) -> None:
    """Change the bits of box n from those of one box to those of another."""
    at, one = n >> 6, _ONE << np.uint64(n & 63)
    for w in range(before.shape[0]):
        changed = before[w] ^ after[w]
        while changed != _ZERO:
            low = changed & (~changed + _ONE)
            changed ^= low
            stack[w * 64 + ones(low - _ONE), at] ^= one


@njit(cache=True, nogil=True)
def bits_of(cuts: CutMasks, point: Array, out: Array) -> None:
    """Write the place of the bit of a point in each slot (K,), counted over all words."""
    for k in range(cuts.word.shape[0]):
        state = point[cuts.word[k]] & (cuts.full[k] << cuts.shift[k])
        out[k] = cuts.word[k] * 64 + ones(state - _ONE)


@njit(cache=True, nogil=True)
def _miss(first: Array, second: Array, third: Array, once: Array, twice: Array) -> None:
    """Note which boxes miss a point in one of three slots, and which for the second time, given who has its bits."""
    for i in range(once.shape[0]):
        a, b, c, before = ~first[i], ~second[i], ~third[i], once[i]
        twice[i] |= (a & b) | ((a | b) & c) | (before & (a | b | c))
        once[i] = before | a | b | c


@njit(cache=True, nogil=True)
def look_at_many(stack: Array, bits: Array, whole: Array, near: Array) -> None:
    """Mark the boxes that hold a point, and those that miss it in one slot alone, given its bits (K,).

    whole, near: (room,) words of 64 boxes. Places without a box miss the point in all slots.
    """
    slots, last = bits.shape[0], stack.shape[0] - 1
    for start in range(0, stack.shape[1], _AT_ONCE):
        part = slice(start, min(start + _AT_ONCE, stack.shape[1]))
        once, twice = whole[part], near[part]
        once[:] = _ZERO
        twice[:] = _ZERO
        for k in range(0, slots, 3):
            second = bits[k + 1] if k + 1 < slots else last
            third = bits[k + 2] if k + 2 < slots else last
            _miss(stack[bits[k], part], stack[second, part], stack[third, part], once, twice)
        for i in range(once.shape[0]):
            twice[i] = once[i] & ~twice[i]
            once[i] = ~once[i]


@njit(cache=True, nogil=True)
def _leave_out(row: Array, marks: Array) -> None:
    for i in range(marks.shape[0]):
        marks[i] &= ~row[i]


@njit(cache=True, nogil=True)
def mark_without(stack: Array, total: Scalar, bits: Array) -> Array:
    """Words of 64 points that mark those, of the first `total` ones, that have none of some bits (W,)."""
    marks = np.zeros(stack.shape[1], np.uint64)
    marks[: total >> 6] = _ALL
    if total & 63:
        marks[total >> 6] = (_ONE << np.uint64(total & 63)) - _ONE
    for w in range(bits.shape[0]):
        left = bits[w]
        while left != _ZERO:
            low = left & (~left + _ONE)
            left ^= low
            _leave_out(stack[w * 64 + ones(low - _ONE)], marks)
    return marks


@njit(cache=True, nogil=True)
def places(marks: Array, out: Array) -> Scalar:
    """How many boxes are marked in words of 64; their numbers are written."""
    found = 0
    for i in range(marks.shape[0]):
        word = marks[i]
        while word != _ZERO:
            low = word & (~word + _ONE)
            word ^= low
            out[found] = i * 64 + ones(low - _ONE)
            found += 1
    return found


@njit(cache=True, nogil=True)
def near_by_slot(stack: Array, boxes: Array, bits: Array, near: Array, starts: Array, out: Array) -> None:
    """Write the boxes that are marked near a point by the slot k in which they miss it: out[starts[k] : starts[k + 1]].

    bits: (K,) of the point; near: words as `look_at_many` marks them; starts: (K + 1,); out has room for all boxes.
    """
    marked, missed = np.empty(near.shape[0], np.int64), np.empty(near.shape[0], np.int64)
    count = 0
    for i in range(near.shape[0]):
        marked[count] = i
        count += near[i] != _ZERO
    made = 0
    for k in range(bits.shape[0]):
        starts[k] = made
        row = stack[bits[k]]
        some = 0
        for m in range(count):
            missed[some] = marked[m]
            some += near[marked[m]] & ~row[marked[m]] != _ZERO
        for m in range(some):
            i = missed[m]
            word = near[i] & ~row[i]
            while word != _ZERO:
                low = word & (~word + _ONE)
                word ^= low
                n = i * 64 + ones(low - _ONE)
                for w in range(boxes.shape[1]):
                    out[made, w] = boxes[n, w]
                made += 1
    starts[bits.shape[0]] = made
