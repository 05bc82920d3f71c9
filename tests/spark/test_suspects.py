"""The same suspects on Spark as in process, and halves that are DataFrames."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.cli.app import run
from refute.errors import DataError, EngineError

TABLE = pa.table(
    {
        "id": list(range(40)),
        "zip": [str(i // 8) for i in range(40)],
        "city": [f"city {i // 8}" if i % 11 else "nowhere" for i in range(40)],
        "salary": [i * 10 for i in range(40)],
        "rate": [i if i % 13 else 99 - i for i in range(40)],
    }
)
RULES = ["zip -> city", "not (s.zip = t.zip and s.salary < t.salary and s.rate > t.rate)", "row(rate <= 90)"]


def test_spark_blames_the_rows_that_this_process_blames(spark_kind: SparkSession) -> None:
    frame = spark_kind.createDataFrame(TABLE)
    here, there = rf.suspects(TABLE, RULES, key="id"), rf.suspects(frame, RULES, key="id")
    assert here.count > 0
    assert list(there) == list(here)
    assert (there.count, there.lower_bound, there.shares) == (here.count, here.lower_bound, here.shares)


def test_halves_are_frames_and_the_suspects_say_why(spark_kind: SparkSession) -> None:
    report = rf.check(spark_kind.createDataFrame(TABLE), RULES, key="id")
    clean, suspects = report.split()
    local_clean, local_suspects = rf.check(TABLE, RULES, key="id").split()
    assert clean.columns == TABLE.column_names
    assert sorted(row["id"] for row in clean.collect()) == local_clean["id"].to_pylist()
    told = {row["id"]: [why["rule"] for why in row["refute"]] for row in suspects.collect()}
    rows = local_suspects.to_pylist()
    assert told == {row["id"]: [why["rule"] for why in row["refute"]] for row in rows}


def test_positions_are_ids_of_files(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(TABLE, file)
    assert list(rf.suspects(str(file), RULES)) == list(rf.suspects(TABLE, RULES))
    folder = tmp_path / "apart"
    assert run(["check", str(file), "zip -> city", "--quarantine", str(folder)]) == 1
    halves = [pq.read_table(folder / name).num_rows for name in ("clean.parquet", "suspects.parquet")]
    blamed = rf.suspects(TABLE, "zip -> city").count
    assert halves == [TABLE.num_rows - blamed, blamed]


def test_what_does_not_fit_here_is_told(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TABLE)
    with pytest.raises(EngineError, match="may come here; raise driver_bytes"):
        rf.suspects(frame, RULES, key="id", driver_bytes=0)
    with pytest.raises(DataError, match="finding suspects needs row ids"):
        rf.suspects(frame, RULES)
