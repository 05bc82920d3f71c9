"""Names of columns on Spark: fields inside structs, and case as Spark's setting has it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import refute as rf
from refute.errors import SchemaError
from refute.language.rulebook import RuleBook
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine

pytestmark = pytest.mark.spark

# One field twice as deep, one with a dot in its own name, and a column that is named like a field.
ROWS = [(i, (i % 3, i // 3, (i * 7 % 5,)), i % 2, f"z{i % 4}") for i in range(24)]
SCHEMA = "id int, st struct<p int, `q.r` int, deep struct<x int>>, `st.q` int, ZIP string"
FLAT = pa.table(
    {
        "id": [row[0] for row in ROWS],
        "st.p": [row[1][0] for row in ROWS],
        "st.q.r": [row[1][1] for row in ROWS],
        "st.deep.x": [row[1][2][0] for row in ROWS],
        "st.q": [row[2] for row in ROWS],
        "ZIP": [row[3] for row in ROWS],
    }
)
RULES = (
    "not (s.st.p = t.st.p and s.`st.deep.x` < t.st.deep.x and s.id > t.id)",
    "`st.p`, ZIP -> `st.q.r`",
    "unique(`st.q`, `st.deep.x`)",  # the column, not a field of `st`
    "row(s.st.p < 2)",
)


@pytest.fixture
def frame(spark_kind: SparkSession) -> DataFrame:
    return spark_kind.createDataFrame(ROWS, SCHEMA)


@contextlib.contextmanager
def case_counts(session: SparkSession) -> Iterator[None]:
    session.conf.set("spark.sql.caseSensitive", "true")
    try:
        yield
    finally:
        session.conf.set("spark.sql.caseSensitive", "false")


@pytest.mark.parametrize("rule", RULES)
def test_fields_of_structs_answer_like_columns(frame: DataFrame, rule: str) -> None:
    (expected,) = rf.check(FLAT, rule, key="id").results
    for budget in (SparkBudget(), SparkBudget(driver_bytes=0, sample_rows=2)):
        engine = SparkEngine(frame, key=["id"], budget=budget)
        (timed,) = engine.measure([RuleBook.of(rule)[0]], counts=True)
        assert (timed.finding.violations, timed.finding.rows) == (expected.finding.violations, expected.finding.rows)
    listed = rf.violations(frame, rule, key="id").to_arrow()
    assert sorted(listed.column("s").to_pylist()) == sorted(s for s, *_ in rf.violations(FLAT, rule, key="id"))
    assert rf.verify(frame, rule).holds is expected.finding.holds is False


def test_a_report_shows_fields_and_marks_the_rows_of_the_table_alone(frame: DataFrame) -> None:
    report = rf.check(frame, "not (s.st.p = t.st.p and s.zip = t.ZIP and s.id < t.id)")
    (result,) = report.results
    assert result.rule.constraint.columns == ("st.p", "ZIP", "id")
    assert result.values is not None
    assert result.values["s"] is not None
    assert {"st.p", "ZIP", "id"} <= result.values["s"].keys()
    assert "st.p" in str(report)
    found = json.loads(report.to_json())
    assert found["data"]["columns"] == ["id", "st", "st.q", "ZIP"]
    assert "st.p" in found["rules"][0]["witness"]["s"]
    marked = rf.check(frame, "not (s.st.p = t.st.p and s.id < t.id)", key="ID").rows
    assert marked.columns == ["id", "st", "st.q", "ZIP", "refute"]


def test_a_key_may_be_a_field_or_of_another_case(frame: DataFrame) -> None:
    rule = "ZIP -> id"
    for key in (["ID"], ["st.P", "St.q.r", "zip"]):
        listed = rf.violations(frame, rule, key=key).to_arrow()
        spelled = ["id"] if key == ["ID"] else ["st.p", "st.q.r", "ZIP"]
        read = [*spelled, *(name for name in ("ZIP", "id") if name not in spelled)]
        assert listed.column_names == ["s", "t", *(f"{role}_{name}" for role in "st" for name in read)]
        assert len(listed) == rf.count(FLAT, rule)
        assert len(list(rf.violations(frame, rule, key=key))) == len(listed)


def test_case_follows_the_setting_of_the_session(frame: DataFrame) -> None:
    assert rf.count(frame, "zip -> `ST.P`") == rf.count(FLAT, "ZIP -> `st.p`")
    with case_counts(frame.sparkSession):
        with pytest.raises(SchemaError, match=r"no column 'zip'.*Did you mean 'ZIP'"):
            rf.count(frame, "zip -> id")
        with pytest.raises(SchemaError, match=r"no column 'st\.P'"):
            rf.count(frame, "ZIP -> `st.P`")
        with pytest.raises(SchemaError, match="no key column 'ID'"):
            rf.violations(frame, "ZIP -> id", key="ID")
        assert rf.count(frame, "ZIP -> `st.p`") == rf.count(FLAT, "ZIP -> `st.p`")


def test_columns_that_differ_by_case_alone_are_told_apart_where_case_counts(spark: SparkSession) -> None:
    with case_counts(spark):
        frame = spark.createDataFrame([(1, 1), (1, 2), (2, 2)], "a int, A int")
        assert rf.count(frame, "unique(a)") == 2
        assert rf.count(frame, "a -> A") == 2
        assert rf.count(frame, "A -> a") == 2


def test_what_leads_nowhere_is_named_as_it_was_written(frame: DataFrame) -> None:
    for name in ("st.nothing", "id.p", "st.deep.x.y"):
        with pytest.raises(SchemaError, match=f"no column '{name}'"):
            rf.count(frame, f"`{name}` -> ZIP")
    with pytest.raises(SchemaError, match="struct"):
        rf.count(frame, "st -> ZIP")


def test_discovery_looks_at_fields_that_are_named(frame: DataFrame) -> None:
    found = rf.discover(frame, columns=["ID", "st.p", "St.Deep.x"], cross_columns=False)
    expected = rf.discover(FLAT, columns=["id", "st.p", "st.deep.x"], cross_columns=False)
    assert sorted(rule.text for rule in found.rules) == sorted(rule.text for rule in expected.rules)


def test_tables_in_memory_keep_to_the_exact_spelling() -> None:
    with pytest.raises(SchemaError, match=r"no column 'zip'.*Did you mean 'ZIP'"):
        rf.count(FLAT, "zip -> id")
