"""The evidence that a tracker knows: every point with a count of its pairs, or with some of them as witnesses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Counts, Evidence
from refute.discovery.space.slots import PredicateSpace, Words
from refute.kernels.tracking.points import find_points, forget_pairs, mark_apart
from refute.tracking.codes import Longs

Mask = NDArray[np.bool_]
NONE = -1  # in place of a witness


def places(points: Words, asked: Words) -> Longs:
    """Where asked points are among ascending ones; `-1 - p` for one that is not there and belongs at p."""
    out = np.empty(len(asked), np.int64)
    find_points(points, np.ascontiguousarray(asked), out)
    return out


def among(points: Words, others: Words) -> Mask:
    """Which points, or boxes, are among the others."""
    ordered = np.ascontiguousarray(others[np.lexsort(others.T[::-1])])
    return np.asarray(places(ordered, points) >= 0)


def apart(boxes: Words, others: Words) -> tuple[Mask, Mask]:
    """Which boxes, or points, are not among the others, and which of those not among these; both ascend."""
    alone, others_alone = np.empty(len(boxes), np.bool_), np.empty(len(others), np.bool_)
    mark_apart(np.ascontiguousarray(boxes), np.ascontiguousarray(others), alone, others_alone)
    return alone, others_alone


def ascending(boxes: Words) -> Words:
    """Boxes, or points, in their order, each once."""
    ordered = boxes[np.lexsort(boxes.T[::-1])]
    again = (ordered[1:] == ordered[:-1]).all(axis=1)
    return np.ascontiguousarray(ordered[np.concatenate([[True], ~again])[: len(ordered)]])


class KnownPoints:
    """Distinct points, ascending.

    A point that is *covered*, by an equality set whose pairs are all enumerated, has the exact number of its ordered
    pairs. Any other has up to `most` witnesses: pairs of rows that are there, as `s << 32 | t`, then `NONE`.
    """

    def __init__(self, space: PredicateSpace, most: int) -> None:
        self.space = space
        self.most = most
        self.points: Words = np.empty((0, space.words), np.uint64)
        self.counts: Counts = np.empty(0, np.int64)
        self.covered: Mask = np.empty(0, np.bool_)
        self.witnesses: Longs = np.empty((0, most), np.int64)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def nbytes(self) -> int:
        """The memory of all points."""
        return self.points.nbytes + self.counts.nbytes + self.covered.nbytes + self.witnesses.nbytes

    def find(self, points: Words) -> Longs:
        """Where these points are, negative for those that are not known."""
        return places(self.points, points)

    def learn(self, points: Words, covered: Mask) -> None:
        """Adds points that are not known, each once, without a pair so far."""
        if not len(points):
            return
        order = np.lexsort(points.T[::-1])
        points, covered = points[order], covered[order]
        at = -1 - self.find(points)
        self.points = np.insert(self.points, at, points, axis=0)
        self.counts = np.insert(self.counts, at, 0)
        self.covered = np.insert(self.covered, at, covered)
        self.witnesses = np.insert(self.witnesses, at, NONE, axis=0)

    def count(self, evidence: Evidence, sign: int, at: Longs | None = None) -> None:
        """Adds the pairs of evidence to the counts of covered points, or takes them away; `at` says where they are."""
        at = self.find(evidence.points) if at is None else at
        if not len(self):
            return
        counted = (at >= 0) & self.covered[np.maximum(at, 0)]
        self.counts[at[counted]] += sign * evidence.counts[counted]

    def witness(self, evidence: Evidence, at: Longs | None = None) -> None:
        """Notes a pair for each point of the evidence that is known, not covered, and has too few."""
        if evidence.firsts is None or not len(self):
            assert not len(evidence) or not len(self)
            return
        at = self.find(evidence.points) if at is None else at
        place = np.maximum(at, 0)
        open_ones = (at >= 0) & ~self.covered[place] & (self.witnesses[place, -1] == NONE)
        if not open_ones.any():
            return
        at, pairs = at[open_ones], evidence.firsts[open_ones]
        held = self.witnesses[at]
        wanted = ~(held == pairs[:, None]).any(axis=1)
        column = (held == NONE).argmax(axis=1)
        self.witnesses[at[wanted], column[wanted]] = pairs[wanted]

    def forget_rows(self, alive: Mask) -> None:
        """Drops witnesses of which a row is gone."""
        forget_pairs(self.witnesses, alive)

    def renumber(self, numbers: Longs) -> None:
        """Changes to new numbers of rows, all of which are there."""
        listed = self.witnesses != NONE
        pairs = self.witnesses[listed]
        self.witnesses[listed] = (numbers[pairs >> 32] << 32) | numbers[pairs & 0xFFFFFFFF]

    @property
    def dead(self) -> Mask:
        """The covered points without a pair."""
        return np.asarray(self.covered & (self.counts == 0))

    @property
    def suspects(self) -> Mask:
        """The points that are not covered and have no witness left."""
        return np.asarray(~self.covered & (self.witnesses[:, 0] == NONE))

    def drop(self, gone: Mask) -> None:
        """Lets points go."""
        kept = ~gone
        self.points, self.counts = self.points[kept], self.counts[kept]
        self.covered, self.witnesses = self.covered[kept], self.witnesses[kept]

    def widen(self, wider: PredicateSpace) -> None:
        """Changes to a widened space, in which the order of points may be another."""
        points = self.space.widened_points(self.points, wider)
        order = np.lexsort(points.T[::-1])
        self.points = np.ascontiguousarray(points[order])
        self.counts, self.covered = self.counts[order], self.covered[order]
        self.witnesses = self.witnesses[order]
        self.space = wider

    def evidence(self) -> Evidence:
        """All points with their counts, which are true where all points are covered."""
        return Evidence(self.space, self.points, self.counts)
