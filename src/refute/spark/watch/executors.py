"""The tasks of a watch on Spark, which moves the names of the files that they leave for each other."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from refute.spark.blocks import Batches
from refute.spark.budget import cores
from refute.spark.session.failures import plain_failures
from refute.spark.session.warning import calm
from refute.spark.source.renaming import by_place
from refute.spark.source.types import arrow_type
from refute.watching.shards.step import BatchStep

TASK, FILE = "task", "file"
_LEFT = f"{TASK} int, {FILE} string"


class SparkTasks:
    """Runs the tasks of steps in a session."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session

    @cached_property
    def tasks(self) -> int:
        """How many tasks run at once."""
        return cores(self._session)

    def schema(self, rows: Any) -> pa.Schema:
        """The columns and types of a DataFrame or a table of Arrow."""
        return _arrow_schema(rows) if isinstance(rows, DataFrame) else rows.schema

    def sees(self, folder: Path) -> bool:
        """Whether tasks see a file that this process writes to a folder; some of them, as nobody can ask all."""
        mark = folder / f".seen-{uuid.uuid4().hex}"
        mark.touch()
        try:
            asked = self._session.range(0, 4 * self.tasks, 1, self.tasks).mapInArrow(
                _Looking(str(mark)), "seen boolean"
            )
            with plain_failures("the stream"), calm():
                return all(seen for (seen,) in asked.collect())
        finally:
            mark.unlink(missing_ok=True)

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """The files that the last tasks of a step leave."""
        with plain_failures("the stream"), calm():
            sent = self._sent(step, rows)
            if step.direct:
                done = sent.mapInArrow(_Taking(step.take), _LEFT)
            else:
                kept = self._for_all(sent.mapInArrow(_Taking(step.keep), _LEFT))
                done = kept.mapInArrow(_Taking(step.meet), _LEFT)
            return [str(file) for _, file in done.collect()]

    def _sent(self, step: BatchStep, rows: Any) -> DataFrame:
        """The files of rows that are sent, in each task."""
        if step.stored is not None:
            numbers = self._session.range(0, len(step.stored[0]), 1, min(len(step.stored[0]), self.tasks))
            return self._for_all(numbers.mapInArrow(_SendingAgain(step), _LEFT))
        if isinstance(rows, DataFrame):
            return self._for_all(by_place(rows).mapInArrow(_Sending(step, _arrow_schema(rows)), _LEFT))
        file = F.lit(step.send(rows, 0)).alias(FILE)
        return self._session.range(0, self.tasks, 1, self.tasks).select(F.col("id").cast("int").alias(TASK), file)

    def _for_all(self, left: DataFrame) -> DataFrame:
        """The files that tasks have left, in each task of those that come next."""
        each = F.explode(F.sequence(F.lit(0), F.lit(self.tasks - 1)))
        return left.select(each.alias(TASK), FILE).repartitionById(self.tasks, F.col(TASK))


@dataclass(frozen=True)
class _Looking:
    path: str

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            seen = Path(self.path).exists()
            yield pa.RecordBatch.from_arrays([pa.array([seen] * batch.num_rows, pa.bool_())], ["seen"])


@dataclass(frozen=True)
class _Sending:
    step: BatchStep
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        held = list(batches)
        if held:
            table = pa.Table.from_batches(held).rename_columns(self.schema.names)
            table = table if table.schema.equals(self.schema) else table.cast(self.schema)
            yield _left(self.step.send(table, _part()))


@dataclass(frozen=True)
class _SendingAgain:
    step: BatchStep

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _left(self.step.send_again(number))


@dataclass(frozen=True)
class _Taking:
    take: Callable[[int, Sequence[str]], str]

    def __call__(self, batches: Batches) -> Batches:
        files = [file for batch in batches for file in batch.column(FILE).to_pylist()]
        if files:
            yield _left(self.take(_part(), sorted(files)))


def _left(file: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([_part()], pa.int32()), pa.array([file])], names=[TASK, FILE])


def _part() -> int:
    context = TaskContext.get()
    assert context is not None, "tasks alone ask"
    return int(context.partitionId())


def _arrow_schema(frame: DataFrame) -> pa.Schema:
    return pa.schema([pa.field(one.name, arrow_type(one.dataType)) for one in frame.schema.fields])
