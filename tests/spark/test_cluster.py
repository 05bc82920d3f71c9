"""A real cluster on this machine: a master and two workers, one of which is killed while it works."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from standalone import Process, environment, kill, standalone

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

RULE = "not (s.a < t.a and s.b > t.b)"
RARE = "not (s.k = t.k and s.a < t.a and s.b > t.b)"
# What runs on the cluster: its driver is a process of its own, because this one's session is local.
DRIVER = """
import json, sys
import refute as rf
from refute.language.rulebook import RuleBook
from refute.spark.budget import SparkBudget
from refute.report.violations import Violations
from refute.spark.engine import SparkEngine
from refute.spark.session import session
from refute.spark.session.session import BRIEF

master, data, marker, rule, rare = sys.argv[1:]
spark = session(master=master, brief=True, settings={"spark.executor.extraJavaOptions": " ".join(BRIEF)})
engine = SparkEngine(data, session=spark, budget=SparkBudget(driver_bytes=0, task_rows=10_000))
rules = [RuleBook.of(text)[0] for text in (rule, rare)]
holds = engine.verify(rules[0]).holds
open(marker, "w").close()
counts = [engine.count(one) for one in rules]
listed = sorted(Violations(engine, rules[1]))
print(json.dumps({"holds": holds, "counts": counts, "listed": listed}))
spark.stop()
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[Process]]]:
    with standalone(tmp_path, workers=2, cores=1) as started:
        yield started


def test_a_killed_worker_changes_nothing_in_the_answer(cluster: tuple[str, list[Process]], tmp_path: Path) -> None:
    master, workers = cluster
    rng = np.random.default_rng(5)
    rows = 200_000
    a = rng.permutation(rows)
    noise = np.where(rng.random(rows) < 0.0005, rng.integers(0, 50, rows), 0)
    table = pa.table({"k": a // 100, "a": a, "b": a + noise, "pad": rng.random(rows)})
    data, marker = tmp_path / "data.parquet", tmp_path / "started"
    pq.write_table(table, data, row_group_size=10_000)
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", DRIVER, master, str(data), str(marker), RULE, RARE],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 240
        while not marker.exists():
            assert driver.poll() is None, driver.communicate()[1][-3000:]
            assert time.monotonic() < deadline, "the driver did not get to work"
            time.sleep(0.1)
        time.sleep(1.0)
        kill(workers[0])
        output, errors = driver.communicate(timeout=300)
    finally:
        driver.kill()
    assert driver.returncode == 0, errors[-3000:]
    found = json.loads(output.strip().splitlines()[-1])
    assert found["holds"] is False
    assert found["counts"] == [rf.count(table, RULE), rf.count(table, RARE)]
    assert [tuple(pair) for pair in found["listed"]] == sorted(rf.violations(table, RARE))
