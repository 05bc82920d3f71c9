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
from typing import TYPE_CHECKING

import numpy as np

from refute.discovery.evidence.counted import Evidence
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options, SearchMethod
from refute.discovery.space.predicates import fitted, predicate_space
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.table import LocalTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.relation import Relation
from refute.relation.keys.encoding import Encoding
from refute.tracking.boxes import Maximal
from refute.tracking.codes import Longs
from refute.tracking.judging import CountedSets, Judging
from refute.tracking.known import KnownPoints
from refute.tracking.meeting.cover import Cover
from refute.tracking.meeting.pair_finder import finder_of
from refute.tracking.meeting.planning import planned
from refute.tracking.rows import TrackedRows
from refute.tracking.searching import Searching
from refute.tracking.ways import After, TrackedChange, Ways

if TYPE_CHECKING:
    from refute.tracking.saving.knowledge import SavedTracking

FIRST_PAIRS = 200_000
"""Random ones, for witnesses of points that are not counted."""


class Tracking(Judging):
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
        saved: SavedTracking | None = None,
    ) -> None:
        """Searches the rules of a table, in a space of its own or a given one, unless they were `saved` with that."""
        self.options = plain_options(options)
        self._tuning = tuning
        self._ways = ways or Ways()
        self._repairs = tuning if self._ways.incdc is None else replace(tuning, recut=sys.maxsize)  # always cut
        self._budget = Budget(self.options)
        self._encodings: dict[tuple[str, ...], Encoding] = {}
        self.notes: tuple[str, ...] = ()
        if space is None:
            space, self.notes = predicate_space(LocalTable(relation), options)
        else:
            space = fitted(LocalTable(relation), space, options)
        self._begin(relation, slots, space, saved)

    def _begin(
        self, relation: Relation, slots: Longs, space: PredicateSpace, saved: SavedTracking | None = None
    ) -> None:
        """Searches all pairs of the rows in a space, and keeps what is found; or keeps what was saved of them."""
        self.space = space
        self.planned = relation.n_rows if saved is None else saved.planned
        self.moved = 0 if saved is None else saved.moved
        """Rows that came or went since the cover was chosen, or held against another."""
        types = {name: relation.column(name).type for name in relation.names}
        kept = self._encodings if saved is None else saved.encodings  # a value has one number for good
        self.rows = TrackedRows(space, self.options.nulls, types, span=self._ways.span, encodings=kept)
        self._encodings = self.rows.encodings
        coded = self.rows.coded(relation)
        if coded is None:  # values were not known: a second look finds them so
            coded = self.rows.coded(relation)
        assert coded is not None
        numbers = self.rows.take_in(coded[0], relation, slots)
        self.maximal = Maximal(space, self.options.max_predicates, self._budget, self._repairs)
        if saved is not None:
            self.cover = Cover(space, self.rows, saved.sets)
            self.boxes, self.known = saved.boxes, saved.known(self.rows, self._ways.witnesses)
        else:
            self._search(relation, len(numbers))
        self.residual = finder_of(self.rows, self._ways)
        self._plan()
        self.work = self.cover.work + self.residual.work if saved is None else saved.work
        """How many rows a row met when the cover was chosen."""

    def _search(self, relation: Relation, rows: int) -> None:
        """Searches all pairs of the rows, which are tracked already."""
        space = self.space
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
            self.known.witness(pairs.random(FIRST_PAIRS))
        assert rows < 2 or not (self.known.dead | self.known.suspects).any()
        self._first = found

    @property
    def nbytes(self) -> int:
        """The memory of rows, groups, points and boxes."""
        parts = (self.rows, self.cover, self.known, self.residual)
        return sum(part.nbytes for part in parts) + self.boxes.nbytes

    def change(self, gone: Longs, relation: Relation, came: Longs, after: After) -> TrackedChange:
        """Lets the rows of some slots go and takes others in; `after` gives all rows as they are then, and their slots.

        Where that fails, what is kept is not to be trusted.
        """
        moved = len(gone) + len(came)
        many = moved > self._ways.spare and moved > self._ways.scratch * self.rows.n_alive
        self.moved += moved
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

    def _fits(self) -> bool:
        """Whether rows meet about as few others as when the cover was chosen, or as by one that would be chosen now."""
        if self.moved <= self._ways.moved * self.rows.n_alive or self.is_counted or not len(self.boxes):
            return True
        self.moved = 0
        plan = planned(self.space, self.rows, self.boxes)
        best = self.rows.n_alive if plan is None else plan.work
        return self.cover.work + self.residual.work <= self._ways.worse * max(best, self.work)

    def _anew(self, after: After) -> TrackedChange:
        """Searches all pairs again."""
        before = self.known.points, self.space
        relation, slots = after()
        wider = self.space.widened([name for name in self.space_columns if relation.null_count(name)])
        self._begin(relation, slots, wider)
        return self._told_anew(*before, self._first)

    def _widen(self, wider: PredicateSpace) -> None:
        """Changes to a space in which more columns may be null."""
        if wider is self.space:
            return
        self._widen_points(wider)
        self.rows.widen(wider)
        self.cover.lay(wider, [one.chosen for one in self.cover.sets])
        self._plan()

    def _plan(self) -> None:
        """Makes sure that pairs of new rows are found in all boxes; without any point, in the box of all pairs."""
        boxes = self.boxes if len(self.known) else self.space.full[None]
        self.residual.plan(self.space, boxes, self.cover.sets)

    @property
    def counted(self) -> CountedSets:
        """The sets of equalities whose pairs are all counted."""
        return self.cover

    @property
    def n_alive(self) -> int:
        """How many rows there are now."""
        return self.rows.n_alive

    @property
    def nullable(self) -> frozenset[str]:
        """The columns in which some row is null now."""
        return self.rows.nullable

    def _slots(self, rows: Longs) -> Longs:
        return np.asarray(self.rows.slots[rows])

    def _searching(self) -> Searching:
        return Searching(self.rows, self.space, self._tuning)

    def _seen_again(self, coming: Longs) -> Evidence:
        """The evidence of rows that came, in boxes that read more than those before they were cut."""
        if not len(coming) or not self.residual.unseen(self.space, self.boxes, self.cover.sets):
            return Evidence.empty(self.space)
        self._plan()
        return self.residual.look(coming, self.cover.sets, self._budget)

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

    def _tidy(self) -> None:
        """Forgets rows that are gone, once they are as many as those that are there."""
        alive = self.rows.n_alive
        if self.rows.n > 2 * alive + self._ways.spare:
            numbers = self.rows.compact()
            self.known.renumber(numbers)
            self.cover.reload()
            self.residual.reload()


def plain_options(options: Options) -> Options:
    """The options of a search whose evidence comes with pairs, which that of Hydra does not."""
    return replace(options, method=SearchMethod.AUTO) if options.method is SearchMethod.HYDRA else options
