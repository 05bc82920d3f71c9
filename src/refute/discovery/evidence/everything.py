"""The search that looks at all pairs, and alone counts them."""

from __future__ import annotations

from refute.discovery.evidence.counted import Evidence
from refute.discovery.inversion.inverted import inverted
from refute.discovery.options import Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.approximate import approximate
from refute.discovery.result.outcome import EVERY_PAIR, Outcome
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget


class Everything:
    """One search by tiles: the evidence of all pairs, then its inversion."""

    def __init__(self, pairs: Pairs, options: Options, tuning: Tuning = STANDARD) -> None:
        self._pairs = pairs
        self._options = options
        self._tuning = tuning

    def run(self, budget: Budget) -> Outcome:
        """The rules of the table, exact or within the error that is allowed; none unless all pairs were seen."""
        budget.report("pairs")
        evidence, complete = self._pairs.everything(budget)
        if not complete:
            note = "The time limit was reached before all pairs were examined, so no rule could be verified."
            return self._nothing(evidence, note)
        if self._options.error:
            return approximate(self._pairs, evidence, self._options, budget, self._tuning)
        budget.report("inversion", evidences=len(evidence))
        states = evidence.states_within(lambda: budget.expired)
        if states is None:
            return self._nothing(evidence, "The time limit was reached before any rule was found.")
        longest = self._options.max_predicates
        boxes, complete = inverted(self._pairs.space, states, budget, longest, mirrored=True, tuning=self._tuning)
        return Outcome(boxes, evidence, complete, counted=True, method="tiles", settled=EVERY_PAIR)

    def so_far(self) -> Outcome:
        """Nothing: no rule is verified before the end."""
        return self._nothing(Evidence.empty(self._pairs.space))

    def _nothing(self, evidence: Evidence, *notes: str) -> Outcome:
        nothing = self._pairs.space.full[None][:0]
        return Outcome(nothing, evidence, complete=False, counted=False, method="tiles", notes=notes)
