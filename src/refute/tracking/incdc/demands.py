"""What boxes ask of two rows, as indexes see it: equalities, and signs of differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.discovery.inversion.minimal import leads_mirror
from refute.discovery.space.slots import PredicateSpace, Slot, Words
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL
from refute.language.predicate import Column
from refute.tracking.meeting.residual import required
from refute.tracking.rows import TrackedRows

Mask = NDArray[np.bool_]
Signs = NDArray[np.uint8]
ANY = LESS | EQUAL | GREATER
"""All signs that a difference can have: nothing is asked. Bits are 1 for less, 2 for equal, 4 for greater."""


def _both_signs() -> NDArray[np.int64]:
    """For two sets of signs that of their pairs: bit 3 x + y, with x and y 0 for less, 1 for equal, 2 for greater."""
    table = np.zeros((8, 8), np.int64)
    for first in range(8):
        for second in range(8):
            table[first, second] = sum(
                1 << (3 * x + y) for x in range(3) for y in range(3) if first >> x & 1 and second >> y & 1
            )
    return table


BOTH = _both_signs()


class SlotColumns(NamedTuple):
    """The columns of codes that a slot compares: that of s with that of t."""

    left: int
    right: int


@dataclass(frozen=True)
class Demands:
    """What each of N boxes asks for: in which slots equality, and which signs of s minus t it accepts, by codes.

    Null has the lowest code. Where nulls are equal, comparing codes therefore never refuses what a box accepts; else
    no box accepts null, and rows with one need not be looked at.
    """

    equal: Mask  # (N, K)
    signs: Signs  # (N, K), ANY for slots that do not compare two rows
    operands: tuple[SlotColumns | None, ...]  # per slot, None for those

    @classmethod
    def of(cls, space: PredicateSpace, rows: TrackedRows, boxes: Words) -> Demands:
        """The demands of boxes."""
        masks = space.masks(boxes)
        signs = np.full(masks.shape, ANY, np.uint8)
        for k, slot in enumerate(space.slots):
            if slot.is_pair:
                signs[:, k] = _signs_of(slot)[masks[:, k]]
        operands = tuple(_operands(slot, rows) for slot in space.slots)
        return cls(required(space, boxes), signs, operands)

    def __len__(self) -> int:
        return len(self.equal)

    def some(self, chosen: Mask) -> Demands:
        """The demands of some of the boxes."""
        return Demands(self.equal[chosen], self.signs[chosen], self.operands)

    @property
    def orders(self) -> Mask:
        """Per box and slot, whether an order index can serve: an order or a difference is asked for (N, K)."""
        return np.asarray((self.signs != ANY) & (self.signs != EQUAL))

    @property
    def weights(self) -> NDArray[np.float64]:
        """How many rules each box is once each `!=` is taken apart into `<` and `>`."""
        return np.asarray(2.0 ** (self.signs == LESS | GREATER).sum(axis=1))


def leading(space: PredicateSpace, boxes: Words) -> Words:
    """The boxes without those whose mirror image is there too, as pairs are looked at in both roles."""
    return boxes[leads_mirror(space, boxes)] if space.is_symmetric and len(boxes) else boxes


def _signs_of(slot: Slot) -> Signs:
    """The signs that codes may have where a mask of the slot's states is accepted (256,)."""
    table = np.full(256, ANY, np.uint8)
    for mask in slot.kind.conjunctions:
        atoms = slot.kind.atoms(mask)
        signs = atoms & ANY
        signs |= EQUAL if atoms & BOTH_NULL else 0
        signs |= LESS | GREATER if atoms & ONE_NULL else 0
        table[mask] = signs
    return table


def _operands(slot: Slot, rows: TrackedRows) -> SlotColumns | None:
    if not slot.is_pair:
        return None
    assert isinstance(slot.right, Column)
    return SlotColumns(rows.at[slot.left.name], rows.at[slot.right.name])
