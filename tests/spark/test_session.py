"""Sessions that Refute starts itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from refute.errors import EngineError
from refute.runtime.memory import memory_for_spark, memory_here
from refute.spark.session import session
from refute.spark.session.archive import ClassArchive
from refute.spark.session.java import find_java
from refute.spark.session.session import require_free

LIFE = """
import os
from pyspark.sql import SparkSession
from refute.spark.session import session
from refute.spark.session.warning import calm

before = dict(os.environ)
first = session("local[2]", brief=True)
changed = {name for name in {*before, *os.environ} if before.get(name) != os.environ.get(name)}
print("JAVA_HOME" in changed, "PYSPARK_PYTHON" in changed)
print(first.conf.get("spark.ui.showConsoleProgress"), first.conf.get("spark.driver.host"))
print(session() is first)


def nine(batches):
    import refute
    for batch in batches:
        yield batch.slice(0, 9)


with calm():
    print(first.range(0, 20, 1, 1).mapInArrow(nine, "id long").count())
"""


FAILURE = """
from refute.spark.session import session
try:
    session("local[x]")
except Exception as error:
    print(repr(error))
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A fresh Python that runs some code."""
    whole = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], env=whole, capture_output=True, text=True, check=False)


@pytest.mark.spark
def test_a_session_is_quiet_reused_and_leaves_the_environment_alone() -> None:
    done = run(LIFE)
    assert done.stderr == ""
    assert done.stdout.split("\n")[:4] == ["False False", "false 127.0.0.1", "True", "9"]


def test_a_master_that_does_not_answer_is_one_sentence_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = taken.getsockname()[1]
        with pytest.raises(EngineError, match=rf"Spark master 'spark://127.0.0.1:{port}' does not answer"):
            session(master=f"spark://127.0.0.1:{port}")
        with pytest.raises(EngineError, match=r"Spark Connect server 'sc://127.0.0.1:\d+/;user_id=x' does not answer"):
            session(remote=f"sc://127.0.0.1:{port}/;user_id=x")


def test_a_remote_without_its_scheme_is_told_how_to_write_it() -> None:
    with pytest.raises(EngineError, match=r"sc://host:port"):
        session(remote="somewhere:15002")


@pytest.mark.parametrize("master", ["nonsense", "local[", "locale", "spark://", "http://host"])
def test_a_master_that_spark_does_not_know_is_one_sentence(master: str) -> None:
    with pytest.raises(EngineError, match=r"is not a Spark master. Masters are local\[N\]"):
        session(master)


@pytest.mark.spark
def test_a_spark_that_fails_to_start_is_one_sentence() -> None:
    told = run(FAILURE).stdout
    assert told.startswith("EngineError(\"Spark did not start with master 'local[x]': ")
    assert "Could not parse Master URL" in told
    assert told.count("\\n") == 0


def test_the_archive_is_keyed_by_java_and_spark_and_gives_no_options_while_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(tmp_path))
    archive = ClassArchive.of(find_java())
    assert not archive.exists
    assert archive.options() == []
    assert archive == ClassArchive.of(find_java())


def test_an_archive_that_was_cut_short_is_never_offered_to_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(tmp_path))
    archive = ClassArchive.of(find_java())
    archive.folder.mkdir(parents=True)
    archive.base.write_bytes(b"base")
    archive.top.write_bytes(b"spark")
    archive.seal.write_text("4 5", encoding="ascii")
    assert archive.options() == [f"-XX:SharedArchiveFile={archive.base}:{archive.top}"]
    archive.top.write_bytes(b"spa")
    assert archive.options() == []


def test_only_one_process_makes_the_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(tmp_path))
    archive = ClassArchive.of(find_java())
    archive.folder.mkdir(parents=True)
    (archive.folder / "lock").touch()
    assert archive.make() is False
    assert [path.name for path in archive.folder.iterdir()] == ["lock"]


def test_spark_gets_two_fifths_of_the_memory_and_at_least_a_gigabyte() -> None:
    megabytes = int(memory_for_spark().removesuffix("m"))
    assert 1024 <= megabytes <= 30 * 1024
    assert megabytes <= max(1024, memory_here() * 0.4 / 2**20)


def test_a_local_connect_server_needs_the_port_where_pyspark_looks_for_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(EngineError, match=f"Port {port} is in use, and PySpark cannot start a local Spark Connect"):
            require_free(port)
    require_free(port)


@pytest.mark.spark
def test_a_program_that_holds_a_report_of_connect_ends(spark: SparkSession, connect_port: int) -> None:
    script = f"""
import refute as rf
from refute.spark.session import session
frame = session(remote="sc://127.0.0.1:{connect_port}").range(100).selectExpr("id", "id % 2 g", "id % 5 v").limit(50)
report = rf.check(frame, "g -> v", key="id")
listed = report.violations(report.results[0])
print(report.results[0].finding.violations > 0)
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["True"], done.stderr
