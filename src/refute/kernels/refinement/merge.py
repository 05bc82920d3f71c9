"""From sorted or grouped id sets to the cluster pairs that satisfy a predicate: the merge phase of all refinements.

All kernels here emit ranges over the arrays they are given, so a result costs four numbers per cluster pair. The
staircase of an inequality (sections 5.3) is cut in two ways. HSM emits each block of A with all of B above it: few
numbers, but sets whose sizes add up to |B| times half the blocks, which is what a following refinement must read. BHSM
puts the blocks into bins, emits bin against all bins above, and checks the candidates inside each bin the same way,
so that the sizes add up to (|A| + |B|) * log(blocks).
"""

from __future__ import annotations

import numpy as np

from refute.kernels.compiled import njit
from refute.kernels.refinement.id_sets import Int64s, Keyed, Side

_LEVELS = 40  # more than the binary logarithm of any number of blocks


@njit(cache=True, nogil=True)
def _emit(out: Int64s, n: int, a_from: int, a_to: int, b_from: int, b_to: int) -> int:
    if a_from < a_to and b_from < b_to:
        out[0, n] = a_from
        out[1, n] = a_to
        out[2, n] = b_from
        out[3, n] = b_to
        return n + 1
    return n


@njit(cache=True, nogil=True)
def _equal(a: Keyed, b: Keyed, out: Int64s) -> int:
    """Emits the pairs of runs with equal keys. Returns how many. O(ids)."""
    n = 0
    for c in range(len(a.offsets) - 1):
        i, j = a.offsets[c], b.offsets[c]
        a_end, b_end = a.offsets[c + 1], b.offsets[c + 1]
        while i < a_end and j < b_end:
            if a.keys[i] < b.keys[j]:
                i += 1
            elif b.keys[j] < a.keys[i]:
                j += 1
            else:
                key, i_from, j_from = a.keys[i], i, j
                while i < a_end and a.keys[i] == key:
                    i += 1
                while j < b_end and b.keys[j] == key:
                    j += 1
                n = _emit(out, n, i_from, i, j_from, j)
    return n


@njit(cache=True, nogil=True)
def _steps_below(a: Keyed, b: Keyed, c: int, i_at: Int64s, j_at: Int64s) -> int:
    """The staircase of `a < b` in pair c: block k of A, from i_at[k], is below B from j_at[k] on. Returns the blocks.

    Neighbouring values of A with the same partners share a block, as HSM keeps them in one pair. O(ids).
    """
    i, j, steps = a.offsets[c], b.offsets[c], 0
    a_end, b_end = a.offsets[c + 1], b.offsets[c + 1]
    while i < a_end:
        while j < b_end and b.keys[j] <= a.keys[i]:
            j += 1
        if j == b_end:
            break
        i_at[steps] = i
        j_at[steps] = j
        steps += 1
        while i < a_end and a.keys[i] < b.keys[j]:
            i += 1
    i_at[steps] = i
    j_at[steps] = b_end
    return steps


@njit(cache=True, nogil=True)
def _steps_apart(a: Keyed, b: Keyed, c: int, i_at: Int64s, j_at: Int64s) -> int:
    """The distinct keys of pair c in ascending order: block k is A from i_at[k] and B from j_at[k]. O(ids)."""
    i, j, steps = a.offsets[c], b.offsets[c], 0
    a_end, b_end = a.offsets[c + 1], b.offsets[c + 1]
    while i < a_end or j < b_end:
        i_at[steps] = i
        j_at[steps] = j
        steps += 1
        key = a.keys[i] if j == b_end or (i < a_end and a.keys[i] <= b.keys[j]) else b.keys[j]
        while i < a_end and a.keys[i] == key:
            i += 1
        while j < b_end and b.keys[j] == key:
            j += 1
    i_at[steps] = a_end
    j_at[steps] = b_end
    return steps


@njit(cache=True, nogil=True)
def _below(a: Keyed, b: Keyed, bins: int, leaf: int, out: Int64s) -> int:
    """Emits the pairs of `a < b`: nodes of up to `leaf` blocks as HSM does, larger ones in `bins` bins. O(ids)."""
    i_at = np.empty(len(a.ids) + 2, np.int64)
    j_at = np.empty(len(a.ids) + 2, np.int64)
    stack = np.empty((2, (bins + 1) * _LEVELS), np.int64)
    n = 0
    for c in range(len(a.offsets) - 1):
        depth = 1
        stack[0, 0] = 0
        stack[1, 0] = _steps_below(a, b, c, i_at, j_at)
        while depth:
            depth -= 1
            low, high = stack[0, depth], stack[1, depth]
            if high - low <= leaf:
                for k in range(low, high):
                    n = _emit(out, n, i_at[k], i_at[k + 1], j_at[k], j_at[high])
                continue
            width = (high - low + bins - 1) // bins
            for start in range(low, high, width):
                end = min(start + width, high)
                n = _emit(out, n, i_at[start], i_at[end], j_at[end], j_at[high])
                stack[0, depth] = start
                stack[1, depth] = end
                depth += 1
    return n


@njit(cache=True, nogil=True)
def _apart(a: Keyed, b: Keyed, bins: int, leaf: int, out: Int64s) -> int:
    """Emits the pairs of `a != b`: each block against those before and those after it, by nodes as `_below`. O(ids)."""
    i_at = np.empty(len(a.ids) + len(b.ids) + 1, np.int64)
    j_at = np.empty(len(a.ids) + len(b.ids) + 1, np.int64)
    stack = np.empty((2, (bins + 1) * _LEVELS), np.int64)
    n = 0
    for c in range(len(a.offsets) - 1):
        depth = 1
        stack[0, 0] = 0
        stack[1, 0] = _steps_apart(a, b, c, i_at, j_at)
        while depth:
            depth -= 1
            low, high = stack[0, depth], stack[1, depth]
            width = 1 if high - low <= leaf else (high - low + bins - 1) // bins
            for start in range(low, high, width):
                end = min(start + width, high)
                n = _emit(out, n, i_at[start], i_at[end], j_at[low], j_at[start])
                n = _emit(out, n, i_at[start], i_at[end], j_at[end], j_at[high])
                if end - start > 1:
                    stack[0, depth] = start
                    stack[1, depth] = end
                    depth += 1
    return n


def _sides(a: Keyed, b: Keyed, out: Int64s, n: int) -> tuple[Side, Side]:
    a_from, a_to, b_from, b_to = (np.ascontiguousarray(row[:n]) for row in out)
    return Side(a.ids, a_from, a_to), Side(b.ids, b_from, b_to)


def equal_pairs(a: Keyed, b: Keyed) -> tuple[Side, Side]:
    """The cluster pairs of equal keys."""
    out = np.empty((4, min(len(a.ids), len(b.ids))), np.int64)
    return _sides(a, b, out, _equal(a, b, out))


def below_pairs(a: Keyed, b: Keyed, *, bins: int, leaf: int) -> tuple[Side, Side]:
    """The cluster pairs with a key of A below a key of B, cut into bins down to nodes of `leaf` blocks."""
    assert min(bins - 1, leaf) >= 1
    out = np.empty((4, 2 * min(len(a.ids), len(b.ids))), np.int64)
    return _sides(a, b, out, _below(a, b, bins, leaf, out))


def apart_pairs(a: Keyed, b: Keyed, *, bins: int, leaf: int) -> tuple[Side, Side]:
    """The cluster pairs with different keys, cut into bins down to nodes of `leaf` blocks."""
    assert min(bins - 1, leaf) >= 1
    out = np.empty((4, 4 * (len(a.ids) + len(b.ids))), np.int64)
    return _sides(a, b, out, _apart(a, b, bins, leaf, out))
