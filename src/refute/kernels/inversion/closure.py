"""What follows from a rule's predicates: path consistency over the relations of its operands.

Operands are terms (a column of `s`, a column of `t`, a constant). Between two terms stands a set of atoms, five bits:
less, equal, greater, both null, one null. Composing relations along paths tightens them until nothing changes; an empty
relation means that no rows can ever satisfy the predicates. For these relations path consistency decides consistency,
and an atom survives in the tightest network iff the network stays consistent when it is fixed, which is how relations
with `!=` in them are made exact. Without two cycles of predicates (or constants) there is nothing to make exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.kernels.compiled import njit

Array = NDArray[Any]
Scalar = Any  # an integer of Python or of NumPy


@njit(cache=True, nogil=True)
def _tighten(net: Array, size: Scalar, compose: Array) -> bool:
    """Whether the network is consistent; its first `size` terms are made path consistent. net: (M, M) atoms."""
    changed = True
    while changed:
        changed = False
        for k in range(size):
            for i in range(size):
                for j in range(size):
                    tighter = net[i, j] & compose[net[i, k], net[k, j]]
                    if tighter != net[i, j]:
                        if tighter == 0:
                            return False
                        net[i, j] = tighter
                        changed = True
    return True


@njit(cache=True, nogil=True)
def _mirror(atoms: Scalar) -> Scalar:
    return (atoms & 0b11010) | ((atoms & 1) << 2) | ((atoms >> 2) & 1)


@njit(cache=True, nogil=True)
def close_boxes(
    atoms: Array, slots_of: Array, known: Array, constants: Array, compose: Array, asked: Array, out: Array
) -> Array:
    """Per box, whether its predicates can be true together; writes what they imply for each asked pair of terms.

    atoms: (N, K) uint8 accepted atoms per slot, 31 where a slot has no predicate; slots_of: (2, K) the slots' terms;
    known: (M, M) what holds between terms in any case; constants: (M,) which terms are constants; compose: (32, 32);
    asked: (2, Q) pairs of terms, constants second; out: (N, Q) implied atoms, 31 where nothing is implied. Cost per
    box: cubic in the terms it mentions.
    """
    left, right = slots_of[0], slots_of[1]
    asked_left, asked_right = asked[0], asked[1]
    total, slots = atoms.shape
    terms = known.shape[0]
    possible = np.zeros(total, np.bool_)
    index = np.empty(terms, np.int64)
    members = np.empty(terms, np.int64)
    part = np.empty(terms, np.int64)  # which terms the predicates connect
    net = np.empty((terms, terms), np.uint8)
    trial = np.empty((terms, terms), np.uint8)
    for n in range(total):
        index[:] = -1
        size = 0
        for k in range(slots):
            if atoms[n, k] != 31:
                for term in (left[k], right[k]):
                    if index[term] < 0:
                        index[term] = size
                        members[size] = term
                        size += 1
        mentioned = size
        for q in range(asked_left.shape[0]):  # a constant that a mentioned column could be compared with
            term = asked_right[q]
            if constants[term] and index[term] < 0 and 0 <= index[asked_left[q]] < mentioned:
                index[term] = size
                members[size] = term
                size += 1
        for i in range(size):
            part[i] = i
        cycles = 0
        differences = False
        for i in range(size):
            for j in range(size):
                net[i, j] = known[members[i], members[j]]
        for k in range(slots):
            if atoms[n, k] != 31:
                i, j = index[left[k]], index[right[k]]
                net[i, j] &= atoms[n, k]
                net[j, i] &= _mirror(atoms[n, k])
                if part[i] == part[j]:
                    cycles += 1
                else:
                    joined, gone = part[i], part[j]
                    for m in range(size):
                        if part[m] == gone:
                            part[m] = joined
                differences |= (atoms[n, k] & 2) == 0 and (atoms[n, k] & 5) == 5
        empty = False
        for i in range(size):
            for j in range(size):
                empty |= net[i, j] == 0
        possible[n] = not empty and _tighten(net, size, compose)
        if not possible[n]:
            continue
        for q in range(asked_left.shape[0]):
            i, j = index[asked_left[q]], index[asked_right[q]]
            if i < 0 or j < 0:
                out[n, q] = 31
                continue
            implied = net[i, j]
            if differences and (cycles > 1 or size > mentioned) and (implied & (implied - 1)) != 0:
                kept = np.uint8(0)
                for bit in range(5):
                    atom = np.uint8(1 << bit)
                    if implied & atom:
                        for a in range(size):
                            for b in range(size):
                                trial[a, b] = net[a, b]
                        trial[i, j] = atom
                        trial[j, i] = _mirror(atom)
                        if _tighten(trial, size, compose):
                            kept |= atom
                implied = kept
            out[n, q] = implied
    return possible
