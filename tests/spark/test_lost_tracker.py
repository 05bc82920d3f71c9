"""A tracker whose rows stay on Spark, on a cluster that loses one of its two workers: nothing has changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from standalone import environment, kill, standalone
from thorough import THOROUGH

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.skipif(not THOROUGH, reason="starts a cluster of its own: HYPOTHESIS_PROFILE=thorough runs it"),
]

DRIVER = """
import json, sys
import pyarrow.parquet as pq
import refute as rf
from refute.errors import RefuteError
from refute.spark.session import session
from refute.spark.session.session import BRIEF

master, data, more = sys.argv[1:]
spark = session(master=master, brief=True, settings={"spark.executor.extraJavaOptions": " ".join(BRIEF)})
frame = spark.read.parquet(data).repartition(4)
batch = pq.read_table(more)
tracker = rf.Tracker(frame, key="id", driver_bytes=0)
changes = tracker.insert(batch.slice(0, 5))
before = sorted(tracker.held)
print(json.dumps({"rules": before, "rows": tracker.n_rows}), flush=True)
sys.stdin.readline()
failed = []
for change in (lambda: tracker.insert(batch.slice(5, 5)), lambda: tracker.delete([1, 2])):
    try:
        change()
    except RefuteError as error:
        failed.append(f"{type(error).__name__}: {error}")
again = rf.Tracker(frame, key="id", driver_bytes=0)
again.insert(batch)
print(json.dumps({"failed": failed, "rows": tracker.n_rows, "again": sorted(again.held)}), flush=True)
spark.stop()
"""


def test_a_lost_executor_fails_the_next_change_and_changes_nothing(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    columns = {"id": np.arange(400), "a": random.integers(0, 9, 400), "b": random.integers(0, 90, 400)}
    table = pa.table({**columns, "c": random.integers(0, 4, 400)})
    data, more = tmp_path / "data.parquet", tmp_path / "more.parquet"
    pq.write_table(table.slice(0, 390), data)
    pq.write_table(table.slice(390), more)
    with standalone(tmp_path, workers=2, cores=1) as (master, workers):
        driver = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", DRIVER, master, str(data), str(more)],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert driver.stdout is not None
            assert driver.stdin is not None
            line = driver.stdout.readline()
            assert line, driver.communicate()[1][-3000:]
            kill(workers[0])
            output, errors = driver.communicate("\n", timeout=300)
        finally:
            driver.kill()
    assert driver.returncode == 0, errors[-3000:]
    begun, ended = json.loads(line), json.loads(output)
    near = rf.Tracker(table.slice(0, 390), key="id")
    near.insert(table.slice(390, 5))
    assert begun == {"rules": sorted(near.held), "rows": 395}
    assert len(ended["failed"]) == 2, ended
    assert ended["rows"] == 395
    near.insert(table.slice(395))
    assert ended["again"] == sorted(near.held)
