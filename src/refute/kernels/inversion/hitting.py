"""Evidence inversion: all maximal boxes that hold none of the given points, by MMCS on bitsets.

A rule is a box, one mask of accepted states per slot; a point (an evidence) is one state per slot. A *choice* is a slot
with one of its masks. A set of choices, at most one per slot, is a valid rule iff every point is refused by some
choice: a minimal hitting set problem, searched depth first as in MMCS (Murakami and Uno), which keeps for each choice
the points that it alone refuses. The search drops a branch as soon as some choice could be left out or weakened (then
every point it alone refuses would still be refused), so what it gives is minimal without a second pass. Points refused
twice can never matter again below a node: a task that starts with two choices works on the rest only. Rebuilding
bitsets deeper down was measured to cost more than it saves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import Choices, Local, any_choice, begun, gather, once_refused, ones, parted

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_LOOK = 512  # how many uncovered points are compared before one is branched on


@njit(cache=True, nogil=True)
def _needed(local: Local, choices: Choices, choice: Scalar, alone: Array, without: Array) -> bool:
    """Whether the choice cannot be weakened: points it alone refuses, less those in `without`, need each state."""
    for w in range(4):
        if choices.weaker[choice, w] == 0:
            break
        gained = local.gained[choice, w]
        found = False
        for b in range(alone.shape[0]):
            if alone[b] & ~without[b] & gained[b] != _ZERO:
                found = True
                break
        if not found:
            return False
    return True


@njit(cache=True, nogil=True)
def _branch_point(local: Local, uncovered: Array, candidates: Array) -> Scalar:
    """Among some uncovered points, the one that the fewest candidates refuse; -1 when a point has none."""
    best, fewest, looked = np.int64(-1), np.int64(1 << 60), 0
    for b in range(uncovered.shape[0]):
        word = uncovered[b]
        while word != _ZERO:
            low = word & (~word + _ONE)
            point = b * 64 + ones(low - _ONE)
            word ^= low
            count = np.int64(0)
            for x in range(candidates.shape[0]):
                count += ones(candidates[x] & local.refusers[point, x])
            if count < fewest:
                best, fewest = point, count
                if count == 0:
                    return np.int64(-1)
            looked += 1
            if looked >= _LOOK:
                return best
    return best


@njit(cache=True, nogil=True)
def _is_mirror(choices: Choices, chosen: Array, count: Scalar, candidates: Array, final: bool) -> bool:
    """Whether only mirror images can follow: the first slot with a side has side 1, and none before it can get one."""
    slot, side = choices.siblings.shape[0], 0
    for d in range(count):
        if choices.side[chosen[d]] != 0 and choices.slot[chosen[d]] < slot:
            slot, side = choices.slot[chosen[d]], choices.side[chosen[d]]
    if side != 1:
        return False
    if final:
        return True
    for x in range(candidates.shape[0]):  # noqa: SIM110 - a generator is not a kernel
        if candidates[x] & choices.before[slot, x] != _ZERO:
            return False
    return True


@njit(cache=True, nogil=True)
def _descend(
    choices: Choices,
    local: Local,
    uncovered: Array,
    alone: Array,
    chosen: Array,
    candidates: Array,
    limits: Array,
    out: Array,
) -> Scalar:
    """Search below a node. limits: depth, most predicates, predicates so far, results so far, depth to stop at."""
    if local.halt[0] != 0:
        return 0
    depth = limits[0]
    words = uncovered.shape[0]
    point = _branch_point(local, uncovered, candidates)
    if point < 0:
        return 0
    left = candidates.copy()
    branch = np.empty_like(candidates)
    for x in range(candidates.shape[0]):
        branch[x] = candidates[x] & local.refusers[point, x]
        left[x] = candidates[x] & ~branch[x]
    next_alone = np.empty((depth + 1, words), np.uint64)
    next_uncovered = np.empty(words, np.uint64)
    next_candidates = np.empty_like(candidates)
    spent = limits[2]
    for x in range(branch.shape[0]):
        while branch[x] != _ZERO:
            low = branch[x] & (~branch[x] + _ONE)
            choice = x * 64 + ones(low - _ONE)
            branch[x] ^= low
            if spent + choices.weight[choice] > limits[1]:
                continue
            refused = local.refused[choice]
            needed = True
            for d in range(depth):
                if not _needed(local, choices, chosen[d], alone[d], refused):
                    needed = False
                    break
            if not needed:
                continue
            open_points = _ZERO
            for b in range(words):
                next_alone[depth, b] = uncovered[b] & refused[b]
                next_uncovered[b] = uncovered[b] & ~refused[b]
                open_points |= next_uncovered[b]
            if not _needed(local, choices, choice, next_alone[depth], next_uncovered):  # the two are disjoint
                continue
            left[x] |= low
            chosen[depth] = choice
            if _is_mirror(choices, chosen, depth + 1, left, open_points == _ZERO):
                continue
            if open_points == _ZERO or depth + 1 == limits[4]:
                if open_points != _ZERO and not any_choice(left & ~choices.siblings[choices.slot[choice]]):
                    continue  # nothing below it, and it does not refuse all points
                at = limits[3]
                if at < out.shape[0]:
                    for d in range(depth + 1):
                        out[at, chosen[d] >> 6] |= _ONE << np.uint64(chosen[d] & 63)
                    if open_points != _ZERO:
                        half = candidates.shape[0]
                        slot = choices.slot[choice]
                        for y in range(half):
                            # `left` already holds this choice, and no sibling of it may follow
                            out[at, half + y] = left[y] & ~choices.siblings[slot, y]
                limits[3] += 1
                local.halt[1] += 1
                continue
            for d in range(depth):
                for b in range(words):
                    next_alone[d, b] = alone[d, b] & ~refused[b]
            slot = choices.slot[choice]
            for y in range(candidates.shape[0]):
                next_candidates[y] = left[y] & ~choices.siblings[slot, y]
            limits[0] = depth + 1
            limits[2] = spent + choices.weight[choice]
            _descend(choices, local, next_uncovered, next_alone, chosen, next_candidates, limits, out)
            limits[0] = depth
            limits[2] = spent
    return 0


@njit(cache=True, nogil=True)
def invert(
    choices: Choices, states: Array, start: Array, limit: Scalar, stop: Scalar, halt: Array, out: Array
) -> Scalar:
    """How many results the search below `start` has; the first of them are written to `out`.

    states: (E, K) uint8 points. start: (2, X) the choices made so far, and those still allowed. limit: most predicates
    of a rule. stop: number of choices at which unfinished nodes are emitted as results too (0 for never), so they
    can be searched as tasks of their own. halt: (2,) not zero once the search should stop, and how many results there
    are, of all threads, roughly. out: (R, 2 X) zeros; a row
    gets the choices made and, if unfinished, those still allowed.
    """
    chosen, depth, spent = begun(choices, start)
    rows = once_refused(choices, states, chosen[:depth])
    local = gather(choices, states, rows, halt)
    uncovered, alone = parted(local, chosen[:depth])
    limits = np.zeros(5, np.int64)
    limits[0] = depth
    limits[1] = limit
    limits[2] = spent
    limits[4] = stop
    _descend(choices, local, uncovered, alone, chosen, start[1].copy(), limits, out)
    return limits[3]
