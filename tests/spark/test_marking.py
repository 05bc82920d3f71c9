"""Marked and split rows of tables of any size, with columns of any name and type beside those that rules read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import refute as rf
from refute.errors import DataError, SchemaError
from refute.language.rulebook import RuleBook
from refute.report.violations import Violations
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from refute.spark.source.opening import open_source

pytestmark = pytest.mark.spark

ROWS = 60
TABLE = pa.table(
    {
        "id": range(ROWS),
        "g": [i % 2 for i in range(ROWS)],
        "a": [i % 5 if i % 9 else None for i in range(ROWS)],
        "b": [(i * 7) % 11 for i in range(ROWS)],
    }
)
RULES = (
    "row(a < 4)",
    "unique(g)",
    "not (s.a = 1 and t.b = 2)",
    "not (s.g = t.g and s.a < t.a and s.b > t.b)",
)
DISTRIBUTED = SparkBudget(driver_bytes=0, task_rows=20, tasks_per_core=1, sample_rows=1)


def test_marks_of_a_small_table_are_those_in_process(spark: SparkSession) -> None:
    local, report = rf.check(TABLE, RULES, key="id"), rf.check(frame_of(TABLE, spark), RULES, key="id")
    expected = {row["id"]: [tuple(one.values()) for one in row["refute"]] for row in local.rows.to_pylist()}
    assert {row["id"]: [tuple(breach) for breach in row["refute"]] for row in report.rows.collect()} == expected
    assert [part.count() for part in report.split()] == [part.num_rows for part in local.split()]


@pytest.mark.parametrize("text", RULES[1:3])
def test_large_groups_of_rules_without_order_are_listed_and_counted(spark: SparkSession, text: str) -> None:
    engine = SparkEngine(frame_of(TABLE, spark), key=["id"], budget=DISTRIBUTED)
    (rule,) = RuleBook.of(text)
    truth = rf.violations(TABLE, text, key="id")
    assert sorted(Violations(engine, rule)) == sorted(truth)
    assert engine.count(rule) == rf.count(TABLE, text)


def test_keys_of_several_columns_may_have_any_name(spark_kind: SparkSession) -> None:
    names = ("order-id, `x`", "line.no")
    frame = frame_of(TABLE.select(["id", "g", "b"]), spark_kind).toDF(*names, "b")
    found = rf.violations(frame, "unique(b)", 3, key=list(names))
    assert [set(row) for row in found.to_arrow().column("s").to_pylist()] == [set(names)] * 3


@pytest.mark.parametrize(
    ("key", "budget"), [(["at"], SparkBudget()), (["at"], DISTRIBUTED), (["at", "n"], DISTRIBUTED)]
)
def test_ids_are_the_same_however_they_come(spark: SparkSession, key: list[str], budget: SparkBudget) -> None:
    moments = [dt.datetime(2024, 3, 31, hour, tzinfo=dt.UTC) for hour in range(4)]
    table = pa.table({"at": pa.array(moments, pa.timestamp("us", "UTC")), "n": range(4), "g": [0] * 4})
    engine = SparkEngine(frame_of(table, spark), key=key, budget=budget)
    (rule,) = RuleBook.of("not (s.g = t.g and s.n < 1 and t.n > 2)")
    found = Violations(engine, rule)
    (listed,) = found
    assert listed == engine.verify(rule).witness
    assert listed[0] == (moments[0] if key == ["at"] else {"at": moments[0], "n": 0})
    assert found.to_arrow().column("s").to_pylist() == [listed[0]]


def test_columns_may_have_names_that_are_used_inside(spark: SparkSession, tmp_path: Path) -> None:
    names = ["breaches", "Refute", "__file", "__block", "__id", "__task", "__broken", "__wanted", "s", "cs", "e0", "c1"]
    table = TABLE.select(["g", "a"])
    for name in names:
        table = table.append_column(name, TABLE.column("b"))
    for part in (0, 1):
        pq.write_table(table.slice(part * 30, 30), tmp_path / f"{part}.parquet")
    report = rf.check(spark.read.parquet(str(tmp_path)), ["g -> a"])
    clean, broken = report.split()
    local = rf.check(table, ["g -> a"])
    assert [clean.count(), broken.count()] == [part.num_rows for part in local.split()]
    assert clean.columns == table.column_names


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["__refute_id", "a"], "a name that Refute reserves"),
        (["a", "a"], "The table has more than one column 'a'"),
        (["a", "A"], "cannot distinguish"),
    ],
)
def test_names_that_cannot_do_are_told(spark: SparkSession, columns: list[str], message: str) -> None:
    with pytest.raises((DataError, SchemaError), match=message):
        open_source(spark.range(2).select(F.col("id"), F.col("id")).toDF(*columns))


def test_a_key_names_each_column_once(spark: SparkSession) -> None:
    with pytest.raises(SchemaError, match="'id' is listed twice"):
        rf.verify(spark.range(2), "unique(id)", key=["id", "id"])


def test_a_column_that_no_rule_reads_may_have_any_type(spark: SparkSession) -> None:
    made = ("make_ym_interval(1, 2)", "make_interval(1, 2)", "map('k', id)", "parse_json('1')")
    frame = frame_of(TABLE, spark).selectExpr("*", *(f"{one} as beside{i}" for i, one in enumerate(made)))
    report = rf.check(frame, ["unique(g)"], key="id")
    assert report.results[0].finding.violations == rf.count(TABLE, "unique(g)")
    assert report.split(blame="all")[1].count() == ROWS


def _cached(frame: DataFrame) -> DataFrame:
    cached = frame.cache()
    cached.count()
    return cached


def _first_of(frame: DataFrame) -> DataFrame:
    return frame.withColumn("v", F.col("v")[0])


@pytest.mark.parametrize("made", [_cached, _first_of], ids=["cached", "computed under its old name"])
def test_files_tell_nothing_of_what_a_frame_makes_of_them(
    spark: SparkSession, tmp_path: Path, made: Callable[[DataFrame], DataFrame]
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": range(ROWS), "v": [[i % 7, i] for i in range(ROWS)]}), path)
    frame = made(spark.read.parquet(str(path)))
    try:
        engine = SparkEngine(frame, budget=SparkBudget(driver_bytes=8, sample_rows=4))
        assert engine.source.most_rows() == ROWS
        (rule,) = RuleBook.of("unique(id)" if made is _cached else "unique(v)")
        assert engine.count(rule) == (0 if made is _cached else sum(n * (n - 1) for n in [9] * 4 + [8] * 3))
    finally:
        frame.unpersist()
