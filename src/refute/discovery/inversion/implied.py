"""Rules that follow from other rules, found without comparing each with each."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import Words
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Crew
from refute.kernels.inversion.implied import Nested, RuleWords, implied_by_others

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
    if not len(which):
        return np.zeros(len(rules), np.bool_)
    order = packing_order(rules, closures[which])
    places = np.arange(len(rules), dtype=np.uint64)[:, None]  # rules are in their order already
    words = RuleWords(packed(rules, order), packed(mirrors, order), packed(closures, order), places)
    by = np.full(len(rules), -1, np.int64)
    find_implying(nested(words, np.arange(len(rules)), tuning), words, which, by, budget, tuning)
    return by >= 0


def find_implying(
    among: Nested, words: RuleWords, which: NDArray[np.int64], by: NDArray[np.int64], budget: Budget, tuning: Tuning
) -> None:
    """Writes, for each of the rules `which` that has none yet, a rule `among` the nested ones that it follows from."""

    def mark(_: None, start: int) -> None:
        implied_by_others(among, words, which[start : start + tuning.chunk], by)

    Crew(budget, lambda: None, mark).run(range(0, len(which), tuning.chunk))


def packing_order(rules: Atoms, closures: Atoms) -> NDArray[np.int64]:
    """An order of the pairs of terms: those that many rules ask for and few closures limit pass over the most."""
    asked, follows = (np.count_nonzero(atoms != atoms.max(axis=0), axis=0) for atoms in (rules, closures))
    return np.argsort(asked * (len(closures) - follows), kind="stable")


def packed(atoms: Atoms, order: NDArray[np.int64]) -> Words:
    """Five bits per column, twelve columns per word, the columns in this order."""
    out = np.zeros((len(atoms), -(-atoms.shape[1] // _PER_WORD)), np.uint64)
    for place, q in enumerate(order.tolist()):
        out[:, place // _PER_WORD] |= atoms[:, q].astype(np.uint64) << np.uint64(_BITS * (place % _PER_WORD))
    return out


def nested(words: RuleWords, rules: NDArray[np.int64], tuning: Tuning) -> Nested:
    """These rules and their mirror images, sorted by their last words first, in blocks of blocks."""
    boxes = np.concatenate([words.rules[rules], words.mirrors[rules]])
    order = np.lexsort(boxes.T)
    boxes = np.ascontiguousarray(boxes[order])
    unions, widths = [_unions(boxes, tuning.block)], [tuning.block]
    while len(unions[-1]) > tuning.fan:
        unions.append(_unions(unions[-1], tuning.fan))
        widths.append(tuning.fan * widths[-1])
    first = np.cumsum([0, *map(len, unions[:-1])])
    return Nested(boxes, rules[order % len(rules)], np.concatenate(unions), first, np.array(widths, np.int64))


def _unions(boxes: Words, size: int) -> Words:
    """The union of every `size` boxes."""
    united: Words = np.bitwise_or.reduceat(boxes, np.arange(0, len(boxes), size), axis=0)
    return united
