"""What the command tells of Spark's work while it lasts: on classic sessions and through Connect."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from refute.spark.session.progress import Stages, watching

pytestmark = pytest.mark.spark


def _slowly(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    time.sleep(1.5)
    yield from batches


def test_stages_and_tasks_are_told_while_they_run(spark_kind: SparkSession) -> None:
    told: list[Stages] = []
    with watching(told.append, spark_kind):
        assert spark_kind.range(0, 8, 1, 4).mapInArrow(_slowly, "id bigint").count() == 8
    assert told
    assert all(0 <= one.done <= one.tasks and one.running >= 1 for one in told)
    number = len(told)
    spark_kind.range(3).count()
    assert len(told) == number


def test_stages_read_as_a_short_line() -> None:
    assert str(Stages(1, 8, 3)) == "1 stage, 3 of 8 tasks"
    assert str(Stages(2, 8, 3, 5 << 20)) == "2 stages, 3 of 8 tasks, 5 MB read"
