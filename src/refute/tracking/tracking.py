"""What is known of the rules of rows that come and go, and how a change of rows changes it.

Maximal boxes that no pair of rows lies in are determined by points that pairs have: if all boxes that hold none of some
true points hold no pair either, they are the maximal boxes of the table. So a tracker keeps points. Rows that come add
points, which cut boxes; rows that go take points along, and boxes grow. Every pair that agrees on a *counted* set of
equalities is counted, so the points that agree on one are known to be gone when their count is zero. Any other point
has witnesses, and when the last of them is gone, a pair is searched in a box around it that holds no other point.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from refute.discovery.evidence.counted import Evidence
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options, SearchMethod
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.predicates import fitted, space_for
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.table import LocalTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.relation import Relation
from refute.relation.keys.encoding import Encoding
from refute.tracking.codes import Longs
from refute.tracking.evidence.judging import CountedSets, Judging
from refute.tracking.evidence.known import NONE, KnownPoints, ascending
from refute.tracking.evidence.maximal_boxes import Maximal
from refute.tracking.meeting.cover import Chosen, Cover, met_evidence
from refute.tracking.meeting.pair_finder import finder_of
from refute.tracking.meeting.planning import planned
from refute.tracking.rows import TrackedRows
from refute.tracking.searching import Searching
from refute.tracking.ways import After, TrackedChange, Ways

if TYPE_CHECKING:
    from refute.tracking.saving.knowledge import SavedTracking


_FIRST_GLANCES = 3  # at random rows, for witnesses of points that are not counted; more are had when they are needed


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
        self._random = np.random.default_rng(self.options.seed)
        self._encodings: dict[tuple[str, ...], Encoding] = {}
        self.notes: tuple[str, ...] = ()
        if space is None:
            space, self.notes = space_for(LocalTable(relation), options)
        else:
            given, space = space, fitted(LocalTable(relation), space, options)
            saved = saved if space == given else None  # points of another space mean something else
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
            self.residual = finder_of(self.rows, self._ways)
        else:
            self._search(relation, len(numbers))
        self._plan()
        self.work = self.cover.work + self.residual.work if saved is None else saved.work
        """How many rows a row met when the cover was chosen."""

    def _search(self, relation: Relation, rows: int) -> None:
        """Searches all pairs of the rows, which are tracked already."""
        pairs = LocalPairs(relation, self.space, self.options, self._tuning, keeps_pairs=True)
        outcome = self._searched(pairs)
        self.boxes = ascending(outcome.boxes) if self.options.error else outcome.boxes
        if self._ways.incdc is not None:
            self._know((), outcome, pairs)
        elif not (outcome.counted and self._meet_fewer(outcome, pairs)):
            self._know(outcome.settled, outcome, pairs)
        assert rows < 2 or not (self.known.dead | self.known.suspects).any()
        self._first = outcome.evidence

    def _know(self, sets: Sequence[Chosen], outcome: Outcome, pairs: LocalPairs) -> None:
        """Keeps what a search found, and counts pairs that agree on one of the sets."""
        found = outcome.evidence
        self.cover = Cover(self.space, self.rows, sets)
        self.known = KnownPoints(self.space, self._ways.witnesses)
        self.known.learn(found.points, self.cover.holds(found.points))
        self.residual = finder_of(self.rows, self._ways)
        if outcome.counted and sets:
            self.known.count(found, 1)
        elif sets:
            tallies = [tally for one in self.cover.sets for tally in pairs.seen_clues(one.chosen)]
            self.known.count(self.cover.counted(tallies), 1)
        if not self.known.covered.all():
            self.known.witness(found)
            for _ in range(_FIRST_GLANCES if self.n_alive > 1 else 0):
                self.known.witness(self._glance())

    def _meet_fewer(self, outcome: Outcome, pairs: LocalPairs) -> bool:
        """Whether rows had better meet those alone that agree with them, though all pairs are counted; then they do.

        A row that comes or goes costs a look at all those that it meets. Where it is in the only pair that is known of
        a point, one that goes costs a search too, which it does not where all pairs are counted; nor does then each
        rule that grows where points need not be known.
        """
        if self._ways.counted is not None or self.options.error or self.options.almost or not self.is_plain:
            return False
        plan = planned(self.space, self.rows, self.boxes)
        if plan is None:
            return False
        self._know(plan.sets, outcome, pairs)
        self._plan()
        known = np.count_nonzero(self.known.witnesses != NONE, axis=1)
        alone = np.count_nonzero(~self.known.covered & (known <= 1))
        prices = self._tuning
        met = prices.pair_cost * (self.cover.work + self.residual.work) + prices.row_cost * len(plan.sets)
        return bool(met + 2 * prices.witness_cost * alone < prices.pair_cost * self.rows.n_alive)

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

    def _glance(self) -> Evidence:
        """The evidence of some rows against each other, others each time."""
        living = self.rows.living
        drawn = self._random.integers(0, len(living), min(len(living), self._tuning.drawn_rows))
        return met_evidence(self.rows, living[np.unique(drawn)], living[:0], self._budget)

    def _beside(self, pair: tuple[int, int]) -> Evidence:
        """The evidence of the two rows of a pair against all others."""
        rows = np.array(pair, np.int64)
        others = self.rows.living
        return met_evidence(self.rows, rows, others[~np.isin(others, rows)], self._budget)

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
        lost = self.cover.lost(going, self._budget)
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
