"""A driver that watches a stream while something is killed in a batch: `killed_watch.py SOURCE STATE POINT BATCH`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

import refute as rf
from refute.durable.directory import Directory
from refute.live.state import State
from refute.spark.session.session import session
from refute.spark.watch.batches import BatchTaker, ColumnReader
from spark.test_watch import RULES, stream_of

POINTS: dict[str, tuple[Any, str, bool]] = {  # a method, and whether it is killed before it, or after it
    "before the rows come": (ColumnReader, "read", True),
    "before the work": (ColumnReader, "read", False),
    "inside the work": (State, "carry_out", False),
    "before our commit": (Directory, "commit", True),
    "after our commit": (Directory, "commit", False),
    "before Spark's commit": (BatchTaker, "_stop_if_broken", False),
}
IN_TASKS, JAVA, EXECUTOR = "inside the tasks", "Java, inside the tasks", "an executor, with speculation"
EAGER = {"enabled": "true", "interval": "100ms", "multiplier": "1.1", "quantile": "0.1", "minTaskRuntime": "0ms"}


def killing(point: str, last: int) -> None:
    """Has this process killed when a method is called for the last time of some."""
    owner, name, before = POINTS[point]
    call: Callable[..., Any] = getattr(owner, name)
    left = [last]

    def counted(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] == 0 and before:
            os.kill(os.getpid(), signal.SIGKILL)
        found = call(*arguments, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, name, counted)


def with_deadly_tasks(frame: DataFrame, point: str, state: str) -> DataFrame:
    """The same rows, brought by tasks of which the first one of the second batch kills this driver, or its own Java."""
    driver, once = os.getpid(), Path(f"{state}.killed")

    def bring(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = batch.column("id").to_pylist()
            context = TaskContext.get()
            if context is not None and context.attemptNumber() == 0 and point == EXECUTOR:
                time.sleep(1 + found[0] % 2)  # one is slow, so another attempt of it begins
            if 100 <= found[0] < 200 and not once.exists():
                once.touch()
                os.kill(driver if point == IN_TASKS else java().pid, signal.SIGKILL)
            yield batch

    return frame.mapInArrow(bring, frame.schema)


def java() -> psutil.Process:
    """The process that has started this task."""
    return next(one for one in psutil.Process().parents() if one.name() == "java")


if __name__ == "__main__":
    source, state, point, number = sys.argv[1:]
    where = "local-cluster[2,1,512]" if point == EXECUTOR else "local[2]"
    settings = {"spark.driver.memory": "512m", "spark.executor.memory": "512m"}
    settings |= {f"spark.speculation{'' if name == 'enabled' else '.' + name}": value for name, value in EAGER.items()}
    spark = session(where, brief=True, settings=settings)
    rows = stream_of(spark, Path(source))
    if point in POINTS:
        killing(point, int(number))
    else:
        rows = with_deadly_tasks(rows, point, state)
    rf.watch(rows, RULES, state=state, key="id", once=True).await_termination()
