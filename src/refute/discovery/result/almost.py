"""Rules that only a few pairs break, with those pairs and the rows to blame for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from refute.discovery.evidence.counted import Counts
from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.inversion.inverted import inverted_approximately
from refute.discovery.options import Measure, Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.discovery import CompleteDiscovery, Discovered, groups_of
from refute.discovery.result.kinds import sort_of
from refute.discovery.result.measures import RowMeasure
from refute.discovery.result.outcome import Outcome
from refute.discovery.result.rank import Ranks
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.space.turned import asked_of
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls

if TYPE_CHECKING:
    from refute.detect.detector import Detector


class Almost:
    """The search for rules that at most `almost` pairs break, each pair counted once, over counted evidence."""

    def __init__(self, pairs: Pairs, outcome: Outcome, options: Options, budget: Budget, tuning: Tuning) -> None:
        self._pairs = pairs
        self._known = outcome.unordered or UnorderedPairs.of(outcome.evidence, budget)
        self._options = options
        self._budget = budget
        self._tuning = tuning
        self._counts: dict[bytes, tuple[int, int]] = {}

    def boxes(self) -> tuple[Words, bool]:
        """The maximal boxes that few pairs are in, but some, and whether all were found."""
        if self._known is None:
            return asked_of(self._pairs.space).full[None][:0], False
        longest = self._options.max_predicates
        self._budget.report("rules that few pairs break")
        found = inverted_approximately(self._known, self._options.almost, self._budget, longest, tuning=self._tuning)
        broken = np.flatnonzero(found.ordered > 0)
        for place in broken.tolist():
            counts = int(found.ordered[place]), int(found.unordered[place])
            self._counts[found.boxes[place].tobytes()] = counts
        return found.boxes[broken], found.complete

    def listed(self, rules: CompleteDiscovery, boxes: Words, ranks: Ranks) -> tuple[tuple[Discovered, ...], bool]:
        """The rules of these boxes, those with the fewest rows to blame first, and whether there was time for all."""
        if not len(boxes):
            return (), True
        from refute.detect.detector import Detector

        assert self._known is not None
        relation, whole = self._pairs.here()
        space, coded, n = self._known.space, asked_of(whole), relation.n_rows
        measure, error_of = RowMeasure(relation, coded, self._options.nulls), self._options.measure
        ordered, unordered = self._known.inside_known(boxes, self._counts)
        violations = as_violations(space, boxes, ordered, n)
        groups = groups_of(space, boxes)
        found = []
        for place, masks in enumerate(space.masks(boxes).tolist()):
            if self._budget.expired:
                break
            blame = measure.rows(masks, Measure.G3)
            if error_of is Measure.G1:
                error = int(unordered[place]) / (n * (n - 1) / 2)
            else:
                error = (blame if error_of is Measure.G3 else measure.rows(masks, error_of)) / n
            constraint = space.constraint(masks)
            found.append(
                Discovered(
                    constraint=constraint,
                    sort=sort_of(constraint),
                    violations=int(violations[place]),
                    error=error,
                    score=float(ranks.score[place]),
                    succinctness=float(ranks.succinctness[place]),
                    coverage=float(ranks.coverage[place]),
                    surprise=float(ranks.surprise[place]),
                    group=int(groups[place]),
                    blame=blame,
                    pairs=_listed(Detector(relation), coded.constraint(masks), self._options.nulls),
                    _table=rules.table,
                    _nulls=self._options.nulls,
                )
            )
        return tuple(sorted(found, key=lambda one: (one.blame, -one.score))), len(found) == len(boxes)


def as_violations(space: PredicateSpace, boxes: Words, pairs: Counts, n_rows: int) -> Counts:
    """Pairs as violations: a rule about one row is broken by rows, each of which makes a pair with every other row."""
    out = pairs.copy()
    masks = space.masks(boxes[pairs > 0])
    single = np.array([space.constraint(row).is_single_row for row in masks.tolist()], np.bool_)
    positions = np.flatnonzero(pairs > 0)[single]
    out[positions] //= max(1, n_rows - 1)
    return out


def _listed(detector: Detector, constraint: DenialConstraint, nulls: Nulls) -> tuple[tuple[int, ...], ...]:
    """The violations of a rule by row number."""
    from refute.language.rulebook import Rule

    listed: list[tuple[int, ...]] = []
    for s, t in detector.pairs(Rule(name="almost", constraint=constraint, nulls=nulls)):
        listed.extend(zip(s.tolist(), *(() if t is None else (t.tolist(),)), strict=True))
    return tuple(sorted(listed))
