"""Maximal boxes while points come and go: boxes that a point breaks are cut, and grow again where points are gone."""

from __future__ import annotations

import numpy as np

from refute.discovery.inversion.inverted import cut, inverted, is_worth_cutting
from refute.discovery.space.slots import PredicateSpace, Words, mirror_masks, mirror_points
from refute.discovery.space.turned import is_less
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.kernels.tracking.growing import boxes_around, grow_boxes
from refute.kernels.tracking.points import first_around
from refute.tracking.evidence.known import Mask, among, ascending, places

_NO_LIMIT = 1 << 40
_NO_STACK = np.empty((0, 0), np.uint64)


class Maximal:
    """What makes the maximal boxes of a space that hold none of some points."""

    def __init__(self, space: PredicateSpace, longest: int | None, budget: Budget, tuning: Tuning) -> None:
        self.space = space
        self._longest = longest
        self._limit = _NO_LIMIT if longest is None else longest
        self._budget = budget
        self._tuning = tuning

    def anew(self, points: Words) -> Words:
        """The boxes that hold none of the points."""
        states = self.space.states(points)
        found, _ = inverted(self.space, states, self._budget, self._longest, mirrored=True, tuning=self._tuning)
        self._budget.raise_if_interrupted()
        return found

    def cut(self, boxes: Words, fresh: Words, points: Words) -> Words:
        """The boxes that hold none of the points, given those for all but the fresh ones of them."""
        if not len(fresh):
            return boxes
        if len(fresh) == len(points):  # without any point before, there were no boxes
            return self.anew(points)
        if not is_worth_cutting(boxes, fresh, self._tuning):
            return self.anew(points)
        return cut(self.space, boxes, fresh, self._longest, tuning=self._tuning)

    def grown(self, boxes: Words, dead: Words, points: Words) -> tuple[Words, Words]:
        """The boxes that hold none of the points, given those that held none of the dead ones either; the new ones."""
        if not len(dead):
            return boxes, boxes[:0]
        if not len(points):
            return boxes[:0], boxes[:0]
        searched = len(dead) // 2 if self.space.is_symmetric else len(dead)
        if searched * len(points) > self._tuning.regrow * len(boxes):
            found = self.anew(points)
            return found, found[~among(found, boxes)]
        new, absorbed = self._around_all(boxes, dead, points)
        found = np.concatenate([boxes[~absorbed], new])
        return found[np.lexsort(found.T[::-1])], new

    def _around_all(self, boxes: Words, dead: Words, points: Words) -> tuple[Words, Mask]:
        """The maximal boxes around dead points, and which of the boxes before lie within one.

        In a symmetric space points and boxes come with their mirror images: half of them are enough.
        """
        space, halved = self.space, self.space.is_symmetric
        if halved:
            dead = dead[~is_less(mirror_points(space, dead), dead)]
        boxes, dead, points = (np.ascontiguousarray(some) for some in (boxes, dead, points))
        few, halt = self._tuning.few_points, self._budget.halt
        found, absorbed = grow_boxes(space.cuts, space.full, boxes, points, dead, self._limit, few, halt)
        self._budget.raise_if_interrupted()
        new = ascending(found)
        if halved:
            new = ascending(np.concatenate([new, self._mirrored(new)]))
        if self._longest is not None:
            inside = np.empty(len(boxes), np.int64)
            first_around(boxes, new, inside)
            absorbed = inside >= 0
        elif halved:
            absorbed[places(boxes, self._mirrored(boxes[absorbed]))] = True
        return new, absorbed

    def _mirrored(self, boxes: Words) -> Words:
        """Boxes with the rows exchanged."""
        return self.space.boxes(mirror_masks(self.space, self.space.masks(boxes)))

    def around(self, point: Words, points: Words) -> Words:
        """The maximal boxes that hold a point and none of the others, which ascend."""
        if not len(points):
            return self.space.full[None][:0]
        others = np.ascontiguousarray(points)
        room = np.empty(len(others), np.int64)
        space = self.space
        found: Words = boxes_around(space.cuts, space.full, others, _NO_STACK, point, self._limit, room)
        return found
