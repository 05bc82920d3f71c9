"""Since when rules hold, in batches."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from refute.discovery.space.slots import PredicateSpace, Words
from refute.tracking.codes import Longs
from refute.tracking.evidence.known import places


@dataclass(frozen=True, slots=True)
class RuleAges:
    """The batch with which each rule began to hold. The rows of the start are the first batch.

    Rules are known by their boxes, which ascend. A rule that goes and comes back begins anew.
    """

    batch: int  # the last one
    boxes: Words
    since: Longs

    @classmethod
    def of(cls, boxes: Words) -> RuleAges:
        """The ages of the rules of the first batch."""
        return cls(1, boxes, np.ones(len(boxes), np.int64))

    @classmethod
    def known(cls, batch: int, boxes: Words, dated: Words, since: Longs) -> RuleAges:
        """The ages of rules of which some are known to have come after the first batch, and all others with it."""
        found = cls(batch, boxes, np.ones(len(boxes), np.int64))
        at = places(boxes, dated)
        found.since[at[at >= 0]] = since[at >= 0]
        return found

    def held(self, boxes: Words) -> Longs:
        """Through how many batches each of these rules, which are there, has held so far."""
        at = places(self.boxes, boxes)
        assert (at >= 0).all(), "only rules that are there have an age"
        return self.batch - self.since[at] + 1

    def after(self, boxes: Words) -> RuleAges:
        """The ages of the rules that there are after one more batch."""
        return replace(self, batch=self.batch + 1).turned(boxes)

    def turned(self, boxes: Words) -> RuleAges:
        """The ages of other rules: those that were not there begin with this batch."""
        if boxes is self.boxes:
            return self
        at = places(self.boxes, boxes)
        since = np.full(len(boxes), self.batch, np.int64)
        since[at >= 0] = self.since[at[at >= 0]]
        return RuleAges(self.batch, boxes, since)

    def widened(self, space: PredicateSpace, wider: PredicateSpace) -> RuleAges:
        """The same in a widened space; rules that cannot be said there by one box are left out."""
        boxes, which = said_in(space, self.boxes, wider)
        order = np.lexsort(boxes.T[::-1])
        return RuleAges(self.batch, np.ascontiguousarray(boxes[order]), self.since[which[order]])

    @property
    def dated(self) -> tuple[Words, Longs]:
        """The rules that came after the first batch, and with which one."""
        late = self.since > 1
        return self.boxes[late], self.since[late]


def said_in(space: PredicateSpace, boxes: Words, wider: PredicateSpace) -> tuple[Words, Longs]:
    """The boxes that say the same in a widened space, and which ones these are: some cannot be said by one box."""
    masks = space.masks(boxes)
    possible = np.ones(len(boxes), np.bool_)
    for k, (slot, old) in enumerate(zip(wider.slots, space.slots, strict=True)):
        if slot == old:
            continue
        table = np.zeros(256, np.uint8)
        for mask, operators in old.kind.conjunctions.items():
            now = slot.kind.full
            for op in operators:
                now &= slot.kind.mask(op)
            table[mask] = now
        table[old.kind.full] = slot.kind.full
        masks[:, k] = table[masks[:, k]]
        possible &= masks[:, k] > 0
    return wider.boxes(masks[possible]), np.flatnonzero(possible)
