"""Rules that say something of their own: trivial, implied and mirrored ones are dropped."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.inversion.closing import Atoms, Closing
from refute.discovery.inversion.implied import implied
from refute.discovery.space.slots import PredicateSpace, Words, mirror_masks
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.language.nulls import Nulls


def minimal(
    space: PredicateSpace, boxes: Words, budget: Budget, nullable: frozenset[str], tuning: Tuning = STANDARD
) -> Words:
    """The boxes that neither are trivial nor follow from another box or its mirror image; one of each equal pair stays.

    `nullable` names the columns that hold nulls. Shorter rules come first and stay where rules imply each other.
    `MinimalRules` gives the same for boxes that come and go.
    """
    boxes = boxes[np.lexsort(sort_keys(space, boxes).T[::-1])]
    if is_plain(space, nullable):
        return boxes[leads_mirror(space, boxes)]
    possible, closures = Closing(space, nullable).closed(boxes, budget)
    inferring = np.flatnonzero(closures.infers)
    dropped = implied(closures.rules, closures.mirrors, closures.implied, inferring, budget, tuning)
    return boxes[possible][~(dropped | _mirrored_earlier(closures.rules, closures.mirrors))]


def sort_keys(space: PredicateSpace, boxes: Words) -> Words:
    """Words (N, X) by which boxes are ordered: shorter rules first, then by the masks of their slots."""
    masks = space.masks(boxes)
    padded = np.zeros((len(masks), -(-max(1, masks.shape[1]) // 8) * 8), np.uint8)
    padded[:, : masks.shape[1]] = masks
    return np.column_stack([lengths(space, masks).astype(np.uint64), padded.view(">u8").astype(np.uint64)])


def is_plain(space: PredicateSpace, nullable: frozenset[str]) -> bool:
    """Whether maximal boxes imply nothing but their mirror images: no slot compares two columns, or is idle.

    A slot is idle where nulls are equal and its column holds none, so that `=` asks for more than `<=` there.
    """
    return space.is_symmetric and not any(
        slot.kind.tells_nulls and slot.kind.nulls is Nulls.EQUAL and nullable.isdisjoint(slot.columns)
        for slot in space.slots
    )


def leads_mirror(space: PredicateSpace, boxes: Words) -> NDArray[np.bool_]:
    """In a symmetric space, which boxes are their own mirror images or come before them."""
    masks = space.masks(boxes)
    swapped = mirror_masks(space, masks)
    first = np.zeros(len(masks), np.bool_)
    settled = np.zeros(len(masks), np.bool_)
    for k in range(masks.shape[1]):
        ours, theirs = masks[:, k], swapped[:, k]
        first |= ~settled & (ours < theirs)
        settled |= ours != theirs
    return first | ~settled


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
