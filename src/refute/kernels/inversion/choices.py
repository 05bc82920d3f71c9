"""What both searches for hitting sets work on: choices, the points that still matter, and where a search begins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


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
    halt: NDArray[np.int64]  # (2,) not zero once the search should stop; how many results there are, roughly


@njit(cache=True, nogil=True)
def ones(word: Scalar) -> Scalar:
    """The number of set bits."""
    word = word - ((word >> _ONE) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def any_choice(choices: Array) -> bool:
    """Whether a set of choices holds any."""
    for x in range(choices.shape[0]):  # noqa: SIM110 - a generator is not a kernel
        if choices[x] != _ZERO:
            return True
    return False


@njit(cache=True, nogil=True)
def gather(choices: Choices, states: Array, rows: Array, halt: Array) -> Local:
    """The local problem over the given rows of `states`.

    It may take gigabytes, which are set to zero piece by piece too: that alone can take seconds.
    """
    size, slots = rows.shape[0], states.shape[1]
    total = choices.slot.shape[0]
    words = (size + 63) // 64
    picked = np.empty((size, slots), np.uint8)
    refusers = np.empty((size, choices.siblings.shape[1]), np.uint64)
    by_state = np.empty((slots, 8, words), np.uint64)
    for k in range(slots):
        if halt[0] != 0:  # whoever searches looks at it first, and at nothing else then
            break
        by_state[k] = _ZERO
    for r in range(size):
        if halt[0] != 0:
            break
        refusers[r] = _ZERO
        for k in range(slots):
            state = states[rows[r], k]
            picked[r, k] = state
            by_state[k, state, r >> 6] |= _ONE << np.uint64(r & 63)
            for x in range(refusers.shape[1]):
                refusers[r, x] |= choices.refusing[k, state, x]
    refused = np.empty((total, words), np.uint64)
    gained = np.empty((total, 4, words), np.uint64)
    for c in range(total):
        if halt[0] != 0:
            break
        refused[c] = _ZERO
        gained[c] = _ZERO
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
    """The points that none of the choices refuses (B,), and those that each alone refuses (D, B)."""
    size, words = local.states.shape[0], local.refused.shape[1]
    uncovered = np.zeros(words, np.uint64)
    for r in range(size):
        uncovered[r >> 6] |= _ONE << np.uint64(r & 63)
    alone = np.zeros((chosen.shape[0], words), np.uint64)
    for d in range(chosen.shape[0]):
        for b in range(words):
            refused = local.refused[chosen[d], b]
            alone[d, b] = refused & uncovered[b]
            for e in range(d):
                alone[e, b] &= ~refused
            uncovered[b] &= ~refused
    return uncovered, alone
