"""Rules that hold within an error: by pairs from counted evidence, by rows from the kernels of detection."""

from __future__ import annotations

import heapq
from collections import deque

import numpy as np
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Evidence
from refute.discovery.inversion.inverted import inverted_approximately
from refute.discovery.options import Measure, Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.outcome import EVERY_PAIR, Outcome
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget
from refute.kernels.evidence.coverage import weights_inside
from refute.relation import Relation

_MOST_MEASURED = 20_000


def violating_pairs(boxes: Words, evidence: Evidence) -> NDArray[np.int64]:
    """The number of ordered pairs inside each box, from evidence of all pairs."""
    out = np.zeros(len(boxes), np.int64)
    weights_inside(boxes, evidence.points, evidence.counts, out)
    return out


def approximate(
    pairs: Pairs, evidence: Evidence, options: Options, budget: Budget, tuning: Tuning = STANDARD
) -> Outcome:
    """The minimal rules whose error is within the limit.

    For g1 they come straight from the counted evidence. Rules within a limit on rows are also within one on pairs, so
    for g2 and g3 the search starts from the minimal rules of that wider limit and strengthens those that fail.
    """
    budget.report("inversion", evidences=len(evidence))
    n = pairs.n_rows
    rows = int(options.error * n)
    if options.measure is Measure.G1:
        most = int(options.error * n * (n - 1))
    else:
        most = rows * (rows - 1) if options.measure is Measure.G2 else rows * (2 * n - rows - 1)
    boxes, complete = inverted_approximately(
        evidence.space, evidence, most, budget, options.max_predicates, tuning=tuning
    )
    notes: tuple[str, ...] = ()
    if options.measure is not Measure.G1:
        boxes, measured = _within_rows(*pairs.here(), boxes, rows, options, budget)
        complete &= measured
        if not measured:
            notes = (f"candidates beyond the first {_MOST_MEASURED:,} were not measured by {options.measure.value}",)
    return Outcome(boxes, evidence, complete, counted=True, method="tiles", settled=EVERY_PAIR, notes=notes)


def _within_rows(
    relation: Relation, space: PredicateSpace, boxes: Words, most: int, options: Options, budget: Budget
) -> tuple[Words, bool]:
    """The maximal boxes inside the given ones whose error in rows is within the limit, and whether all were tried."""
    measure = RowMeasure(relation, space, options)
    queue = deque(sorted((tuple(row) for row in space.masks(boxes).tolist()), key=lambda row: _length(space, row)))
    seen = set(queue)
    accepted: list[tuple[int, ...]] = []
    measured = 0
    while queue:
        box = queue.popleft()
        if any(_inside(box, other) for other in accepted):
            continue
        if budget.expired or measured >= _MOST_MEASURED:
            return _as_boxes(space, accepted), False
        measured += 1
        if measure.rows(box) <= most:
            accepted = [*(other for other in accepted if not _inside(other, box)), box]
            budget.report("measuring", candidates=len(queue), verified=len(accepted))
            continue
        for k, slot in enumerate(space.slots):
            for mask in slot.kind.strengthened(box[k]):
                smaller = (*box[:k], mask, *box[k + 1 :])
                fits = options.max_predicates is None or _length(space, smaller) <= options.max_predicates
                if fits and smaller not in seen:
                    seen.add(smaller)
                    queue.append(smaller)
    return _as_boxes(space, accepted), True


class RowMeasure:
    """Counts the rows that stand in the way of a rule."""

    def __init__(self, relation: Relation, space: PredicateSpace, options: Options) -> None:
        from refute.detect.detector import Detector

        self._detector = Detector(relation)
        self._space = space
        self._options = options

    def rows(self, masks: tuple[int, ...]) -> int:
        """Rows in violation for g2, rows that a greedy choice removes for g3."""
        from refute.language.rulebook import Rule

        rule = Rule(name="candidate", constraint=self._space.constraint(masks), nulls=self._options.nulls)
        if self._options.measure is Measure.G2:
            return int(np.count_nonzero(self._detector.partners(rule).in_violation))
        s_rows, t_rows = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for s, t in self._detector.pairs(rule):
            s_rows.append(s)
            t_rows.append(s if t is None else t)
        return removed_greedily(np.concatenate(s_rows), np.concatenate(t_rows))


def removed_greedily(s_rows: NDArray[np.int64], t_rows: NDArray[np.int64]) -> int:
    """How many rows go until no pair is left, when the row in most pairs always goes first (the lowest of equals)."""
    rows, ends = np.unique(np.concatenate([s_rows, t_rows]), return_inverse=True)
    s, t = ends[: len(s_rows)], ends[len(s_rows) :]
    partners: list[set[int]] = [set() for _ in rows]
    for a, b in zip(s.tolist(), t.tolist(), strict=True):
        partners[a].add(b)
        partners[b].add(a)
    heap = [(-len(found), row) for row, found in enumerate(partners)]
    heapq.heapify(heap)
    removed = 0
    while heap:
        count, row = heapq.heappop(heap)
        if not partners[row] or -count != len(partners[row]):
            if partners[row]:
                heapq.heappush(heap, (-len(partners[row]), row))
            continue
        others, partners[row] = partners[row], set()
        for other in others:  # a row that breaks a rule alone is its own partner
            partners[other].discard(row)
        removed += 1
    return removed


def _length(space: PredicateSpace, box: tuple[int, ...]) -> int:
    return sum(len(slot.kind.conjunctions.get(mask, ())) for slot, mask in zip(space.slots, box, strict=True))


def _inside(box: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a & ~b == 0 for a, b in zip(box, other, strict=True))


def _as_boxes(space: PredicateSpace, accepted: list[tuple[int, ...]]) -> Words:
    return space.boxes(np.array(sorted(accepted), np.uint8).reshape(len(accepted), len(space.slots)))
