"""What Spark says of executors with another Python, in one sentence that says what to do; and no warnings of pandas."""

from __future__ import annotations

import platform
import threading
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.errors import DataError, EngineError
from refute.language.rulebook import RuleBook
from refute.report.violations import Violations
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.session import failures
from refute.spark.session.executor_python import NEEDED, Worker, found_wanting, sentence
from refute.spark.session.failures import explained, plain_failures
from refute.spark.session.warning import calm

OURS = ".".join(platform.python_version_tuple()[:2])
TRACE = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "/opt/spark/python/lib/pyspark.zip/pyspark/worker.py", line 4207, in invoke_udf
    return cloudpickle.loads(obj, encoding=encoding)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
LAST
"""
MISMATCH = """pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has \
different version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor versions."""
PROGRAM = """Job aborted due to stage failure: java.io.IOException: Cannot run program "/no/such/python": error=2, No \
such file or directory
	at java.base/java.lang.ProcessBuilder.start(ProcessBuilder.java:1143)
Caused by: java.io.IOException: error=2, No such file or directory"""


def told(text: str) -> str:
    error = explained(RuntimeError(text), "t")
    assert isinstance(error, EngineError)
    assert "\n" not in str(error)
    return str(error)


def test_another_python_on_executors_is_named_with_its_version() -> None:
    said = told(TRACE.replace("LAST", MISMATCH))
    assert said.startswith("Spark's executors run Python 3.9 and this process 3.11")
    assert "PYSPARK_PYTHON" in said


def test_a_python_that_executors_cannot_run_is_named_with_its_path() -> None:
    said = told(PROGRAM)
    assert "cannot run '/no/such/python'" in said
    assert "No such file or directory" in said
    assert "PYSPARK_PYTHON" in said


def test_a_worker_that_never_answers_is_said_to_be_one() -> None:
    said = told("Caused by: java.io.IOException: Timed out while waiting for the Python worker to connect back")
    assert said.startswith("A Python worker that Spark started did not answer in time.")
    assert "PYSPARK_PYTHON counts where the server starts" in said


def test_an_error_of_a_python_worker_is_its_last_line() -> None:
    assert told(TRACE.replace("LAST", "ZeroDivisionError: division by zero")) == (
        "Spark failed on 't': division by zero."
    )


def test_a_missing_package_is_told_even_where_executors_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "found_wanting", lambda: None)
    said = told(TRACE.replace("LAST", "ModuleNotFoundError: No module named 'numba'"))
    assert "No module named 'numba'" in said
    assert f"Install refute[spark] there for Python {OURS}" in said


def test_the_worker_that_lacks_most_is_told_and_so_is_another_version() -> None:
    whole: dict[str, str | None] = {**dict.fromkeys(NEEDED, "1.0"), "refute": rf.__version__}
    complete = Worker("a", "/usr/bin/python3", "3.11.2", dict(whole))
    bare = Worker("c", "/usr/bin/python3", "3.11.2", whole | {"refute": None, "numba": None})
    partly = Worker("b", "/usr/bin/python3", "3.11.2", whole | {"numba": None})
    old = Worker("d", "/usr/bin/python3", "3.11.2", whole | {"refute": "0.0.1"})
    assert sentence([complete]) is None
    said = sentence([complete, partly, old, bare])
    assert said is not None
    assert "(/usr/bin/python3, version 3.11.2, on c) lacks refute and numba. Install" in said
    assert "has refute 0.0.1, and this process has" in (sentence([complete, old]) or "")


@pytest.mark.spark
def test_an_error_of_a_task_keeps_its_class_its_message_and_its_facts(spark_kind: SparkSession) -> None:
    def refuse(batches: Any) -> Any:
        raise DataError("the column 'x' is empty", column="x", rows=[1, 2], key=("a", "b"))

    with pytest.raises(DataError, match=r"^the column 'x' is empty$") as raised, plain_failures("t"):
        spark_kind.range(1).mapInArrow(refuse, "id bigint").collect()
    assert raised.value.facts == {"column": "x", "rows": [1, 2], "key": ("a", "b")}


@pytest.mark.spark
def test_the_probe_finds_nothing_wanting_where_nothing_is(spark: SparkSession) -> None:
    assert found_wanting() is None


@pytest.mark.spark
def test_no_call_of_the_library_warns_of_pandas(spark_kind: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"id": range(60), "g": [i % 50 for i in range(60)], "a": [i * 7 % 61 for i in range(60)]})
    with calm():
        frame = spark_kind.createDataFrame(table)
    rule = "not (s.g = t.g and s.a < t.a and s.id > t.id)"
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        engine = SparkEngine(frame, key=["id"], budget=SparkBudget(driver_bytes=0, sample_rows=2))
        assert engine.count(RuleBook.of(rule)[0]) == rf.count(table, rule)
        Violations(engine, RuleBook.of(rule)[0], 3).to_pandas()
        rf.check(frame, [rule, "unique(g)"], key="id").split()
        rf.violations(frame, "unique(g)", key="id").to_arrow()
        rf.check(table, rule, engine="spark")
        rf.discover(frame, max_predicates=2)
    assert [str(one.message) for one in heard if "pandas" in str(one.message)] == []


def test_threads_may_overlap_in_calm_blocks_and_leave_the_filters_as_they_were() -> None:
    before = list(warnings.filters)
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with calm():
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with calm():
        thread.start()
        inside.wait(10)
    with warnings.catch_warnings(record=True) as heard:  # while the other thread is still in its block
        warnings.warn("PySpark does not yet fully support pandas >= 3.0.0.", FutureWarning, stacklevel=1)
    leave.set()
    thread.join()
    assert heard == []
    assert list(warnings.filters) == before
