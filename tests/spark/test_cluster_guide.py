"""The commands of docs/cluster.md, run as they stand there on a cluster whose own Python knows nothing of Refute."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest

import documents
import refute as rf
from standalone import environment, free_port, standalone
from thorough import THOROUGH

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.skipif(not THOROUGH, reason="takes ten minutes: HYPOTHESIS_PROFILE=thorough runs it"),
]

GUIDE = Path(__file__).parents[2] / "docs" / "cluster.md"
SOURCE = Path(rf.__file__).parents[1]
SITE = Path(np.__file__).parents[1]
RULES = """version: 1
rules:
  - {name: pay, dc: "not (s.area = t.area and s.pay < t.pay and s.rate > t.rate)"}
  - {name: key, unique: id}
"""
RATE = np.random.default_rng(7).permutation(3000)
ROWS = pa.table({"id": range(3000), "area": np.arange(3000) % 300, "pay": np.arange(3000), "rate": RATE})
# Small tables are answered in the driver; here nothing is, so executors have to run Python.
DISTRIBUTED = """
from refute.spark import engine
from refute.spark.budget import SparkBudget
made = engine.SparkEngine.__init__
def distributed(self, *args, **more):
    made(self, *args, **(more | {"budget": SparkBudget(driver_bytes=0, sample_rows=10)}))
engine.SparkEngine.__init__ = distributed
"""


def blocks(name: str, kind: str = "sh") -> str:
    """The commands of the guide that are marked to be run under a name."""
    found = [
        block.text
        for block in documents.blocks(GUIDE.read_text(encoding="utf-8"))
        if (block.run, block.language) == (name, kind)
    ]
    assert found, f"the guide has no block of {kind} under 'run: {name}'"
    return "\n".join(found)


@pytest.fixture(scope="module")
def pythons(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Pythons for executors: one with all that it takes, one that lacks Refute alone, one that has nothing."""
    folder = tmp_path_factory.mktemp("pythons")
    found = {"none": str(folder / "missing" / "bin" / "python")}
    for name in ("bare", "equipped"):
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / name], check=True)
        found[name] = str(folder / name / "bin" / "python")
    (packages,) = (folder / "equipped").glob("lib/python*/site-packages")
    for name in ("lark", "numba", "llvmlite", "numpy", "numpy.libs", "pyarrow", "ruamel"):
        if (SITE / name).exists():
            (packages / name).symlink_to(SITE / name)
    whole = folder / "whole" / "bin" / "python"
    whole.parent.mkdir(parents=True)
    whole.write_text(f'#!/bin/sh\nPYTHONPATH="{SOURCE}:$PYTHONPATH" exec "{sys.executable}" "$@"\n', encoding="utf-8")
    whole.chmod(0o755)
    return found | {"whole": str(whole)}


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster of one worker that has no path to Refute."""
    with standalone(tmp_path_factory.mktemp("cluster"), workers=1, cores=2, refute=False) as (address, _):
        yield address


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with data and rules, and with what keeps small tables from being answered in the driver."""
    pq.write_table(ROWS, tmp_path / "sales.parquet")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    (tmp_path / "driver").mkdir()
    (tmp_path / "driver" / "sitecustomize.py").write_text(DISTRIBUTED, encoding="utf-8")
    return tmp_path


def run(commands: str, here: Path, python: str, more: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Commands run by bash in a folder, with this Python for executors."""
    known = environment()
    del known["SPARK_NO_DAEMONIZE"]  # the server of the guide starts in the background, as a user would have it
    paths = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{known['PATH']}",
        "PYTHONPATH": f"{here / 'driver'}{os.pathsep}{known['PYTHONPATH']}",
        "PYSPARK_PYTHON": python,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYTHONWARNINGS": "ignore",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_LOG_DIR": str(here / "logs"),
        "SPARK_PID_DIR": str(here / "pids"),
    }
    # Variables of the shell, not of its children: Spark takes a variable MASTER for its own.
    named = "".join(f"{name}={shlex.quote(value)}\n" for name, value in more.items())
    return subprocess.run(
        ["bash", "-e", "-c", named + commands],
        cwd=here,
        env={**known, **paths},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def count() -> int:
    """The violations of the rule that is broken."""
    return rf.count(ROWS, "not (s.area = t.area and s.pay < t.pay and s.rate > t.rate)")


def assert_checked(done: subprocess.CompletedProcess[str], *, times: int = 1) -> None:
    """The commands have checked the rules, each time with the right count."""
    assert done.returncode == 1, done.stderr[-3000:]
    assert len(re.findall(rf"pay: {count():,} violations in", done.stdout)) == times, done.stdout


def test_a_standalone_cluster_checks_with_settings_of_the_user(
    master: str, here: Path, pythons: dict[str, str]
) -> None:
    done = run(blocks("standalone"), here, pythons["whole"], {"MASTER": master})
    assert_checked(done)
    assert json.loads((here / "report.json").read_text(encoding="utf-8"))["rules"][0]["method"] == "distribute"
    assert pq.read_table(here / "clashes" / "pay").num_rows == count()


def test_refute_travels_as_a_zip_to_executors_that_lack_it_alone(
    master: str, here: Path, pythons: dict[str, str]
) -> None:
    assert_checked(run(blocks("py-files"), here, pythons["equipped"], {"MASTER": master}))
    (here / "check.py").write_text(blocks("submit", "python"), encoding="utf-8")
    done = run(blocks("submit"), here, pythons["equipped"], {"MASTER": master})
    assert_checked(done, times=2)


def test_a_whole_environment_travels_as_an_archive(master: str, here: Path, pythons: dict[str, str]) -> None:
    with tarfile.open(here / "environment.tar.gz", "w:gz") as archive:
        archive.add(Path(pythons["whole"]).parents[1], arcname=".")
    assert_checked(run(blocks("archive"), here, pythons["none"], {"MASTER": master}))


def test_a_cluster_of_processes_on_this_machine_checks(here: Path, pythons: dict[str, str]) -> None:
    assert_checked(run(blocks("local-cluster"), here, pythons["whole"], {}))


def test_a_connect_server_on_the_cluster_checks(master: str, here: Path, pythons: dict[str, str]) -> None:
    start, check, stop = re.findall(r"^.+?(?<!\\)$", blocks("connect"), re.DOTALL | re.MULTILINE)
    more = {"MASTER": master, "PORT": str(free_port())}
    try:
        started = run(start, here, pythons["whole"], more)
        assert started.returncode == 0, started.stderr
        waited = 'for i in $(seq 200); do (echo > "/dev/tcp/127.0.0.1/$PORT") 2>/dev/null && break; sleep 0.5; done\n'
        assert_checked(run(waited + check, here, pythons["whole"], more))
        refused = run(check.replace("spark.sql.shuffle.partitions", "spark.executor.memory"), here, "", more)
        assert refused.returncode == 3
        assert "accepts the setting 'spark.executor.memory' only when it starts" in refused.stderr
    finally:
        run(stop, here, pythons["whole"], more)


def test_a_table_outlives_the_session_in_a_catalog_that_does(here: Path) -> None:
    shutil.rmtree(here / "driver")
    for _ in range(2):
        done = run(blocks("table"), here, sys.executable, {})
        assert done.returncode == 1, done.stderr[-3000:]
    assert pq.read_table(here / "spark-warehouse" / "clashes").num_rows == count()


@pytest.mark.parametrize("kind", ["bare", "none"])
def test_executors_with_another_python_are_told_of_in_one_sentence(
    kind: str, master: str, here: Path, pythons: dict[str, str]
) -> None:
    done = run('refute check sales.parquet rules.yaml --master "$MASTER"', here, pythons[kind], {"MASTER": master})
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    if kind == "bare":
        where = rf"executors \({pythons['bare']}, version 3\.\d+\.\d+, on \S+\)"
        assert re.search(where + r" lacks refute, lark, numba, numpy, pyarrow and ruamel\.yaml\. Install", done.stderr)
    else:
        assert f"Spark's executors cannot run {pythons['none']!r}" in done.stderr
    assert "PYSPARK_PYTHON" in done.stderr
