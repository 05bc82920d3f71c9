"""The method `lt_tree`: rows as they come and go, one at a time or in sorted batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

import numpy as np
from pyroaring import BitMap

from refute.live.indexes.index import Batch, Found, Watched
from refute.live.indexes.lt_tree.admission import Barred, RolesOf
from refute.live.indexes.lt_tree.columns import ColumnIndexes, Values
from refute.live.indexes.lt_tree.operands import Operands
from refute.live.indexes.lt_tree.pair_store import Collected, PairStore
from refute.live.indexes.lt_tree.pipeline import RulePipeline
from refute.live.indexes.lt_tree.schedule import Schedule, distinct_predicates
from refute.live.indexes.lt_tree.sets import as_set, check_slots
from refute.live.indexes.lt_tree.tuning import DEFAULT, Tuning


class _Walk(Enum):
    """What happens to a row of a batch beside being compared."""

    COMES = "comes"  # compared with what is there, then added
    GOES = "goes"  # taken away, then compared with what is left
    LOOKS = "looks"


class LtTreeIndex:
    """Weever (Kaminsky, Pena and Naumann, PVLDB 18(4), 2024), over columns of integers."""

    def __init__(self, rules: Sequence[Watched], tuning: Tuning = DEFAULT) -> None:
        self._tuning = tuning
        self._columns = ColumnIndexes(distinct_predicates(rules))
        self.schedule = Schedule(rules, self._columns.cardinality, tuning)
        self._barred = Barred(len(rules))
        self._pipeline = RulePipeline(self.schedule, self._columns, self._barred)
        self._stores = [PairStore() for _ in rules]

    def load(self, batch: Batch) -> None:
        """Adds rows without their pairs, which are not stored: what vanishes with them is found by comparing again."""
        self.insert(batch, [0] * len(self._stores))

    def insert(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Adds rows; for each rule the pairs that appear (algorithm 2). They are stored, unless beyond the limit.

        Each row is compared with those kept and then kept itself, so of two rows of the batch the later one finds the
        pair.
        """
        check_slots(batch.slots)
        self._barred.add(batch)
        appeared = self._collected(batch, RolesOf(batch), limits, _Walk.COMES)
        for store, found in zip(self._stores, appeared, strict=True):
            store.add(found, batch.slots)
        return appeared

    def delete(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """Takes rows away; for each rule the pairs that vanish (algorithm 3).

        They are read from the store. Rules of which it does not have all pairs are compared again, as on insertion.
        """
        rows = as_set(batch.slots)
        unsure = {rule for rule, store in enumerate(self._stores) if store.loose}
        stored = [store.take(rows, limit) for store, limit in zip(self._stores, limits, strict=True)]
        if unsure:
            compared = self._collected(batch, RolesOf(batch, unsure), limits, _Walk.GOES)
        else:
            for slot, row in zip(batch.slots.tolist(), _rows(batch), strict=True):
                self._columns.discard(slot, row)
                self.schedule.update()
        self._barred.discard(rows)
        return [compared[rule] if rule in unsure else found for rule, found in enumerate(stored)]

    def probe(self, batch: Batch, limits: Sequence[int]) -> list[Found]:
        """For each rule the pairs of the batch's rows with those that are kept; changes nothing."""
        check_slots(batch.slots)
        return self._collected(batch, RolesOf(batch), limits, _Walk.LOOKS)

    @property
    def nbytes(self) -> int:
        """The memory of indices and stored violations; looks at each set."""
        return self._columns.nbytes + self._barred.nbytes + sum(store.nbytes for store in self._stores)

    def _collected(self, batch: Batch, roles: RolesOf, limits: Sequence[int], walk: _Walk) -> list[Found]:
        """Compares the rows of a batch one after the other; for each rule the pairs that were found."""
        collected = [Collected(limit) for limit in limits]
        columns, schedule = self._columns, self.schedule
        places, rising = self._in_order(batch)
        operands = Operands(columns, shared=schedule.is_shared, rising=rising)
        slots, rows = batch.slots.tolist(), _rows(batch)
        for place in places:
            slot, row = slots[place], rows[place]
            if walk is _Walk.GOES:
                columns.discard(slot, row)
                operands.left(slot)
                schedule.update()
            operands.at(row)
            itself = BitMap((slot,)) if walk is _Walk.LOOKS and slot in columns.all else None
            for rule, t, s in self._pipeline.partners(operands, roles[place]):
                if itself is None:
                    collected[rule].add(slot, t, s)
                else:
                    collected[rule].add(slot, t - itself, s - itself)
            if walk is _Walk.COMES:
                columns.add(slot, row)
                operands.came(slot, row)
                schedule.update()
        return [one.found() for one in collected]

    def _in_order(self, batch: Batch) -> tuple[Iterable[int], int | None]:
        """The rows in the order in which they are compared, and the column by which they rise (section 5.5)."""
        first = self.schedule.first_order()
        if not self._tuning.batches or len(batch) < 2 or first is None:
            return range(len(batch)), None
        return np.argsort(batch.keys[first.s], kind="stable").tolist(), first.s


def _rows(batch: Batch) -> list[Values]:
    """The values of each row, by column, as integers of Python: they are compared one by one."""
    if not batch.keys:
        return [()] * len(batch)
    return list(zip(*(column.tolist() for column in batch.keys), strict=True))
