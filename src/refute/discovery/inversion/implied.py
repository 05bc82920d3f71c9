"""Rules that follow from other rules, found without comparing each with each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import Words
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Crew
from refute.kernels.inversion.implied import Nested, implied_by_others

Atoms = NDArray[np.uint8]
_BITS, _PER_WORD = 5, 12


def implied(
    rules: Atoms,
    mirrors: Atoms,
    closures: Atoms,
    which: NDArray[np.int64],
    budget: Budget,
    tuning: Tuning = STANDARD,
) -> NDArray[np.bool_]:
    """Which of the rules `which` follow from another rule, or from its mirror image; False for all other rules.

    rules, mirrors, closures: (N, Q) atoms that each rule, its mirror image and what follows from it accept of every
    pair of terms. Of rules that imply each other the first stays.
    """
    dropped = np.zeros(len(rules), np.bool_)
    if not len(which):
        return dropped
    asked, follows = (np.count_nonzero(atoms != atoms.max(axis=0), axis=0) for atoms in (rules, closures[which]))
    # Pairs of terms that many rules ask for and few closures limit pass over the most: they lead the order.
    order = np.argsort(asked * (len(which) - follows), kind="stable")
    ours, theirs, inner = (_packed(atoms[:, order]) for atoms in (rules, mirrors, closures))
    nested = _nested(ours, theirs, tuning)

    def mark(_: None, start: int) -> None:
        implied_by_others(nested, ours, theirs, inner, which[start : start + tuning.chunk], dropped)

    Crew(budget, lambda: None, mark).run(range(0, len(which), tuning.chunk))
    return dropped


def _packed(atoms: Atoms) -> Words:
    """Five bits per column, twelve columns per word."""
    out = np.zeros((len(atoms), -(-atoms.shape[1] // _PER_WORD)), np.uint64)
    for q in range(atoms.shape[1]):
        out[:, q // _PER_WORD] |= atoms[:, q].astype(np.uint64) << np.uint64(_BITS * (q % _PER_WORD))
    return out


def _nested(rules: Words, mirrors: Words, tuning: Tuning) -> Nested:
    """The rules and their mirror images, sorted by their last words first, in blocks of blocks."""
    boxes = np.concatenate([rules, mirrors])
    order = np.lexsort(boxes.T)
    boxes = np.ascontiguousarray(boxes[order])
    unions, widths = [_unions(boxes, tuning.block)], [tuning.block]
    while len(unions[-1]) > tuning.fan:
        unions.append(_unions(unions[-1], tuning.fan))
        widths.append(tuning.fan * widths[-1])
    first = np.cumsum([0, *map(len, unions[:-1])])
    return Nested(boxes, order % len(rules), np.concatenate(unions), first, np.array(widths, np.int64))


def _unions(boxes: Words, size: int) -> Words:
    """The union of every `size` boxes."""
    united: Words = np.bitwise_or.reduceat(boxes, np.arange(0, len(boxes), size), axis=0)
    return united
