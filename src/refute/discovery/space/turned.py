"""Pairs the other way round: spaces in which the point of a pair (s, t) says which point (t, s) has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.space.slots import PredicateSpace, Slot, States, Words
from refute.language.predicate import Column, Constant


def both_ways(space: PredicateSpace) -> PredicateSpace:
    """The space, with silent slots for what it does not tell of pairs whose rows are exchanged; itself if it does.

    `s.a < t.b` is asked of (s, t) alone: whether the same pair breaks a rule the other way round depends on how `s.b`
    compares with `t.a`, which no rule reads.
    """
    known = {(slot.left, slot.right) for slot in space.slots}
    silent = []
    for slot in space.slots:
        turned = _turned(slot)
        if turned not in known:
            known.add(turned)
            silent.append(Slot(*turned, slot.kind.silent))
    return PredicateSpace((*space.slots, *silent)) if silent else space


def turned_states(space: PredicateSpace, states: States) -> States:
    """The states (N, K) of pairs with their rows exchanged, in a space that tells pairs both ways."""
    place = {(slot.left, slot.right): k for k, slot in enumerate(space.slots)}
    out = np.empty_like(states)
    for k, slot in enumerate(space.slots):
        there = states[:, place[_turned(slot)]]
        out[:, k] = np.array(slot.kind.mirror, np.uint8)[there] if slot.is_pair else there
    return out


def asked_slots(space: PredicateSpace) -> list[int]:
    """The slots that rules may read."""
    return [k for k, slot in enumerate(space.slots) if slot.kind.asked]


def asked_of(space: PredicateSpace) -> PredicateSpace:
    """The space of the slots that rules may read; itself where these are all."""
    asked = asked_slots(space)
    return space if len(asked) == len(space.slots) else PredicateSpace(tuple(space.slots[k] for k in asked))


def asked_boxes(space: PredicateSpace, boxes: Words) -> Words:
    """The boxes in the space of the slots that rules may read."""
    inner = asked_of(space)
    return boxes if inner is space else inner.boxes(space.masks(boxes)[:, asked_slots(space)])


def told_boxes(space: PredicateSpace, boxes: Words) -> Words:
    """Boxes of the space of the slots that rules may read, in the whole space."""
    inner = asked_of(space)
    if inner is space:
        return boxes
    masks = np.empty((len(boxes), len(space.slots)), np.uint8)
    masks[:] = [slot.kind.full for slot in space.slots]
    masks[:, asked_slots(space)] = inner.masks(boxes)
    return space.boxes(masks)


def is_less(boxes: Words, others: Words) -> NDArray[np.bool_]:
    """Which boxes, or points, come before those beside them in the order of all."""
    found = np.zeros(len(boxes), np.bool_)
    open_ones = np.ones(len(boxes), np.bool_)
    for one, other in zip(boxes.T, others.T, strict=True):
        found |= open_ones & (one < other)
        open_ones &= one == other
    return found


def _turned(slot: Slot) -> tuple[Column, Column | Constant]:
    """What the slot compares once the rows are exchanged, written with `s` first where it compares both."""
    left, right = slot.left.swapped(), slot.right.swapped() if isinstance(slot.right, Column) else slot.right
    return (right, left) if slot.is_pair and isinstance(right, Column) else (left, right)
