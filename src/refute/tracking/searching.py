"""Pairs of rows that lie in a box, searched by the methods of detection over the rows that are there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.counted import Evidence, packed_pairs, turned_pairs
from refute.discovery.guided.hunting import Witnesses
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.tuning import Tuning
from refute.kernels.evidence.clues import clues_of
from refute.relation import Relation
from refute.tracking.codes import Longs
from refute.tracking.rows import TrackedRows
from refute.tracking.ways import After

Pair = tuple[int, int]


class Searching:
    """Searches among the rows of one moment, of which there are two at least."""

    def __init__(self, rows: TrackedRows, space: PredicateSpace, tuning: Tuning) -> None:
        self._rows = rows
        self._space = space
        self._tuning = tuning
        self._living: Longs = rows.living
        self._full = space.masks(space.full[None])[0]

    @cached_property
    def _witnesses(self) -> Witnesses:
        relation = Relation.of(self._rows.table(self._living))
        states = self._rows.row_states(self._living)
        return Witnesses(relation, self._space, None, self._tuning, states=states)

    def find(self, box: Words) -> Pair | None:
        """The numbers of two rows (s, t) whose pair lies in the box; None if there are none."""
        masks = self._space.masks(box[None])[0]
        if (masks == self._full).all():
            return int(self._living[0]), int(self._living[1])
        found = self._witnesses.find(masks)
        return None if found is None else (int(self._living[found[0]]), int(self._living[found[1]]))

    def cheapest(self, boxes: Words) -> tuple[Words, Pair | None]:
        """The box that is searched most quickly, and what is found there."""
        masks = self._space.masks(boxes)
        equal = ((masks & ~equal_masks(self._space)) == 0).sum(axis=1)
        used = (masks != self._full).sum(axis=1)
        box: Words = boxes[np.lexsort((used, -equal))[0]]
        return box, self.find(box)

    def evidence(self, pair: Pair) -> Evidence:
        """The evidence of a pair, in both roles."""
        rows = np.array(pair, np.int64)
        facts = self._rows.facts(rows, rows)
        clues = clues_of(facts, np.array([0]), np.array([1]))
        first = packed_pairs(rows[:1], rows[1:])
        points = self._rows.layout.points(clues)
        counts = np.ones(2, np.int64)
        return Evidence.of(self._space, points, counts, np.concatenate([first, turned_pairs(first)]))


@dataclass(frozen=True, slots=True)
class PairsAfter:
    """The pairs of all rows after a change, as far as approximate rules need them."""

    n_rows: int
    space: PredicateSpace
    after: After

    def here(self) -> tuple[Relation, PredicateSpace]:
        """The rows, and the space over their columns."""
        return self.after()[0], self.space
