"""The tasks of a watch on Spark: rows go to keepers and on to other shards in blocks, and reports come back."""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator
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
from refute.spark.source.types import arrow_type
from refute.watching.shards.step import REPORT, BatchStep, Message, tasks_of

TASK, SHARD, CELL = "task", "shard", "cell"
_SENT = f"{TASK} int, {SHARD} int, {CELL} binary"
_SCHEMA = pa.schema([pa.field(TASK, pa.int32()), pa.field(SHARD, pa.int32()), pa.field(CELL, pa.binary())])
_FOUND = f"{CELL} binary"


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

    def run(self, step: BatchStep, rows: Any) -> list[bytes]:
        """The reports of all shards that a step has changed."""
        with plain_failures("the stream"), calm():
            sent = self._sent(step, rows)
            if step.direct:
                asked = sent.mapInArrow(_Taking(step), _FOUND)
            else:
                asked = self._apart(sent.mapInArrow(_Keeping(step, self.tasks), _SENT)).mapInArrow(
                    _Meeting(step), _FOUND
                )
            found = asked.toArrow()
        return [cell.as_py() for cell in found.column(CELL)]

    def _sent(self, step: BatchStep, rows: Any) -> DataFrame:
        """The rows of a batch in the tasks of the shards that they are sent to."""
        if step.stored is not None:
            numbers = self._session.range(0, len(step.stored[0]), 1, min(len(step.stored[0]), self.tasks))
            return self._apart(numbers.mapInArrow(_SendingAgain(step, self.tasks), _SENT))
        if isinstance(rows, DataFrame):
            plain = rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))  # Spark stumbles over odd names
            return self._apart(plain.mapInArrow(_Sending(step, self.tasks, _arrow_schema(rows)), _SENT))
        blocks = pa.Table.from_batches(list(_batches(step.sent(rows, 0), self.tasks)), _SCHEMA)
        return self._apart(self._session.createDataFrame(blocks))

    def _apart(self, frame: DataFrame) -> DataFrame:
        return frame.repartitionById(self.tasks, F.col(TASK))


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
    tasks: int
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        held = list(batches)
        if held:
            table = pa.Table.from_batches(held).rename_columns(self.schema.names)
            table = table if table.schema.equals(self.schema) else table.cast(self.schema)
            yield from _batches(self.step.sent(table, _part()), self.tasks)


@dataclass(frozen=True)
class _SendingAgain:
    step: BatchStep
    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from _batches(self.step.sent_again(number), self.tasks)


@dataclass(frozen=True)
class _Keeping:
    step: BatchStep
    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        yield from _batches(self.step.kept(_messages(batches)), self.tasks)


@dataclass(frozen=True)
class _Meeting:
    step: BatchStep

    def __call__(self, batches: Batches) -> Batches:
        yield from _reports(self.step.met(_messages(batches)))


@dataclass(frozen=True)
class _Taking:
    step: BatchStep

    def __call__(self, batches: Batches) -> Batches:
        yield from _reports(self.step.taken(_messages(batches)))


def _reports(reports: Iterable[bytes]) -> Batches:
    for report in reports:
        yield pa.RecordBatch.from_arrays([pa.array([report], pa.binary())], [CELL])


def _part() -> int:
    context = TaskContext.get()
    assert context is not None, "tasks alone ask"
    return int(context.partitionId())


def _messages(batches: Batches) -> dict[int, list[bytes]]:
    """What a task was sent, by shard."""
    found: dict[int, list[bytes]] = defaultdict(list)
    for batch in batches:
        for shard, cell in zip(batch.column(SHARD).to_pylist(), batch.column(CELL), strict=True):
            found[shard].append(cell.as_buffer() if shard != REPORT else cell.as_py())
    return found


def _batches(messages: Iterable[Message], tasks: int) -> Iterator[pa.RecordBatch]:
    """Messages with the tasks that they are for, one by one, as some are large."""
    for shard, data in messages:
        for task in tasks_of(shard, tasks):
            columns = [pa.array([task], pa.int32()), pa.array([shard], pa.int32()), pa.array([data], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)


def _arrow_schema(frame: DataFrame) -> pa.Schema:
    return pa.schema([pa.field(one.name, arrow_type(one.dataType)) for one in frame.schema.fields])
