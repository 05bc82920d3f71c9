"""Boxes as stacks of bits say of a point what the boxes say one by one."""

from __future__ import annotations

import numpy as np
import pytest

from refute.kernels.inversion.cut import look_at_each
from refute.kernels.inversion.stack import (
    CutMasks,
    bits_of,
    look_at_many,
    mark_without,
    near_by_slot,
    places,
    put,
    stacked,
    with_room,
)

STATES = 3


def masks_of(slots: int, words: int) -> CutMasks:
    """Slots of three states, dealt out to the words in turn."""
    number = np.arange(slots)
    return CutMasks(
        number % words,
        (number // words * STATES).astype(np.uint64),
        np.full(slots, (1 << STATES) - 1, np.uint64),
        np.ones(slots, np.bool_),
        np.zeros((slots, 32), np.int64),
        np.zeros((slots, 32, 5, 3), np.int64),
    )


def laid(cuts: CutMasks, masks: np.ndarray, words: int) -> np.ndarray:
    """Boxes, or points, with such masks (N, K) in their slots."""
    found = np.zeros((len(masks), words), np.uint64)
    for k in range(masks.shape[1]):
        found[:, cuts.word[k]] |= masks[:, k].astype(np.uint64) << cuts.shift[k]
    return found


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize(("slots", "boxes"), [(2, 63), (3, 64), (4, 1), (7, 20_000)])
def test_a_stack_says_of_points_what_boxes_say(words: int, slots: int, boxes: int) -> None:
    random = np.random.default_rng(slots)
    cuts = masks_of(slots, words)
    held = laid(cuts, random.integers(1, 1 << STATES, (boxes, slots)), words)
    room = boxes // 64 + 1
    stack = with_room(stacked(held, boxes, room), room + 3)
    whole, near = np.empty(room + 3, np.uint64), np.empty(room + 3, np.uint64)
    numbers, bits = np.empty((room + 3) * 64, np.int64), np.empty(slots, np.int64)
    wanted, wanted_near = np.empty(boxes, np.int64), np.empty(boxes, np.int64)
    starts, around = np.empty(slots + 1, np.int64), np.empty((boxes, words), np.uint64)
    for point in laid(cuts, 1 << random.integers(0, STATES, (5, slots)), words):
        n = int(random.integers(boxes))
        another = held[int(random.integers(boxes))].copy()
        put(stack, n, held[n], another)
        held[n] = another
        bits_of(cuts, point, bits)
        look_at_many(stack, bits, whole, near)
        hold, miss = look_at_each(held, boxes, point, wanted, wanted_near)
        assert numbers[: places(whole, numbers)].tolist() == wanted[:hold].tolist()
        assert numbers[: places(near, numbers)].tolist() == wanted_near[:miss].tolist()
        near_by_slot(stack, held, bits, near, starts, around)
        assert starts[0] == 0
        assert starts[slots] == miss
        for k in range(slots):
            some = held[wanted_near[:miss]]
            shift, full = cuts.shift[k], cuts.full[k]
            missed = ((some[:, cuts.word[k]] & point[cuts.word[k]]) >> shift) & full == 0
            assert around[starts[k] : starts[k + 1]].tolist() == some[missed].tolist()
        without = np.flatnonzero(~(held & point).any(axis=1))
        assert numbers[: places(mark_without(stack, boxes, point), numbers)].tolist() == without.tolist()
