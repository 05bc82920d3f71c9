"""Evidence: the distinct ways in which pairs of rows compare, counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.codebook import Codebook
from refute.discovery.space.clue_layout import unchecked
from refute.discovery.space.slots import PredicateSpace, States, Words
from refute.kernels.evidence.coverage import weights_inside
from refute.kernels.evidence.points import distinct_points
from refute.kernels.sort.sorting import sorted_positions
from refute.runtime.arrays import empty

Counts = NDArray[np.int64]
Firsts = NDArray[np.int64]
Order = NDArray[np.signedinteger]

_MANY = 1 << 14  # points from which on linear sorts are worth loading
_HALF = 32
_AT_ONCE = 1 << 16  # points between two looks at the clock


@dataclass(frozen=True, slots=True)
class Evidence:
    """Distinct points of a space in ascending order, each with the number of ordered pairs that were seen there.

    Adds and subtracts: with E(p) the evidence of a set p of pairs, E(p) + E(q) = E(p + q) for disjoint p and q, and
    E(p) - E(q) = E(p - q) for q within p. Points without a pair vanish. Counts below zero are allowed on the way, so
    that (a - b) + b = a always holds.

    `firsts`, where asked for, holds one of the pairs of rows (s, t) at each point, as `s << 32 | t`: of parts that are
    added, the lowest. A difference has none, as it cannot tell whether a pair is still there.
    """

    space: PredicateSpace
    points: Words  # (E, words)
    counts: Counts  # (E,)
    firsts: Firsts | None = None  # (E,)

    def __len__(self) -> int:
        return len(self.points)

    def __add__(self, other: Evidence) -> Evidence:
        """The evidence of both; pairs must not be in both if counts are to be right."""
        return merged(self.space, [self, other])._present()

    def __sub__(self, other: Evidence) -> Evidence:
        """This evidence without the pairs of the other."""
        points = np.concatenate([self.points, other.points])
        return Evidence.of(self.space, points, np.concatenate([self.counts, -other.counts]))._present()

    def _present(self) -> Evidence:
        """The points with a count."""
        return self.only(self.counts != 0)

    def only(self, some: NDArray[np.bool_]) -> Evidence:
        """These of the points."""
        if some.all():
            return self
        firsts = None if self.firsts is None else self.firsts[some]
        return Evidence(self.space, self.points[some], self.counts[some], firsts)

    def widened(self, wider: PredicateSpace) -> Evidence:
        """The evidence in a widened space."""
        return Evidence.of(wider, self.space.widened_points(self.points, wider), self.counts, self.firsts)

    @property
    def pairs(self) -> NDArray[np.int64] | None:
        """The rows s and t of a pair at each point (E, 2); None unless asked for."""
        return None if self.firsts is None else unpacked_pairs(self.firsts)

    @property
    def states(self) -> States:
        """The state of each slot (E, K)."""
        return self.space.states(self.points)

    def states_within(self, expired: Callable[[], bool]) -> States | None:
        """The same, which takes a while where points are many; None where time is up before."""
        found = np.empty((len(self), len(self.space.slots)), np.uint8)
        for first in range(0, len(self), _AT_ONCE):
            if expired():
                return None
            found[first : first + _AT_ONCE] = self.space.states(self.points[first : first + _AT_ONCE])
        return found

    @classmethod
    def empty(cls, space: PredicateSpace) -> Evidence:
        """No pairs at all."""
        return cls(space, np.empty((0, space.words), np.uint64), np.empty(0, np.int64))

    @classmethod
    def of(
        cls,
        space: PredicateSpace,
        points: Words,
        counts: Counts,
        firsts: Firsts | None = None,
        *,
        checked: Callable[[], None] = unchecked,
    ) -> Evidence:
        """The evidence of points that may repeat; the lowest of a point's `firsts` stays.

        `checked` is called between steps that may take long, and ends them by an error of its own.
        """
        if not len(points):
            return cls.empty(space)
        checked()
        order, ties = _by_first_word(points)
        if (
            firsts is None and space.words > 1 and 4 * len(ties.places) > len(points)
        ):  # better distinguished by hashing than by order
            checked()
            points, counts = distinct_counts(points, counts)
            checked()
            order, ties = _by_first_word(points)
        for word in range(1, space.words):
            checked()
            ties = _by_next_word(points, word, order, ties)
        ordered = empty(points.shape, np.uint64)
        for first in range(0, len(order), _AT_ONCE):
            checked()
            some = slice(first, first + _AT_ONCE)
            np.take(points, order[some], axis=0, out=ordered[some], mode="clip")
        counts = counts[order]
        firsts = None if firsts is None else firsts[order]
        if not len(ties.places):
            return cls(space, ordered, counts, firsts)
        checked()
        fresh = np.ones(len(ordered), np.bool_)
        fresh[ties.places[1:][ties.runs[1:] == ties.runs[:-1]]] = False
        starts = np.flatnonzero(fresh)
        lowest = None if firsts is None else np.minimum.reduceat(firsts, starts)
        return cls(space, ordered[fresh], np.add.reduceat(counts, starts), lowest)

    @classmethod
    def from_clues(
        cls,
        book: Codebook,
        clues: NDArray[np.int32],
        counts: Counts,
        firsts: Firsts | None = None,
        *,
        checked: Callable[[], None] = unchecked,
    ) -> Evidence:
        """The evidence of unordered pairs with these clues (N, W), each taken in both roles; `checked` as for `of`."""
        checked()
        both = None if firsts is None else np.concatenate([firsts, turned_pairs(firsts)])
        points = book.points(clues, checked)
        return cls.of(book.space, points, np.concatenate([counts, counts]), both, checked=checked)


def packed_pairs(s_rows: NDArray[np.int64], t_rows: NDArray[np.int64]) -> Firsts:
    """Pairs of rows as one number each, in the order of s, then t."""
    return (s_rows << _HALF) | t_rows


def unpacked_pairs(pairs: Firsts) -> NDArray[np.int64]:
    """The rows s and t of packed pairs (N, 2)."""
    return np.stack([pairs >> _HALF, pairs & 0xFFFFFFFF], axis=1)


def turned_pairs(pairs: Firsts) -> Firsts:
    """The packed pairs with their rows exchanged."""
    return packed_pairs(pairs & 0xFFFFFFFF, pairs >> _HALF)


class _Ties(NamedTuple):
    """The places of points not yet distinguished from their neighbours, and the run of such that each is in."""

    places: NDArray[np.int64]
    runs: NDArray[np.int64]

    @classmethod
    def of(cls, *keys: NDArray[Any]) -> _Ties:
        """Those of sorted keys."""
        fresh = np.ones(len(keys[0]) + 1, np.bool_)
        fresh[1:-1] = False
        for key in keys:
            fresh[1:-1] |= key[1:] != key[:-1]
        places = np.flatnonzero(~(fresh[:-1] & fresh[1:]))
        return cls(places, np.cumsum(fresh[places]))


def _by_first_word(points: Words) -> tuple[Order, _Ties]:
    """The order of the points (N, words) by their first word, in which most of them differ."""
    leading = np.ascontiguousarray(points[:, 0])
    size = int(leading.max()) + 1
    if len(points) < _MANY or size > 1 << 63:
        order: Order = np.argsort(leading)
    else:
        order = sorted_positions(leading.view(np.int64), size)
    return order, _Ties.of(leading[order])


def _by_next_word(points: Words, word: int, order: Order, ties: _Ties) -> _Ties:
    """What is still tied once tied points are put in the order of one more word."""
    rows = order[ties.places]
    values = points[rows, word]
    if not len(rows) or values.min() == values.max():
        return ties
    within = np.lexsort((values, ties.runs))
    order[ties.places] = rows[within]
    again = _Ties.of(values[within], ties.runs[within])
    return _Ties(ties.places[again.places], again.runs)


def distinct_counts(points: Words, counts: Counts) -> tuple[Words, Counts]:
    """The points, each once, with their counts added up."""
    points = np.ascontiguousarray(points)
    first, totals = np.empty((2, len(points)), np.int64)
    found = distinct_points(points, counts, first, totals)
    return (points if found == len(points) else np.take(points, first[:found], axis=0)), totals[:found]


def merged(space: PredicateSpace, parts: Iterable[Evidence], *, checked: Callable[[], None] = unchecked) -> Evidence:
    """The evidence of all parts together; parts must not have seen the same pairs if counts are to be right."""
    listed = list(parts)
    checked()
    if len(listed) == 1:
        return listed[0]
    points = np.concatenate([np.empty((0, space.words), np.uint64), *(part.points for part in listed)])
    counts = np.concatenate([np.empty(0, np.int64), *(part.counts for part in listed)])
    known = [part.firsts for part in listed if part.firsts is not None]
    whole = sum(map(len, known)) == len(points)
    firsts = np.concatenate(known) if known and whole else None
    return Evidence.of(space, points, counts, firsts, checked=checked)


def violating_pairs(boxes: Words, evidence: Evidence) -> Counts:
    """The number of ordered pairs inside each box."""
    out = np.zeros(len(boxes), np.int64)
    weights_inside(boxes, evidence.points, evidence.counts, out)
    return out
