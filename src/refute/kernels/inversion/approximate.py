"""Approximate inversion: all maximal boxes that hold unordered pairs of at most a given total weight.

As in ADCMiner (Livshits, Heidari, Ilyas and Kimelfeld), MMCS with one more branch: besides the choices that refuse the
branching point there is the case that no choice ever does, as long as the weight of such pairs stays within the limit.
A box is a result as soon as its weight is within the limit and every weaker box exceeds it.

An unordered pair has two points, (s, t) and (t, s), which stand side by side: bits 2 i and 2 i + 1 are those of pair i.
A box holds the pair if it holds either, and its weight counts once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit
from refute.kernels.inversion.choices import Choices, Local, any_choice, begun, gather, ones, parted

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_FIRST = np.uint64(0x5555555555555555)  # the first point of each pair


@njit(cache=True, nogil=True)
def _pairs(points: Scalar) -> Scalar:
    """The first bit of each pair that has a point among these."""
    return (points | (points >> _ONE)) & _FIRST


@njit(cache=True, nogil=True)
def _weight(bits: Array, weights: Array) -> Scalar:
    """The total weight of the pairs that have a point in a bitset."""
    total = np.int64(0)
    for b in range(bits.shape[0]):
        word = _pairs(bits[b])
        while word != _ZERO:
            low = word & (~word + _ONE)
            total += weights[b * 32 + (ones(low - _ONE) >> 1)]
            word ^= low
    return total


@njit(cache=True, nogil=True)
def _points(bits: Array, weights: Array) -> Scalar:
    """The total weight of the points of a bitset, each with the weight of its pair."""
    total = np.int64(0)
    for b in range(bits.shape[0]):
        word = bits[b]
        while word != _ZERO:
            low = word & (~word + _ONE)
            total += weights[b * 32 + (ones(low - _ONE) >> 1)]
            word ^= low
    return total


@njit(cache=True, nogil=True)
def _gain(alone: Array, gained: Array, uncovered: Array, weights: Array, enough: Scalar) -> Scalar:
    """The weight of the pairs with a point in both bitsets and none uncovered, counted until it exceeds `enough`."""
    total = np.int64(0)
    for b in range(alone.shape[0]):
        word = _pairs(alone[b] & gained[b]) & ~_pairs(uncovered[b])
        while word != _ZERO:
            low = word & (~word + _ONE)
            total += weights[b * 32 + (ones(low - _ONE) >> 1)]
            word ^= low
        if total > enough:
            return total
    return total


@njit(cache=True, nogil=True)
def _meet(alone: Array, gained: Array) -> bool:
    """Whether two bitsets have a point in common."""
    for b in range(alone.shape[0]):  # noqa: SIM110 - a generator is not a kernel
        if alone[b] & gained[b] != _ZERO:
            return True
    return False


@njit(cache=True, nogil=True)
def _once_refused(choices: Choices, states: Array, chosen: Array) -> Array:
    """The rows of `states`, those of a pair side by side, of pairs that have a point which at most one choice refuses:
    the others can never matter again."""
    rows = np.arange(states.shape[0])
    kept = 0
    for r in range(0, states.shape[0], 2):
        fewest = 2
        for side in range(2):
            refusals = 0
            for c in chosen:
                if not (choices.mask[c] >> np.int64(states[r + side, choices.slot[c]])) & 1:
                    refusals += 1
            fewest = min(fewest, refusals)
        if fewest < 2:
            rows[kept], rows[kept + 1] = r, r + 1
            kept += 2
    return rows[:kept]


@njit(cache=True, nogil=True)
def _search(
    choices: Choices,
    local: Local,
    weights: Array,
    uncovered: Array,
    alone: Array,
    chosen: Array,
    candidates: Array,
    limits: Array,
    out: Array,
) -> Scalar:
    """Search below a node. limits: depth, most predicates, predicates so far, results so far, most weight, depth to
    stop at."""
    if local.halt[0] != 0:
        return 0
    depth, most = limits[0], limits[4]
    words = uncovered.shape[0]
    total = _weight(uncovered, weights)
    if total <= most:
        for d in range(depth):
            for w in range(4):
                if choices.weaker[chosen[d], w] == 0:
                    break
                gained = local.gained[chosen[d], w]
                if total + _gain(alone[d], gained, uncovered, weights, most - total) <= most:
                    return 0
        if depth > 0:
            at = limits[3]
            if at < out.shape[0]:
                for d in range(depth):
                    out[at, chosen[d] >> 6] |= _ONE << np.uint64(chosen[d] & 63)
                out[at, 2 * candidates.shape[0]] = np.uint64(total)
                out[at, 2 * candidates.shape[0] + 1] = np.uint64(_points(uncovered, weights))
            limits[3] += 1
            local.halt[1] += 1
        return 0
    if depth == limits[5] and depth > 0:
        if not any_choice(candidates):  # nothing below it, and it is too heavy itself
            return 0
        at = limits[3]
        if at < out.shape[0]:
            for d in range(depth):
                out[at, chosen[d] >> 6] |= _ONE << np.uint64(chosen[d] & 63)
            for x in range(candidates.shape[0]):
                out[at, candidates.shape[0] + x] = candidates[x]
        limits[3] += 1
        local.halt[1] += 1
        return 0
    lost = np.int64(0)  # the weight of pairs with a point that no candidate refuses
    point, fewest, heaviest = np.int64(-1), np.int64(1 << 60), np.int64(-1)
    for b in range(words):
        word = _pairs(uncovered[b])
        while word != _ZERO:
            low = word & (~word + _ONE)
            first = b * 64 + ones(low - _ONE)
            word ^= low
            weight = weights[first >> 1]
            harder, ways = np.int64(-1), np.int64(1 << 60)
            for side in range(2):
                if uncovered[b] & (low << np.uint64(side)) == _ZERO:
                    continue
                count = np.int64(0)
                for x in range(candidates.shape[0]):
                    count += ones(candidates[x] & local.refusers[first + side, x])
                if count < ways:
                    harder, ways = first + side, count
            if ways == 0:
                lost += weight
                if lost > most:
                    return 0
            elif weight > most:  # it must be refused: the fewer ways, the better
                if heaviest <= most or ways < fewest:
                    point, fewest, heaviest = harder, ways, weight
            elif heaviest <= most and weight > heaviest:
                point, fewest, heaviest = harder, ways, weight
    if point < 0:
        return 0
    left = candidates.copy()
    branch = np.empty_like(candidates)
    for x in range(candidates.shape[0]):
        branch[x] = candidates[x] & local.refusers[point, x]
        left[x] = candidates[x] & ~branch[x]
    if lost + weights[point >> 1] <= most:
        _search(choices, local, weights, uncovered, alone, chosen, left.copy(), limits, out)
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
            for b in range(words):
                next_alone[depth, b] = uncovered[b] & refused[b]
                next_uncovered[b] = uncovered[b] & ~refused[b]
                for d in range(depth):
                    next_alone[d, b] = alone[d, b] & ~refused[b]
            chosen[depth] = choice
            needed = True
            for d in range(depth + 1):
                for w in range(4):
                    if choices.weaker[chosen[d], w] == 0:
                        break
                    if not _meet(next_alone[d], local.gained[chosen[d], w]):
                        needed = False
                        break
                if not needed:
                    break
            if not needed:
                continue
            left[x] |= low
            slot = choices.slot[choice]
            for y in range(candidates.shape[0]):
                next_candidates[y] = left[y] & ~choices.siblings[slot, y]
            limits[0] = depth + 1
            limits[2] = spent + choices.weight[choice]
            _search(choices, local, weights, next_uncovered, next_alone, chosen, next_candidates.copy(), limits, out)
            limits[0] = depth
            limits[2] = spent
    return 0


@njit(cache=True, nogil=True)
def invert_approximately(
    choices: Choices,
    states: Array,
    weights: Array,
    start: Array,
    limit: Scalar,
    most: Scalar,
    stop: Scalar,
    halt: Array,
    out: Array,
) -> Scalar:
    """How many maximal boxes below `start` hold pairs of weight `most` at the most; the first are written to `out`.

    states: (2 E, K) uint8 points, those of a pair side by side; weights: (E,) int64 of pairs; start: (2, X) the choices
    made so far, and those still allowed;
    limit: most predicates of a rule; stop: number of choices at which unfinished nodes are emitted as results too (0
    for never), so they can be searched as tasks of their own; out: (R, 2 X + 2) zeros, a row gets the choices of a box
    and, if unfinished, those still allowed, else the weights of its pairs and of its points.
    """
    chosen, depth, spent = begun(choices, start)
    rows = _once_refused(choices, states, chosen[:depth])
    local = gather(choices, states, rows, halt)
    uncovered, alone = parted(local, chosen[:depth])
    limits = np.zeros(6, np.int64)
    limits[0] = depth
    limits[1] = limit
    limits[2] = spent
    limits[4] = most
    limits[5] = stop
    _search(choices, local, weights[rows[::2] >> 1], uncovered, alone, chosen, start[1].copy(), limits, out)
    return limits[3]
