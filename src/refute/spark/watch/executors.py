"""The tasks of a watch on Spark, which moves the names of the files that they leave for each other.

Names come to the driver, which gives them to the tasks that come next: a job of its own for each stage. Spark plans
that with less work than one job whose tasks give rows to each other, and it is as quick, as all wait for all anyway.
"""

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
from pyspark.sql.types import StringType, StructField, StructType

from refute.spark.budget import cores
from refute.spark.session.failures import plain_failures
from refute.spark.session.warning import calm
from refute.spark.source.renaming import by_place
from refute.spark.source.types import arrow_type
from refute.spark.workers.blocks import Batches
from refute.watching.shards.tasks import BatchStep

FILE = "file"
_LEFT = StructType([StructField(FILE, StringType())])  # not as text, which Java would have to parse for each job


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
                return self._taken(step.take, sent)
            return self._taken(step.meet, self._taken(step.keep, sent))

    def _sent(self, step: BatchStep, rows: Any) -> list[str]:
        """The files of rows that are sent."""
        if step.stored is not None:
            numbers = self._session.range(0, len(step.stored[0]), 1, min(len(step.stored[0]), self.tasks))
            return _files(numbers.mapInArrow(_SendingAgain(step), _LEFT))
        if isinstance(rows, DataFrame):
            return _files(by_place(rows).mapInArrow(_Sending(step, _arrow_schema(rows)), _LEFT))
        return [step.send(rows, 0)]

    def _taken(self, take: Callable[[int, Sequence[str]], str], names: Sequence[str]) -> list[str]:
        """The files of tasks, one for each place, all of which read these."""
        tasks = self._session.range(0, self.tasks, 1, self.tasks)
        return _files(tasks.mapInArrow(_Taking(take, tuple(sorted(names))), _LEFT))


def _files(left: DataFrame) -> list[str]:
    """The files that tasks leave, those alone whose attempt has come first."""
    return [str(file) for (file,) in left.collect()]


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
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Batches:
        for _ in batches:
            yield _left(self.take(_part(), self.names))


def _left(file: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([file])], names=[FILE])


def _part() -> int:
    context = TaskContext.get()
    assert context is not None, "tasks alone ask"
    return int(context.partitionId())


def _arrow_schema(frame: DataFrame) -> pa.Schema:
    return pa.schema([pa.field(one.name, arrow_type(one.dataType)) for one in frame.schema.fields])
