"""The rows of parts as blocks, and the one pass in which tasks hold a change against them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.discovery.evidence.counted import Evidence
from refute.discovery.work import Budget
from refute.spark.budget import cores
from refute.spark.discovery.blocks import Packing
from refute.spark.discovery.jobs import unless_expired
from refute.spark.discovery.looking import COUNT, FIRST_PAIR, read, seen_columns, seen_schema
from refute.spark.source.keeping import Kept
from refute.spark.tracking.meeting import BlockQuestion, Met, MovedRows
from refute.spark.tracking.rows import SparkRows
from refute.spark.tracking.tasks import KIND, NUMBER, MeetBlocks, Stand
from refute.spark.workers.blocks import BLOCK, PACKED, packed, unpacked

_FEW_BLOCKS = 4  # which are not worth being sent to several tasks


class TrackedBlocks:
    """The columns of a space, of all rows on Spark, in blocks that are kept on the executors."""

    def __init__(self, held: SparkRows, names: Sequence[str], place: Kept, block_rows: int) -> None:
        self._held = held
        self._names = list(names)
        self._place = place
        self._rows = block_rows
        self._cores = cores(held.session)
        self._made: list[DataFrame] = []

    def met(self, question: BlockQuestion, moved: MovedRows, budget: Budget) -> Met | None:
        """What all blocks say about a change, by one job; None where it was interrupted."""
        space = question.space
        gone = self._held.dead(moved.gone)
        task = MeetBlocks(question, packed(moved.going), moved.gone, packed(moved.coming), moved.came, gone)
        answers = self._frame().mapInArrow(task, f"{KIND} int, {seen_schema(space, keeps_pairs=True)}")

        totals = F.sum(COUNT).alias(COUNT), F.min(FIRST_PAIR).alias(FIRST_PAIR)
        counted = answers.groupBy(KIND, *seen_columns(space)).agg(*totals)
        found = unless_expired(answers.sparkSession, budget, counted.toArrow)
        if found is None:
            return None
        kinds = found.column(KIND).to_numpy()
        parts = [found.filter(pa.array(kinds == kind)) for kind in range(3)]
        return Met(*(read(space, part) if len(part) else Evidence.empty(space) for part in parts))

    def standing(self, task: Stand, budget: Budget) -> list[pa.Table] | None:
        """The rows that stand for those of each block; None where it was interrupted."""
        answers = self._frame().mapInArrow(task, PACKED)
        found = unless_expired(answers.sparkSession, budget, answers.toArrow)
        return None if found is None else [unpacked(cell) for cell in found.column(BLOCK)]

    def _frame(self) -> DataFrame:
        """The blocks of all parts; those of a new part are made now."""
        for part in self._held.parts[len(self._made) :]:
            columns = [F.col(self._held.plain_of(name)) for name in self._names]
            packing = Packing([*self._names, NUMBER], {}, self._rows)
            made = part.frame.select(*columns, NUMBER).mapInArrow(packing, PACKED)
            if part.n_rows > _FEW_BLOCKS * self._rows:  # else one file may be one task
                made = made.repartition(max(2 * self._cores, part.n_rows // (2 * _FEW_BLOCKS * self._rows)))
            self._made.append(self._place.keep(made, StorageLevel.DISK_ONLY))
        return reduce(DataFrame.union, self._made)
