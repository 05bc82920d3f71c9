"""Arithmetic in comparisons: Spark gives the answers of exact Python, in whichever way it answers."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import oracle
import refute as rf
from arithmetic_cases import arithmetic_case
from refute.errors import DataError, SchemaError
from refute.language.rulebook import Rule
from refute.report.violations import Violations
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from spark_laws import DISTRIBUTED
from thorough import THOROUGH, examples

pytestmark = pytest.mark.spark


@examples(4, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_spark_gives_the_answers_of_exact_python(spark: SparkSession, seed: int) -> None:
    case = arithmetic_case(seed)
    rule = Rule.of(case.rule)
    engine = SparkEngine(frame_of(case.table, spark), key=["id"], budget=DISTRIBUTED)
    (timed,) = engine.measure([rule], counts=True)
    rows = len(oracle.rows_in_violation(case.truth))
    assert (timed.finding.holds, timed.finding.violations, timed.finding.rows) == (
        not case.truth,
        len(case.truth),
        rows,
    )
    assert engine.verify(rule).holds == (not case.truth)
    found = Violations(engine, rule).to_arrow()
    assert sorted(zip(found["s"].to_pylist(), found["t"].to_pylist(), strict=True)) == case.truth
    assert [name for name in found.column_names if "=" in name] == []


ROWS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "Price": [Decimal("1.50"), Decimal("2.00"), Decimal("3.25"), None],
        "qty": [1, 2, 3, 4],
        "total": [Decimal("1.50"), Decimal("4.00"), Decimal("9.70"), Decimal("1.00")],
        "at": pa.array([dt.datetime(2024, 3, 31, hour) for hour in (0, 1, 2, 3)], pa.timestamp("us", "UTC")),
        "place": [{"x": 1}, {"x": 2}, {"x": 3}, {"x": 9}],
    }
)
RULES = [
    {"name": "total", "row": "total = price * qty"},
    {"name": "pairs", "dc": "not (s.qty + 1 = t.qty and s.Price * 2 > t.total)"},
    {"name": "field", "row": "`place.x` + 1 = qty + 1", "where": "qty - 1 < 3"},
    {"name": "hours", "dc": "not (s.at + 1 hour = t.at)", "severity": "warn"},
]
COUNTS = {"total": 1, "pairs": 1, "field": 0, "hours": 3}


@pytest.mark.parametrize("budget", [{}, {"driver_bytes": 0}])
def test_checks_rows_and_suspects_keep_the_tables_own_columns(
    spark_kind: SparkSession, tmp_path: Path, budget: dict[str, Any]
) -> None:
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    frame = spark_kind.read.parquet(str(tmp_path / "rows.parquet"))
    rules = RULES if THOROUGH or not budget else RULES[:3]  # each rule about pairs takes many jobs there
    report = rf.check(frame, {"version": 1, "rules": rules}, key="id", **budget)
    found = {one.name: one.finding.violations for one in report.results}
    assert found == {rule["name"]: COUNTS[rule["name"]] for rule in rules}
    assert report.results[0].columns == ("Price", "qty", "total")
    assert set((report.results[0].values or {})["s"] or {}) == {"id", "Price", "qty", "total"}
    assert report.rows.columns == [*frame.columns, "refute"]
    clean, blamed = report.split()
    assert clean.count() + blamed.count() == 4
    cells = {(one["id"], one["rule"], one["column"]) for one in report.suspects.to_arrow().to_pylist()}
    assert {(3, "total", "Price"), (3, "total", "qty"), (3, "total", "total")} <= cells
    assert not any("=" in str(column) for _, _, column in cells)


def test_settings_of_the_session_do_not_change_what_is_computed(spark: SparkSession) -> None:
    table = pa.table(
        {
            "id": [1, 2],
            "a": [2**63 - 1, -(2**63)],
            "w": pa.array([Decimal("1234567890123456.789"), Decimal("0.001")], pa.decimal128(20, 3)),
            "z": pa.array([dt.datetime(2024, 3, 31), dt.datetime(2024, 4, 1)], pa.timestamp("us", "UTC")),
        }
    )
    rules = [f"row(a * a >= {(2**63 - 1) ** 2})", "row(w * 0.001 = 0.000001)", "not (s.z + 1 day = t.z)"]
    settings = {"spark.sql.ansi.enabled": "false", "spark.sql.decimalOperations.allowPrecisionLoss": "false"}
    for changed in (dict[str, str](), settings, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        before = {name: str(spark.conf.get(name)) for name in changed}
        for name, value in changed.items():
            spark.conf.set(name, value)
        try:
            counts = [rf.count(frame_of(table, spark), rule, driver_bytes=0) for rule in rules]
        finally:
            for name, old in before.items():
                spark.conf.set(name, old)
        assert counts == [0, 1, 1]


def test_a_constant_is_the_number_that_it_spells_however_it_is_written(spark: SparkSession) -> None:
    table = pa.table({"id": [1, 2, 3], "a": [1, 2, 10], "p": [Decimal("1.10"), Decimal("2.00"), Decimal("0.00")]})
    frame = frame_of(table, spark)
    rules = {
        "row(a * 1.0 = p)": 2,
        "row(a + 10.0 = 20)": 2,
        "row(p * 2.0 = 2.2)": 2,
        "row(a + 0.00 = 1e1)": 2,
        "row(a * 1e1 = 1.50 * 0 + a * 10.000)": 0,
        "not (s.a = 2 * 2.5 * t.p)": 1,
        "not (s.a - 0.0 = 5.00 * t.a)": 1,
    }
    asked = [
        {"name": f"r{number}", "dc" if "not" in rule else "row": rule.removeprefix("row")}
        for number, rule in enumerate(rules)
    ]
    assert [rf.count(table, rule) for rule in rules] == list(rules.values())
    report = rf.check(frame, {"version": 1, "rules": asked}, key="id")
    assert [one.finding.violations for one in report.results] == list(rules.values())


def test_spark_refuses_what_one_process_refuses(spark: SparkSession) -> None:
    table = pa.table({"a": [1], "word": ["x"], "d": pa.array([2**31 - 1], pa.int32()).cast(pa.date32())})
    frame = frame_of(table, spark)
    for rule in ("row(word + 1 > 3)", "row(a * a * a > 3)", "row(b + 1 > 3)", "row(d + 1 > d)"):
        with pytest.raises(SchemaError) as here:
            rf.count(table, rule)
        with pytest.raises(SchemaError) as there:
            rf.count(frame, rule)
        assert str(there.value) == str(here.value)
    with pytest.raises(SchemaError, match=r"stands for arithmetic in rules\. Rename it"):
        rf.count(frame.withColumn("=a + 1", F.lit(5)), "row(a + 1 > 3)")


@pytest.mark.parametrize(
    ("sign", "days"), [("+", 1), ("-", 106_751_991), ("+", 106_751_992), ("+", 2**63 - 1), ("-", 10**20)]
)
def test_moments_beyond_their_type_are_refused_in_the_same_words(spark: SparkSession, sign: str, days: int) -> None:
    ends = [2**31 - 1, None] if sign == "+" else [-(2**31), None]
    micros = pa.array([10**15 if sign == "+" else -(10**15), None])
    table = pa.table(
        {
            "d": pa.array(ends, pa.int32()).cast(pa.date32()),
            "t": micros.cast(pa.timestamp("us")),
            "z": micros.cast(pa.timestamp("us", "UTC")),
            "n": [1, 2],
        }
    )
    frame = frame_of(table, spark)
    for name in table.column_names[:3]:
        rule = {"rules": [{"name": "r", "row": f"{name} {sign} {days} days = {name}"}]}
        assert rf.count(frame.where("n > 1"), rule, driver_bytes=0) == rf.count(table.slice(1), rule) == 0  # only nulls
        if days == 1 and name != "d":
            assert rf.count(frame, rule, driver_bytes=0) == rf.count(table, rule) == 1
            continue
        with pytest.raises(DataError, match=f"gives a moment that '{name}'") as here:
            rf.count(table, rule)
        with pytest.raises(DataError) as there:
            rf.count(frame, rule, driver_bytes=0)
        assert str(there.value) == str(here.value)
        assert there.value.facts == here.value.facts
