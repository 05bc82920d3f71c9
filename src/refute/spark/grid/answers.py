"""Answers to rules that need the kernels: what tasks find among the rows that meet, and what cells alone settle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

from refute.language.form import Form
from refute.plan.method import MethodName
from refute.relation.shown import shown_row
from refute.spark.answer.witness import Totals
from refute.spark.grid.division import Division
from refute.spark.grid.packing import Blocks
from refute.spark.grid.sending import Sending
from refute.spark.grid.settled import Settled
from refute.spark.grid.shape import GridShape
from refute.spark.grid.tasks import (
    CELLS,
    COUNTED,
    OWN,
    SENT,
    SURVEYED,
    TASK,
    CountCells,
    Find,
    Known,
    Locate,
    Meet,
    Question,
    Send,
    Survey,
)
from refute.spark.source.frames import frame_of
from refute.spark.workers.blocks import PACKED as FOUND
from refute.spark.workers.blocks import Batches, unpacked
from refute.spark.workers.worker import ROW_COLUMN

Ints = NDArray[np.int64]
_SEED = 7
_SALTS = 16  # parts of a group without tiles, so several tasks list its pairs
_FEW_PAIRS = 1 << 20  # of cells, that the driver lists
_CELLS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Work:
    """How much is expected and how it is cut: rows (not less than there are), tasks, and rows for each of them."""

    rows: int
    tasks: int
    task_rows: int
    sampled: int
    method: MethodName


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What one pass over the blocks gives: some rows, how many there are, and how many a null keeps out."""

    sample: pa.Table
    totals: Totals

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.totals.rows


class Answers:
    """Counts, partners and pairs of one rule over blocks of rows."""

    def __init__(self, form: Form, blocks: Blocks, work: Work) -> None:
        self._form = form
        self._blocks = blocks
        self._work = work

    @cached_property
    def surveyed(self) -> Surveyed:
        """A look at all blocks: the first question to them, on which the cuts are based."""
        share = min(1.0, self._work.sampled / max(self._work.rows, 1))
        task = Survey(GridShape.of(self._form, self._blocks.types), share, _SEED)
        found = self._blocks.frame.mapInArrow(task, SURVEYED).toArrow()
        tables = [unpacked(cell) for cell in found.column(0)]
        rows, skipped = (sum(found.column(name).to_pylist()) for name in ("rows", "skipped"))
        sample = pa.concat_tables(tables).combine_chunks() if tables else self._blocks.types.arrow
        return Surveyed(sample, Totals(rows, skipped))

    def count(self) -> int:
        """The exact number of violations."""
        if not self._possible:
            return 0
        whole = self._divided(self._form)
        if not (self._form.differ and len(whole.division.groups)):
            return whole.count()
        return sum(sign * self._divided(form).count() for sign, form in self._form.signed())

    def task_rows(self) -> list[int]:
        """How many rows each task gets: how even the division is."""
        return self._divided(self._form).task_rows() if self._possible else []

    def witness(self) -> pa.Array | None:
        """The ids of the rows of some violation, of `s` and of `t`, or None where the rule holds."""
        if not self._possible:
            return None
        for part in self._parts():
            found = part.witness()
            if found is not None:
                return found
        return None

    def rows(self, ids: pa.Array) -> list[dict[str, Any]]:
        """The rows with these ids, in their order: `__row` and the other columns in the blocks."""
        found = self._blocks.frame.mapInArrow(Find(ids), FOUND).toArrow()
        rows = pa.concat_tables([unpacked(cell) for cell in found.column(0)]).combine_chunks()
        wanted = ids.cast(rows.schema.field(ROW_COLUMN).type)
        places = [next(i for i, one in enumerate(rows.column(ROW_COLUMN)) if one.equals(row)) for row in wanted]
        return [shown_row(rows, place) for place in places]

    def partners(self) -> DataFrame:
        """The rows in some violation: `__row`, and how many partners each has `as_s` and `as_t`."""
        schema = StructType([StructField(ROW_COLUMN, self._blocks.row_type), *_COUNTS])
        if not self._possible:
            return _empty(self._blocks, schema)
        found = [part.partners(schema) for part in self._parts()]
        summed = reduce(DataFrame.unionByName, found).groupBy(ROW_COLUMN)
        marked = summed.agg(F.sum("as_s").alias("as_s"), F.sum("as_t").alias("as_t"))
        return marked.where((F.col("as_s") > 0) | (F.col("as_t") > 0))

    def pairs(self, limit: int | None = None) -> DataFrame:
        """The violations: columns `s` and `t` of row ids."""
        schema = StructType([StructField(side, self._blocks.row_type) for side in ("s", "t")])
        if not self._possible:
            return _empty(self._blocks, schema)
        found = [frame for part in self._parts() for frame in part.pairs(schema, limit)]
        listed = reduce(DataFrame.unionByName, found)
        return listed if limit is None else listed.limit(limit)

    @property
    def _possible(self) -> bool:
        """Whether any two rows might violate the rule."""
        return self._form.possible and self.surveyed.rows > 0

    def _divided(self, form: Form) -> Divided:
        return Divided(form, self._blocks, self._work, self.surveyed)

    def _parts(self) -> list[Divided]:
        """The rule as rules whose pairs add up to its own: a `!=` over large groups becomes `<` or `>`."""
        whole = self._divided(self._form)
        if not (self._form.differ and len(whole.division.groups)):
            return [whole]
        return [self._divided(form) for form in self._form.split()]


_COUNTS = [StructField(name, LongType()) for name in ("as_s", "as_t")]


def _empty(blocks: Blocks, schema: StructType) -> DataFrame:
    return blocks.frame.sparkSession.createDataFrame([], schema)


class Divided:
    """A form over blocks of rows that are divided among tasks. Its pairs fall into classes, each found once."""

    def __init__(self, form: Form, blocks: Blocks, work: Work, surveyed: Surveyed) -> None:
        self._blocks = blocks
        self._work = work
        shape = GridShape.of(form, blocks.types)
        self.division = Division.of_sample(
            shape, surveyed.sample, rows=surveyed.rows, tasks=work.tasks, task_rows=work.task_rows
        )

    def count(self) -> int:
        """The exact number of violations."""
        answers = self._asked(Question.COUNT, COUNTED).collect()
        return sum(int(row["violations"]) for row in answers) + self._settled_count()

    def task_rows(self) -> list[int]:
        """How many rows each task gets."""
        task = F.spark_partition_id().alias("task")
        answers = self._asked(Question.COUNT, COUNTED).select(task, "task_rows").collect()
        found: dict[int, int] = {}
        for number, rows in answers:
            found[number] = found.get(number, 0) + rows
        return list(found.values())

    def witness(self) -> pa.Array | None:
        """The ids of the rows of some violation, or None where there is none."""
        if self._settled_count() > 0:
            return self._settled_witness()
        found = self._asked(Question.EXISTS, self._pair_schema).limit(1).toArrow()
        return _both(found.column("s"), found.column("t")) if found.num_rows else None

    def partners(self, schema: StructType) -> DataFrame:
        """Rows with partners, perhaps several times: `__row`, `as_s` and `as_t`."""
        known = None
        if len(self.division.groups):
            settled = self._settled
            s_some, t_some = settled.above > 0, settled.below > 0
            known = Known(
                settled.s_cells[s_some], settled.above[s_some], settled.t_cells[t_some], settled.below[t_some]
            )
        return self._asked(Question.PARTNERS, schema, known=known)

    def pairs(self, schema: StructType, limit: int | None) -> Iterator[DataFrame]:
        """Frames of violations by row id, `s` and `t`."""
        yield self._asked(Question.PAIRS, schema, limit=limit)
        if len(self.division.groups) and self._settled_count() > 0:
            yield self._settled_pairs(limit)

    def _asked(
        self, question: Question, schema: StructType | str, *, known: Known | None = None, limit: int | None = None
    ) -> DataFrame:
        """What tasks answer about the rows that meet in them."""
        division = self.division
        send = Send(Sending(division, named=question is not Question.COUNT), known)
        rules = [division.shape.class_rule(j, apart=division.apart) for j in range(len(division.cuts))]
        rules.append(division.shape.whole_rule(apart=division.apart, in_buckets=division.places.in_parts))
        meet = Meet(question, division.shape, tuple(rules), self._work.method, limit)
        sent = self._blocks.frame.mapInArrow(send, SENT)
        return sent.repartitionById(division.tasks, F.col(TASK)).mapInArrow(meet, schema)

    @cached_property
    def _settled(self) -> Settled:
        """The occupied cells of both sides: one job, run once."""
        counted = self._blocks.frame.mapInArrow(CountCells(self.division), CELLS)
        found = counted.groupBy("cell").agg(F.sum("s").alias("s"), F.sum("t").alias("t")).toArrow()
        cells, s_counts, t_counts = (np.asarray(found.column(i).to_numpy(), np.int64) for i in range(3))
        order = np.argsort(cells)
        cells, s_counts, t_counts = cells[order], s_counts[order], t_counts[order]
        own = int(s_counts[cells == OWN].sum())
        s_some, t_some = (s_counts > 0) & (cells != OWN), t_counts > 0
        return Settled(self.division, cells[s_some], s_counts[s_some], cells[t_some], t_counts[t_some], own)

    def _settled_count(self) -> int:
        return self._settled.violations if len(self.division.groups) else 0

    def _settled_witness(self) -> pa.Array:
        """The ids of two rows that cells alone pair: some of two rows on each side, if there are two, are distinct."""
        settled = self._settled
        *_, (s_places, t_places) = settled.pairs(1)  # those before have a row that pairs with itself only
        ends = []
        for of_t, cells in ((False, settled.s_cells[s_places[:1]]), (True, settled.t_cells[t_places])):
            rows = self._located(of_t=of_t, wanted=cells)
            ends.append(rows.agg(F.min(ROW_COLUMN).alias("least"), F.max(ROW_COLUMN).alias("most")).toArrow().columns)
        pairs = [_both(s_row, t_row) for s_row in ends[0] for t_row in ends[1] if not s_row[0].equals(t_row[0])]
        assert pairs, "cells settle a pair of distinct rows"
        return pairs[0]

    def _settled_pairs(self, limit: int | None) -> DataFrame:
        """The pairs that cells alone settle; each pair of cells has one at least, so no work is wasted."""
        settled, division = self._settled, self.division
        cells = self._cell_pairs(limit)
        salts = 1 if division.cuts else _SALTS
        sides = []
        for side, of_t, wanted in (
            ("s", False, settled.s_cells[settled.above > 0]),
            ("t", True, settled.t_cells[settled.below > 0]),
        ):
            rows = self._located(of_t=of_t, wanted=wanted)
            sides.append(rows.select(F.col(ROW_COLUMN).alias(side), F.col("cell").alias(f"{side}_cell")))
        s_rows, t_rows = sides
        keys = ["t_cell"]
        if salts > 1:
            every = F.explode(F.array(*(F.lit(salt) for salt in range(salts))))
            cells = cells.withColumn("salt", every)
            t_rows = t_rows.withColumn("salt", F.pmod(F.xxhash64("t"), F.lit(salts)).cast("int"))
            keys.append("salt")
        found = s_rows.join(cells, "s_cell").join(t_rows, keys)
        if division.shape.form.self_pairs:
            found = found.where(F.col("s") != F.col("t"))
        return found.select("s", "t")

    def _cell_pairs(self, limit: int | None) -> DataFrame:
        """The settled pairs of cells, `s_cell` and `t_cell`: listed here where they are few, else by tasks."""
        settled, session = self._settled, self._blocks.frame.sparkSession
        number = Settled(
            self.division,
            settled.s_cells,
            np.ones_like(settled.s_counts),
            settled.t_cells,
            np.ones_like(settled.t_counts),
            0,
        ).violations
        if limit is not None or number <= _FEW_PAIRS:
            found = list(settled.pairs(limit))
            places = [np.concatenate(side) for side in zip(*found, strict=True)]
            columns = {"s_cell": settled.s_cells[places[0]], "t_cell": settled.t_cells[places[1]]}
            return frame_of(pa.table({name: pa.array(cells) for name, cells in columns.items()}), session)
        parts = -(-len(settled.s_cells) // _CELLS_AT_ONCE)
        return session.range(0, parts, 1, parts).mapInArrow(PairCells(settled), "s_cell bigint, t_cell bigint")

    def _located(self, *, of_t: bool, wanted: Ints) -> DataFrame:
        """Rows of these cells of one side: `__row` and `cell`."""
        schema = StructType([StructField(ROW_COLUMN, self._blocks.row_type), StructField("cell", LongType())])
        return self._blocks.frame.mapInArrow(Locate(self.division, wanted, of_t), schema)

    @property
    def _pair_schema(self) -> StructType:
        return StructType([StructField(side, self._blocks.row_type) for side in ("s", "t")])


def _both(s_row: pa.ChunkedArray, t_row: pa.ChunkedArray) -> pa.Array:
    """Two ids as one array."""
    return pa.chunked_array([*s_row.chunks, *t_row.chunks]).combine_chunks()


@dataclass(frozen=True)
class PairCells:
    """Lists settled pairs of cells, each task those of some s cells."""

    settled: Settled

    def __call__(self, batches: Batches) -> Batches:
        """Rows of `s_cell` and `t_cell`."""
        settled = self.settled
        for batch in batches:
            for part in batch.column(0).to_pylist():
                for s_places, t_places in settled.pairs(first=part * _CELLS_AT_ONCE, last=(part + 1) * _CELLS_AT_ONCE):
                    columns = {"s_cell": settled.s_cells[s_places], "t_cell": settled.t_cells[t_places]}
                    yield pa.record_batch({name: pa.array(cells) for name, cells in columns.items()})
