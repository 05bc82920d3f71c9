"""What is known of pairs of rows that come and go, judged anew when it has changed, wherever the rows are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Protocol

import numpy as np

from refute.discovery.evidence.counted import Evidence, turned_pairs
from refute.discovery.inversion.inverted import widened
from refute.discovery.methods import searched
from refute.discovery.options import Options, SearchMethod
from refute.discovery.pairs import Pairs
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.slots import PredicateSpace, Words, mirror_points
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.kernels.tracking.points import first_around
from refute.tracking.codes import Longs
from refute.tracking.evidence.approximate import boxes_within
from refute.tracking.evidence.known import KnownPoints, Mask, among, ascending
from refute.tracking.evidence.maximal_boxes import Maximal
from refute.tracking.meeting.cover import EqualSet
from refute.tracking.meeting.residual import required, settled
from refute.tracking.ways import After, TrackedChange, Ways

_TIMES = 4  # as many rows from which on the way of the start is chosen anew


class CountedSets(Protocol):
    """The sets of equalities whose pairs are all counted."""

    @property
    def sets(self) -> tuple[EqualSet, ...]:
        """The sets."""

    def holds(self, points: Words) -> Mask:
        """Which points agree on one of the sets, as they stand."""


class PairSearcher(Protocol):
    """Searches pairs among the rows of one moment, of which there are two at least."""

    def find(self, box: Words) -> tuple[int, int] | None:
        """The numbers of two rows (s, t) whose pair lies in the box; None if there are none."""

    def cheapest(self, boxes: Words) -> tuple[Words, tuple[int, int] | None]:
        """The box that is searched most quickly, and what is found there."""

    def evidence(self, pair: tuple[int, int]) -> Evidence:
        """The evidence of a pair, in both roles."""


class Judging(ABC):
    """Points that pairs of rows are known to have, and the maximal boxes that hold none of them.

    Whoever has the rows tells of the pairs that came and went, and searches a pair where one is asked for.
    """

    options: Options
    space: PredicateSpace
    boxes: Words  # ascending
    known: KnownPoints
    maximal: Maximal
    _budget: Budget
    _tuning: Tuning
    _repairs: Tuning  # by which boxes are cut and grow
    _ways: Ways
    planned: int  # rows that there were when the way of the start was chosen

    @property
    @abstractmethod
    def counted(self) -> CountedSets:
        """The sets of equalities whose pairs are all counted."""

    @property
    @abstractmethod
    def n_alive(self) -> int:
        """How many rows there are now."""

    @property
    @abstractmethod
    def nullable(self) -> frozenset[str]:
        """The columns in which some row is null now."""

    @abstractmethod
    def _slots(self, rows: Longs) -> Longs:
        """The slots of rows by their numbers."""

    @abstractmethod
    def _searching(self) -> PairSearcher:
        """What searches pairs among the rows of this moment."""

    def _glance(self) -> Evidence:
        """The evidence of some rows against each other; nothing where such a look costs as much as a search."""
        return Evidence.empty(self.space)

    def _beside(self, pair: tuple[int, int]) -> Evidence:
        """The evidence of the two rows of a pair against all others; nothing where that costs as much as a search."""
        return Evidence.empty(self.space)

    @abstractmethod
    def _seen_again(self, coming: Longs) -> Evidence:
        """The evidence of rows that came, where boxes that were cut need another look at them; else nothing."""

    @abstractmethod
    def _plan(self) -> None:
        """Makes sure that pairs of new rows are found in all boxes."""

    @property
    def is_counted(self) -> bool:
        """Whether all pairs are counted."""
        return any(not one.chosen for one in self.counted.sets)

    @property
    def is_whole(self) -> bool:
        """Whether all points of pairs are known, counted or not."""
        return self.is_counted or self.is_plain

    @property
    def is_plain(self) -> bool:
        """Whether each point is a box of its own, so a point that is not known would be in the way of some rule."""
        kinds = [slot.kind for slot in self.space.slots]
        alone = all(1 << state in kind.conjunctions for kind in kinds for state in range(len(kind.states)))
        return alone and self.options.max_predicates is None

    def _searched(self, pairs: Pairs) -> Outcome:
        """What a search of these pairs finds, in the way that is asked for."""
        counted = self._ways.counted
        options = self.options
        if counted is not None:
            options = replace(options, method=SearchMethod.TILES if counted else SearchMethod.GUIDED)
        outcome = searched(pairs, options, self._budget, self._tuning)
        self._budget.raise_if_interrupted()
        return outcome

    def outcome(self) -> Outcome:
        """What a search would hand on."""
        evidence = self.known.evidence()
        settled_sets = tuple(one.chosen for one in self.counted.sets)
        return Outcome(self.boxes, evidence, True, self.is_counted, "tracked", settled=settled_sets)

    def _judged(self, seen: list[Evidence], coming: Longs, after: After, *, went: bool) -> TrackedChange:
        """Boxes that fit the points as they are now, given the evidence of rows that came: counted, and other.

        Where no row went, no point is gone.
        """
        before = self.boxes
        learnt = [self._learn(part, counted=number == 0) for number, part in enumerate(seen)]
        fresh = [part for part in learnt if len(part)]
        if self.options.error:
            gone = self.known.dead
            dead = self.known.points[gone]
            self.known.drop(gone)
            self.boxes = ascending(
                boxes_within(self.known.evidence(), self.n_alive, self.options, after, self._budget, self._tuning)
            )
            return self._told(seen[:1], dead)  # one more pair of a point that was known may be one too many
        self.boxes = self.maximal.cut(self.boxes, _points(self.space, fresh), self.known.points)
        while fresh:
            more = self._learn(self._seen_again(coming))
            if not len(more):
                break
            fresh.append(more)
            self.boxes = self.maximal.cut(self.boxes, more.points, self.known.points)
        if not went:
            if fresh:
                self._plan()
            return self._told(fresh, self.known.points[:0])
        if self.known.suspects.any():
            self._turn_to_mirrors()
            fresh.extend(self._search_suspects())
        gone = self.known.dead | self.known.suspects
        dead = self.known.points[gone]
        if len(dead):
            self.known.drop(gone)
            self.boxes, new = self.maximal.grown(self.boxes, dead, self.known.points)
            fresh.extend(self._verified(before, new))
        if len(dead) or fresh:
            self._plan()
        return self._told(fresh, dead)

    @property
    def space_columns(self) -> tuple[str, ...]:
        """The columns that the space reads."""
        return tuple(dict.fromkeys(name for slot in self.space.slots for name in slot.columns))

    def _has_outgrown(self, rows: int) -> bool:
        """Whether so many rows are better tracked in another way: all pairs are counted where rows are few."""
        free = self._ways.counted is None and not self.options.error and not self.options.almost
        few = min(self._ways.spare, self._tuning.few_rows)
        return free and self.is_counted and rows > max(_TIMES * self.planned, few)

    def _widen_points(self, wider: PredicateSpace) -> None:
        """Changes what is known to a space in which more columns may be null."""
        longest = self.options.max_predicates
        if len(self.known) and not self.options.error:
            self.boxes, _ = widened(self.space, self.boxes, self.known.points, wider, self._budget, longest)
        else:
            self.boxes = wider.full[None][:0]
        self.known.widen(wider)
        self.maximal = Maximal(wider, longest, self._budget, self._repairs)
        self.space = wider

    def _told(self, fresh: list[Evidence], dead: Words) -> TrackedChange:
        points = _points(self.space, fresh)
        pairs = [part.pairs for part in fresh if part.pairs is not None]
        listed = self._slots(np.concatenate(pairs)) if pairs else np.empty((0, 2), np.int64)
        alive = self.known.find(points) >= 0
        return TrackedChange(points[alive], listed[alive], dead)

    def _told_anew(self, points: Words, space: PredicateSpace, found: Evidence) -> TrackedChange:
        """What changed since other points were known, in a narrower space, given all that was found anew."""
        old = space.widened_points(points, self.space)
        fresh = ~among(found.points, old)
        listed = np.empty((0, 2), np.int64) if found.pairs is None else self._slots(found.pairs[fresh])
        return TrackedChange(found.points[fresh], listed, old[~among(old, found.points)])

    def _learn(self, found: Evidence, *, counted: bool = False) -> Evidence:
        """Takes evidence in; the part of it that was not known."""
        if not len(found):
            return found
        at = self.known.find(found.points)
        new = at < 0
        if new.any():
            points = found.points[new]
            self.known.learn(points, self.counted.holds(points))
            at = self.known.find(found.points)
        if counted:
            self.known.count(found, 1, at)
        self.known.witness(found, at)
        return found.only(new)

    def _turn_to_mirrors(self) -> None:
        """Gives points without a witness those of their mirror images."""
        if not self.space.is_symmetric:
            return
        suspects = np.flatnonzero(self.known.suspects)
        at = self.known.find(mirror_points(self.space, self.known.points[suspects]))
        suspects, at = suspects[at >= 0], at[at >= 0]
        held = self.known.witnesses[at]
        self.known.witnesses[suspects] = np.where(held < 0, held, turned_pairs(np.maximum(held, 0)))

    def _search_suspects(self) -> list[Evidence]:
        """Searches a pair for each point without a witness, until what has none is known to be gone; new evidence."""
        if self.n_alive < 2:
            return []
        found = self._glance_at_suspects()
        searching = self._searching()
        resolved = np.zeros(len(self.known), np.bool_)  # suspects that are known to have no pair
        while True:
            open_ones = self.known.suspects & ~resolved
            if not open_ones.any():
                return found
            kept = self.known.points[~self.known.suspects & ~self.known.dead]
            point = self.known.points[open_ones.argmax()]
            around = self.maximal.around(point, kept) if len(kept) else self.space.full[None]
            if not len(around):  # no box separates it from the others: whether it is there makes no difference
                resolved[open_ones.argmax()] = True
                continue
            box, pair = searching.cheapest(_settling_most(around, self.known.points[open_ones]))
            if pair is None:
                resolved |= self.known.suspects & ~(self.known.points & ~box).any(axis=1)
                continue
            marked = self.known.points[resolved]
            for look in (searching.evidence, self._beside):  # a row that is odd is so for many points
                more = self._learn(look(pair))
                if len(more):
                    found.append(more)
                    self.boxes = self.maximal.cut(self.boxes, more.points, self.known.points)
                    resolved = among(self.known.points, marked)
                if not (self.known.suspects & ~resolved).any():
                    return found

    def _glance_at_suspects(self) -> list[Evidence]:
        """Looks at some rows as long as half of the points without a witness get one from that; new evidence.

        Whoever has few witnesses gets more of them on the way.
        """
        found: list[Evidence] = []
        left = np.count_nonzero(self.known.suspects)
        while left:
            before = left
            more = self._learn(self._glance())
            if len(more):
                found.append(more)
                self.boxes = self.maximal.cut(self.boxes, more.points, self.known.points)
            left = np.count_nonzero(self.known.suspects)
            if 2 * left > before:
                break
        return found

    def _verified(self, before: Words, new: Words) -> list[Evidence]:
        """Searches boxes that grew for pairs of points that were never known; new evidence.

        There are none where each state of a slot can be asked for alone: a point is then a box of its own, and would
        have been in the way of some box before. Nulls, few operators and short rules only make it otherwise.
        """
        if self.is_whole or self.n_alive < 2:
            return []
        searching = self._searching()
        found: list[Evidence] = []
        if not len(self.known):  # all points that were known are gone; any pair has one
            pair = searching.find(self.space.full)
            assert pair is not None, "two rows are there"
            found.append(self._learn(searching.evidence(pair)))
            new = self.boxes = self.maximal.anew(self.known.points)
        free = before
        pending = self._open(new, free)
        while len(pending):
            box = pending[0]
            pair = searching.find(box)
            if pair is None:
                free = np.concatenate([free, box[None]])
            else:
                more = self._learn(searching.evidence(pair))
                assert len(more), "a pair inside a box without points is new"
                found.append(more)
                self.boxes = self.maximal.cut(self.boxes, more.points, self.known.points)
            pending = self._open(self.boxes, free)
        return found

    def _open(self, boxes: Words, free: Words) -> Words:
        """The boxes in which a pair may be: neither settled by a counted set, nor inside a box that has none."""
        left = boxes[~settled([one.chosen for one in self.counted.sets], required(self.space, boxes))]
        inside = np.empty(len(left), np.int64)
        first_around(np.ascontiguousarray(left), np.ascontiguousarray(free), inside)
        return left[inside < 0]


def _settling_most(boxes: Words, points: Words) -> Words:
    """The boxes that hold the most of these points, or half as many at least: if none is there, all are settled."""
    held: Longs = np.array([np.count_nonzero(~(points & ~box).any(axis=1)) for box in boxes], np.int64)
    most: Words = boxes[2 * held >= held.max()]
    return most


def _points(space: PredicateSpace, parts: list[Evidence]) -> Words:
    """The points of all parts."""
    return np.concatenate([np.empty((0, space.words), np.uint64), *(part.points for part in parts)])
