"""Exact discovery without looking at all pairs: settle candidates wholesale, then hunt witnesses for the few left open.

If all pairs that agree on a set of equalities have been seen, every candidate whose equalities include the set is
settled. So pairs inside selective groups are enumerated, the rest is sampled, the evidence inverted, and candidates
that no enumerated set settles are searched for witnesses over all rows. A witness becomes evidence, and so do all pairs
of its two rows, which are likely to break other candidates too; broken candidates are refined, and so on until none
breaks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.counted import Evidence, merged, violating_pairs
from refute.discovery.guided.costs import Bargain
from refute.discovery.guided.reduction import Among
from refute.discovery.inversion.inverted import cut, inverted, is_worth_cutting
from refute.discovery.inversion.minimal import lengths
from refute.discovery.options import Options
from refute.discovery.pairs import Chosen, Pairs, Reducible
from refute.discovery.result.outcome import Outcome
from refute.discovery.space.slots import Words, mirror_masks
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.kernels.evidence.points import contained_points

_FIRST_CUT = 64  # points that boxes are cut by at first between two looks at the clock
_SOON = 0.1  # seconds of a cut after which more points are taken at once


class Guided:
    """One guided search: what was seen, which boxes stand, which sets of equalities and which boxes are settled."""

    def __init__(
        self, pairs: Pairs, options: Options, tuning: Tuning = STANDARD, *, give_up: float | None = None
    ) -> None:
        """With `give_up`, the search ends once what is left would take longer than so many seconds by estimate."""
        self._pairs = pairs
        self._space = pairs.space
        self._options = options
        self._tuning = tuning
        self._budget = Budget(options)
        self._give_up = give_up
        self.gave_up = False
        self._equal = equal_masks(pairs.space)
        self._evidence = Evidence.empty(pairs.space)
        self._boxes: Words = np.empty((0, pairs.space.words), np.uint64)
        self._done: list[Chosen] = []
        self._among: list[Among] = []
        self._standing: list[Among] = []  # of which boxes are not yet cut by the evidence
        self._verified: set[bytes] = set()
        self._fresh: Words = self._boxes  # points of the evidence that boxes are not yet cut by
        self._bargain = Bargain(pairs)

    def run(self, budget: Budget) -> Outcome:
        """The rules of the table, or those verified until the time was up or the search was given up."""
        self._budget = budget
        with self._budget.within(0.5):
            self._look()
        if (
            self._give_up is not None
            and self._give_up < self._tuning.soon
            and len(self._evidence) > self._tuning.many_points
        ):
            return self._given_up()  # inversion will be the wall, and should be climbed once
        with self._budget.within(0.9):
            complete = self._invert()
        if complete and np.count_nonzero(self._is_open(self._boxes)) > self._tuning.many_open:
            complete = self._peel()
        while complete:
            if self._give_up is not None and self._left() > self._give_up:
                return self._given_up()
            chosen = self._worthwhile()
            if chosen:
                complete = self._settle(chosen)
                continue
            opened = self._in_order(self._open())
            if not len(opened):
                break
            complete = self._hunt(opened)
        return self.so_far() if not complete else self._outcome(self._boxes, complete=True)

    def so_far(self) -> Outcome:
        """The rules verified by now, of which none is broken by evidence that boxes were not yet cut by."""
        boxes = self._boxes[~self._is_open(self._boxes)]
        if len(self._fresh):
            boxes = boxes[
                np.argsort(lengths(self._space, self._space.masks(boxes)), kind="stable")[: self._tuning.kept]
            ]
            seen = Evidence(self._space, self._fresh, np.ones(len(self._fresh), np.int64))
            boxes = boxes[violating_pairs(boxes, seen) == 0]
        return self._outcome(boxes, complete=False)

    def _given_up(self) -> Outcome:
        self.gave_up = True
        return self.so_far()

    def _outcome(self, boxes: Words, *, complete: bool) -> Outcome:
        settled = tuple(self._done)
        return Outcome(boxes, self._evidence, complete, counted=False, method="guided", settled=settled)

    def _left(self) -> float:
        """Seconds that searching witnesses for all open boxes would take."""
        return len(self._open()) * self._bargain.witness

    def _look(self) -> None:
        """First evidence: some rows against each other, selective groups, partners drawn for their values."""
        self._tell("sampling")
        few = max(self._tuning.first_pairs, self._tuning.first_pairs_of_row * self._pairs.n_rows)
        parts = [self._pairs.some(self._budget)]
        pairs = [k for k in range(len(self._space.slots)) if self._equal[k]]
        cheap = self._bargain.overhead + self._pairs.costs.pair * few
        costs = {k: self._bargain.cost(frozenset([k])) for k in pairs}
        for k in sorted(pairs, key=lambda k: (costs[k], k)):
            if costs[k] > cheap or self._budget.expired:
                break
            found, finished = self._pairs.agreeing(frozenset([k]), self._budget)
            parts.append(found)
            if finished:
                self._done.append(frozenset([k]))
            self._tell("groups")
        for k in pairs:
            if self._budget.expired:
                break
            if frozenset([k]) not in self._done:
                parts.append(self._pairs.drawn(k))
        self._evidence = merged(self._space, parts)

    def _peel(self) -> bool:
        """Looks at all pairs of rows that agree with others in rare ways: those are where errors are."""
        self._tell("rare rows")
        return self._refine_by(self._learn(self._pairs.peeled(self._done, self._budget)))

    def _invert(self) -> bool:
        self._tell("inversion")
        states = self._evidence.states_within(lambda: self._budget.expired)
        if states is None or not len(states):  # time was up before a pair was seen
            return False
        self._boxes, complete = inverted(
            self._space,
            states,
            self._budget,
            self._options.max_predicates,
            mirrored=True,
            tuning=self._tuning,
        )
        self._fresh = self._fresh[:0]
        self._tell("inversion")
        return complete

    def _learn(self, parts: Iterable[Evidence]) -> Words:
        """Adds evidence; returns the points that are new."""
        before = self._evidence
        self._evidence = merged(self._space, [before, *parts])
        if len(self._evidence) == len(before):
            return self._evidence.points[:0]
        self._fresh = self._evidence.points[~_contained(self._evidence.points, before.points)]
        return self._fresh

    def _refine_by(self, fresh: Words) -> bool:
        """Boxes that refuse the new points as well."""
        if not len(fresh):
            return not self._budget.expired
        if not is_worth_cutting(self._boxes, fresh, self._tuning):
            return self._invert()
        at_once = _FIRST_CUT
        while len(self._fresh):
            if self._budget.expired:
                return False
            started = time.monotonic()
            some, longest = self._fresh[:at_once], self._options.max_predicates
            boxes = cut(self._space, self._boxes, some, longest, tuning=self._tuning)
            self._boxes, self._fresh = boxes, self._fresh[at_once:]
            at_once *= 4 if time.monotonic() - started < _SOON else 1
        self._tell("refinement")
        return not self._budget.expired

    def _settle(self, chosen: list[Chosen]) -> bool:
        """Looks at all pairs that agree on each of the chosen sets of slots, or at those that stand for them."""
        parts, complete = [], True
        done = self._done
        for one in chosen:
            if self._budget.expired:  # to find the rows that agree takes long, too
                complete = False
                break
            few, finished = self._standing_in(one)
            if few or not finished:
                parts.extend(few)
                complete &= finished
                continue
            found, finished = self._pairs.agreeing(one, self._budget)
            parts.append(found)
            complete &= finished
            if finished:
                done = [*(known for known in done if not known > one), one]
        refined = self._refine_by(self._learn(parts))
        self._done = done  # only now: what these settle is settled once boxes are cut
        self._among += self._standing
        self._standing = []
        return refined and complete

    def _standing_in(self, chosen: Chosen) -> tuple[list[Evidence], bool]:
        """The evidence of rows that stand for all in the open boxes that ask for the equalities, where that pays."""
        if (
            not isinstance(self._pairs, Reducible)
            or self._bargain.cost(chosen) < self._tuning.few_looks * self._bargain.overhead
        ):
            return [], True
        masks = self._space.masks(self._open())
        masks = masks[self._requires_equal(masks)[:, sorted(chosen)].all(axis=1)]
        discerning = sorted(self._pairs.discerning - chosen)
        kinds, counts = np.unique(self._used(masks)[:, discerning], axis=0, return_counts=True)
        parts: list[Evidence] = []
        complete = True
        for number in np.argsort(-counts, kind="stable")[: self._tuning.kinds].tolist():
            if self._budget.expired:
                return parts, False
            read = frozenset(slot for slot, reads in zip(discerning, kinds[number], strict=True) if reads)
            among, pairs = self._pairs.reduced(chosen, read)
            if (
                among in (*self._among, *self._standing)
                or pairs.pairs * self._pairs.costs.pair > counts[number] * self._bargain.witness
            ):
                continue
            found, finished = self._pairs.seen(pairs, self._budget)
            parts.append(found)
            complete &= finished
            if finished:
                self._standing.append(among)
        return parts, complete

    def _worthwhile(self) -> list[Chosen]:
        """Sets of equalities whose pairs are cheaper to look at than the witnesses of the boxes they settle."""
        masks = self._space.masks(self._open())
        patterns, counts = np.unique(self._requires_equal(masks), axis=0, return_counts=True)
        demands = {
            frozenset(np.flatnonzero(row).tolist()): int(count)
            for row, count in zip(patterns, counts, strict=True)
            if row.any()
        }
        return self._bargain.best(demands, self._tuning.sets)

    def _hunt(self, opened: Words) -> bool:
        """Searches witnesses for some open boxes; verifies those without, refines by the others."""
        wave = opened[: self._tuning.wave]
        found = self._pairs.hunt(self._space.masks(wave), self._budget)
        held = wave[np.array(found.held, np.int64)]
        self._verified.update(box.tobytes() for box in (*held, *self._mirrored(held)))
        self._tell("witnesses")
        if not found.evidence:
            return found.complete
        return self._refine_by(self._learn(found.evidence)) and found.complete

    def _open(self) -> Words:
        """The boxes that are neither settled nor verified; one of each mirrored pair, as both hold or neither does."""
        opened = self._boxes[self._is_open(self._boxes)]
        twins = self._mirrored(opened)
        first = np.arange(len(opened)), (opened != twins).argmax(axis=1)  # the word in which they differ
        either = np.where((twins[first] < opened[first])[:, None], twins, opened)
        return opened[np.sort(np.unique(either, axis=0, return_index=True)[1])]

    def _mirrored(self, boxes: Words) -> Words:
        """The boxes of the same rules with the rows exchanged; the boxes themselves where not all have one."""
        if not self._space.is_symmetric:
            return boxes
        return self._space.boxes(mirror_masks(self._space, self._space.masks(boxes)))

    def _in_order(self, boxes: Words) -> Words:
        """The boxes, shortest rules first."""
        return boxes[np.argsort(self._used(self._space.masks(boxes)).sum(axis=1), kind="stable")]

    def _requires_equal(self, masks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Per box and slot, whether the box asks for equality there."""
        required: NDArray[np.bool_] = (masks & ~self._equal) == 0
        return required

    def _used(self, masks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Per box and slot, whether the box asks for anything there."""
        used: NDArray[np.bool_] = masks != self._space.masks(self._space.full[None])[0]
        return used

    def _is_open(self, boxes: Words) -> NDArray[np.bool_]:
        equal = self._requires_equal(self._space.masks(boxes))
        opened = np.ones(len(boxes), np.bool_)
        for known in self._done:
            opened &= ~equal[:, sorted(known)].all(axis=1)
        used = self._used(self._space.masks(boxes)) if self._among else equal
        for among in self._among:
            opened &= ~among.settles(equal, used)
        for n in np.flatnonzero(opened) if self._verified else ():
            opened[n] = boxes[n].tobytes() not in self._verified
        return opened

    def _tell(self, phase: str) -> None:
        verified = len(self._boxes) - int(np.count_nonzero(self._is_open(self._boxes)))
        self._budget.report(phase, evidences=len(self._evidence), candidates=len(self._boxes), verified=verified)


def _contained(points: Words, known: Words) -> NDArray[np.bool_]:
    """Which points are among the known ones; both ascend."""
    found = np.zeros(len(points), np.bool_)
    contained_points(points, known, found)
    return found
