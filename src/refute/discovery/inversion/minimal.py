"""Rules that say something of their own: trivial, implied and mirrored ones are dropped."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from refute.discovery.inversion.implied import implied
from refute.discovery.space.slots import PredicateSpace, Words, mirror_masks
from refute.discovery.space.states import ALL_ATOMS, BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL, mirrored_atoms
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Crew
from refute.kernels.inversion.closure import close_boxes
from refute.language.nulls import Nulls
from refute.language.predicate import Column, Constant

Term = Column | Constant
Atoms = NDArray[np.uint8]
_CHUNK = 512


def minimal(
    space: PredicateSpace, boxes: Words, budget: Budget, nullable: frozenset[str], tuning: Tuning = STANDARD
) -> Words:
    """The boxes that neither are trivial nor follow from another box or its mirror image; one of each equal pair stays.

    `nullable` names the columns that hold nulls. Shorter rules come first and stay where rules imply each other.
    """
    masks = space.masks(boxes)
    full = np.array([slot.kind.full for slot in space.slots], np.uint8)
    length = lengths(space, masks)
    order = np.lexsort((*masks.T[::-1], length)) if len(boxes) else np.empty(0, np.int64)
    boxes, masks = boxes[order], masks[order]
    if space.is_symmetric and not _tells_nulls_in_vain(space, nullable):
        return _without_mirrors(space, boxes, masks)
    asked = _asked(space)
    terms = {term: n for n, term in enumerate(dict.fromkeys(t for pair in asked for t in pair))}
    atoms = _atoms(space, masks)
    atoms[masks == full] = ALL_ATOMS
    ends = np.array([[terms[s.left] for s in space.slots], [terms[s.right] for s in space.slots]], np.int64)
    asks = np.array([[terms[pair[side]] for pair in asked] for side in (0, 1)], np.int64)
    constants = np.array([isinstance(term, Constant) for term in terms])
    closures = np.full((len(boxes), len(asked)), ALL_ATOMS, np.uint8)
    known = _known(tuple(terms), nullable)
    possible = np.zeros(len(boxes), np.bool_)

    def close(_: None, start: int) -> None:
        part = slice(start, start + _CHUNK)
        possible[part] = close_boxes(atoms[part], ends, known, constants, composition(), asks, closures[part])

    composition()
    Crew(budget, lambda: None, close).run(range(0, len(boxes), _CHUNK))
    boxes, atoms, closures = boxes[possible], atoms[possible], closures[possible]
    rules, mirrors = (_spread(space, atoms, asked, swap) for swap in (False, True))
    further = ((closures ^ rules) & _telling(space, asked, known[asks[0], asks[1]])).any(axis=1)
    inferring = np.flatnonzero(further | lopsided(space))
    dropped = implied(rules, mirrors, closures, inferring, budget, tuning) | _mirrored_earlier(rules, mirrors)
    return boxes[~dropped]


def _tells_nulls_in_vain(space: PredicateSpace, nullable: frozenset[str]) -> bool:
    """Whether some slot tells equal nulls of columns that hold none, so that `=` asks for more than `<=` there."""
    return any(
        slot.kind.tells_nulls and slot.kind.nulls is Nulls.EQUAL and nullable.isdisjoint(slot.columns)
        for slot in space.slots
    )


def lopsided(space: PredicateSpace) -> bool:
    """Whether an operator of the space has no mirror image in it."""
    return any({op.mirrored for op in slot.kind.operators} != set(slot.kind.operators) for slot in space.slots)


def _mirrored_earlier(rules: Atoms, mirrors: Atoms) -> NDArray[np.bool_]:
    """Which rules are the mirror image of an earlier one.

    For a rule from whose predicates nothing further follows this is all there is to check, as long as every operator
    has its mirror image in the space: a rule that implies it, as it is or mirrored, would be a larger box of the same
    space, and boxes are maximal.
    """
    first: dict[bytes, int] = {}
    for n, row in enumerate(rules):
        first.setdefault(row.tobytes(), n)
    return np.array([first.get(row.tobytes(), n) < n for n, row in enumerate(mirrors)], np.bool_)


def lengths(space: PredicateSpace, masks: NDArray[np.uint8]) -> NDArray[np.int64]:
    """How many predicates each box takes to write."""
    total = np.zeros(len(masks), np.int64)
    for k, slot in enumerate(space.slots):
        table = np.zeros(256, np.int64)
        for mask, ops in slot.kind.conjunctions.items():
            table[mask] = len(ops)
        total += table[masks[:, k]]
    return total


def _without_mirrors(space: PredicateSpace, boxes: Words, masks: NDArray[np.uint8]) -> Words:
    """One box of each mirrored pair. Without cross-column slots, maximal boxes imply nothing else of each other."""
    swapped = mirror_masks(space, masks)
    first = np.zeros(len(masks), np.bool_)
    settled = np.zeros(len(masks), np.bool_)
    for k in range(masks.shape[1]):
        ours, theirs = masks[:, k], swapped[:, k]
        first |= ~settled & (ours < theirs)
        settled |= ours != theirs
    return boxes[first | ~settled]


def _swapped(term: Term) -> Term:
    return term.swapped() if isinstance(term, Column) else term


def _asked(space: PredicateSpace) -> list[tuple[Term, Term]]:
    """The operands of every slot, and of every slot with rows exchanged, each pair once and in one direction."""
    pairs: dict[tuple[Term, Term], None] = {}
    for slot in space.slots:
        for left, right in ((slot.left, slot.right), (_swapped(slot.left), _swapped(slot.right))):
            if (right, left) not in pairs:
                pairs[(left, right)] = None
    return list(pairs)


def _atoms(space: PredicateSpace, masks: NDArray[np.uint8]) -> Atoms:
    atoms = np.empty_like(masks)
    for k, slot in enumerate(space.slots):
        table = np.array([slot.kind.atoms(mask) for mask in range(slot.kind.full + 1)], np.uint8)
        atoms[:, k] = table[masks[:, k]]
    return atoms


def _spread(space: PredicateSpace, atoms: Atoms, asked: list[tuple[Term, Term]], swap: bool) -> Atoms:
    """What each rule, or its mirror image, asks of every asked pair of terms."""
    place = {pair: q for q, pair in enumerate(asked)}
    out = np.full((len(atoms), len(asked)), ALL_ATOMS, np.uint8)
    mirror = np.array([mirrored_atoms(a) for a in range(ALL_ATOMS + 1)], np.uint8)
    for k, slot in enumerate(space.slots):
        left, right = (_swapped(slot.left), _swapped(slot.right)) if swap else (slot.left, slot.right)
        if (left, right) in place:
            out[:, place[(left, right)]] &= atoms[:, k]
        else:
            out[:, place[(right, left)]] &= mirror[atoms[:, k]]
    return out


def _telling(space: PredicateSpace, asked: list[tuple[Term, Term]], possible: Atoms) -> Atoms:
    """The atoms by which boxes can differ: those possible for a pair of terms, and states of which no atom is possible.

    An impossible atom that shares its state with a possible one is in a box whenever that one is.
    """
    place = {pair: q for q, pair in enumerate(asked)}
    telling = possible.copy()
    for slot in space.slots:
        for left, right in ((slot.left, slot.right), (_swapped(slot.left), _swapped(slot.right))):
            turned = (left, right) not in place
            q = place[(right, left) if turned else (left, right)]
            for state in slot.kind.states:
                atoms = mirrored_atoms(state) if turned else state
                if not atoms & possible[q]:
                    telling[q] |= atoms
    return telling


def _known(terms: tuple[Term, ...], nullable: frozenset[str]) -> Atoms:
    """What holds between terms whatever the rows are: a term equals itself, constants have their order."""
    values = LESS | EQUAL | GREATER
    known = np.empty((len(terms), len(terms)), np.uint8)
    for i, one in enumerate(terms):
        for j, other in enumerate(terms):
            spare = [isinstance(t, Column) and t.name in nullable for t in (one, other)]
            if i == j:
                known[i, j] = EQUAL | (BOTH_NULL if spare[0] else 0)
            elif isinstance(one, Constant) and isinstance(other, Constant):
                known[i, j] = _order(one, other)
            else:
                known[i, j] = values | (ONE_NULL if any(spare) else 0) | (BOTH_NULL if all(spare) else 0)
    return known


def _order(one: Constant, other: Constant) -> int:
    if _realm(one) != _realm(other):
        return LESS | GREATER  # constants of different columns, never compared through one another
    if one.value == other.value:
        return EQUAL
    return LESS if one.value < other.value else GREATER  # type: ignore[operator]


def _realm(constant: Constant) -> tuple[type, bool]:
    """What a constant can be compared with; a time with a zone and one without cannot."""
    return type(constant.value), getattr(constant.value, "tzinfo", None) is None


@lru_cache(maxsize=1)
def composition() -> Atoms:
    """The atoms possible between x and z, for the atoms between x and y and those between y and z."""
    values = (None, 0, 1, 2, 3, 4)

    def atom(x: int | None, y: int | None) -> int:
        if x is None or y is None:
            return BOTH_NULL if x is y else ONE_NULL
        return LESS if x < y else GREATER if x > y else EQUAL

    single = {(atom(x, y), atom(y, z), atom(x, z)) for x in values for y in values for z in values}
    table = np.zeros((ALL_ATOMS + 1, ALL_ATOMS + 1), np.uint8)
    for a in range(ALL_ATOMS + 1):
        for b in range(ALL_ATOMS + 1):
            for first, second, third in single:
                if a & first and b & second:
                    table[a, b] |= third
    return table
