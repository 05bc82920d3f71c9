"""What tasks do with the blocks of a tracked table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.discovery.evidence.counted import Evidence
from refute.discovery.options import Options
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.relation import Relation
from refute.spark.discovery.looking import written
from refute.spark.tracking.meeting import BlockQuestion, Met, MovedRows, all_met, coded_rows, met
from refute.spark.workers.blocks import BLOCK, Batches, packed, tables_of
from refute.spark.workers.worker import RESERVED, settle
from refute.tracking.codes import Longs
from refute.tracking.meeting.residual import required
from refute.tracking.meeting.standing import BoxReading, StandIns
from refute.tracking.rows import TrackedRows

NUMBER = RESERVED + "number"
KIND = "kind"  # of evidence: pairs that are lost, gained, or seen
_SAMPLE = 4096  # rows from which the number of values of a column is estimated


@dataclass(frozen=True)
class MeetBlocks:
    """The task that holds a change against blocks."""

    question: BlockQuestion
    going: bytes
    gone: Longs
    coming: bytes
    came: Longs
    dead: Longs  # rows of blocks that are not there, those that go included

    def __call__(self, batches: Batches) -> Batches:
        """The evidence of all blocks of the task, in three kinds."""
        settle()
        space = self.question.space
        moved = MovedRows(
            pa.ipc.open_stream(self.going).read_all(), self.gone, pa.ipc.open_stream(self.coming).read_all(), self.came
        )
        budget = Budget(Options(threads=1))
        found = Met.nothing(space)
        for table, numbers in living(batches, self.dead):
            told = met(self.question, table, numbers, moved, among=False, budget=budget)
            found = all_met(space, [found, told])
        for kind, part in enumerate(found.parts()):
            yield _written(kind, part)


@dataclass(frozen=True)
class Stand:
    """The task that picks rows of its blocks that stand for all others there, as far as one box can distinguish them.

    A pair of rows lies in the box if and only if a pair of rows does that stand for others: each of the two may be
    replaced by one of its own block, the lowest or the highest in one column, and alike in all else.
    """

    space: PredicateSpace  # with the slots alone that the box asks about
    nulls: Nulls
    masks: NDArray[np.uint8]  # (slots,) the box
    dead: Longs

    def __call__(self, batches: Batches) -> Batches:
        """One block of rows, with their numbers, for each block."""
        settle()
        equal = required(self.space, self.space.boxes(self.masks[None]))[0]
        for table, numbers in living(batches, self.dead):
            if not len(table):
                continue
            names = list(dict.fromkeys(name for slot in self.space.slots for name in slot.columns))
            read = table.select(names).combine_chunks()
            relation = Relation.of(read)
            rows = TrackedRows(self.space, self.nulls, {field.name: field.type for field in read.schema})
            rows.take_in(coded_rows(rows, relation), relation, np.arange(len(read)))
            values = [len(np.unique(rows.codes[:_SAMPLE, column])) for column in range(len(rows.names))]
            alike = BoxReading(self.space, rows).alike(self.masks, equal, values)
            chosen = StandIns(rows, alike).among(rows.living)
            kept = read.take(pa.array(chosen)).append_column(NUMBER, pa.array(numbers[chosen]))
            yield pa.record_batch({BLOCK: pa.array([packed(kept.combine_chunks())], pa.binary())})


def living(batches: Batches, dead: Longs) -> Iterator[tuple[pa.Table, Longs]]:
    """The rows of each block that are there, and their numbers."""
    for table in tables_of(batches):
        numbers = table.column(NUMBER).to_numpy()
        rows = table.drop_columns([NUMBER])
        if len(dead):
            at = np.minimum(np.searchsorted(dead, numbers), len(dead) - 1)
            there = dead[at] != numbers
            if not there.all():
                rows, numbers = rows.filter(pa.array(there)), numbers[there]
        yield rows, numbers


def _written(kind: int, evidence: Evidence) -> pa.RecordBatch:
    batch = written(evidence, keeps_pairs=True)
    kinds = pa.array(np.full(len(evidence), kind, np.int32))
    return pa.record_batch([kinds, *batch.columns], names=[KIND, *batch.schema.names])
