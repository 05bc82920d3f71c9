"""Columns that Spark has trouble with hinder no rule that leaves them alone; files mean the same on both engines."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
from pyspark.sql import DataFrame, SparkSession

import refute as rf
from refute.errors import DataError, InferredTypesWarning, SchemaError
from refute.language.rulebook import RuleBook
from refute.relation import read_local
from refute.spark import SparkEngine, frame_of
from refute.spark.budget import SparkBudget

pytestmark = pytest.mark.spark
TIMES, NEGATIVE = "spark.sql.timeType.enabled", "spark.sql.legacy.allowNegativeScaleOfDecimal"
HERE, THERE = SparkBudget(), SparkBudget(driver_bytes=0)


@contextlib.contextmanager
def setting(session: SparkSession, name: str, value: str) -> Iterator[None]:
    before = str(session.conf.get(name))
    session.conf.set(name, value)
    try:
        yield
    finally:
        session.conf.set(name, before)


def negative(digits: list[int], kind: pa.DataType) -> pa.Array:
    """A column of decimals with a negative scale, by its digits."""
    plain = pa.array(digits, getattr(pa, f"decimal{kind.bit_width}")(kind.precision, 0))
    return pa.Array.from_buffers(kind, len(plain), plain.buffers())


def test_times_in_files_hinder_no_rule_that_does_not_read_them(spark_kind: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    pyarrow.parquet.write_table(pa.table({"a": [1, 1], "at": pa.array([5, 6], pa.time64("us"))}), path)
    with setting(spark_kind, TIMES, "true"):
        engine = SparkEngine(path, session=spark_kind)
        assert [engine.count(next(iter(RuleBook.of(text)))) for text in ("unique(a)", "not (s.at < t.at)")] == [2, 1]
    with setting(spark_kind, TIMES, "false"):
        with pytest.warns(UserWarning, match=r"left out \('at'\).*timeType"):
            engine = SparkEngine(path, session=spark_kind)
        (found,) = engine.measure(list(RuleBook.of("unique(a)")), counts=True)
        assert found.finding.violations == 2
        assert found.values == {"s": {"a": 1}, "t": {"a": 1}}


def test_a_frame_with_times_that_the_session_does_not_know_is_one_sentence(spark: SparkSession) -> None:
    with setting(spark, TIMES, "true"):
        frame = spark.sql("select id a, time'10:00:00' at from range(3)")
    with setting(spark, TIMES, "false"):
        assert rf.count(frame, "unique(a)") == 0
        with pytest.raises(SchemaError, match=r"type TIME.*Set spark\.sql\.timeType"):
            rf.count(frame, "unique(at)")


@pytest.mark.parametrize("driver_bytes", [None, 0])
def test_days_and_moments_that_python_lacks_are_compared_and_shown(
    spark_kind: SparkSession, driver_bytes: int | None
) -> None:
    day, hour = "'+10010-01-01'", "'+10010-01-01 00:00:00'"
    row = f"date{day}, timestamp_ntz{hour}, timestamp{hour}"
    frame = spark_kind.sql(f"select * from values (1, {row}), (2, {row}) as t(id, d, n, z)")
    rules = {"unique(d)": 2, "not (s.n <= t.n and s.id < t.id)": 1, "not (s.z <= t.z)": 2, "d, n -> z": 0}
    assert [rf.count(frame, rule, driver_bytes=driver_bytes) for rule in rules] == list(rules.values())
    report = rf.check(frame, list(rules), key=["id", "d"], driver_bytes=driver_bytes)
    assert [one.finding.violations for one in report.results] == list(rules.values())
    assert "10010-01-01" in str(report.results[0].finding.witness)
    assert not rf.verify(frame, "unique(d)", key="id", driver_bytes=driver_bytes).holds
    with pytest.raises(DataError, match=r"The key d is not unique: 2 rows have d = '.*10010-01-01'"):
        rf.verify(frame, "unique(id)", key="d", driver_bytes=driver_bytes)


@pytest.mark.parametrize("driver_bytes", [None, 0])
def test_names_that_look_like_variables_of_sql_are_names(spark: SparkSession, driver_bytes: int | None) -> None:
    plain = spark.createDataFrame(pa.table({"id": [1, 2], "x": ["p", "p"], "y": [Decimal("1.50"), Decimal("2.50")]}))
    frame = plain.withColumnRenamed("x", "${x}").withColumnRenamed("y", "${y}")
    found = rf.check(frame, "`${x}` -> `${y}`", key="id", driver_bytes=driver_bytes).results[0].finding
    assert (found.violations, found.rows) == (2, 2)
    order = "not (s.`${x}` = t.`${x}` and s.`${y}` < t.`${y}` and s.id <= t.id)"
    assert rf.count(frame, order, driver_bytes=driver_bytes) == 1


def test_a_type_of_parquet_that_spark_lacks_is_one_sentence(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t.parquet")
    pyarrow.parquet.write_table(pa.table({"a": [1], "at": pa.array([5], pa.time32("ms"))}), path)
    with pytest.raises(DataError, match=r"no type for a column of '.*' \(INT32 \(TIME\(MILLIS,false\)\)\).*local"):
        SparkEngine(path, session=spark)


@pytest.mark.parametrize("kind", [pa.decimal32(5, -2), pa.decimal64(9, -2), pa.decimal128(9, -2), pa.decimal256(9, -2)])
def test_decimals_with_a_negative_scale_go_to_spark_exactly(spark: SparkSession, kind: pa.DataType) -> None:
    table = pa.table({"a": [1, 1, 2], "d": negative([1, 2, 2], kind)})
    frame = frame_of(table, spark)
    assert dict(frame.dtypes)["d"] == f"decimal({kind.precision + 2},0)"
    assert [row["d"] for row in frame.collect()] == [100, 200, 200]
    with pytest.raises(DataError, match=r"Spark has no type for the column 'd' \(decimal128\(38, -2\)\)"):
        frame_of(pa.table({"d": negative([1], pa.decimal128(38, -2))}), spark)


@pytest.mark.parametrize("budget", [HERE, THERE], ids=["fetched", "left on Spark"])
def test_decimals_with_a_negative_scale_on_spark_are_compared_exactly(spark: SparkSession, budget: SparkBudget) -> None:
    with setting(spark, NEGATIVE, "true"):
        frame: DataFrame = spark.sql("select id k, id % 2 a, (id % 3) * 1e2BD d, 12e2BD f, id % 3 e from range(30)")
        assert dict(frame.dtypes)["f"] == "decimal(2,-2)"
        local = frame.toArrow()
        engine = SparkEngine(frame, key=["k"], budget=budget)
        for text in ("unique(a)", "unique(d)", "a -> d", "not (s.d < t.f)", "row(d > 150)", "not (s.f = t.d)"):
            (rule,) = RuleBook.of(text)
            expected = rf.count(local, text)
            assert engine.count(rule) == expected, text
            assert engine.verify(rule).holds == (expected == 0), text


@pytest.mark.parametrize("budget", [HERE, THERE], ids=["fetched", "left on Spark"])
def test_rows_with_days_beyond_those_of_python_are_shown(
    spark: SparkSession, budget: SparkBudget, tmp_path: Path
) -> None:
    path = str(tmp_path / "t.parquet")
    far = pa.array([2**31 - 1] * 2, pa.int32()).cast(pa.date32())
    pyarrow.parquet.write_table(pa.table({"a": [1, 1], "day": far}), path)
    engine = SparkEngine(path, session=spark, budget=budget)
    (found,) = engine.measure(list(RuleBook.of("unique(a)")), counts=True)
    assert found.values == {"s": {"a": 1}, "t": {"a": 1}}


@pytest.mark.parametrize("kind", ["parquet", "orc", "json"])
def test_files_that_spell_a_column_in_two_ways_are_refused(spark: SparkSession, kind: str, tmp_path: Path) -> None:
    for name, column in (("1", "Zip"), ("2", "zip")):
        table, file = pa.table({column: [1], "b": [1]}), tmp_path / f"{name}.{kind}"
        match kind:
            case "parquet":
                pyarrow.parquet.write_table(table, file)
            case "orc":
                pyarrow.orc.write_table(table, file)
            case _:
                file.write_text(json.dumps(table.to_pylist()[0]))
    with pytest.raises(DataError, match=r"differ only by case: .*'Zip' and .*'zip'|called 'zip', or differ"):
        SparkEngine(str(tmp_path), session=spark)


@pytest.mark.parametrize(
    ("text", "words"),
    [('{"a":1,"A":2}\n', "differ only by case"), ("5\n", "does not fit"), ('{"a":1}\nnull\n', "t.json")],
)
@pytest.mark.usefixtures("spark")
def test_json_that_is_not_one_object_a_line_is_refused(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InferredTypesWarning)
        with pytest.raises(DataError, match=words):
            rf.count(str(tmp_path / "t.json"), "unique(a)", engine="spark")


def test_whole_numbers_of_json_beyond_64_bits_are_the_same_on_both_engines(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"a":9223372036854775808}\n{"a":9223372036854775809}\n{"a":1}\n')
    (rule,) = RuleBook.of("unique(a)")
    with pytest.warns(InferredTypesWarning):
        engine = SparkEngine(str(path), session=spark)
    assert engine.types.type_of("a").arrow_type == read_local(path).column("a").type
    assert engine.count(rule) == rf.count(str(path), "unique(a)", engine="local") == 0
