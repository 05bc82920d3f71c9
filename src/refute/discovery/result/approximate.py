"""Rules that hold within an error: by pairs from counted evidence, by rows as detection and blame count them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

import numpy as np

from refute.discovery.evidence.counted import Evidence
from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.inversion.inverted import inverted_approximately
from refute.discovery.inversion.minimal import lengths
from refute.discovery.options import Measure, Options
from refute.discovery.pairs import Pairs
from refute.discovery.result.measures import RowMeasure, most_pairs, most_within
from refute.discovery.result.outcome import EVERY_PAIR, Outcome
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.space.turned import asked_of, told_boxes
from refute.discovery.tuning import STANDARD, Tuning
from refute.discovery.work import Budget

_MOST_MEASURED = 20_000


def approximate(
    pairs: Pairs, evidence: Evidence, options: Options, budget: Budget, tuning: Tuning = STANDARD
) -> Outcome:
    """The most general rules whose error is within the limit.

    For g1 they come straight from the counted evidence. Rules within a limit on rows are also within one on pairs, so
    for g2 and g3 the search starts from the most general rules of that wider limit and strengthens those that fail.
    """
    budget.report("inversion", evidences=len(evidence))
    space = asked_of(evidence.space)
    known = UnorderedPairs.of(evidence, budget)
    if known is None:
        note = "The time limit was reached before any rule was found."
        return Outcome(evidence.space.full[None][:0], evidence, False, counted=True, method="tiles", notes=(note,))
    most = most_pairs(options, pairs.n_rows, space)
    found = inverted_approximately(known, most, budget, options.max_predicates, tuning=tuning)
    boxes, complete = found.boxes, found.complete
    counts = {
        box.tobytes(): (ordered, unordered)
        for box, ordered, unordered in zip(found.boxes, found.ordered.tolist(), found.unordered.tolist(), strict=True)
    }
    notes: tuple[str, ...] = ()
    measured: dict[bytes, int] = {}
    if options.measure is not Measure.G1:
        search = _ByRows(pairs, known, options, counts)
        if most >= pairs.n_rows * (pairs.n_rows - 1) // 2:  # all pairs may break a rule: anything may be within
            boxes = space.full[None]
        boxes, finished = search.run(boxes, budget)
        measured = search.rows
        complete &= finished
        if search.tried >= _MOST_MEASURED and not finished:
            notes = (f"Candidates beyond the first {_MOST_MEASURED:,} were not measured by {options.measure.value}.",)
    return Outcome(
        told_boxes(evidence.space, boxes),
        evidence,
        complete,
        counted=True,
        method="tiles",
        settled=EVERY_PAIR,
        notes=notes,
        unordered=known,
        counts=counts,
        measured=measured,
    )


class _ByRows:
    """The search for the maximal boxes within a limit on rows, from the largest that may hold them down.

    A box that fails is strengthened, also where its error is less than that of a smaller one: a rule about one row is
    broken by rows alone, and what follows from it by their partners too.
    """

    def __init__(
        self, pairs: Pairs, known: UnorderedPairs, options: Options, counts: dict[bytes, tuple[int, int]]
    ) -> None:
        """`counts` are known, and more are added."""
        self._counts = counts
        relation, coded = pairs.here()
        self._measure = RowMeasure(relation, asked_of(coded), options.nulls)
        self._known = known
        self._space = known.space
        self._options = options
        self._most = most_within(options.error, pairs.n_rows)
        self.rows: dict[bytes, int] = {}
        self.tried = 0

    def run(self, boxes: Words, budget: Budget) -> tuple[Words, bool]:
        """The boxes, and whether all candidates were measured."""
        order = np.argsort(lengths(self._space, self._space.masks(boxes)), kind="stable")
        queue = deque(boxes[order])
        seen = {box.tobytes() for box in boxes}
        accepted = _Accepted(self._space)
        while queue:
            box = queue.popleft()
            if accepted.holds(box):
                continue
            if budget.expired or self.tried >= _MOST_MEASURED:
                return accepted.boxes, False
            if self._rows(box) <= self._most and (box != self._space.full).any():
                accepted.add(box)
                budget.report("measuring", candidates=len(queue), verified=len(accepted.boxes))
                continue
            for smaller in self._strengthened(box):
                if smaller.tobytes() not in seen:
                    seen.add(smaller.tobytes())
                    queue.append(smaller)
        return accepted.boxes, True

    def _rows(self, box: Words) -> int:
        self.tried += 1
        if box.tobytes() not in self._counts:
            ordered, unordered = self._known.inside(box[None])
            self._counts[box.tobytes()] = int(ordered[0]), int(unordered[0])
        broken, _ = self._counts[box.tobytes()]
        masks = self._space.masks(box[None])[0].tolist()
        says = (box != self._space.full).any()
        rows = self._measure.rows(masks, self._options.measure) if broken and says else 0
        self.rows[box.tobytes()] = rows
        return rows

    def _strengthened(self, box: Words) -> Iterable[Words]:
        """The largest boxes inside this one that are rules and not too long."""
        space = self._space
        masks = space.masks(box[None])[0]
        found = []
        for k, slot in enumerate(space.slots):
            for mask in slot.kind.strengthened(int(masks[k])):
                smaller = masks.copy()
                smaller[k] = mask
                found.append(smaller)
        every = np.array(found, np.uint8).reshape(len(found), len(space.slots))
        if self._options.max_predicates is not None:
            every = every[lengths(space, every) <= self._options.max_predicates]
        return space.boxes(every)


class _Accepted:
    """Boxes within the limit, of which none lies within another."""

    def __init__(self, space: PredicateSpace) -> None:
        self._found = np.empty((0, space.words), np.uint64)

    @property
    def boxes(self) -> Words:
        """All of them, ascending."""
        return self._found[np.lexsort(self._found.T[::-1])]

    def holds(self, box: Words) -> bool:
        """Whether the box lies within one of them."""
        return bool((~(box & ~self._found).any(axis=1)).any())

    def add(self, box: Words) -> None:
        """Takes a box in, in place of those within it."""
        outside = (self._found & ~box).any(axis=1)
        self._found = np.concatenate([self._found[outside], box[None]])
