"""A real cluster on this machine: a master and two workers, one of which is killed while it works."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import refute as rf
from refute.spark.java import find_java

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

RULE = "not (s.a < t.a and s.b > t.b)"
RARE = "not (s.k = t.k and s.a < t.a and s.b > t.b)"
# What runs on the cluster: its driver is a process of its own, because this one's session is local.
DRIVER = """
import json, sys
import refute as rf
from refute.language.rulebook import RuleBook
from refute.spark.budget import Budget
from refute.spark.engine import SparkEngine
from refute.spark.session import session

master, data, marker, rule, rare = sys.argv[1:]
spark = session(master=master)
engine = SparkEngine(data, session=spark, budget=Budget(gather_bytes=0, task_rows=20_000))
rules = [RuleBook.of(text)[0] for text in (rule, rare)]
holds = engine.verify(rules[0]).holds
open(marker, "w").close()
counts = [engine.count(one) for one in rules]
listed = sorted(engine.violations(rules[1], None))
print(json.dumps({"holds": holds, "counts": counts, "listed": listed}))
spark.stop()
"""


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    source = str(Path(rf.__file__).parents[1])
    path = os.pathsep.join(part for part in (source, os.environ.get("PYTHONPATH")) if part)
    own = {
        "JAVA_HOME": str(find_java().launcher_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": path,
    }
    return {**os.environ, **own}


@pytest.fixture
def cluster(environment: dict[str, str], tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a master, and its two workers, each in a process group of its own."""
    port, page = _free_port(), _free_port()
    master = f"spark://127.0.0.1:{port}"
    started = [
        _spark_class(environment, tmp_path, "master", "master.Master", "--port", str(port), "--webui-port", str(page))
    ]
    _wait_for(port)
    options = ("--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(tmp_path / "work"), master)
    workers = [_spark_class(environment, tmp_path, f"worker{i}", "worker.Worker", *options) for i in range(2)]
    try:
        yield master, workers
    finally:
        for process in started + workers:
            _kill(process)


def test_a_killed_worker_changes_nothing_in_the_answer(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], environment: dict[str, str], tmp_path: Path
) -> None:
    master, workers = cluster
    rng = np.random.default_rng(5)
    rows = 400_000
    a = rng.permutation(rows)
    noise = np.where(rng.random(rows) < 0.0005, rng.integers(0, 50, rows), 0)
    table = pa.table({"k": a // 100, "a": a, "b": a + noise, "pad": rng.random(rows)})
    data, marker = tmp_path / "data.parquet", tmp_path / "started"
    pq.write_table(table, data, row_group_size=20_000)
    driver = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", DRIVER, master, str(data), str(marker), RULE, RARE],
        env=environment,
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
        _kill(workers[0])
        output, errors = driver.communicate(timeout=300)
    finally:
        driver.kill()
    assert driver.returncode == 0, errors[-3000:]
    found = json.loads(output.strip().splitlines()[-1])
    assert found["holds"] is False
    assert found["counts"] == [rf.count(table, RULE), rf.count(table, RARE)]
    assert [tuple(pair) for pair in found["listed"]] == sorted(rf.violations(table, RARE))


def _spark_class(
    environment: dict[str, str], folder: Path, log: str, name: str, *options: str
) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", *options]
    with (folder / f"{log}.log").open("wb") as out:
        return subprocess.Popen(command, env=environment, stdout=out, stderr=out, start_new_session=True)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "the master did not start"
            time.sleep(0.2)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all that it started, at once."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.wait()
