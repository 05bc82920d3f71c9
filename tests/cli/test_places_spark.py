"""Where commands write through Spark: its file systems, tables of its catalog, and clear words where it has neither."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.cli import app as frame
from refute.cli.exits import Exit

pytestmark = pytest.mark.spark

TABLE = pa.table({"id": [1, 2, 3, 4], "zip": ["a", "a", "a", "b"], "city": ["x", "x", "y", "z"], "qty": [1, -1, 2, 3]})
CLASH = "zip -> city"


def run(arguments: Sequence[str]) -> int:
    """The exit code of a command whose data Spark reads, small as it is, unless the arguments name another engine."""
    return frame.run([arguments[0], "--engine", "spark", *arguments[1:]])


@pytest.fixture
def data(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table with four violations; the current folder is its own, so nothing strange is made there unseen."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(TABLE, "rows.parquet")
    return "rows.parquet"


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """A schema of the catalog."""
    spark.sql("create schema places")
    yield "places"
    spark.sql("drop schema places cascade")


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one message of a run that failed."""
    assert run(arguments) == Exit.FAILED
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    return told.err.strip()


@pytest.mark.parametrize("flag", ["--violations", "--json", "--html", "--junit"])
def test_a_file_system_that_spark_lacks_is_told_before_the_check(
    data: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for scheme in ("fake", "abfss", "gs"):
        # The rule does not fit, and nothing says so: places come first.
        told = failure(capsys, "check", data, "nothing -> at_all", flag, f"{scheme}://place/out")
        assert told.startswith(f"refute: Spark has no file system for {scheme}:// addresses")
    assert [path.name for path in Path().iterdir()] == [data]
    assert "no file system for fake://" in failure(capsys, "discover", data, "--out", "fake://place/rules.yaml")


def test_addresses_of_this_machine_work_for_all_that_is_written(data: str, tmp_path: Path) -> None:
    base = tmp_path.as_uri()
    outputs = ["--json", f"{base}/r.json", "--html", f"{base}/r.html", "--junit", f"{base}/r.xml"]
    assert run(["check", data, CLASH, "--quiet", *outputs, "--violations", f"{base}/deep/clashes"]) == Exit.ERROR
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["rules"][0]["violations"] == 4
    assert (tmp_path / "r.html").is_file()
    assert (tmp_path / "r.xml").is_file()
    assert run(["check", data, CLASH, "--quiet", "--violations", "plain"]) == Exit.ERROR
    assert pq.read_table(tmp_path / "plain" / "zip_fixes_city").num_rows == 4
    assert pq.read_table(tmp_path / "deep" / "clashes" / "zip_fixes_city").num_rows == 4
    assert run(["check", f"{base}/rows.parquet", CLASH, "--quiet"]) == Exit.ERROR


def test_a_table_takes_the_violations_of_all_rules(data: str, schema: str, spark: SparkSession) -> None:
    book = {"version": 1, "rules": [{"name": "fd", "fd": CLASH}, {"name": "qty", "row": "qty >= 0"}]}
    rf.load_rules(book).to_yaml("rules.yaml")
    target = f"table:{schema}.clashes"
    for _ in range(2):  # again: a later run takes the place of an earlier one
        assert run(["check", data, "rules.yaml", "--key", "id", "--quiet", "--violations", target]) == Exit.ERROR
        found = spark.table(f"{schema}.clashes")
        assert found.columns[:4] == ["rule", "s", "t", "s_id"]
        assert {"t_id", "s_zip", "t_zip", "s_city", "t_city"} <= set(found.columns), "those of all rules"
        rows = sorted(tuple(row) for row in found.select("rule", "s", "t", "s_id", "t_id").collect() if row["t"])
        pairs = [(1, 3), (2, 3), (3, 1), (3, 2)]
        assert rows == [("fd", s, t, s, t) for s, t in pairs]
        (row,) = found.where("rule = 'qty'").collect()
        assert (row["s"], row["t"], row["s_id"], row["t_id"], row["t_qty"], row["s_zip"]) == (
            2,
            None,
            2,
            None,
            None,
            None,
        )
        assert row["s_qty"] < 0
    assert run(["check", data, "unique(id)", "--key", "id", "--quiet", "--violations", target]) == Exit.HOLDS
    assert spark.table(f"{schema}.clashes").count() == 0
    assert spark.table(f"{schema}.clashes").columns == ["rule", "s", "t", "s_id", "t_id"]


def test_a_table_that_is_not_one_of_violations_is_never_written_over(
    data: str, schema: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    spark.read.parquet(str(Path(data).absolute())).write.saveAsTable(f"{schema}.sales")
    told = failure(capsys, "check", data, "nothing -> at_all", "--violations", f"table:{schema}.sales")
    assert f"'{schema}.sales' already exists and is not a table of violations" in told
    assert spark.table(f"{schema}.sales").count() == 4
    told = failure(capsys, "check", data, "nothing -> at_all", "--violations", "table:no_such.clashes")
    assert "The catalog has no schema 'no_such' for the table 'no_such.clashes'. Create it first" in told
    told = failure(capsys, "check", data, "nothing -> at_all", "--violations", "table:a b")
    assert "'a b' is not a valid table name" in told


def test_settings_reach_the_session_that_the_command_finds(
    data: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    assert run(["check", data, CLASH, "--quiet", "--conf", "spark.sql.shuffle.partitions=5"]) == Exit.ERROR
    assert spark.conf.get("spark.sql.shuffle.partitions") == "5"
    assert before is not None
    spark.conf.set("spark.sql.shuffle.partitions", before)
    told = failure(capsys, "check", data, CLASH, "--conf", "spark.executor.memory=1g")
    assert "accepts the setting 'spark.executor.memory' only when it starts" in told
    assert "There is no file or folder 'none.zip'" in failure(capsys, "check", data, CLASH, "--py-files", "none.zip")
