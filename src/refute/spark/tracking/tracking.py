"""The maximal boxes of a table whose rows are on Spark, kept true: points and boxes are here, rows where they are."""

from __future__ import annotations

import numpy as np

from refute.discovery.evidence.counted import Evidence
from refute.discovery.options import Options
from refute.discovery.space.predicates import fitted, space_for
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.errors import OptionError
from refute.relation import Relation
from refute.spark.discovery.pairs import SparkPairs
from refute.spark.discovery.table import SparkTable
from refute.spark.discovery.tuning import SPARK_STANDARD, SparkTuning
from refute.spark.session.failures import plain_failures
from refute.spark.session.warning import calm
from refute.spark.source.keeping import Kept, kept
from refute.spark.tracking.blocks import TrackedBlocks
from refute.spark.tracking.meeting import BlockQuestion, MovedRows, all_met, met
from refute.spark.tracking.rows import SparkRows
from refute.spark.tracking.searching import RowsAfter, SparkSearching
from refute.spark.tracking.tasks import NUMBER
from refute.tracking.codes import Longs
from refute.tracking.evidence.judging import CountedSets, Judging
from refute.tracking.evidence.known import KnownPoints, ascending
from refute.tracking.evidence.maximal_boxes import Maximal
from refute.tracking.meeting.cover import Cover
from refute.tracking.meeting.residual import required, settled
from refute.tracking.rows import TrackedRows
from refute.tracking.tracking import plain_options
from refute.tracking.ways import After, TrackedChange, Ways

_NOTHING = np.empty(0, np.int64)
_FIRST_PAIRS = 200_000  # random ones, for witnesses of points that are not counted


class SparkTracking(Judging):
    """The maximal boxes of rows on Spark. The number of a row is its slot.

    Pairs that agree on a set of equalities are counted where the set asks for one column of both rows: a pair then
    agrees in both roles or in none, and the counts of each set are right by themselves.
    """

    def __init__(
        self,
        held: SparkRows,
        options: Options,
        place: Kept,
        *,
        space: PredicateSpace | None = None,
        ways: Ways | None = None,
        tuning: Tuning = STANDARD,
        spark_tuning: SparkTuning = SPARK_STANDARD,
    ) -> None:
        """Searches the rules of the rows, in a given space or in the one that their columns ask for."""
        if ways is not None and ways.incdc is not None:
            raise OptionError(
                "The indexes of method='incdc' are kept in this process, and the rows stay on Spark. Leave method out.",
                option="method",
                value="incdc",
            )
        self.options = plain_options(options)
        self.notes: tuple[str, ...] = ()
        self._held = held
        self._place = place
        self._ways = ways or Ways()
        self._tuning = self._repairs = tuning
        self._sizes = spark_tuning
        self._budget = Budget(self.options)
        self._moment = RowsAfter(held, _NOTHING, _NOTHING, held.known_schema().empty_table())
        self._alive = held.n_rows
        with kept() as while_searching:
            table = self._table(while_searching)
            if space is None:
                space, self.notes = space_for(table, options)
            else:
                space = fitted(table, space, options)
            self._begin(table, space)

    def _table(self, place: Kept) -> SparkTable:
        """All rows of the moment as discovery sees them."""
        moment = self._moment
        frame = self._held.now(moment.gone, (moment.came, moment.coming))
        return SparkTable(frame, place, self.options.columns, self._sizes, numbers=NUMBER)

    def _begin(self, table: SparkTable, space: PredicateSpace) -> None:
        """Searches all pairs of the rows in a space by tasks, and keeps what is found."""
        if not space.slots:
            raise OptionError(
                "No column of the table can be compared, so there are no rules to track. Select other columns.",
                columns=tuple(table.names),
            )
        self.space = space
        self.planned = table.n_rows
        self.maximal = Maximal(space, self.options.max_predicates, self._budget, self._tuning)
        self.known = KnownPoints(space, self._ways.witnesses)
        pairs = table.pairs(space, self.options, self._tuning)
        assert isinstance(pairs, SparkPairs)
        outcome = self._searched(pairs)
        types = {name: table.type_of(name).arrow_type for name in self.space_columns}
        nobody = TrackedRows(space, self.options.nulls, types)
        sets = [one for one in outcome.settled if all(len(space.slots[k].columns) == 1 for k in one)]
        self.cover = Cover(space, nobody, sets)
        self.boxes = ascending(outcome.boxes)
        self._first = found = outcome.evidence
        self.known.learn(found.points, self.cover.holds(found.points))
        if outcome.counted:
            self.known.count(found, 1)
        else:
            self._count(pairs)
            self.known.witness(found)
            self.known.witness(pairs.random(_FIRST_PAIRS))
        self._nulls = {name: table.null_count(name) for name in self.space_columns}
        self._blocks = TrackedBlocks(self._held, self.space_columns, self._place, self._sizes.block_rows)

    def _count(self, pairs: SparkPairs) -> None:
        """Counts the pairs of covered points: each set knows all pairs of the points that agree on it."""
        done = np.zeros(len(self.known), np.bool_)
        for one in self.cover.sets:
            seen = pairs.seen_evidence(one.chosen)
            own = one.holds(seen.points)
            at, counts = self.known.find(seen.points[own]), seen.counts[own]
            fresh = ~done[at]
            self.known.counts[at[fresh]] = counts[fresh]
            done[at] = True
        assert (done == self.known.covered).all()

    @property
    def counted(self) -> CountedSets:
        """The sets of equalities whose pairs are all counted."""
        return self.cover

    @property
    def n_alive(self) -> int:
        """How many rows there are now."""
        return self._alive

    @property
    def nullable(self) -> frozenset[str]:
        """The columns in which some row is null now."""
        return frozenset(name for name, count in self._nulls.items() if count)

    @property
    def nbytes(self) -> int:
        """The memory of points and boxes in this process."""
        return self.known.nbytes + self.boxes.nbytes

    def change(self, gone: Longs, relation: Relation, came: Longs, after: After) -> TrackedChange:
        """Lets the rows of some slots go and takes others in, by one pass over all rows.

        `after` is not asked: what needs all rows asks Spark. Where a change fails, what is kept is not to be trusted.
        """
        with calm(), plain_failures():
            return self._changed(RowsAfter(self._held, gone, came, relation.arrow), relation)

    def _changed(self, moment: RowsAfter, relation: Relation) -> TrackedChange:
        gone, came = moment.gone, moment.came
        self._moment = moment
        self._alive = moment.n_alive
        moves = len(gone) + len(came)
        many = moves > self._ways.spare and moves > self._ways.scratch * moment.n_alive
        if many or self._has_outgrown(moment.n_alive):
            return self._anew()
        names = list(self.space_columns)
        wider = self.space.widened([name for name in names if relation.null_count(name)])
        if wider is not self.space:
            self._widen_points(wider)
            self.cover.lay(wider, [one.chosen for one in self.cover.sets])
        moved = MovedRows(self._held.taken(gone, names), gone, relation.arrow.select(names), came)
        question = self._question()
        told = self._blocks.met(question, moved, self._budget)
        self._budget.raise_if_interrupted()
        assert told is not None, "no time is set to a tracker"
        slots, near = self._held.here(gone)
        own = met(question, near.select(names), slots, moved, among=True, budget=self._budget)
        found = all_met(self.space, [told, own])
        self.known.count(found.lost, -1)
        self.known.forget_rows(moment.alive)
        going = Relation.of(moved.going)
        for name in names:
            self._nulls[name] += relation.null_count(name) - going.null_count(name)
        step = self._judged([found.gained, found.seen], came, self._here, went=len(gone) > 0)
        self._budget.raise_if_interrupted()
        return step

    def _question(self) -> BlockQuestion:
        """What is asked of every block; pairs in boxes that a counted set settles are all met."""
        boxes = None
        if len(self.known):
            open_ones = ~settled([one.chosen for one in self.cover.sets], required(self.space, self.boxes))
            boxes = self.boxes[open_ones]
        return BlockQuestion(
            self.space,
            self.options.nulls,
            self.options.max_predicates,
            tuple(one.chosen for one in self.cover.sets),
            boxes,
            self._ways.classes,
            self._ways.standing,
        )

    def _anew(self) -> TrackedChange:
        """Searches all pairs again."""
        before = self.known.points, self.space
        with kept() as while_searching:
            table = self._table(while_searching)
            wider = self.space.widened([name for name in self.space_columns if table.null_count(name)])
            self._begin(table, wider)
        return self._told_anew(*before, self._first)

    def _here(self) -> tuple[Relation, Longs]:
        """All rows of this moment in this process, for measures that count single rows."""
        if self.n_alive > self._sizes.here_rows:
            raise OptionError(
                f"This needs all rows in this process, and a table of {self.n_alive:,} rows is too large for that. "
                "Use measure='g1'.",
                count=self.n_alive,
            )
        rows = self._held.now(self._moment.gone, (self._moment.came, self._moment.coming)).toArrow().sort_by(NUMBER)
        return Relation.of(rows.drop_columns([NUMBER])), rows.column(NUMBER).to_numpy()

    def _slots(self, rows: Longs) -> Longs:
        return rows

    def _searching(self) -> SparkSearching:
        return SparkSearching(self._moment, self._blocks, self.space, self.options.nulls, self._budget)

    def _seen_again(self, coming: Longs) -> Evidence:
        """Nothing: every block has looked until its own boxes hold no pair."""
        return Evidence.empty(self.space)

    def _plan(self) -> None:
        """Nothing: blocks hear of boxes when they are asked."""
