"""Evidence inversion over the whole cube of states: all maximal boxes that hold none of the given points.

Where the cube of all states is small enough to be held as bits, slots are settled one after the other. A node of the
search has masks for the slots before it, and sets of cells over the slots after it: the points that no mask refuses
yet, and for every mask and every way to weaken it the points that this mask alone keeps out. Choosing a mask for the
next slot takes the union of the slices of its states, which makes every set smaller by a factor of the slot's states:
points that only differ in settled slots become one. A branch ends when no cell is left free, or when some mask could
be weakened; it is a rule when no point is left. The innermost slots share one word of 64 bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_BEAT = 1 << 12  # nodes between looks at whether to stop


class Cube(NamedTuple):
    """K slots in the order in which they are settled; the last ones lie within a word, the others in arrays of words.

    Option 0 of a slot is to ask nothing of it.
    """

    states: NDArray[np.int64]  # (K,) how many states the slot has
    outer: int  # how many slots lie outside words
    cells: NDArray[np.int64]  # (K + 1,) words, then bits of a word, that the slots from here on take
    options: NDArray[np.int64]  # (K,) how many masks there are
    mask: NDArray[np.int64]  # (K, O) accepted states
    gained: NDArray[np.int64]  # (K, O, 4) states gained by each smallest weaker mask, 0 where there are no more
    weight: NDArray[np.int64]  # (K, O) predicates that it takes to write it
    side: NDArray[np.int64]  # (K, O) -1 or 1 where a mask and its mirror image differ, if one of both is enough, else 0


@njit(cache=True, nogil=True)
def _slices(cube: Cube, level: Scalar, sets: Array, source: Scalar, wanted: Scalar, target: Scalar) -> None:
    """Write at `target` the union of the wanted states' slices of the set at `source`."""
    if level >= cube.outer:
        bits = np.uint64(cube.cells[level + 1])
        word = sets[source]
        found: Scalar = _ZERO
        state: Scalar = _ZERO
        while wanted:
            if wanted & 1:
                found |= word >> (state * bits)
            wanted >>= 1
            state += _ONE
        sets[target] = found & ((_ONE << bits) - _ONE)
        return
    size = cube.cells[level + 1] if level + 1 < cube.outer else 1
    out = sets[target : target + size]
    fresh = True
    while wanted:
        if wanted & 1:
            part = sets[source : source + size]
            if fresh:
                for b in range(size):
                    out[b] = part[b]
                fresh = False
            else:
                for b in range(size):
                    out[b] |= part[b]
        wanted >>= 1
        source += size


@njit(cache=True, nogil=True)
def _less(sets: Array, target: Scalar, less: Scalar, size: Scalar) -> bool:
    """Take the cells of the set at `less` from the one at `target`; whether any are left."""
    left: Scalar = _ZERO
    one, other = sets[target : target + size], sets[less : less + size]
    for b in range(size):
        one[b] &= ~other[b]
        left |= one[b]
    return bool(left != _ZERO)


@njit(cache=True, nogil=True)
def _extent(sets: Array, at: Scalar, size: Scalar, full: Scalar) -> Scalar:
    """0 if the set is empty, 2 if it holds all cells, else 1."""
    everything, something = full, _ZERO
    for b in range(size):
        everything &= sets[at + b]
        something |= sets[at + b]
    if everything == full:
        return 2
    return 0 if something == _ZERO else 1


@njit(cache=True, nogil=True)
def _size(cube: Cube, level: Scalar) -> Scalar:
    """The words that a set takes at a level."""
    return cube.cells[level] if level < cube.outer else 1


@njit(cache=True, nogil=True)
def _grown(out: Array, finished: Array) -> tuple[Array, Array]:
    """Both with twice the room."""
    made = out.shape[0]
    more, flags = np.empty((2 * made, out.shape[1]), np.uint8), np.empty(2 * made, np.bool_)
    more[:made] = out
    flags[:made] = finished
    return more, flags


@njit(cache=True, nogil=True)
def invert_cube(
    cube: Cube, points: Array, prefix: Array, stop: Scalar, limit: Scalar, halt: Array
) -> tuple[Array, Array]:
    """The maximal boxes that hold no point and have the options `prefix` in the first slots, as options per slot.

    points: the words of the cube, a bit for every point; stop: a number of slots after which nodes are given as they
    are, to be searched as tasks of their own; limit: most predicates of a rule; halt: (2,) not zero once the search
    should stop, and how many boxes were found, by all threads, roughly. Also gives which of them are finished. Cost: at
    most the number of all boxes, over 64, times the masks of a rule.
    """
    slots = cube.states.shape[0]
    begin = np.zeros(slots + 2, np.int64)  # where the sets of a level start
    most = np.int64(1)
    for level in range(slots + 1):
        begin[level + 1] = begin[level] + most * _size(cube, level)
        most += 4
    sets = np.empty(begin[slots + 1], np.uint64)
    sets[: points.shape[0]] = points
    fulls = np.empty(slots + 1, np.uint64)
    for level in range(slots + 1):
        bits = np.uint64(cube.cells[max(level, cube.outer)])
        fulls[level] = ~_ZERO if bits == np.uint64(64) else (_ONE << bits) - _ONE
    count = np.ones(slots + 1, np.int64)  # sets held at a level
    tried = np.zeros(slots + 1, np.int64)  # options tried at a level
    chosen = np.zeros(slots, np.int64)
    spent = np.zeros(slots + 1, np.int64)
    turned = np.zeros(slots + 1, np.bool_)  # whether an option with a side was chosen
    out = np.empty((256, slots), np.uint8)
    finished = np.empty(256, np.bool_)
    made, nodes = 0, 0
    level = 0
    while level >= 0:
        option = tried[level]
        if level < prefix.shape[0]:
            all_tried = option > 0
            option = prefix[level]
        else:
            all_tried = option == cube.options[level]
        if all_tried:
            level -= 1
            continue
        tried[level] += 1
        nodes += 1
        if nodes % _BEAT == 0 and halt[0] != 0:
            break
        if spent[level] + cube.weight[level, option] > limit or (not turned[level] and cube.side[level, option] > 0):
            continue
        size, target = _size(cube, level + 1), begin[level + 1]
        here = _size(cube, level)
        _slices(cube, level, sets, begin[level], cube.mask[level, option], target)
        extent = _extent(sets, target, size, fulls[level + 1])
        if extent == 2:
            continue
        held = 1
        needed = True
        for w in range(4):
            gained = cube.gained[level, option, w]
            if gained == 0:
                break
            _slices(cube, level, sets, begin[level], gained, target + held * size)
            if not _less(sets, target + held * size, target, size):
                needed = False
                break
            held += 1
        if not needed:
            continue
        for g in range(1, count[level]):
            _slices(cube, level, sets, begin[level] + g * here, cube.mask[level, option], target + held * size)
            if not _less(sets, target + held * size, target, size):
                needed = False
                break
            held += 1
        if not needed:
            continue
        chosen[level] = option
        if extent == 0 or level + 1 == stop:
            if made == out.shape[0]:
                out, finished = _grown(out, finished)
            for k in range(slots):
                out[made, k] = chosen[k] if k <= level else 0
            finished[made] = extent == 0
            made += 1
            halt[1] += 1
            continue
        count[level + 1] = held
        tried[level + 1] = 0
        spent[level + 1] = spent[level] + cube.weight[level, option]
        turned[level + 1] = turned[level] or cube.side[level, option] != 0
        level += 1
    return out[:made].copy(), finished[:made].copy()


@njit(cache=True, nogil=True)
def fill_cube(cube: Cube, states: Array) -> Array:
    """The words of the cube with a bit for every point of `states` (E, K), slots in the cube's order."""
    slots = cube.states.shape[0]
    out = np.zeros(_size(cube, 0), np.uint64)
    for e in range(states.shape[0]):
        word, bit = np.int64(0), np.int64(0)
        for k in range(slots):
            if k < cube.outer:
                word = word * cube.states[k] + states[e, k]
            else:
                bit = bit * cube.states[k] + states[e, k]
        out[word] |= _ONE << np.uint64(bit)
    return out
