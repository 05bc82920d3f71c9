"""How a comparison of two values can come out, and what predicates make of it.

Two values are less, equal or greater, or one or both of them are null. A `Kind` groups these five atoms into the states
that a slot of the predicate space distinguishes, and knows the masks of states that conjunctions of its predicates
accept. A rule is then a box (a mask per slot), a pair of rows a point (a state per slot), and breaking, weakening and
refining a rule are bit operations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

from refute.language.nulls import Nulls
from refute.language.operators import Operator

LESS, EQUAL, GREATER, BOTH_NULL, ONE_NULL = (1 << i for i in range(5))
"""The atoms, as bits: what two values can be to each other."""

ALL_ATOMS = 31
_SIGNS = {-1: LESS, 0: EQUAL, 1: GREATER}


def accepted_atoms(op: Operator, nulls: Nulls) -> int:
    """The atoms for which the comparison is true."""
    atoms = sum(_SIGNS[sign] for sign in op.outcomes)
    both, one = (nulls.holds(op, both=both) for both in (True, False))
    return atoms | both * BOTH_NULL | one * ONE_NULL


def mirrored_atoms(atoms: int) -> int:
    """The atoms with the two values exchanged."""
    swapped = atoms & ~(LESS | GREATER)
    return swapped | (GREATER if atoms & LESS else 0) | (LESS if atoms & GREATER else 0)


@dataclass(frozen=True)
class SlotKind:
    """The states of one slot, each a set of atoms, and the predicates that its operators give over them.

    A slot that is not `asked` only tells pairs apart: no rule reads it. A `binary` one compares truth values, of which
    there are only two.
    """

    states: tuple[int, ...]
    operators: tuple[Operator, ...]
    nulls: Nulls
    asked: bool = True
    binary: bool = False

    @property
    def full(self) -> int:
        """The mask of all states: no predicate at all."""
        return (1 << len(self.states)) - 1

    @cached_property
    def is_ordered(self) -> bool:
        """Whether some operator asks for order."""
        return any(op.is_order for op in self.operators)

    @cached_property
    def tells_nulls(self) -> bool:
        """Whether comparisons with null have states of their own."""
        return any(not atoms & ~(BOTH_NULL | ONE_NULL) for atoms in self.states)

    @cached_property
    def widened(self) -> SlotKind:
        """The kind that distinguishes nulls too, where they matter; the states of this one keep their numbers."""
        return self._where(nullable=True)

    @cached_property
    def narrowed(self) -> SlotKind:
        """The kind that does not distinguish nulls."""
        return self._where(nullable=False)

    def _where(self, *, nullable: bool) -> SlotKind:
        kind = kind_of(
            ordered=self.is_ordered, nullable=nullable, nulls=self.nulls, operators=self.operators, binary=self.binary
        )
        return kind if self.asked else kind.silent

    @cached_property
    def silent(self) -> SlotKind:
        """The kind of which no rule reads a state."""
        return replace(self, asked=False)

    @cached_property
    def state_of_atom(self) -> dict[int, int]:
        """The state that holds each atom."""
        return {1 << i: k for k, atoms in enumerate(self.states) for i in range(5) if atoms >> i & 1}

    @cached_property
    def mirror(self) -> tuple[int, ...]:
        """The state that each state becomes when the two values are exchanged."""
        return tuple(self.states.index(mirrored_atoms(atoms)) for atoms in self.states)

    def mirrored(self, mask: int) -> int:
        """The mask with the two values exchanged."""
        return sum(1 << self.mirror[state] for state in range(len(self.states)) if mask >> state & 1)

    def mask(self, op: Operator) -> int:
        """The states for which the operator is true."""
        accepted = accepted_atoms(op, self.nulls)
        return sum(1 << k for k, atoms in enumerate(self.states) if atoms & accepted)

    def atoms(self, mask: int) -> int:
        """The atoms that a mask of states holds."""
        return sum(atoms for k, atoms in enumerate(self.states) if mask >> k & 1)

    @cached_property
    def conjunctions(self) -> dict[int, tuple[Operator, ...]]:
        """Every mask below the full one that a conjunction of predicates accepts, with its shortest conjunction."""
        found: dict[int, tuple[Operator, ...]] = {}
        for size in range(1, len(self.operators) + 1 if self.asked else 0):
            for chosen in combinations(self.operators, size):
                mask = self.full
                for op in chosen:
                    mask &= self.mask(op)
                if mask not in (0, self.full):
                    found.setdefault(mask, chosen)
        return dict(sorted(found.items()))

    def weakened(self, mask: int) -> tuple[int, ...]:
        """The smallest masks (conjunctions, or no predicate) that strictly contain this one."""
        above = [other for other in (*self.conjunctions, self.full) if other != mask and other & mask == mask]
        return tuple(m for m in above if not any(o != m and o & m == o for o in above))

    def strengthened(self, mask: int) -> tuple[int, ...]:
        """The largest conjunctions strictly inside the mask."""
        below = [other for other in self.conjunctions if other != mask and other & mask == other]
        return tuple(m for m in below if not any(o != m and o & m == m for o in below))

    def without(self, mask: int, state: int) -> tuple[int, ...]:
        """The largest conjunctions inside the mask that refuse the state."""
        below = [other for other in self.conjunctions if other & mask == other and not other >> state & 1]
        return tuple(m for m in below if not any(o != m and o & m == m for o in below))

    @cached_property
    def is_simple(self) -> bool:
        """Whether taking one state from a mask always leaves a conjunction, or nothing."""
        return all(
            mask & ~(1 << k) in (0, *self.conjunctions)
            for mask in (*self.conjunctions, self.full)
            for k in range(len(self.states))
            if mask >> k & 1
        )


@lru_cache(maxsize=256)
def kind_of(
    *, ordered: bool, nullable: bool, nulls: Nulls, operators: tuple[Operator, ...], binary: bool = False
) -> SlotKind:
    """The kind of a slot: order matters when some operator asks for it, nulls when there are some."""
    chosen = tuple(op for op in operators if ordered or not op.is_order)
    ordered = any(op.is_order for op in chosen)
    if ordered:
        states: tuple[int, ...] = (LESS, EQUAL, GREATER)
        if nullable:
            states += (BOTH_NULL, ONE_NULL) if nulls is Nulls.EQUAL else (BOTH_NULL | ONE_NULL,)
    elif nullable and nulls is Nulls.SQL:
        states = (EQUAL, LESS | GREATER, BOTH_NULL | ONE_NULL)
    else:
        states = (EQUAL | BOTH_NULL, LESS | GREATER | ONE_NULL)
    return SlotKind(states, chosen, nulls, binary=binary)
