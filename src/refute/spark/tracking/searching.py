"""Pairs in a box among rows on Spark: searched here, among few rows that stand for all others of their block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from refute.discovery.evidence.codebook import codebook
from refute.discovery.evidence.counted import Evidence, packed_pairs, turned_pairs
from refute.discovery.evidence.sampling import pair_evidence
from refute.discovery.guided.hunting import Witnesses
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.relation import Relation
from refute.relation.arrays import row_numbers
from refute.spark.tracking.blocks import TrackedBlocks
from refute.spark.tracking.rows import SparkRows
from refute.spark.tracking.tasks import NUMBER, Stand
from refute.tracking.codes import Longs
from refute.tracking.searching import cheapest_box

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RowsAfter:
    """All rows as a change makes them, before the change is carried out."""

    held: SparkRows
    gone: Longs
    came: Longs
    coming: pa.Table

    @property
    def alive(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Per number of a row, whether it is there."""
        found = np.zeros(self.held.next_slot + len(self.came), np.bool_)
        found[: self.held.next_slot] = self.held.alive[: self.held.next_slot] == 1
        found[self.gone] = False
        found[self.came] = True
        return found

    @property
    def n_alive(self) -> int:
        """How many rows there are."""
        return self.held.n_rows - len(self.gone) + len(self.came)

    def here(self, names: Sequence[str]) -> pa.Table:
        """Some columns of the rows in this process, with their numbers."""
        slots, table = self.held.here(self.gone)
        rows = pa.concat_tables([table.select(names), self.coming.select(names)])
        return rows.append_column(NUMBER, pa.array(np.concatenate([slots, self.came])))

    def taken(self, numbers: Longs, names: Sequence[str]) -> pa.Table:
        """Some columns of the rows of these numbers."""
        new = numbers >= self.held.next_slot
        old = self.held.taken(numbers[~new], names)
        fresh = self.coming.select(list(names)).take(row_numbers(numbers[new] - self.held.next_slot))
        back = np.argsort(np.concatenate([np.flatnonzero(~new), np.flatnonzero(new)]))
        return pa.concat_tables([old, fresh.cast(old.schema)]).take(row_numbers(back))


class SparkSearching:
    """Searches among the rows of one moment, of which there are two at least."""

    def __init__(
        self, moment: RowsAfter, blocks: TrackedBlocks, space: PredicateSpace, nulls: Nulls, budget: Budget
    ) -> None:
        self._moment = moment
        self._blocks = blocks
        self._space = space
        self._nulls = nulls
        self._budget = budget
        self._full = space.masks(space.full[None])[0]

    def find(self, box: Words) -> Pair | None:
        """The numbers of two rows (s, t) whose pair lies in the box; None if there are none."""
        masks = self._space.masks(box[None])[0]
        used = np.flatnonzero(masks != self._full)
        if not len(used):
            s, t = np.flatnonzero(self._moment.alive)[:2].tolist()
            return s, t
        space = PredicateSpace(tuple(self._space.slots[k] for k in used.tolist()))
        task = Stand(space, self._nulls, masks[used], self._moment.held.dead(self._moment.gone))
        parts = self._blocks.standing(task, self._budget)
        self._budget.raise_if_interrupted()
        assert parts is not None, "no time is set to a tracker"
        names = list(dict.fromkeys(name for slot in space.slots for name in slot.columns))
        near = self._moment.here(names)
        rows = pa.concat_tables([near, *(part.cast(near.schema) for part in parts)]).combine_chunks()
        found = Witnesses(Relation.of(rows.drop_columns([NUMBER])), space).find(masks[used])
        if found is None:
            return None
        numbers = rows.column(NUMBER)
        return numbers[found[0]].as_py(), numbers[found[1]].as_py()

    def cheapest(self, boxes: Words) -> tuple[Words, Pair | None]:
        """The box that is searched most quickly, and what is found there."""
        box = cheapest_box(self._space, boxes)
        return box, self.find(box)

    def evidence(self, pair: Pair) -> Evidence:
        """The evidence of a pair, in both roles."""
        names = list(dict.fromkeys(name for slot in self._space.slots for name in slot.columns))
        numbers = np.array(pair, np.int64)
        rows = self._moment.taken(numbers, names)
        book = codebook(Relation.of(rows.combine_chunks()), self._space, self._nulls, keeps_pairs=True)
        found = pair_evidence(book, np.array([0]), np.array([1]))
        assert found.firsts is not None
        first = packed_pairs(numbers[:1], numbers[1:])
        both = np.where(found.firsts == 1, first, turned_pairs(first))  # (0, 1) is packed as 1
        return replace(found, firsts=both)
