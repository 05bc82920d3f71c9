"""Counted evidence of pairs that have no order: each pair of rows once, with the point that it has in either role."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from refute.discovery.evidence.counted import Counts, Evidence, distinct_counts
from refute.discovery.space.slots import PredicateSpace, States, Words
from refute.discovery.space.turned import asked_of, asked_slots, is_less, turned_states
from refute.discovery.work import Budget
from refute.kernels.evidence.coverage import weights_either_way

_POINTS = 1 << 16  # between two looks at the clock


@dataclass(frozen=True, slots=True)
class UnorderedPairs:
    """Pairs of rows by their two points in the space that rules read, each with the number of such pairs.

    A rule is broken by a pair if its box holds one of the points, so that a rule which asks for an order of the rows is
    broken by as many pairs as the same rule without it.
    """

    space: PredicateSpace
    here: Words  # (N, words) the points as (s, t)
    there: Words  # (N, words) those as (t, s)
    counts: Counts  # (N,)

    @classmethod
    def of(cls, evidence: Evidence, budget: Budget | None = None) -> UnorderedPairs | None:
        """The pairs of evidence that counts all of them, in a space that tells both ways; None where time is up."""
        whole, inner, asked = evidence.space, asked_of(evidence.space), asked_slots(evidence.space)
        points, counts = [np.empty((0, 2 * inner.words), np.uint64)], [np.empty(0, np.int64)]
        for first in range(0, len(evidence), _POINTS):
            if budget is not None and budget.expired:
                return None
            here = evidence.points[first : first + _POINTS]
            states = whole.states(here)
            turned = turned_states(whole, states)
            there = whole.points(turned)
            led = ~is_less(there, here)  # of a point and its mirror image, the first one speaks for both
            itself = (here == there).all(axis=1)[led]
            number = evidence.counts[first : first + _POINTS][led]
            counts.append(np.where(itself, number // 2, number))
            ours, theirs = (inner.points(np.ascontiguousarray(one[led][:, asked])) for one in (states, turned))
            turns = is_less(theirs, ours)[:, None]
            points.append(np.concatenate([np.where(turns, theirs, ours), np.where(turns, ours, theirs)], axis=1))
        found, totals = np.concatenate(points), np.concatenate(counts)
        if inner is not whole and len(found):
            found, totals = distinct_counts(found, totals)
        here, there = (np.ascontiguousarray(half) for half in np.split(found, 2, axis=1))
        return cls(inner, here, there, totals)

    def __len__(self) -> int:
        return len(self.counts)

    def states_within(self, expired: Callable[[], bool]) -> States | None:
        """The states (2 N, K) of all points, those of a pair side by side; None where time is up before."""
        found = np.empty((len(self), 2, len(self.space.slots)), np.uint8)
        for first in range(0, len(self), _POINTS):
            if expired():
                return None
            some = slice(first, first + _POINTS)
            found[some, 0], found[some, 1] = self.space.states(self.here[some]), self.space.states(self.there[some])
        return found.reshape(2 * len(self), len(self.space.slots))

    def heaviest_first(self) -> UnorderedPairs:
        """The same with the most frequent first."""
        order = np.argsort(-self.counts, kind="stable")
        return UnorderedPairs(self.space, self.here[order], self.there[order], self.counts[order])

    def inside(self, boxes: Words) -> tuple[Counts, Counts]:
        """For each box, how many ordered pairs it holds, and how many pairs it holds one way or the other."""
        ordered, unordered = np.zeros((2, len(boxes)), np.int64)
        boxes = np.ascontiguousarray(boxes)
        weights_either_way(boxes, self.here, self.there, self.counts, ordered, unordered)
        return ordered, unordered

    def inside_known(self, boxes: Words, counts: Mapping[bytes, tuple[int, int]]) -> tuple[Counts, Counts]:
        """The same, of which some are known by the bytes of the boxes."""
        missing = np.array([box.tobytes() not in counts for box in boxes], np.bool_)
        found = np.zeros((2, len(boxes)), np.int64)
        found[:, missing] = self.inside(boxes[missing])
        for place in np.flatnonzero(~missing).tolist():
            found[:, place] = counts[boxes[place].tobytes()]
        return found[0], found[1]
