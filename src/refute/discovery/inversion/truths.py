"""What follows among truth values, of which there are only two: `!=` true is `=` false, and no three differ."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import PredicateSpace
from refute.discovery.space.states import ALL_ATOMS, BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.language.predicate import Column, Constant

Term = Column | Constant
Atoms = NDArray[np.uint8]
_MOST_TERMS = 9  # whose values are all tried: a rule over more of them is short of nothing but this


class Truths:
    """Finds what boxes say about truth values; `nullable` names the columns that hold nulls."""

    def __init__(self, space: PredicateSpace, asked: list[tuple[Term, Term]], nullable: frozenset[str]) -> None:
        self._slots = [k for k, slot in enumerate(space.slots) if slot.kind.binary]
        self._space = space
        self._nullable = nullable
        compared = {end for k in self._slots for end in (space.slots[k].left, space.slots[k].right)}
        terms = compared | {one.swapped() for one in compared if isinstance(one, Column)}
        self._asked = [(q, pair) for q, pair in enumerate(asked) if terms.issuperset(pair)]

    def tighten(self, masks: NDArray[np.uint8], possible: NDArray[np.bool_], closures: Atoms) -> None:
        """Takes from `possible` (N,) the boxes (N, K) that no values satisfy, and from closures (N, Q) other atoms."""
        if not self._slots or not len(masks):
            return
        combined, which = np.unique(masks[:, self._slots], axis=0, return_inverse=True)
        for number, row in enumerate(combined.tolist()):
            said = self._said(row)
            if said is None:
                continue
            boxes = which.ravel() == number
            if not said:
                possible[boxes] = False
            for q, atoms in said.items():
                closures[boxes, q] &= np.uint8(atoms)

    def _said(self, masks: list[int]) -> dict[int, int] | None:
        """The atoms that remain for asked pairs of terms; empty where no values fit, None where nothing is said."""
        used = [
            (slot, mask)
            for slot, mask in ((self._space.slots[k], mask) for k, mask in zip(self._slots, masks, strict=True))
            if mask != slot.kind.full
        ]
        ends = dict.fromkeys(end for slot, _ in used for end in (slot.left, slot.right))
        free = [end for end in ends if isinstance(end, Column)]
        if not used or len(free) > _MOST_TERMS:
            return None
        told = [
            (q, one, other)
            for q, (one, other) in self._asked
            if all(isinstance(end, Constant) or end in ends for end in (one, other))
        ]
        found: dict[int, int] = {}
        fits = False
        for values in product(*((False, True, None) if end.name in self._nullable else (False, True) for end in free)):
            model: dict[Term, object] = dict(zip(free, values, strict=True))
            if all(slot.kind.atoms(mask) & _atom(slot.left, slot.right, model) for slot, mask in used):
                fits = True
                for q, one, other in told:
                    found[q] = found.get(q, 0) | _atom(one, other, model)
        return {q: found.get(q, ALL_ATOMS) for q, _, _ in told} if fits else {}


def _atom(one: Term, other: Term, model: dict[Term, object]) -> int:
    """How the values of two terms compare."""
    left, right = (end.value if isinstance(end, Constant) else model[end] for end in (one, other))
    if left is None or right is None:
        return BOTH_NULL if left is right else ONE_NULL
    return EQUAL if left == right else LESS if right else GREATER
