"""What follows from the predicates of boxes, whatever other boxes there are."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.discovery.inversion.truths import Truths
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.space.states import ALL_ATOMS, BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL, mirrored_atoms
from refute.discovery.work import Budget, Crew
from refute.kernels.inversion.closure import close_boxes
from refute.language.predicate import Column, Constant

Term = Column | Constant
Atoms = NDArray[np.uint8]
_CHUNK = 512


class Closures(NamedTuple):
    """Atoms that boxes accept of every pair of terms that the space compares, in either role of the rows."""

    rules: Atoms  # (N, Q) by the predicates of a box
    mirrors: Atoms  # (N, Q) by those with the rows exchanged
    implied: Atoms  # (N, Q) by all that follows from its predicates
    infers: NDArray[np.bool_]  # (N,) whether more follows from a box than it says


class Closing:
    """Finds what follows from boxes of a space; `nullable` names the columns that hold nulls."""

    def __init__(self, space: PredicateSpace, nullable: frozenset[str]) -> None:
        self._space = space
        self._asked = _asked(space)
        terms = {term: n for n, term in enumerate(dict.fromkeys(t for pair in self._asked for t in pair))}
        self._ends = np.array([[terms[s.left] for s in space.slots], [terms[s.right] for s in space.slots]], np.int64)
        self._asks = np.array([[terms[pair[side]] for pair in self._asked] for side in (0, 1)], np.int64)
        self._constants = np.array([isinstance(term, Constant) for term in terms])
        self._known = _known(tuple(terms), nullable)
        self._truths = Truths(space, self._asked, nullable)

    def closed(self, boxes: Words, budget: Budget) -> tuple[NDArray[np.bool_], Closures]:
        """Which boxes can hold a pair at all, and what follows from those that can."""
        space, asked = self._space, self._asked
        masks = space.masks(boxes)
        atoms = _atoms(space, masks)
        atoms[masks == np.array([slot.kind.full for slot in space.slots], np.uint8)] = ALL_ATOMS
        closures = np.full((len(boxes), len(asked)), ALL_ATOMS, np.uint8)
        possible = np.zeros(len(boxes), np.bool_)

        def close(_: None, start: int) -> None:
            part = slice(start, start + _CHUNK)
            possible[part] = close_boxes(
                atoms[part], self._ends, self._known, self._constants, composition(), self._asks, closures[part]
            )

        composition()
        Crew(budget, lambda: None, close).run(range(0, len(boxes), _CHUNK))
        self._truths.tighten(masks, possible, closures)
        atoms, closures = atoms[possible], closures[possible]
        rules, mirrors = (_spread(space, atoms, asked, swap) for swap in (False, True))
        deciding = _deciding(space, asked, self._known[self._asks[0], self._asks[1]])
        further = np.asarray(((closures ^ rules) & deciding).any(axis=1))
        return possible, Closures(rules, mirrors, closures, np.logical_or(further, _lopsided(space)))


def _lopsided(space: PredicateSpace) -> bool:
    """Whether an operator of the space has no mirror image in it."""
    return any({op.mirrored for op in slot.kind.operators} != set(slot.kind.operators) for slot in space.slots)


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


def _deciding(space: PredicateSpace, asked: list[tuple[Term, Term]], possible: Atoms) -> Atoms:
    """The atoms by which boxes can differ: those possible for a pair of terms, and states of which no atom is possible.

    An impossible atom that shares its state with a possible one is in a box whenever that one is.
    """
    place = {pair: q for q, pair in enumerate(asked)}
    deciding = possible.copy()
    for slot in space.slots:
        for left, right in ((slot.left, slot.right), (_swapped(slot.left), _swapped(slot.right))):
            turned = (left, right) not in place
            q = place[(right, left) if turned else (left, right)]
            for state in slot.kind.states:
                atoms = mirrored_atoms(state) if turned else state
                if not atoms & possible[q]:
                    deciding[q] |= atoms
    return deciding


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
