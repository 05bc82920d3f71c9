"""Asking tasks about blocks: rows sent to where they meet, and what tasks give collected."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.discovery.evidence.counted import Evidence
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.work import Budget
from refute.spark.discovery.jobs import unless_expired
from refute.spark.discovery.looking import COUNT, FIRST_PAIR, FOUND, NUMBER, read, seen_columns
from refute.spark.discovery.projections import Lookup
from refute.spark.discovery.scatter import SCATTERED, TASK, Scatter
from refute.spark.workers.blocks import BLOCK, PACKED, Batches, packed, tables_of, unpacked


class KeptBlocks:
    """The kept blocks of a table, and the space of the evidence that tasks see in them."""

    def __init__(self, frame: DataFrame, space: PredicateSpace, *, keeps_pairs: bool = False) -> None:
        self.frame = frame
        self._space = space
        self._kept = [F.min(FIRST_PAIR).alias(FIRST_PAIR)] if keeps_pairs else []

    def drawn(self, share: float, seed: int) -> list[pa.Table]:
        """A share of the rows, in this process; all of them for 1."""
        found = self.frame if share == 1.0 else self.frame.mapInArrow(Draw(share, seed), PACKED)
        return list(tables_of(iter(found.toArrow().to_batches())))

    def sent(self, scatter: Scatter) -> DataFrame:
        """The rows in the tasks where they meet."""
        return self.frame.mapInArrow(scatter, SCATTERED).repartitionById(scatter.tasks, F.col(TASK))

    def seen(self, answers: DataFrame, budget: Budget) -> Evidence | None:
        """The evidence that tasks saw, each distinct one once; None when the time was up."""
        counted = answers.groupBy(*seen_columns(self._space)).agg(F.sum(COUNT).alias(COUNT), *self._kept)
        found = unless_expired(self.frame.sparkSession, budget, counted.toArrow)
        return None if found is None else read(self._space, found)

    def collected(self, answers: DataFrame, budget: Budget) -> list[tuple[int, pa.Table]] | None:
        """The numbered blocks that tasks gave; None when the time was up."""
        found = unless_expired(self.frame.sparkSession, budget, answers.toArrow)
        if found is None:
            return None
        return [
            (number, unpacked(cell))
            for number, cell in zip(found.column(NUMBER).to_pylist(), found.column(BLOCK), strict=True)
        ]

    def looked_up(self, wanted: list[pa.Table], budget: Budget) -> list[pa.Table] | None:
        """For each wanted pair of values, two rows of the table that have them; None when the time was up."""
        if not wanted:
            return []
        lookup = Lookup(tuple(packed(values) for values in wanted))
        found = self.collected(self.frame.mapInArrow(lookup, FOUND), budget)
        if found is None:
            return None
        pairs = []
        for place, values in enumerate(wanted):
            first, second = (
                pa.concat_tables([rows for number, rows in found if number == 2 * place + role]) for role in (0, 1)
            )
            alike = values.slice(0, 1).equals(values.slice(1, 1))
            pairs.append(pa.concat_tables([first.slice(0, 1), first.slice(1, 1) if alike else second.slice(0, 1)]))
        return pairs


@dataclass(frozen=True, slots=True)
class Draw:
    """The task that draws a share of the rows of each block, the same ones each time."""

    share: float
    seed: int

    def __call__(self, batches: Batches) -> Batches:
        """One block for each block."""
        for table in tables_of(batches):
            random = np.random.default_rng((self.seed, zlib.crc32(packed(table.slice(0, 16)))))
            size = int(table.num_rows * self.share + random.random())
            if size:
                rows = table.take(pa.array(np.sort(random.choice(table.num_rows, size, replace=False))))
                yield pa.record_batch({BLOCK: pa.array([packed(rows.combine_chunks())], pa.binary())})
