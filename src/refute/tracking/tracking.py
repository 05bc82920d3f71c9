"""What is known of the rules of rows that come and go, and how a change of rows changes it.

Maximal boxes that no pair of rows lies in are determined by points that pairs have: if all boxes that hold none of some
true points hold no pair either, they are the maximal boxes of the table. So a tracker keeps points. Rows that come add
points, which cut boxes; rows that go take points along, and boxes grow. Every pair that agrees on a *counted* set of
equalities is counted, so the points that agree on one are known to be gone when their count is zero. Any other point
has witnesses, and when the last of them is gone, a pair is searched in a box around it that holds no other point.
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from refute.discovery.evidence.counted import Evidence, turned_pairs
from refute.discovery.inversion.inverted import widened
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Options, SearchMethod
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.predicates import fitted, predicate_space
from refute.discovery.space.slots import PredicateSpace, Words, mirror_points
from refute.discovery.table import LocalTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.kernels.tracking.points import first_around
from refute.relation import Relation
from refute.tracking.approximate import boxes_within
from refute.tracking.boxes import Maximal
from refute.tracking.codes import Longs
from refute.tracking.cover import Cover
from refute.tracking.known import KnownPoints, among
from refute.tracking.pair_finder import finder_of
from refute.tracking.planning import planned
from refute.tracking.residual import required, settled
from refute.tracking.rows import TrackedRows
from refute.tracking.searching import Searching
from refute.tracking.ways import After, TrackedChange, Ways

_FIRST_PAIRS = 200_000  # random ones, for witnesses of points that are not counted
_TIMES = 4  # as many rows from which on the way of the start is chosen anew


class Tracking:
    """The maximal boxes of rows, kept true. Rows are known by slots, which ascend as rows come."""

    def __init__(
        self,
        relation: Relation,
        slots: Longs,
        options: Options,
        *,
        space: PredicateSpace | None = None,
        tuning: Tuning = STANDARD,
        ways: Ways | None = None,
    ) -> None:
        """Searches the rules of a table, in a given space or in the one that its columns ask for."""
        self.options = _plain(options)
        self._tuning = tuning
        self._ways = ways or Ways()
        self._repairs = tuning if self._ways.incdc is None else replace(tuning, recut=sys.maxsize)  # always cut
        self._budget = Budget(self.options)
        self.notes: tuple[str, ...] = ()
        if space is None:
            space, self.notes = predicate_space(LocalTable(relation), options)
        else:
            space = fitted(LocalTable(relation), space, options.nulls)
        self._begin(relation, slots, space)

    def _begin(self, relation: Relation, slots: Longs, space: PredicateSpace) -> None:
        """Searches all pairs of the rows in a space, and keeps what is found."""
        self.space = space
        self._planned = relation.n_rows
        self._moved = 0  # rows that came or went since the cover was chosen, or held against another
        types = {name: relation.column(name).type for name in relation.names}
        self.rows = TrackedRows(space, self.options.nulls, types, span=self._ways.span)
        coded = self.rows.coded(relation)
        if coded is None:  # values were not known: a second look finds them so
            coded = self.rows.coded(relation)
        assert coded is not None
        numbers = self.rows.take_in(coded[0], relation, slots)
        self.maximal = Maximal(space, self.options.max_predicates, self._budget, self._repairs)
        self.known = KnownPoints(space, self._ways.witnesses)
        pairs = LocalPairs(relation, space, self.options, self._tuning, keeps_pairs=True)
        outcome = self._searched(pairs)
        counts = self._ways.incdc is None
        self.boxes = outcome.boxes
        self.cover = Cover(space, self.rows, outcome.settled if counts else ())
        found = outcome.evidence
        self.known.learn(found.points, self.cover.holds(found.points))
        if outcome.counted and counts:
            self.known.count(found, 1)
        else:
            tallies = [tally for one in self.cover.sets for tally in pairs.seen_clues(one.chosen)]
            if tallies:
                self.known.count(self.cover.counted(tallies), 1)
            self.known.witness(found)
            self.known.witness(pairs.random(_FIRST_PAIRS))
        assert len(numbers) < 2 or not (self.known.dead | self.known.suspects).any()
        self._first = found
        self.residual = finder_of(self.rows, self._ways)
        self._plan()
        self._work = self.cover.work + self.residual.work  # rows that a row meets

    @property
    def _is_free(self) -> bool:
        """Whether pairs may be counted or not, as is quicker."""
        return self._ways.counted is None and not self.options.error and not self.options.almost

    def _searched(self, pairs: LocalPairs) -> Outcome:
        counted = self._ways.counted
        options = self.options
        if counted is not None:
            options = replace(options, method=SearchMethod.TILES if counted else SearchMethod.GUIDED)
        outcome = searched(pairs, options, self._budget, self._tuning)
        self._budget.raise_if_interrupted()
        return outcome

    @property
    def is_counted(self) -> bool:
        """Whether all pairs are counted."""
        return any(not one.chosen for one in self.cover.sets)

    @property
    def nbytes(self) -> int:
        """The memory of rows, groups, points and boxes."""
        parts = (self.rows, self.cover, self.known, self.residual)
        return sum(part.nbytes for part in parts) + self.boxes.nbytes

    def outcome(self) -> Outcome:
        """What a search would hand on."""
        evidence = self.known.evidence()
        settled_sets = tuple(one.chosen for one in self.cover.sets)
        return Outcome(self.boxes, evidence, True, self.is_counted, "tracked", settled=settled_sets)

    def change(self, gone: Longs, relation: Relation, came: Longs, after: After) -> TrackedChange:
        """Lets the rows of some slots go and takes others in; `after` gives all rows as they are then, and their slots.

        Where that fails, what is kept is not to be trusted.
        """
        moved = len(gone) + len(came)
        many = moved > self._ways.spare and moved > self._ways.scratch * self.rows.n_alive
        self._moved += moved
        if many or self._has_outgrown(self.rows.n_alive + len(came) - len(gone)) or not self._fits():
            return self._anew(after)
        coded = None
        if len(came):
            told = self.rows.coded(relation)
            if told is None:
                return self._anew(after)
            coded, changed = told
            if changed:
                self.cover.reload(changed)
                self.residual.reload(changed)
            self._widen(self.space.widened(coded.nulls))
        going = self.rows.numbers(np.sort(gone))
        self._drop(going)
        if self._ways.incdc is not None and np.count_nonzero(self.known.suspects) > self._ways.suspects:
            return self._anew(after)
        coming = np.empty(0, np.int64)
        seen: list[Evidence] = []
        if coded is not None:
            coming = self.rows.take_in(coded, relation, came)
            seen = [self.cover.evidence(coming, self._budget)]
            self.cover.add(coming)
            seen.append(self.residual.evidence(coming, self.cover.sets, self._budget))
        step = self._judged(seen, coming, after, went=len(going) > 0)
        self._budget.raise_if_interrupted()  # threads stop without a word, and what they were to find is missing
        self._tidy()
        return step

    def _has_outgrown(self, rows: int) -> bool:
        """Whether so many rows are better tracked in another way: all pairs are counted where rows are few."""
        return self._is_free and self.is_counted and rows > max(_TIMES * self._planned, self._tuning.few_rows)

    def _fits(self) -> bool:
        """Whether rows meet about as few others as when the cover was chosen, or as by one that would be chosen now."""
        if self._moved <= self._ways.moved * self.rows.n_alive or self.is_counted or not len(self.boxes):
            return True
        self._moved = 0
        plan = planned(self.space, self.rows, self.boxes)
        best = self.rows.n_alive if plan is None else plan.work
        return self.cover.work + self.residual.work <= self._ways.worse * max(best, self._work)

    def _anew(self, after: After) -> TrackedChange:
        """Searches all pairs again."""
        before = self.known.points, self.space
        relation, slots = after()
        wider = self.space.widened([name for name in self.space_columns if relation.null_count(name)])
        self._begin(relation, slots, wider)
        points, old = self._first.points, before[1].widened_points(before[0], wider)
        fresh = ~among(points, old)
        pairs = self._first.pairs
        listed = np.empty((0, 2), np.int64) if pairs is None else self.rows.slots[pairs[fresh]]
        return TrackedChange(points[fresh], listed, old[~among(old, points)])

    @property
    def space_columns(self) -> tuple[str, ...]:
        """The columns that the space reads."""
        return tuple(dict.fromkeys(name for slot in self.space.slots for name in slot.columns))

    def _widen(self, wider: PredicateSpace) -> None:
        """Changes to a space in which more columns may be null."""
        if wider is self.space:
            return
        longest = self.options.max_predicates
        if len(self.known) and not self.options.error:
            self.boxes, _ = widened(self.space, self.boxes, self.known.points, wider, self._budget, longest)
        else:
            self.boxes = wider.full[None][:0]
        self.known.widen(wider)
        self.rows.widen(wider)
        self.cover.lay(wider, [one.chosen for one in self.cover.sets])
        self.maximal = Maximal(wider, longest, self._budget, self._repairs)
        self.space = wider
        self._plan()

    def _plan(self) -> None:
        """Makes sure that pairs of new rows are found in all boxes; without any point, in the box of all pairs."""
        boxes = self.boxes if len(self.known) else self.space.full[None]
        self.residual.plan(self.space, boxes, self.cover.sets)

    def _drop(self, going: Longs) -> None:
        """Lets rows go, with all pairs that are counted."""
        if not len(going):
            return
        self.cover.drop(going)
        lost = self.cover.evidence(going, self._budget)
        self.rows.let_go(going)
        self.residual.drop(going)
        self.known.count(lost, -1)
        self.known.forget_rows(self.rows.alive)

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
            self.boxes = boxes_within(
                self.known.evidence(), self.rows.n_alive, self.options, after, self._budget, self._tuning
            )
            return self._told(fresh, dead)
        self.boxes = self.maximal.cut(self.boxes, _points(self.space, fresh), self.known.points)
        while len(coming) and fresh and self.residual.unseen(self.space, self.boxes, self.cover.sets):
            self._plan()  # boxes that were cut may read more
            more = self._learn(self.residual.look(coming, self.cover.sets, self._budget))
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

    def _told(self, fresh: list[Evidence], dead: Words) -> TrackedChange:
        points = _points(self.space, fresh)
        pairs = [part.pairs for part in fresh if part.pairs is not None]
        listed = self.rows.slots[np.concatenate(pairs)] if pairs else np.empty((0, 2), np.int64)
        alive = self.known.find(points) >= 0
        return TrackedChange(points[alive], listed[alive], dead)

    def _learn(self, found: Evidence, *, counted: bool = False) -> Evidence:
        """Takes evidence in; the part of it that was not known."""
        if not len(found):
            return found
        at = self.known.find(found.points)
        new = at < 0
        if new.any():
            points = found.points[new]
            self.known.learn(points, self.cover.holds(points))
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
        if self.rows.n_alive < 2:
            return []
        searching = Searching(self.rows, self.space, self._tuning)
        found: list[Evidence] = []
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
            box, pair = searching.cheapest(around)
            if pair is None:
                resolved |= self.known.suspects & ~(self.known.points & ~box).any(axis=1)
                continue
            marked = self.known.points[resolved]
            more = self._learn(searching.evidence(pair))
            if len(more):
                found.append(more)
                self.boxes = self.maximal.cut(self.boxes, more.points, self.known.points)
                resolved = among(self.known.points, marked)

    def _verified(self, before: Words, new: Words) -> list[Evidence]:
        """Searches boxes that grew for pairs of points that were never known; new evidence.

        There are none where each state of a slot can be asked for alone: a point is then a box of its own, and would
        have been in the way of some box before. Nulls, few operators and short rules only make it otherwise.
        """
        if self.is_whole or self.rows.n_alive < 2:
            return []
        searching = Searching(self.rows, self.space, self._tuning)
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
        left = boxes[~settled([one.chosen for one in self.cover.sets], required(self.space, boxes))]
        inside = np.empty(len(left), np.int64)
        first_around(np.ascontiguousarray(left), np.ascontiguousarray(free), inside)
        return left[inside < 0]

    @property
    def is_whole(self) -> bool:
        """Whether all points of pairs are known, counted or not."""
        if self.is_counted:
            return True
        kinds = [slot.kind for slot in self.space.slots]
        alone = all(1 << state in kind.conjunctions for kind in kinds for state in range(len(kind.states)))
        return alone and self.options.max_predicates is None

    def _tidy(self) -> None:
        """Forgets rows that are gone, once they are as many as those that are there."""
        alive = self.rows.n_alive
        if self.rows.n > 2 * alive + self._ways.spare:
            numbers = self.rows.compact()
            self.known.renumber(numbers)
            self.cover.reload()
            self.residual.reload()


def _plain(options: Options) -> Options:
    """The options of a search whose evidence comes with pairs, which that of Hydra does not."""
    return replace(options, method=SearchMethod.AUTO) if options.method is SearchMethod.HYDRA else options


def _points(space: PredicateSpace, parts: list[Evidence]) -> Words:
    """The points of all parts."""
    return np.concatenate([np.empty((0, space.words), np.uint64), *(part.points for part in parts)])
