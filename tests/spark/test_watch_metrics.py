"""A listener of Spark's progress sees what each batch of a watch did."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

import refute as rf
from refute.watching.records import BatchRecord
from spark.test_watch import RULES, put, rows_of, stream_of


class Progress(StreamingQueryListener):
    """Keeps what it sees."""

    def __init__(self) -> None:
        self.names: list[str | None] = []
        self.seen: list[tuple[int, int, BatchRecord | None]] = []
        self.observed: list[int] = []

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        self.names.append(event.name)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        told = event.progress
        if told.name == self.names[0]:
            record = rf.Watch(str(told.name).removeprefix("refute watch ")).record(told.batchId)
            self.seen.append((told.batchId, told.numInputRows, record))
            self.observed.append(told.observedMetrics["mine"]["tax"])

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Nothing."""


def test_a_listener_sees_what_each_batch_did(spark_kind: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    for batch in (0, 1):
        put(source, batch, rows_of(batch))
    listener = Progress()
    spark_kind.streams.addListener(listener)
    try:
        stream = stream_of(spark_kind, source).observe("mine", F.sum("tax").alias("tax"))
        with rf.watch(stream, RULES, state=state, key="id", once=True) as watch:
            assert watch.await_termination()
            wait_for(lambda: len(listener.seen) >= 2)
            records = watch.batches
    finally:
        spark_kind.streams.removeListener(listener)
    assert listener.names == [f"refute watch {state}"]
    assert listener.seen == [(0, 6, records[0]), (1, 6, records[1])]
    assert listener.observed == [sum(row["tax"] for row in rows_of(batch)) for batch in (0, 1)]
    assert rf.Watch(state).record(2) is None
    assert sum(one.open for one in records[1].rules) == sum(rf.Watch(state).counts.values())


def wait_for(truth: Callable[[], bool]) -> None:
    """Waits for events, which Spark sends in their own time."""
    deadline = time.monotonic() + 60
    while not truth():
        assert time.monotonic() < deadline
        time.sleep(0.05)
