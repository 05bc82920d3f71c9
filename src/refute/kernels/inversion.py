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

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LOOK = 512  # how many uncovered points are compared before one is branched on


class Choices(NamedTuple):
    """C choices over K slots; sets of choices are bits in X words of 64."""

    slot: NDArray[np.int64]  # (C,)
    mask: NDArray[np.int64]  # (C,) accepted states
    weight: NDArray[np.int64]  # (C,) predicates that it takes to write it
    weaker: NDArray[np.int64]  # (C, 4) states gained by each smallest weaker mask, 0 where there are no more
    refusing: NDArray[np.uint64]  # (K, 8, X) the choices of a slot that refuse a state
    siblings: NDArray[np.uint64]  # (K, X) all choices of a slot
    side: NDArray[np.int64]  # (C,) -1 or 1 where a choice and its mirror image differ, if one of both is enough, else 0
    before: NDArray[np.uint64]  # (K, X) the choices of side -1 in the slots before a slot


class Local(NamedTuple):
    """The points that still matter below a node, as bitsets of B words."""

    states: NDArray[np.uint8]  # (E, K)
    refusers: NDArray[np.uint64]  # (E, X) choices that refuse a point
    refused: NDArray[np.uint64]  # (C, B) points that a choice refuses
    gained: NDArray[np.uint64]  # (C, 4, B) points that each weaker mask would accept in addition
    halt: NDArray[np.int64]  # (1,) not zero once the search should stop


@njit(cache=True, nogil=True)
def ones(word: Scalar) -> Scalar:
    """The number of set bits."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def gather(choices: Choices, states: Array, rows: Array, halt: Array) -> Local:
    """The local problem over the given rows of `states`."""
    size, slots = rows.shape[0], states.shape[1]
    total = choices.slot.shape[0]
    words = (size + 63) // 64
    picked = np.empty((size, slots), np.uint8)
    refusers = np.zeros((size, choices.siblings.shape[1]), np.uint64)
    by_state = np.zeros((slots, 8, words), np.uint64)
    for r in range(size):
        for k in range(slots):
            state = states[rows[r], k]
            picked[r, k] = state
            by_state[k, state, r >> 6] |= _ONE << np.uint64(r & 63)
            for x in range(refusers.shape[1]):
                refusers[r, x] |= choices.refusing[k, state, x]
    refused = np.zeros((total, words), np.uint64)
    gained = np.zeros((total, 4, words), np.uint64)
    for c in range(total):
        slot = choices.slot[c]
        for state in range(8):
            if not (choices.mask[c] >> state) & 1:
                for b in range(words):
                    refused[c, b] |= by_state[slot, state, b]
            for w in range(4):
                if (choices.weaker[c, w] >> state) & 1:
                    for b in range(words):
                        gained[c, w, b] |= by_state[slot, state, b]
    return Local(picked, refusers, refused, gained, halt)


@njit(cache=True, nogil=True)
def begun(choices: Choices, start: Array) -> tuple[Array, Scalar, Scalar]:
    """The choices of a start (2, X), followed by room for the other slots; how many they are; their predicates."""
    chosen = np.zeros(choices.siblings.shape[0] + 1, np.int64)
    depth = 0
    spent = np.int64(0)
    for x in range(start.shape[1]):
        word = start[0, x]
        while word != _ZERO:
            low = word & (~word + _ONE)
            word ^= low
            chosen[depth] = x * 64 + ones(low - _ONE)
            spent += choices.weight[chosen[depth]]
            depth += 1
    return chosen, depth, spent


@njit(cache=True, nogil=True)
def once_refused(choices: Choices, states: Array, chosen: Array) -> Array:
    """The rows of `states` that at most one of the choices refuses: the others can never matter again."""
    rows = np.arange(states.shape[0])
    kept = 0
    for r in range(states.shape[0]):
        refusals = 0
        for c in chosen:
            if not (choices.mask[c] >> np.int64(states[r, choices.slot[c]])) & 1:
                refusals += 1
        if refusals < 2:
            rows[kept] = r
            kept += 1
    return rows[:kept]


@njit(cache=True, nogil=True)
def parted(local: Local, chosen: Array) -> tuple[Array, Array]:
    """The points that none of the choices refuses (B,), those that each alone refuses (D, B); none is refused twice."""
    size, words = local.states.shape[0], local.refused.shape[1]
    uncovered = np.zeros(words, np.uint64)
    for r in range(size):
        uncovered[r >> 6] |= _ONE << np.uint64(r & 63)
    alone = np.zeros((chosen.shape[0], words), np.uint64)
    for d in range(chosen.shape[0]):
        for b in range(words):
            alone[d, b] = local.refused[chosen[d], b]
            uncovered[b] &= ~local.refused[chosen[d], b]
    return uncovered, alone


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
    for x in range(candidates.shape[0]):  # noqa: SIM110 - a generator is no kernel
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
    depth = limits[0]
    words = uncovered.shape[0]
    point = _branch_point(local, uncovered, candidates)
    if point < 0 or local.halt[0] != 0:
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
    of a rule. stop: number of choices at which unfinished nodes are emitted as results too (0 for never), so that they
    can be searched as tasks of their own. halt: (1,) not zero once the search should stop. out: (R, 2 X) zeros; a row
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
