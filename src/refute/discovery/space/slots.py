"""The predicate space: slots that compare two operands, and the layout of boxes and points over their states."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.states import SlotKind
from refute.kernels.inversion.choices import Choices
from refute.kernels.inversion.stack import CutMasks
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate

Words = NDArray[np.uint64]
States = NDArray[np.uint8]
WORD = 64


@dataclass(frozen=True, slots=True)
class Slot:
    """Two operands that are compared, and the kind of comparison. All predicates over the same operands share it."""

    left: Column
    right: Column | Constant
    kind: SlotKind

    @property
    def is_pair(self) -> bool:
        """Whether it compares the two rows with each other."""
        return isinstance(self.right, Column) and self.right.row is not self.left.row

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns it reads, each once."""
        names = (self.left.name, self.right.name) if isinstance(self.right, Column) else (self.left.name,)
        return tuple(dict.fromkeys(names))

    def predicates(self, mask: int) -> tuple[Predicate, ...]:
        """The predicates that accept exactly the states of the mask."""
        return tuple(Predicate.of(self.left, op, self.right) for op in self.kind.conjunctions[mask])


@dataclass(frozen=True)
class PredicateSpace:
    """An ordered set of slots. A box holds the accepted states of every slot as bits, a point one bit per slot.

    A space is that of a schema, of options and of what these select by value (`predicates.py`), and none of the rows
    that come and go changes it: it gives boxes, points and clues the same meaning whatever they are. What rows decide
    is only which nulls are worth a state of their own: `narrowed` takes away those of columns without a null, and
    `widened` brings them back with the first one, without a second look at any pair. To keep them everywhere would be
    simpler, but costs: two to eight times the CPU for tables of many rules, as fewer spaces fit a cube.
    """

    slots: tuple[Slot, ...]

    @cached_property
    def predicates(self) -> tuple[Predicate, ...]:
        """All predicates that rules are made of, slot by slot."""
        return tuple(Predicate.of(s.left, op, s.right) for s in self.slots if s.kind.asked for op in s.kind.operators)

    @cached_property
    def place(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """The word and the first bit of each slot; no slot straddles two words."""
        word: list[int] = []
        shift: list[int] = []
        used = WORD
        for slot in self.slots:
            size = len(slot.kind.states)
            if used + size > WORD:
                word.append(word[-1] + 1 if word else 0)
                used = 0
            else:
                word.append(word[-1])
            shift.append(used)
            used += size
        return np.array(word, np.int64), np.array(shift, np.uint64)

    @cached_property
    def words(self) -> int:
        """How many words of 64 bits a box takes."""
        return int(self.place[0][-1]) + 1 if self.slots else 1

    @cached_property
    def full(self) -> Words:
        """The box that accepts everything."""
        box: Words = self.boxes(np.array([[slot.kind.full for slot in self.slots]], np.uint8))[0]
        return box

    def boxes(self, masks: NDArray[np.uint8]) -> Words:
        """Masks per slot (N, K) as boxes (N, words)."""
        out = np.zeros((len(masks), self.words), np.uint64)
        for k, (word, shift) in enumerate(zip(*self.place, strict=True)):
            out[:, word] |= masks[:, k].astype(np.uint64) << shift
        return out

    def masks(self, boxes: Words) -> NDArray[np.uint8]:
        """Boxes (N, words) as masks per slot (N, K)."""
        out = np.empty((len(boxes), len(self.slots)), np.uint8)
        for k, (word, shift) in enumerate(zip(*self.place, strict=True)):
            out[:, k] = (boxes[:, word] >> shift) & np.uint64(self.slots[k].kind.full)
        return out

    def points(self, states: States) -> Words:
        """States per slot (N, K) as points (N, words): boxes of one state each."""
        return self.boxes(np.left_shift(1, states, dtype=np.uint8))

    def states(self, points: Words) -> States:
        """Points (N, words) as states per slot (N, K)."""
        one_hot = self.masks(points)
        return _LOWEST[one_hot]

    def widened(self, columns: Collection[str]) -> PredicateSpace:
        """The space in which every slot that reads one of the columns distinguishes nulls; this one where all do."""
        slots = tuple(
            replace(slot, kind=slot.kind.widened) if any(name in columns for name in slot.columns) else slot
            for slot in self.slots
        )
        return self if slots == self.slots else PredicateSpace(slots)

    def narrowed(self, columns: Collection[str]) -> PredicateSpace:
        """The space in which no slot distinguishes nulls that reads these columns alone, which hold none."""
        slots = tuple(
            replace(slot, kind=slot.kind.narrowed) if all(name in columns for name in slot.columns) else slot
            for slot in self.slots
        )
        return self if slots == self.slots else PredicateSpace(slots)

    def widened_points(self, points: Words, wider: PredicateSpace) -> Words:
        """The points in a widened space, in the given order, which need not ascend there."""
        return wider.points(self.states(points))

    def constraint(self, masks: Iterable[int]) -> DenialConstraint:
        """The rule that a box stands for, equalities first."""
        found = [
            predicate
            for slot, mask in zip(self.slots, masks, strict=True)
            if mask != slot.kind.full
            for predicate in slot.predicates(int(mask))
        ]
        return DenialConstraint(tuple(sorted(found, key=lambda predicate: predicate.op is not Operator.EQ)))

    @cached_property
    def is_symmetric(self) -> bool:
        """Whether exchanging the rows turns every slot into itself, so rules come in mirrored pairs."""
        return all(
            slot.is_pair
            and len(slot.columns) == 1
            and {op.mirrored for op in slot.kind.operators} == set(slot.kind.operators)
            for slot in self.slots
        )

    @cached_property
    def half_of_choices(self) -> Choices:
        """The choices of a symmetric space, marked so that of a rule and its mirror image only one is searched."""
        choices = self.choices
        side = np.zeros(len(choices.slot), np.int64)
        before = np.zeros_like(choices.siblings)
        for c, (k, mask) in enumerate(zip(choices.slot.tolist(), choices.mask.tolist(), strict=True)):
            kind = self.slots[k].kind
            swapped = kind.mirrored(mask)
            side[c] = (mask > swapped) - (mask < swapped)
            if side[c] < 0:
                before[k + 1 :, c // WORD] |= np.uint64(1 << (c % WORD))
        return choices._replace(side=side, before=before)

    @cached_property
    def choices(self) -> Choices:
        """Every slot with each of its masks, for the inversion kernel."""
        listed = [(k, mask) for k, slot in enumerate(self.slots) for mask in slot.kind.conjunctions]
        count, width = len(listed), max(1, -(-len(listed) // WORD))
        weaker = np.zeros((count, 4), np.int64)
        refusing = np.zeros((len(self.slots), 8, width), np.uint64)
        siblings = np.zeros((len(self.slots), width), np.uint64)
        for c, (k, mask) in enumerate(listed):
            kind = self.slots[k].kind
            gained = [other & ~mask for other in kind.weakened(mask)]
            weaker[c, : len(gained)] = gained
            bit = np.uint64(1 << (c % WORD))
            siblings[k, c // WORD] |= bit
            for state in range(len(kind.states)):
                if not mask >> state & 1:
                    refusing[k, state, c // WORD] |= bit
        weight = [len(self.slots[k].kind.conjunctions[mask]) for k, mask in listed]
        return Choices(
            np.array([k for k, _ in listed], np.int64),
            np.array([mask for _, mask in listed], np.int64),
            np.array(weight, np.int64),
            weaker,
            refusing,
            siblings,
            np.zeros(count, np.int64),
            np.zeros_like(siblings),
        )

    @cached_property
    def cuts(self) -> CutMasks:
        """What is left of each mask of each slot when a state must be refused, for the incremental inversion kernel."""
        rest = np.zeros((len(self.slots), 32, 5, 3), np.int64)
        weight = np.zeros((len(self.slots), 32), np.int64)
        for k, slot in enumerate(self.slots):
            for mask in (*slot.kind.conjunctions, slot.kind.full):
                weight[k, mask] = len(slot.kind.conjunctions.get(mask, ()))
                for state in range(len(slot.kind.states)):
                    if mask >> state & 1:
                        found = slot.kind.without(mask, state)
                        rest[k, mask, state, : len(found)] = found
        return CutMasks(
            *self.place,
            np.array([slot.kind.full for slot in self.slots], np.uint64),
            np.array([slot.kind.is_simple for slot in self.slots]),
            weight,
            rest,
        )


_LOWEST = np.array([max((m & -m).bit_length() - 1, 0) for m in range(256)], np.uint8)


def mirror_masks(space: PredicateSpace, masks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The masks (N, K) with rows exchanged, for slots that compare one column across rows."""
    out = np.empty_like(masks)
    for k, slot in enumerate(space.slots):
        table = np.zeros(256, np.uint8)
        for mask in (*slot.kind.conjunctions, slot.kind.full):
            table[mask] = slot.kind.mirrored(mask)
        out[:, k] = table[masks[:, k]]
    return out


def mirror_points(space: PredicateSpace, points: Words) -> Words:
    """The points (N, words) of pairs with rows exchanged, where slots compare one column across rows."""
    states = space.states(points)
    for k, slot in enumerate(space.slots):
        states[:, k] = np.array(slot.kind.mirror, np.uint8)[states[:, k]]
    return space.points(states)
