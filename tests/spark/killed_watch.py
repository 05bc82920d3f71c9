"""A driver that watches a stream and is killed at one point of a batch: `killed_watch.py SOURCE STATE POINT BATCH`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

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


if __name__ == "__main__":
    source, state, point, number = sys.argv[1:]
    spark = session("local[2]", brief=True, settings={"spark.driver.memory": "512m"})
    killing(point, int(number))
    rf.watch(stream_of(spark, Path(source)), RULES, state=state, key="id", once=True).await_termination()
