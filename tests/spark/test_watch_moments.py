"""A stream is taken exactly once, whatever is killed, repeated or restored; else its start is refused."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.errors import DataError, EngineError
from spark.killed_watch import EXECUTOR, IN_TASKS, JAVA, POINTS
from spark.test_watch import RULES, check_all, put, rows_of, stream_of
from thorough import THOROUGH


def begun(source: Path, batches: int) -> None:
    for batch in range(batches):
        put(source, batch, rows_of(batch))


def watched(session: SparkSession, source: Path, state: Path) -> list[int]:
    """The batches of a watch that has taken all files, which is held against a check of their rows."""
    with rf.watch(stream_of(session, source), RULES, state=state, key="id", once=True) as watch:
        assert watch.await_termination()
        check_all(watch, [row for batch in range(len(list(source.glob("*.json")))) for row in rows_of(batch)])
        return [one.batch for one in watch.batches]


@pytest.mark.parametrize("point", [*POINTS, IN_TASKS, JAVA, EXECUTOR] if THOROUGH else ["after our commit"])
def test_a_driver_that_is_killed_leaves_what_the_next_one_goes_on_with(
    spark: SparkSession, tmp_path: Path, point: str
) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    begun(source, 3)
    script = [sys.executable, str(Path(__file__).with_name("killed_watch.py")), str(source), str(state), point, "2"]
    ended = called(script)
    known = [one.batch for one in rf.Watch(state).batches]
    if point == EXECUTOR:  # of which Spark starts another
        assert (ended.returncode, known) == (0, [0, 1, 2]), ended.stderr
    elif point == JAVA:
        assert ended.returncode
        assert known == [0]
        assert "refute.errors.EngineError: Lost the connection to Spark on 'the stream'" in ended.stderr
    else:
        assert ended.returncode == -signal.SIGKILL, ended.stderr
        assert known in ([0], [0, 1])
    assert watched(spark, source, state) == [0, 1, 2]


def test_a_batch_that_spark_repeats_is_not_taken_again(spark_kind: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    begun(source, 2)
    assert watched(spark_kind, source, state) == [0, 1]
    forget(state / "checkpoint" / "commits", 1)  # as if it were killed after our commit, before Spark's
    put(source, 2, rows_of(2))
    assert watched(spark_kind, source, state) == [0, 1, 2]


def test_a_state_and_a_checkpoint_of_different_moments_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would plan the forgotten batch anew, with rows that the state does not have, and call it by its number."""
    source, state, copy = tmp_path / "in", tmp_path / "state", tmp_path / "copy"
    begun(source, 1)
    watched(spark, source, state)
    shutil.copytree(state, copy, symlinks=True)
    put(source, 1, rows_of(1))
    assert watched(spark, source, state) == [0, 1]
    exchanged(state, copy)
    put(source, 2, rows_of(2))
    with pytest.raises(DataError, match=r"does not have batch 1 as .* took it: they are from different moments"):
        watched(spark, source, state)
    with pytest.raises(DataError, match=r"Batch 1 has been taken by Spark, but .* stopped after batch 0"):
        watched(spark, source, copy)
    exchanged(state, copy)
    assert watched(spark, source, state) == [0, 1, 2]
    assert watched(spark, source, copy) == [0, 1, 2]
    exchanged(state, copy)  # of the same number, and the same stream, but not with the same rows in each batch
    with pytest.raises(DataError, match="does not have batch 2"):
        watched(spark, source, state)


def test_a_second_driver_is_refused_as_long_as_the_first_one_runs(spark: SparkSession, tmp_path: Path) -> None:
    source, state = tmp_path / "in", tmp_path / "state"
    begun(source, 1)
    call = [sys.executable, "-c", SECOND, str(state)]
    with rf.watch(stream_of(spark, source), RULES, state=state, key="id", every=0.5) as watch:
        ended = called(call)
        assert "is already open, here or in another process" in ended.stderr
        with pytest.raises(EngineError, match="already open"):
            rf.watch(stream_of(spark, source), state=state)
        assert next(watch.follow()).batch == 0
    assert watched(spark, source, state) == [0]


SECOND = (
    "import sys, pathlib; from refute.watching.watcher import *; "
    "Watcher.open(pathlib.Path(sys.argv[1]), WatchOptions(None))"
)


def called(command: list[str]) -> subprocess.CompletedProcess[str]:
    """A process that has ended."""
    path = os.pathsep.join([str(Path(rf.__file__).parents[1]), *sys.path])
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, env=env, check=False, capture_output=True, text=True)


def exchanged(one: Path, other: Path) -> None:
    """Each has the checkpoint of the other."""
    (one / "checkpoint").rename(one / "its")
    (other / "checkpoint").rename(one / "checkpoint")
    (one / "its").rename(other / "checkpoint")


def forget(log: Path, batch: int) -> None:
    """Removes a batch from a log of Spark."""
    for path in (log / str(batch), log / f".{batch}.crc"):
        path.unlink(missing_ok=True)
