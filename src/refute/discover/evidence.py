"""Evidence: the distinct ways in which pairs of rows compare, counted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from refute.discover.facts import Codebook
from refute.discover.space import Space, States, Words

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Distinct points of a space in ascending order, each with the number of ordered pairs that were seen there.

    Merges: the evidence of two disjoint sets of pairs is `merged` of the evidence of each.
    """

    space: Space
    points: Words  # (E, words)
    counts: Counts  # (E,)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def states(self) -> States:
        """The state of each slot (E, K)."""
        return self.space.states(self.points)

    @classmethod
    def empty(cls, space: Space) -> Evidence:
        """No pairs at all."""
        return cls(space, np.empty((0, space.words), np.uint64), np.empty(0, np.int64))

    @classmethod
    def of(cls, space: Space, points: Words, counts: Counts) -> Evidence:
        """The evidence of points that may repeat."""
        if not len(points):
            return cls.empty(space)
        order = np.argsort(points[:, 0], kind="stable") if space.words == 1 else np.lexsort(points.T[::-1])
        ordered = points[order]
        fresh = np.concatenate([[True], (ordered[1:] != ordered[:-1]).any(axis=1)])
        return cls(space, ordered[fresh], np.add.reduceat(counts[order], np.flatnonzero(fresh)))

    @classmethod
    def from_clues(cls, book: Codebook, clues: NDArray[np.int32], counts: Counts) -> Evidence:
        """The evidence of unordered pairs with these clues (N, W), each taken in both roles."""
        forward, reverse = book.decode(clues)
        points = np.concatenate([book.space.points(forward), book.space.points(reverse)])
        return cls.of(book.space, points, np.concatenate([counts, counts]))


def merged(space: Space, parts: Iterable[Evidence]) -> Evidence:
    """The evidence of all parts together; parts must not have seen the same pairs if counts are to be right."""
    listed = list(parts)
    if len(listed) == 1:
        return listed[0]
    points = np.concatenate([np.empty((0, space.words), np.uint64), *(part.points for part in listed)])
    return Evidence.of(space, points, np.concatenate([np.empty(0, np.int64), *(part.counts for part in listed)]))
