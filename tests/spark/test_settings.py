"""Settings and Python files that a user gives, for sessions that start and for those that run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from refute.errors import OptionError
from refute.spark.session import session
from refute.spark.session.settings import adjust, check_files

STARTED = """
import sys
from refute.spark.session import session
place = {sys.argv[1]: sys.argv[2]}
found = session(**place, brief=True, settings={
    "spark.driver.memory": sys.argv[4], "spark.sql.shuffle.partitions": "3", "spark.pyspark.python": sys.executable,
    "spark.hadoop.my.word": "kept", "spark.app.name": "mine"}, py_files=[sys.argv[3]])
print(found.conf.get("spark.driver.memory"), found.conf.get("spark.sql.shuffle.partitions"),
      found.conf.get("spark.app.name"), session() is found)


def word(batches):
    import carried
    for batch in batches:
        yield batch.slice(0, carried.WORD)


from refute.spark.session.warning import calm
with calm():
    print(found.range(0, 9, 1, 1).mapInArrow(word, "id long").count())
import psutil
memory = "-Xmx" + sys.argv[4]
print(any(memory in (process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])))
"""


@pytest.mark.spark
@pytest.mark.parametrize(("place", "memory"), [("master", "1234m"), ("remote", "1235m")])  # no other test has 15002
def test_a_session_that_starts_takes_every_setting_and_python_file(place: str, memory: str, tmp_path: Path) -> None:
    carried = tmp_path / "carried.py"
    carried.write_text("WORD = 4\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", STARTED, place, "local[1]", str(carried), memory],
        env={**os.environ, "PYSPARK_PYTHON": "/no/such/python"},  # the setting goes before the variable
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{memory} 3 mine True", "4", "True"]


@pytest.mark.spark
def test_a_session_that_runs_takes_what_may_change_and_refuses_the_rest(spark_kind: SparkSession) -> None:
    before = spark_kind.conf.get("spark.sql.shuffle.partitions")
    try:
        adjust(spark_kind, {"spark.sql.shuffle.partitions": "7", "spark.sql.catalog.mine": "x"}, "it")
        assert spark_kind.conf.get("spark.sql.shuffle.partitions") == "7"
        for name in ("spark.executor.memory", "spark.sql.warehouse.dir", "spark.no.such.thing", "spark.hadoop.a.b"):
            with pytest.raises(OptionError, match=f"it accepts the setting '{name}' only when it starts, or does not"):
                adjust(spark_kind, {name: "1"}, "it")
    finally:
        assert before is not None
        spark_kind.conf.set("spark.sql.shuffle.partitions", before)
        spark_kind.conf.unset("spark.sql.catalog.mine")


@pytest.mark.spark
def test_the_running_session_is_adjusted_where_no_place_is_named(spark: SparkSession) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert session(settings={"spark.sql.shuffle.partitions": "6"}) is spark
    assert spark.conf.get("spark.sql.shuffle.partitions") == "6"
    assert before is not None
    spark.conf.set("spark.sql.shuffle.partitions", before)
    with pytest.raises(
        OptionError, match=r"The running Spark session accepts the setting 'spark\.driver\.memory' only when"
    ):
        session(settings={"spark.driver.memory": "2g"})


def test_a_python_file_that_cannot_be_sent_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"There is no file or folder 'none\.zip'"):
        check_files(["none.zip"])
    with pytest.raises(OptionError, match=r"'rules\.yaml' is not a Python file for executors. Their names end in \.py"):
        check_files(["rules.yaml"])
    check_files(["hdfs://node/refute.zip"])
