"""Maximal boxes while points come and go: boxes that a point breaks are cut, and grow again where points are gone."""

from __future__ import annotations

import numpy as np

from refute.discovery.inversion.inverted import chosen_masks, cut, inverted, is_worth_cutting
from refute.discovery.space.slots import WORD, PredicateSpace, Words
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.kernels.inversion.hitting import invert
from refute.kernels.tracking.points import first_around, smallest_sets
from refute.tracking.codes import Longs
from refute.tracking.known import among

_ROOM = 1 << 10
_NO_LIMIT = 1 << 40
_MANY_DEAD = 200  # points from which on all boxes are made anew rather than grown point by point


class Maximal:
    """What makes the maximal boxes of a space that hold none of some points."""

    def __init__(self, space: PredicateSpace, longest: int | None, budget: Budget, tuning: Tuning) -> None:
        self.space = space
        self._longest = longest
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
        return cut(self.space, boxes, fresh, self._longest)

    def grown(self, boxes: Words, dead: Words, points: Words) -> tuple[Words, Words]:
        """The boxes that hold none of the points, given those that held none of the dead ones either; the new ones."""
        if not len(dead):
            return boxes, boxes[:0]
        if not len(points):
            return boxes[:0], boxes[:0]
        if len(dead) > _MANY_DEAD:
            found = self.anew(points)
            return found, found[~among(found, boxes)]
        new = np.unique(np.concatenate([self.around(point, points) for point in dead]), axis=0)
        inside = np.empty(len(boxes), np.int64)
        first_around(np.ascontiguousarray(boxes), np.ascontiguousarray(new), inside)
        found = np.concatenate([boxes[inside < 0], new])
        return found[np.lexsort(found.T[::-1])], new

    def around(self, point: Words, points: Words) -> Words:
        """The maximal boxes that hold a point and none of the others.

        Only choices that accept the point's states are made: whatever is weaker than one accepts them too. Of the
        points to refuse, those suffice whose difference to this one holds no other's difference.
        """
        if not len(points):
            return self.space.full[None][:0]
        choices = self.space.choices
        states = self.space.states(point[None])[0]
        start = np.zeros((2, choices.siblings.shape[1]), np.uint64)
        for c in np.flatnonzero((choices.mask >> states[choices.slot]) & 1).tolist():
            start[1, c // WORD] |= np.uint64(1 << (c % WORD))
        differing = points & ~point
        size = np.bitwise_count(differing).sum(axis=1)
        differing = np.ascontiguousarray(differing[np.argsort(size, kind="stable")])
        kept: Longs = np.empty(len(differing), np.int64)
        count = int(smallest_sets(differing, kept))
        masks = self.space.masks(differing[kept[:count]])
        own = self.space.masks(point[None])
        refused = np.ascontiguousarray(self.space.states(self.space.boxes(np.where(masks == 0, own, masks))))
        limit = _NO_LIMIT if self._longest is None else self._longest
        room = _ROOM
        while True:
            out = np.zeros((room, 2 * start.shape[1]), np.uint64)
            found = int(invert(choices, refused, start, limit, 0, self._budget.halt, out))
            if found <= room:
                break
            room = found
        return self.space.boxes(chosen_masks(self.space, out[:found, : start.shape[1]]))
