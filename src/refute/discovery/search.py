"""Discovery from end to end: space, evidence, rules, ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Counts, Evidence
from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.inversion.minimal import lengths, minimal
from refute.discovery.methods import searched
from refute.discovery.options import DONE, Measure, Options, options_of
from refute.discovery.pairs import Pairs
from refute.discovery.result.almost import Almost, as_violations
from refute.discovery.result.discovery import CompleteDiscovery
from refute.discovery.result.kinds import RuleSort, kinds_of, sort_of
from refute.discovery.result.measures import RowMeasure
from refute.discovery.result.outcome import Outcome
from refute.discovery.result.rank import Floats, Ranks, ranks
from refute.discovery.space.predicates import fitted, space_for
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.space.turned import asked_boxes, asked_of
from refute.discovery.table import LocalTable, SearchedTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget, TimeIsUpError
from refute.relation import Relation
from refute.runtime.compiling import Stopwatch

_COMPARING = 0.5  # of a time limit, in which it is seen which columns are compared with each other
_RANK_PAIRS = 2_000  # random pairs on which coverage is measured
_RANK_WORK = 20_000_000  # rules times pairs to stay below


def discover(
    table: object,
    *,
    kinds: Iterable[str | RuleSort] | None = None,
    space: PredicateSpace | None = None,
    tuning: Tuning = STANDARD,
    **options: Any,
) -> CompleteDiscovery:
    """Every minimal rule that a table in memory obeys, best first; `options` are those of `Options`, also by name."""
    return search(LocalTable(Relation.of(table)), options_of(**options), kinds_of(kinds), space=space, tuning=tuning)


def search(
    table: SearchedTable,
    options: Options,
    kept: set[RuleSort] | None = None,
    *,
    space: PredicateSpace | None = None,
    tuning: Tuning = STANDARD,
    outcome: Outcome | None = None,
) -> CompleteDiscovery:
    """The rules of a table, wherever its rows are; only those of the `kept` kinds, if given.

    A given `space` is searched whatever rows it was made from, and widened for the nulls of these; else one is made
    from the table and the options. What was searched is the `space` of the result. Where the `outcome` of a search in
    that space is known, none is made.
    """
    return _Search(table, options, space, tuning, outcome).run(kept)


class _Search:
    """One discovery over one table."""

    def __init__(
        self,
        table: SearchedTable,
        options: Options,
        space: PredicateSpace | None,
        tuning: Tuning,
        outcome: Outcome | None = None,
    ) -> None:
        self._watch = Stopwatch()
        self._outcome = outcome
        self._table = table
        self._options = options
        self._space = space
        self._tuning = tuning
        self._budget = Budget(options)
        self._notes: list[str] = []
        self._is_narrow = False  # whether there was no time for all that was to be compared

    def run(self, kept: set[RuleSort] | None) -> CompleteDiscovery:
        self._budget.report("predicate space")
        pairs = self._table.unless_expired(self._budget, self._pairs)
        if pairs is None:
            return self._nothing()
        outcome = self._outcome or searched(pairs, self._options, self._budget, self._tuning)
        if self._is_narrow:
            outcome = replace(outcome, complete=False)
        self._notes.extend(outcome.notes)
        with self._budget.heeding():
            self._budget.report("minimal rules", evidences=len(outcome.evidence), candidates=len(outcome.boxes))
        boxes, outcome = self._minimal_in_time(pairs, outcome)
        found = self._budget.finished(lambda: self._found(pairs, outcome, boxes, kept))
        return self._with_almost(found, pairs, outcome)

    def _minimal_in_time(self, pairs: Pairs, outcome: Outcome) -> tuple[Words | None, Outcome]:
        """The minimal ones of many boxes; None where they are few, or where there was no time, and the search is not
        complete then."""
        if not outcome.complete or len(outcome.boxes) <= self._tuning.kept:
            return None, outcome
        boxes = None
        with self._budget.heeding():
            boxes = self._minimal(asked_of(pairs.space), asked_boxes(pairs.space, outcome.boxes))
        return (None, replace(outcome, complete=False)) if self._budget.expired else (boxes, outcome)

    def _found(
        self, pairs: Pairs, outcome: Outcome, boxes: Words | None, kept: set[RuleSort] | None
    ) -> CompleteDiscovery:
        """The minimal ones of the rules found, ranked; `boxes` where they are known."""
        space = asked_of(pairs.space)
        if boxes is None:
            boxes = self._shortest(space, asked_boxes(pairs.space, outcome.boxes), complete=outcome.complete)
            boxes = self._minimal(space, boxes)
        if kept is not None:
            boxes = _of_kinds(space, boxes, kept)
            self._notes.append(f"Only rules of these kinds are shown: {', '.join(sorted(k.value for k in kept))}.")
        return self._ranked(pairs, outcome, boxes)

    def _shortest(self, space: PredicateSpace, boxes: Words, *, complete: bool) -> Words:
        """The boxes of a search that ended; of one that was stopped, no more than are made minimal quickly."""
        if complete or len(boxes) <= self._tuning.kept:
            return boxes
        self._notes.append(
            f"Of {len(boxes):,} rules verified in time, only the {self._tuning.kept:,} shortest were kept."
        )
        return boxes[np.argsort(lengths(space, space.masks(boxes)), kind="stable")[: self._tuning.kept]]

    def _pairs(self) -> Pairs:
        if self._space is not None:
            given = fitted(self._table, self._space, self._options)
            return self._table.pairs(given, self._options, self._tuning)
        try:
            with self._budget.within(_COMPARING):
                space, notes = space_for(self._table, self._options, self._budget.raise_if_expired)
        except TimeIsUpError:
            self._is_narrow = True
            alone = replace(self._options, cross_columns=False, one_row=False)
            space, notes = space_for(self._table, alone)
            notes += (
                "Columns were not compared with each other: there was no time to see which of them share values.",
            )
        self._notes.extend(notes)
        return self._table.pairs(space, self._options, self._tuning)

    def _nothing(self) -> CompleteDiscovery:
        """What is known when the search is stopped before it looked at pairs."""
        space, none = PredicateSpace(()), np.zeros(0)
        return CompleteDiscovery(
            table=self._table,
            space=space,
            options=self._options,
            boxes=space.full[None][:0],
            ranks=Ranks(none, none, none),
            violations=np.zeros(0, np.int64),
            errors=none,
            complete=False,
            method=self._options.method.value,
            evidences=0,
            seconds=self._watch.seconds,
            notes=("The search was stopped before any pairs of rows were examined, so no rule could be verified.",),
        )

    def _minimal(self, space: PredicateSpace, boxes: Words) -> Words:
        nullable = frozenset(name for slot in space.slots for name in slot.columns if self._table.null_count(name))
        return minimal(space, boxes, self._budget, nullable, self._tuning)

    def _ranked(self, pairs: Pairs, outcome: Outcome, boxes: Words) -> CompleteDiscovery:
        found, order = self._ranks(pairs, boxes)
        boxes = boxes[order]
        violations, errors = self._extent(pairs, outcome, boxes)
        self._budget.report(DONE, verified=len(boxes))
        if not outcome.complete:
            self._notes.append("The search was stopped: rules not yet verified on all rows are missing.")
        if self._options.max_predicates is not None:
            self._notes.append(f"Rules of more than {self._options.max_predicates} predicates were not searched for.")
        return CompleteDiscovery(
            table=self._table,
            space=asked_of(pairs.space),
            options=self._options,
            boxes=boxes,
            ranks=found,
            violations=violations,
            errors=errors,
            complete=outcome.complete,
            method=outcome.method,
            evidences=len(outcome.evidence),
            seconds=self._watch.seconds,
            notes=tuple(self._notes),
        )

    def _extent(self, pairs: Pairs, outcome: Outcome, boxes: Words) -> tuple[Counts, Floats]:
        """The violations of each box, and its error by the measure of the search."""
        if not self._options.error or not len(boxes):
            return np.zeros(len(boxes), np.int64), np.zeros(len(boxes))
        known = outcome.unordered or UnorderedPairs.of(outcome.evidence)
        assert known is not None
        n, measure = pairs.n_rows, self._options.measure
        ordered, unordered = known.inside_known(boxes, outcome.counts)
        violations = as_violations(known.space, boxes, ordered, n)
        if measure is Measure.G1:
            return violations, unordered / (n * (n - 1) / 2)
        rows = [outcome.measured.get(box.tobytes()) for box in boxes]
        if None in rows:
            relation, coded = pairs.here()
            by_rows = RowMeasure(relation, asked_of(coded), self._options.nulls)
            masks = known.space.masks(boxes).tolist()
            rows = [by_rows.rows(mask, measure) if row is None else row for row, mask in zip(rows, masks, strict=True)]
        return violations, np.array(rows, np.float64) / n

    def _ranks(self, pairs: Pairs, boxes: Words) -> tuple[Ranks, NDArray[np.int64]]:
        """The scores of the boxes in their order, best first, and that order.

        Coverage is that of random pairs, fewer of them the more rules there are.
        """
        if not len(boxes):
            return Ranks(np.zeros(0), np.zeros(0), np.zeros(0)), np.zeros(0, np.int64)
        number = max(_RANK_PAIRS // 10, min(_RANK_PAIRS, _RANK_WORK // len(boxes)))
        drawn, space = pairs.random(number), asked_of(pairs.space)
        sample = Evidence(space, asked_boxes(pairs.space, drawn.points), drawn.counts)
        return ranks(pairs.n_rows, self._table.state_shares, space, boxes, sample).best_first()

    def _with_almost(self, found: CompleteDiscovery, pairs: Pairs, outcome: Outcome) -> CompleteDiscovery:
        """The result with the rules that few pairs break."""
        if not self._options.almost:
            return found
        if not outcome.counted:
            return replace(
                found, notes=(*found.notes, "Rules that few pairs break were not searched for: time was up.")
            )
        almost = Almost(pairs, outcome, self._options, self._budget, self._tuning)
        boxes, complete = almost.boxes()
        boxes = self._shortest(asked_of(pairs.space), boxes, complete=complete)
        boxes, (scores, order) = self._budget.finished(lambda: self._judged(pairs, boxes))
        listed, measured = almost.listed(found, boxes[order], scores)
        missing = () if complete and measured else ("The search for rules that few pairs break was stopped.",)
        seconds = self._watch.seconds
        return replace(
            found,
            almost=listed,
            complete=found.complete and not missing,
            notes=(*found.notes, *missing),
            seconds=seconds,
        )

    def _judged(self, pairs: Pairs, boxes: Words) -> tuple[Words, tuple[Ranks, NDArray[np.int64]]]:
        """The minimal ones of the boxes, and their scores."""
        boxes = self._minimal(asked_of(pairs.space), boxes)
        return boxes, self._ranks(pairs, boxes)


def _of_kinds(space: PredicateSpace, boxes: Words, kept: set[RuleSort]) -> Words:
    wanted = [sort_of(space.constraint(row)) in kept for row in space.masks(boxes).tolist()]
    return boxes[np.array(wanted, np.bool_)]
