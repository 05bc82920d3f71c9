"""Rules that few pairs break, from evidence of which every pair is counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from refute.discovery.evidence.counted import Evidence
from refute.discovery.options import Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.approximate import approximate
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.relation import Relation
from refute.tracking.ways import After


@dataclass(frozen=True, slots=True)
class _Moment:
    """The pairs of all rows after a change, as far as approximate rules need them."""

    n_rows: int
    space: PredicateSpace
    after: After

    def here(self) -> tuple[Relation, PredicateSpace]:
        """The rows, and the space over their columns."""
        return self.after()[0], self.space


def boxes_within(
    evidence: Evidence, rows: int, options: Options, after: After, budget: Budget, tuning: Tuning
) -> Words:
    """The maximal boxes whose error is within the limit, given the evidence of all pairs of so many rows."""
    if rows < 2:
        return evidence.space.full[None][:0]
    moment = _Moment(rows, evidence.space, after)
    return approximate(cast(Pairs, moment), evidence, options, budget, tuning).boxes
