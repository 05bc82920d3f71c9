"""Exact discovery without looking at all pairs: settle candidates wholesale, then hunt witnesses for the few left open.

If all pairs that agree on a set of equalities have been seen, every candidate whose equalities include the set is
settled. So pairs inside selective groups are enumerated, the rest is sampled, the evidence inverted, and candidates
that no enumerated set settles are searched for witnesses over all rows. A witness becomes evidence, and so do all pairs
of its two rows, which are likely to break other candidates too; broken candidates are refined, and so on until none
breaks.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from refute.discover.evidence import Evidence, merged
from refute.discover.facts import Codebook
from refute.discover.groups import Agreements
from refute.discover.inversion import cut, inverted
from refute.discover.options import Options
from refute.discover.outcome import Outcome
from refute.discover.sampling import pair_evidence, prefix_evidence, row_evidence
from refute.discover.space import Words
from refute.discover.witness import Witnesses
from refute.discover.work import Budget, Crew
from refute.relation import Relation

_PREFIX = 1500  # rows whose pairs are all looked at first
_GAUGE = 4096  # rows from which the number of agreeing pairs is estimated
_DRAWN = 100_000  # pairs drawn per slot
_PAIR_COST = 6e-9  # seconds for a pair inside a group
_ROW_COST = 2.5e-7  # seconds per row to order and gather a table by a set of equalities
_WITNESS_COST = 1.0e-7  # seconds per row to search all rows for one witness
_RECUT = 5000  # boxes broken, counted per new point, up to which boxes are cut rather than inverted again
_TRIED = 32  # new points from which that is estimated
_SETS = 12  # sets of equalities looked at before the next inversion
_MANY_POINTS = 20_000  # evidences from which an inversion takes seconds
_SOON = 3.0  # seconds for all pairs that are then the better choice
_WAVE = 64  # candidates whose witnesses are searched before boxes are refined
_MANY_OPEN = 300  # open boxes from which rare rows are peeled
_RARE_PAIRS = 600  # rare pairs per set of equalities from which rows to peel are taken
_PEELED = 2_000  # rows that are peeled at first
_PEELED_PAIRS = 6_000_000_000  # pairs that peeling may cost in all

Rows = NDArray[np.int64]


class Guided:
    """One guided search: what was seen, which boxes stand, which sets of equalities and which boxes are settled."""

    def __init__(self, relation: Relation, book: Codebook, options: Options, budget: Budget) -> None:
        self._relation = relation
        self._book = book
        self._space = book.space
        self._options = options
        self._budget = budget
        self._agreements = Agreements(relation, book, options.nulls)
        self._equal = self._agreements.equal_masks
        self._witnesses = Witnesses(relation, book.space, options.nulls)
        self._random = np.random.default_rng(options.seed)
        self._evidence = Evidence.empty(book.space)
        self._boxes: Words = np.empty((0, book.space.words), np.uint64)
        self._done: list[frozenset[int]] = []
        self._verified: set[bytes] = set()
        self._peeled: set[int] = set()
        self._costs: dict[frozenset[int], float] = {}
        self._gauge = self._sample(_GAUGE)

    def run(self, *, give_up: float | None = None) -> Outcome | None:
        """The rules of the table, or those verified until the time was up.

        None once what is left would take longer than `give_up` seconds by estimate.
        """
        with self._budget.within(0.5):
            self._look()
        if give_up is not None and give_up < _SOON and len(self._evidence) > _MANY_POINTS:
            return None  # inversion will be the wall, and should be climbed once
        with self._budget.within(0.9):
            complete = self._invert()
        if complete and np.count_nonzero(self._is_open(self._boxes)) > _MANY_OPEN:
            complete = self._peel()
        while complete:
            if give_up is not None and self._left() > give_up:
                return None
            chosen = self._worthwhile()
            if chosen:
                complete = self._settle(chosen)
                continue
            opened = self._open()
            if not len(opened):
                break
            complete = self._hunt(opened)
        return self.so_far() if not complete else self._outcome(self._boxes, complete=True)

    def so_far(self) -> Outcome:
        """The rules verified by now."""
        return self._outcome(self._boxes[~self._is_open(self._boxes)], complete=False)

    def _outcome(self, boxes: Words, *, complete: bool) -> Outcome:
        return Outcome(boxes, self._evidence, complete, counted=False, method="guided")

    def _left(self) -> float:
        """Seconds that searching witnesses for all open boxes would take."""
        opened = int(np.count_nonzero(self._is_open(self._boxes)))
        return opened * _WITNESS_COST * self._relation.n_rows / self._budget.threads

    def _look(self) -> None:
        """First evidence: some rows against each other, selective groups, partners drawn for their values."""
        self._tell("sampling")
        n = self._relation.n_rows
        parts = [prefix_evidence(self._book, self._sample(_PREFIX), self._budget)]
        pairs = [k for k in range(len(self._space.slots)) if self._equal[k]]
        cheap = self._overhead() + _PAIR_COST * max(20_000_000, 100 * n) / self._budget.threads
        costs = {k: self._cost(frozenset([k])) for k in pairs}
        for k in sorted(pairs, key=lambda k: (costs[k], k)):
            if costs[k] > cheap or self._budget.expired:
                break
            found, finished = self._agreements.evidence(self._agreements.find((k,)), self._budget)
            parts.append(found)
            if finished:
                self._done.append(frozenset([k]))
            self._tell("groups")
        parts.extend(self._drawn(k) for k in pairs if frozenset([k]) not in self._done)
        self._evidence = merged(self._space, parts)

    def _drawn(self, slot: int) -> Evidence:
        """The evidence of rows with a random partner that agrees on the slot, and of neighbours in its order."""
        found = self._agreements.find((slot,), self._sample(_DRAWN))
        s_start, s_stop, t_start, t_stop = found.ranges.T
        sizes = s_stop - s_start
        s = np.repeat(s_start - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
        t = np.repeat(t_start, sizes) + self._random.integers(0, np.repeat(t_stop - t_start, sizes))
        rows = found.s_rows
        parts = [pair_evidence(self._book, found.s_rows[s], found.t_rows[t])]
        parts.extend(pair_evidence(self._book, rows[:-step], rows[step:]) for step in (1, 7))
        return merged(self._space, parts)

    def _peel(self) -> bool:
        """Looks at all pairs of rows that agree with others in rare ways: those are where errors are."""
        self._tell("rare rows")
        parts = [self._agreements.find(tuple(sorted(one))) for one in self._done]
        pairs = [self._agreements.rare_pairs(one, _RARE_PAIRS, self._budget) for one in parts]
        rows, times = np.unique(np.concatenate([np.empty((0, 2), np.int64), *pairs]), return_counts=True)
        most = int(min(_PEELED, _PEELED_PAIRS // max(1, self._relation.n_rows)))
        return self._refine_by(self._learn(self._peeled_evidence(rows[np.argsort(-times, kind="stable")[:most]])))

    def _peeled_evidence(self, rows: Rows) -> list[Evidence]:
        """The evidence of the given rows against all rows, but for those looked at before; none if it is too much."""
        fresh = np.array(sorted({int(row) for row in rows} - self._peeled), np.int64)
        n = self._relation.n_rows
        if not len(fresh) or (len(self._peeled) + len(fresh)) * n > _PEELED_PAIRS:
            return []
        self._peeled.update(fresh.tolist())
        return [row_evidence(self._book, fresh, n, self._budget)]

    def _invert(self) -> bool:
        self._tell("inversion")
        self._boxes, complete = inverted(
            self._space, self._evidence.states, self._budget, self._options.max_predicates, mirrored=True
        )
        self._tell("inversion")
        return complete

    def _learn(self, parts: Iterable[Evidence]) -> Words:
        """Adds evidence; returns the points that are new."""
        before = self._evidence
        self._evidence = merged(self._space, [before, *parts])
        if len(self._evidence) == len(before):
            return self._evidence.points[:0]
        return self._evidence.points[~_contained(self._evidence.points, before.points)]

    def _refine_by(self, fresh: Words) -> bool:
        """Boxes that refuse the new points as well."""
        if not len(fresh):
            return not self._budget.expired
        some = fresh[:: max(1, len(fresh) // _TRIED)]
        broken = sum(np.count_nonzero(~(point & ~self._boxes).any(axis=1)) for point in some) / len(some)
        if broken * len(fresh) > _RECUT:
            return self._invert()
        self._boxes = cut(self._space, self._boxes, fresh, self._options.max_predicates)
        self._tell("refinement")
        return not self._budget.expired

    def _settle(self, chosen: list[frozenset[int]]) -> bool:
        """Looks at all pairs that agree on each of the chosen sets of slots."""
        parts, complete = [], True
        for one in chosen:
            found, finished = self._agreements.evidence(self._agreements.find(tuple(sorted(one))), self._budget)
            parts.append(found)
            complete &= finished
            if finished:
                self._done = [*(known for known in self._done if not known > one), one]
        return self._refine_by(self._learn(parts)) and complete

    def _worthwhile(self) -> list[frozenset[int]]:
        """Sets of equalities whose pairs are cheaper to look at than the witnesses of the boxes they settle.

        Greedy: the set that saves most comes first, and boxes that it settles no longer count for the others.
        """
        masks = self._space.masks(self._boxes[self._is_open(self._boxes)])
        patterns, counts = np.unique(self._requires_equal(masks), axis=0, return_counts=True)
        demands = {
            frozenset(np.flatnonzero(row).tolist()): int(count)
            for row, count in zip(patterns, counts, strict=True)
            if row.any()
        }
        chosen: list[frozenset[int]] = []
        while demands and len(chosen) < _SETS:
            best = self._best(demands)
            if best is None:
                break
            chosen.append(best)
            demands = {demanded: number for demanded, number in demands.items() if not best <= demanded}
        return chosen

    def _best(self, demands: dict[frozenset[int], int]) -> frozenset[int] | None:
        """The set of equalities that saves most time, given how many open boxes demand which equalities."""
        gains: dict[frozenset[int], int] = {}
        for demanded, number in demands.items():
            subsets = {demanded, *(frozenset(c) for size in (1, 2, 3) for c in combinations(sorted(demanded), size))}
            for subset in subsets:
                gains[subset] = gains.get(subset, 0) + number
        best, saved = None, 0.0
        witness = _WITNESS_COST * self._relation.n_rows / self._budget.threads
        for subset, number in sorted(gains.items(), key=lambda item: (-item[1], len(item[0]), sorted(item[0]))):
            if number * witness <= saved + self._overhead():
                continue
            gain = number * witness - self._cost(subset)
            if gain > saved:
                best, saved = subset, gain
        return best

    def _overhead(self) -> float:
        return _ROW_COST * self._relation.n_rows

    def _cost(self, chosen: frozenset[int]) -> float:
        """Seconds to look at all pairs that agree on the slots, estimated from some rows."""
        known = self._costs.get(chosen)
        if known is None:
            scale = (self._relation.n_rows / max(1, len(self._gauge))) ** 2
            pairs = self._agreements.find(tuple(sorted(chosen)), self._gauge).pairs
            known = self._costs[chosen] = pairs * scale * _PAIR_COST / self._budget.threads + self._overhead()
        return known

    def _hunt(self, opened: Words) -> bool:
        """Searches witnesses for some open boxes; verifies those without, refines by the others."""
        wave = opened[:_WAVE]
        masks = self._space.masks(wave)
        results: dict[int, tuple[int, int] | None] = {}

        def search(_: None, number: int) -> None:
            results[number] = self._witnesses.find(masks[number])

        _, complete = Crew(self._budget, lambda: None, search).run(range(len(wave)))
        broken = [pair for pair in results.values() if pair is not None]
        self._verified.update(wave[number].tobytes() for number, pair in results.items() if pair is None)
        self._tell("witnesses")
        if not broken:
            return complete
        pairs = np.array(broken, np.int64)
        parts = [pair_evidence(self._book, pairs[:, 0], pairs[:, 1]), *self._peeled_evidence(pairs.ravel())]
        return self._refine_by(self._learn(parts)) and complete

    def _open(self) -> Words:
        """The boxes that are neither settled nor verified, shortest rules first."""
        opened = self._boxes[self._is_open(self._boxes)]
        full = self._space.masks(self._space.full[None])[0]
        order = np.argsort((self._space.masks(opened) != full).sum(axis=1), kind="stable")
        return opened[order]

    def _requires_equal(self, masks: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Per box and slot, whether the box asks for equality there."""
        required: NDArray[np.bool_] = (masks & ~self._equal) == 0
        return required

    def _is_open(self, boxes: Words) -> NDArray[np.bool_]:
        equal = self._requires_equal(self._space.masks(boxes))
        opened = np.ones(len(boxes), np.bool_)
        for known in self._done:
            opened &= ~equal[:, sorted(known)].all(axis=1)
        for n in np.flatnonzero(opened) if self._verified else ():
            opened[n] = boxes[n].tobytes() not in self._verified
        return opened

    def _sample(self, size: int) -> Rows:
        """Some rows, ascending; all of them if they are few."""
        n = self._relation.n_rows
        if n <= size:
            return np.arange(n)
        return np.sort(self._random.choice(n, size, replace=False))

    def _tell(self, phase: str) -> None:
        verified = len(self._boxes) - int(np.count_nonzero(self._is_open(self._boxes)))
        self._budget.tell(phase, evidences=len(self._evidence), candidates=len(self._boxes), verified=verified)


def _contained(points: Words, known: Words) -> NDArray[np.bool_]:
    """Which points are among the known ones; both ascend."""
    if points.shape[1] == 1:
        return np.isin(points[:, 0], known[:, 0])
    held = {row.tobytes() for row in known}
    return np.array([row.tobytes() in held for row in points], np.bool_)
