"""What a search that was stopped before it verified many rules can still say: keys and dependencies of few columns.

With comparisons across columns there may be hundreds of them, and no rule is verified before all pairs were compared in
all of these ways. Whether columns are equal is known of all pairs of some thousand rows within milliseconds, and rules
of few predicates follow at once. Each holds on all rows, and none of fewer predicates of this kind says as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_

import numpy as np
from numpy.typing import NDArray

from refute.discovery.inversion.inverted import inverted
from refute.discovery.inversion.minimal import lengths
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.slots import PredicateSpace, Slot, Words
from refute.discovery.space.states import kind_of
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget

_SECONDS = 1.0  # that they may take, also where a limit is used up, and after Ctrl-C: else who waits longer has nothing
_AT_MOST = 1.5  # that the first of them may take, on a machine that has much else to do
_AT_LEAST = 0.3  # that they may take where the search itself was late to stop
_WIDE = 60  # columns beyond which rules of three predicates take far longer than those of two
_SHARE = 0.1  # of a time limit, which is left for them
_LONGEST = 4  # predicates
_FEW = 256  # rules that a search may have verified for these to be added to them
_KEPT = 2_000  # of these, the shortest: more take longer to be ranked than a search may go on after Ctrl-C
_ASKED = "of = and != between two rows"


@dataclass(frozen=True, slots=True)
class FirstRules:
    """The rules of few predicates that ask whether columns are equal, found in a second at most."""

    pairs: LocalPairs
    options: Options
    tuning: Tuning = STANDARD

    @property
    def share(self) -> float:
        """What is left of the time limit for the search itself."""
        limit = self.options.time_limit
        return 1.0 if limit is None else 1.0 - min(_SECONDS / limit, _SHARE)

    @property
    def are_quick(self) -> bool:
        """Whether all pairs are looked at in a fraction of that time, by an estimate."""
        n_rows, limit = self.pairs.n_rows, self.options.time_limit
        seconds = _SECONDS if limit is None else min(_SECONDS, limit)
        return n_rows * (n_rows - 1) // 2 * self.pairs.costs.pair < seconds / 2 and not self.options.error

    def beside(self, outcome: Outcome, late: float = 0.0) -> Outcome:
        """The outcome of a search that was stopped so many seconds late, with these rules where it has few."""
        verified = len(outcome.boxes)
        if outcome.complete or verified > _FEW:
            return outcome
        boxes, longest = self._found(max(_AT_LEAST, _AT_MOST - late))
        if not len(boxes):
            return outcome
        found, kept = len(boxes), min(_KEPT, self.tuning.kept)
        if found > kept:
            masks = self.pairs.space.masks(boxes)
            boxes = boxes[np.sort(np.argsort(lengths(self.pairs.space, masks), kind="stable")[:kept])]
        few = f"the {kept:,} shortest of {found:,}" if found > kept else "all" if longest else "some"
        which = f"{few} of at most {longest} predicates {_ASKED}" if longest else f"{few} {_ASKED}"
        if not verified:
            note = f"The search was stopped before it verified any rule. A short one found these: {which}."
            return replace(outcome, boxes=boxes, notes=(note,))
        note = f"The search was stopped when it had verified few rules. A short one found others: {which}."
        fresh = boxes[~_within(boxes, outcome.boxes)]
        return replace(outcome, boxes=np.concatenate([outcome.boxes, fresh]), notes=(*outcome.notes, note))

    def _found(self, seconds: float) -> tuple[Words, int]:
        """The boxes in the whole space that are found in so long, and the predicates up to which they are all.

        That is 0 where some are missing.
        """
        whole = self.pairs.space
        inner = {place: slot for place, one in enumerate(whole.slots) if (slot := _equality(one)) is not None}
        space = PredicateSpace(tuple(inner.values()))
        boxes, longest = np.empty((0, space.words), np.uint64), 0
        budget = Budget(replace(self.options, time_limit=seconds))
        budget.report("short rules")
        if inner:
            evidence, complete = LocalPairs(self.pairs.relation, space, self.options, self.tuning).everything(budget)
            states = evidence.states_within(lambda: budget.expired) if complete else None
            last = min(_LONGEST, self.options.max_predicates or _LONGEST)
            for most in range(min(2 if len(inner) > _WIDE else 3, last), last + 1):
                with budget.within(_SECONDS / _AT_MOST if len(boxes) else 1.0):
                    if states is None or budget.expired:
                        break
                    found, complete = inverted(space, states, budget, most, mirrored=True, tuning=self.tuning)
                if complete or not longest:
                    boxes, longest = found, most if complete else 0
        return _placed(whole, inner, space.masks(boxes)), longest


def _equality(slot: Slot) -> Slot | None:
    """The slot with = and != alone; None for one that does not compare a column with itself, or has neither."""
    operators = tuple(op for op in slot.kind.operators if not op.is_order)
    if not (slot.kind.asked and slot.is_pair and len(slot.columns) == 1 and operators):
        return None
    kind = slot.kind
    fewer = kind_of(ordered=False, nullable=kind.tells_nulls, nulls=kind.nulls, operators=operators, binary=kind.binary)
    return replace(slot, kind=fewer)


def _placed(whole: PredicateSpace, inner: Mapping[int, Slot], found: NDArray[np.uint8]) -> Words:
    """The boxes of the whole space that say the same as these masks of some slots with fewer predicates."""
    masks = np.empty((len(found), len(whole.slots)), np.uint8)
    masks[:] = [slot.kind.full for slot in whole.slots]
    for (place, slot), column in zip(inner.items(), found.T, strict=True):
        kind = whole.slots[place].kind
        for mask, operators in slot.kind.conjunctions.items():
            same = reduce(and_, map(kind.mask, operators), kind.full)
            masks[column == mask, place] = same
    return whole.boxes(masks)


def _within(boxes: Words, others: Words) -> NDArray[np.bool_]:
    """Which boxes lie within one of the others, so that their rules follow from its rule."""
    inside = np.zeros(len(boxes), np.bool_)
    for other in others:
        inside |= ~(boxes & ~other).any(axis=1)
    return inside
