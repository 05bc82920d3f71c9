"""Which rules follow from another rule: a search for boxes that hold a given box, among sorted boxes in nested blocks.

Boxes are sorted, so those which ask for the same stand together, and cut into blocks of blocks. A block knows the
union of its boxes: where a box is not within the union, it is within none of them, and the whole block is passed over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy


class Nested(NamedTuple):
    """Boxes of W words, sorted, with the unions of their blocks; a block of level l, from small on, has `width[l]`."""

    boxes: NDArray[np.uint64]  # (B, W)
    owner: NDArray[np.int64]  # (B,) the rule that a box belongs to
    unions: NDArray[np.uint64]  # (U, W) level by level
    first: NDArray[np.int64]  # (L,) where the unions of a level begin
    width: NDArray[np.int64]  # (L,)


class RuleWords(NamedTuple):
    """Rules as words of accepted atoms over the same pairs of terms, and the keys that order them."""

    rules: NDArray[np.uint64]  # (N, W)
    mirrors: NDArray[np.uint64]  # (N, W) with the rows exchanged
    closures: NDArray[np.uint64]  # (N, W) what follows from them
    keys: NDArray[np.uint64]  # (N, X)


@njit(cache=True, nogil=True)
def implied_by_others(nested: Nested, words: RuleWords, which: Array, out: Array) -> Array:
    """Write which rule implies each of the rules `which`; of rules that imply each other the earliest has none.

    nested: rules and their mirrors together; out: (N,) the number of a rule that implies this one, -1 as long as there
    is none; rules that have one are passed over. A rule b, or b with the rows exchanged, implies rule a when everything
    that b asks for follows from a: closure(a) lies within b. Cost per rule: the blocks whose union holds its closure,
    and theirs.
    """
    rules, mirrors, closures = words.rules, words.mirrors, words.closures
    levels = nested.width.shape[0]
    total, width_of_box = nested.boxes.shape
    for at in range(which.shape[0]):
        a = which[at]
        start = 0
        while start < total and out[a] < 0:
            level = levels - 1
            while level >= 0:
                width = nested.width[level]
                if start % width == 0:  # else the union of this level held it when its block began
                    block = nested.first[level] + start // width
                    if not _within(closures[a], nested.unions[block], width_of_box):
                        break
                level -= 1
            if level >= 0:
                start += nested.width[level]
                continue
            stop = min(start + nested.width[0], total)
            for n in range(start, stop):
                b = nested.owner[n]
                if b != a and _within(closures[a], nested.boxes[n], width_of_box):
                    mutual = _within(closures[b], rules[a], width_of_box) or _within(
                        closures[b], mirrors[a], width_of_box
                    )
                    if not mutual or _before(words.keys[b], words.keys[a]):
                        out[a] = b
                        break
            start = stop
    return out


@njit(cache=True, nogil=True)
def _before(one: Array, other: Array) -> bool:
    for w in range(one.shape[0]):
        if one[w] != other[w]:
            return bool(one[w] < other[w])
    return False


@njit(cache=True, nogil=True)
def _within(inner: Array, outer: Array, words: Scalar) -> bool:
    for w in range(words):  # noqa: SIM110 - a generator is not a kernel
        if inner[w] & ~outer[w] != np.uint64(0):
            return False
    return True
