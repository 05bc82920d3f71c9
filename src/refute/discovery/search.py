"""Discovery from end to end: space, evidence, rules, ranks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from refute.discovery.evidence.counted import Counts
from refute.discovery.inversion.inverted import inverted_approximately
from refute.discovery.inversion.minimal import lengths, minimal
from refute.discovery.methods import searched
from refute.discovery.options import Options, chosen, options_of, several
from refute.discovery.pairs import Pairs
from refute.discovery.result.approximate import violating_pairs
from refute.discovery.result.discovery import CompleteDiscovery, Discovered
from refute.discovery.result.kinds import RuleSort, sort_of
from refute.discovery.result.outcome import Outcome
from refute.discovery.result.rank import Ranks, ranks
from refute.discovery.space.predicates import fitted, predicate_space
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.table import LocalTable, SearchedTable
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.relation import Relation
from refute.runtime.compiling import Stopwatch

if TYPE_CHECKING:
    from refute.detect.detector import Detector

_KEPT_PARTIAL = 20_000  # rules that a stopped search still makes minimal and ranks
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


def kinds_of(kinds: Iterable[str | RuleSort] | None) -> set[RuleSort] | None:
    """The kinds of rules that are named; raises OptionError naming the nearest."""
    return None if kinds is None else {chosen(RuleSort, kind, "kinds") for kind in several(kinds)}


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

    def run(self, kept: set[RuleSort] | None) -> CompleteDiscovery:
        self._budget.report("predicate space")
        pairs = self._table.unless_expired(self._budget, self._pairs)
        if pairs is None:
            return self._nothing()
        space = pairs.space
        outcome = self._outcome or searched(pairs, self._options, self._budget, self._tuning)
        self._notes.extend(outcome.notes)
        self._budget.report("minimal rules", evidences=len(outcome.evidence), candidates=len(outcome.boxes))
        boxes = outcome.boxes
        if not outcome.complete and len(boxes) > _KEPT_PARTIAL:
            boxes = boxes[np.argsort(lengths(space, space.masks(boxes)), kind="stable")[:_KEPT_PARTIAL]]
            found = len(outcome.boxes)
            self._notes.append(f"of {found:,} rules verified in time, only the {_KEPT_PARTIAL:,} shortest were kept")
        with self._budget.patiently():
            boxes = self._minimal(space, boxes)
            if kept is not None:
                boxes = _of_kinds(space, boxes, kept)
                self._notes.append(f"only rules of these kinds are shown: {', '.join(sorted(k.value for k in kept))}")
            return self._ranked(pairs, outcome, boxes)

    def _pairs(self) -> Pairs:
        if self._space is not None:
            given = fitted(self._table, self._space, self._options.nulls)
            return self._table.pairs(given, self._options, self._tuning)
        space, notes = predicate_space(self._table, self._options)
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
            notes=("stopped before any pairs of rows were examined: no rule could be verified",),
        )

    def _minimal(self, space: PredicateSpace, boxes: Words) -> Words:
        nullable = frozenset(name for slot in space.slots for name in slot.columns if self._table.null_count(name))
        return minimal(space, boxes, self._budget, nullable, self._tuning)

    def _ranked(self, pairs: Pairs, outcome: Outcome, boxes: Words) -> CompleteDiscovery:
        space, n_rows = pairs.space, pairs.n_rows
        found = self._ranks(pairs, boxes)
        order = np.lexsort((np.arange(len(boxes)), -found.score))
        boxes = boxes[order]
        found = Ranks(found.succinctness[order], found.coverage[order], found.surprise[order])
        broken = violating_pairs(boxes, outcome.evidence) if self._options.error else np.zeros(len(boxes), np.int64)
        self._budget.report("done", verified=len(boxes))
        if not outcome.complete:
            self._notes.append("the search was stopped: rules not yet verified on all rows are missing")
        if self._options.max_predicates is not None:
            self._notes.append(f"rules of more than {self._options.max_predicates} predicates were not searched")
        return CompleteDiscovery(
            table=self._table,
            space=space,
            options=self._options,
            boxes=boxes,
            ranks=found,
            violations=_as_violations(space, boxes, broken, n_rows),
            errors=broken / max(1, n_rows * (n_rows - 1)),
            complete=outcome.complete,
            method=outcome.method,
            evidences=len(outcome.evidence),
            seconds=self._watch.seconds,
            notes=tuple(self._notes),
            almost=self._almost(pairs, outcome),
        )

    def _ranks(self, pairs: Pairs, boxes: Words) -> Ranks:
        """The scores of the boxes; coverage is that of random pairs, fewer of them the more rules there are."""
        if not len(boxes):
            return Ranks(np.zeros(0), np.zeros(0), np.zeros(0))
        number = max(_RANK_PAIRS // 10, min(_RANK_PAIRS, _RANK_WORK // max(1, len(boxes))))
        return ranks(pairs.n_rows, self._table.state_shares, pairs.space, boxes, pairs.random(number))

    def _almost(self, pairs: Pairs, outcome: Outcome) -> tuple[Discovered, ...]:
        """The rules that at most `almost` unordered pairs break, with those pairs."""
        if not self._options.almost or not outcome.counted:
            return ()
        space, n_rows = pairs.space, pairs.n_rows
        most = 2 * self._options.almost
        found, _ = inverted_approximately(
            space, outcome.evidence, most, self._budget, self._options.max_predicates, tuning=self._tuning
        )
        counts = violating_pairs(found, outcome.evidence)
        boxes = self._minimal(space, found[counts > 0])
        scored = self._ranks(pairs, boxes)
        order = np.lexsort((np.arange(len(boxes)), -scored.score))
        boxes = boxes[order]
        ordered = Ranks(scored.succinctness[order], scored.coverage[order], scored.surprise[order])
        broken = violating_pairs(boxes, outcome.evidence)
        part = CompleteDiscovery(
            table=self._table,
            space=space,
            options=self._options,
            boxes=boxes,
            ranks=ordered,
            violations=_as_violations(space, boxes, broken, n_rows),
            errors=broken / max(1, n_rows * (n_rows - 1)),
            complete=True,
            method=outcome.method,
            evidences=len(outcome.evidence),
            seconds=0.0,
        )
        from refute.detect.detector import Detector

        relation, coded = pairs.here()
        detector, nulls = Detector(relation), self._options.nulls
        constraints = [coded.constraint(row) for row in space.masks(boxes).tolist()]
        return tuple(
            replace(rule, pairs=_listed(detector, constraint, nulls))
            for rule, constraint in zip(part.rules, constraints, strict=True)
        )


def _listed(detector: Detector, constraint: DenialConstraint, nulls: Nulls) -> tuple[tuple[int, ...], ...]:
    """The violations of a rule by row number."""
    from refute.language.rulebook import Rule

    listed: list[tuple[int, ...]] = []
    for s, t in detector.pairs(Rule(name="almost", constraint=constraint, nulls=nulls)):
        listed.extend(zip(s.tolist(), *(() if t is None else (t.tolist(),)), strict=True))
    return tuple(sorted(listed))


def _as_violations(space: PredicateSpace, boxes: Words, pairs: Counts, n_rows: int) -> Counts:
    """Pairs as violations: a rule about one row is broken by rows, each of which makes a pair with every other row."""
    out = pairs.copy()
    masks = space.masks(boxes[pairs > 0])
    single = np.array([space.constraint(row).is_single_row for row in masks.tolist()], np.bool_)
    positions = np.flatnonzero(pairs > 0)[single]
    out[positions] //= max(1, n_rows - 1)
    return out


def _of_kinds(space: PredicateSpace, boxes: Words, kept: set[RuleSort]) -> Words:
    wanted = [sort_of(space.constraint(row)) in kept for row in space.masks(boxes).tolist()]
    return boxes[np.array(wanted, np.bool_)]
