"""From evidence to rules: every maximal box that holds no point, found from scratch or from the boxes before."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from refute.discovery.evidence.counted import Counts, distinct_counts
from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.inversion.cube import Masks, cube_masks, fits_cube
from refute.discovery.space.slots import WORD, PredicateSpace, States, Words, mirror_masks
from refute.discovery.space.turned import asked_of, asked_slots, told_boxes
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, Crew, TimeIsUpError
from refute.kernels.inversion.approximate import invert_approximately
from refute.kernels.inversion.cut import cut_boxes
from refute.kernels.inversion.hitting import invert
from refute.language.nulls import Nulls

_ROOM = 1 << 12
_AT_ONCE = 1 << 16  # points between two looks at the clock
_NONE = np.zeros(0, np.int64)
_NO_LIMIT = 1 << 40


class NearlyEmpty(NamedTuple):
    """Maximal boxes that hold few pairs, sorted, and whether all were found."""

    boxes: Words
    ordered: Counts  # the ordered pairs in each
    unordered: Counts  # the pairs in each one way or the other
    complete: bool


def inverted(
    space: PredicateSpace,
    states: States,
    budget: Budget,
    max_predicates: int | None = None,
    *,
    mirrored: bool = False,
    tuning: Tuning = STANDARD,
) -> tuple[Words, bool]:
    """The maximal boxes that hold none of the points, sorted, and whether the search was finished.

    Where the cube of all states is small beside the points, it is searched; else hitting sets are (see both kernels).
    `mirrored` says that with every point its mirror image is there, as in evidence of pairs taken in both roles: in a
    symmetric space only half of the boxes are then searched for. Without any point there is no rule: a table of fewer
    than two rows teaches nothing.
    """
    if not len(states) or not space.slots:
        return np.empty((0, space.words), np.uint64), True
    inner = asked_of(space)
    if inner is not space:
        try:
            fewer = _asked_states(space, states, budget)
        except TimeIsUpError:
            return np.empty((0, space.words), np.uint64), False
        boxes, complete = inverted(inner, fewer, budget, max_predicates, tuning=tuning)
        boxes = told_boxes(space, boxes)
        return boxes[np.lexsort(boxes.T[::-1])], complete
    halved = mirrored and space.is_symmetric
    limit = _NO_LIMIT if max_predicates is None else max_predicates
    search = cube_masks if fits_cube(space, len(states), tuning) else hitting_masks
    masks, complete = search(space, np.ascontiguousarray(states), budget, limit, tuning, halved=halved)
    if halved:
        swapped = mirror_masks(space, masks)
        masks = np.concatenate([masks, swapped[(masks != swapped).any(axis=1)]])
    boxes = space.boxes(masks)
    return boxes[np.lexsort(boxes.T[::-1])], complete


def _asked_states(space: PredicateSpace, states: States, budget: Budget) -> States:
    """The distinct states of the slots that rules may read; raises TimeIsUpError where time is up before."""
    inner, asked = asked_of(space), asked_slots(space)
    points = np.empty((len(states), inner.words), np.uint64)
    for first in range(0, len(states), _AT_ONCE):
        budget.raise_if_expired()
        points[first : first + _AT_ONCE] = inner.points(np.ascontiguousarray(states[first : first + _AT_ONCE, asked]))
    budget.raise_if_expired()
    distinct, _ = distinct_counts(points, np.ones(len(points), np.int64))
    found = np.empty((len(distinct), len(inner.slots)), np.uint8)
    for first in range(0, len(distinct), _AT_ONCE):
        budget.raise_if_expired()
        found[first : first + _AT_ONCE] = inner.states(distinct[first : first + _AT_ONCE])
    return found


def hitting_masks(
    space: PredicateSpace, states: States, budget: Budget, limit: int, tuning: Tuning, *, halved: bool
) -> tuple[Masks, bool]:
    """The masks (N, K) of the maximal boxes as minimal hitting sets; for spaces of any size."""
    choices = space.half_of_choices if halved else space.choices

    def invert_below(start: Words, stop: int, out: Words) -> int:
        return int(invert(choices, states, start, limit, stop, budget.halt, out))

    split = len(states) >= tuning.split or (budget.threads > 1 and len(states) * len(choices.slot) > 1 << 15)
    masks, _, complete = _searched(space, invert_below, budget, split=split)
    return masks, complete


def inverted_approximately(
    pairs: UnorderedPairs,
    most: int,
    budget: Budget,
    max_predicates: int | None = None,
    *,
    tuning: Tuning = STANDARD,
) -> NearlyEmpty:
    """The maximal boxes that hold at most `most` pairs one way or the other."""
    space = pairs.space
    if not len(pairs) or not space.slots:
        return NearlyEmpty(np.empty((0, space.words), np.uint64), _NONE, _NONE, True)
    choices = space.choices
    limit = _NO_LIMIT if max_predicates is None else max_predicates
    heaviest = pairs.heaviest_first()
    states, counts = heaviest.states_within(lambda: budget.expired), heaviest.counts
    if states is None:
        return NearlyEmpty(np.empty((0, space.words), np.uint64), _NONE, _NONE, False)

    def invert_below(start: Words, stop: int, out: Words) -> int:
        return int(invert_approximately(choices, states, counts, start, limit, most, stop, budget.halt, out))

    masks, found, complete = _searched(space, invert_below, budget, split=len(states) >= tuning.split // 4, counts=2)
    boxes = space.boxes(masks)
    order = np.lexsort(boxes.T[::-1])
    unordered, ordered = found[order].astype(np.int64).T
    return NearlyEmpty(boxes[order], ordered, unordered, complete)


def _searched(
    space: PredicateSpace,
    invert_below: Callable[[Words, int, Words], int],
    budget: Budget,
    *,
    split: bool,
    counts: int = 0,
) -> tuple[Masks, Words, bool]:
    """The masks (N, K) that a search finds, what it counts for each (N, counts), and whether it was finished.

    The search is given the choices made and allowed, the number of choices at which to stop and room for results. Where
    it is worth to `split` it, the nodes with two choices become tasks for all threads.
    """
    width = space.choices.siblings.shape[1]
    root = np.zeros((2, width), np.uint64)
    root[1] = np.bitwise_or.reduce(space.choices.siblings, axis=0)

    def search(found: list[Words], start: Words, stop: int = 0) -> list[Words]:
        room = _ROOM
        while True:
            out = np.zeros((room, 2 * width + counts), np.uint64)
            count = invert_below(start, stop, out)
            if count <= room:
                return [*found, out[:count].copy()]
            room = count

    budget.halt[1] = 0
    first: Crew[list[Words], int] = Crew(budget, list, lambda found, stop: search(found, root, stop), tasks=1)
    started, complete = first.run([2 if split else 0])
    nothing = np.empty((0, 2 * width + counts), np.uint64)
    nodes = np.concatenate([nothing, *(part for found in started for part in found)])
    unfinished = nodes[:, width : 2 * width].any(axis=1)
    tasks = [np.ascontiguousarray(node[: 2 * width].reshape(2, width)) for node in nodes[unfinished]]
    budget.halt[1] = int(np.count_nonzero(~unfinished))
    crew: Crew[list[Words], Words] = Crew(budget, list, search, tasks=len(tasks))
    results, finished = crew.run(tasks) if tasks else ([], True)
    every = np.concatenate([nodes[~unfinished], *(part for found in results for part in found)])
    return chosen_masks(space, every[:, :width]), every[:, 2 * width :], complete and finished


def is_worth_cutting(boxes: Words, fresh: Words, tuning: Tuning) -> bool:
    """Whether new points break so few boxes, by an estimate, that cutting these is less work than a search anew."""
    some = fresh[:: max(1, len(fresh) // tuning.tried)]
    looked_at = boxes[:: max(1, len(boxes) // tuning.tried_boxes)]
    broken = sum(int(np.count_nonzero(~(point & ~looked_at).any(axis=1))) for point in some)
    expected = broken * len(fresh) * len(boxes) / max(1, len(some) * len(looked_at))
    return expected <= max(tuning.recut, tuning.recut_share * len(boxes))


def cut(
    space: PredicateSpace,
    boxes: Words,
    points: Words,
    max_predicates: int | None = None,
    *,
    tuning: Tuning = STANDARD,
) -> Words:
    """The maximal boxes once more points are seen, sorted."""
    limit = _NO_LIMIT if max_predicates is None else max_predicates
    before, more = np.ascontiguousarray(boxes), np.ascontiguousarray(points)
    found = cut_boxes(space.cuts, before, more, limit, tuning.few_points)
    ordered: Words = found[np.lexsort(found.T[::-1])]
    return ordered


def widened(
    space: PredicateSpace,
    boxes: Words,
    points: Words,
    wider: PredicateSpace,
    budget: Budget,
    max_predicates: int | None = None,
) -> tuple[Words, bool]:
    """The maximal boxes in a widened space, sorted, and whether all were found.

    boxes, points: all maximal boxes in the space, and the points that they refuse, of which none is null in a slot that
    was widened. Where a comparison with null is never true, each box stays what it is, as no predicate accepts the new
    state. Where nulls are equal, `=` accepts a state that `<=` does not, so a rule with the one no longer follows
    from that with the other: the points are inverted again.
    """
    if any(slot.kind.nulls is Nulls.EQUAL for slot, old in zip(wider.slots, space.slots, strict=True) if slot != old):
        states = wider.states(space.widened_points(points, wider))
        return inverted(wider, states, budget, max_predicates)
    masks = space.masks(boxes)
    for k, (slot, old) in enumerate(zip(wider.slots, space.slots, strict=True)):
        masks[masks[:, k] == old.kind.full, k] = slot.kind.full
    moved = wider.boxes(masks)
    return moved[np.lexsort(moved.T[::-1])], True


def chosen_masks(space: PredicateSpace, chosen: Words) -> Masks:
    """Sets of choices (N, X) as masks per slot (N, K)."""
    masks = np.empty((len(chosen), len(space.slots)), np.uint8)
    masks[:] = [slot.kind.full for slot in space.slots]
    for c, (slot, mask) in enumerate(zip(space.choices.slot, space.choices.mask, strict=True)):
        picked = (chosen[:, c // WORD] >> np.uint64(c % WORD)) & np.uint64(1) != 0
        masks[picked, slot] = mask
    return masks
