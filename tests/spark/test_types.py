"""Columns of every type have the same answers on Spark as in process, whatever the session's settings."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

import oracle
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.report.violations import Violations
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.expressions import literal
from refute.spark.source.frames import frame_of

pytestmark = pytest.mark.spark

DISTRIBUTED = SparkBudget(driver_bytes=0, task_rows=20, tasks_per_core=1, sample_rows=1)
MIDNIGHT = dt.datetime(2020, 1, 20)
HOUR = dt.timedelta(hours=1)


@contextmanager
def _settings(session: SparkSession, **values: str) -> Iterator[None]:
    """The session with these settings, which are as before afterwards; `__` stands for a dot."""
    wanted = {"spark.sql." + name.replace("__", "."): value for name, value in values.items()}
    before = {name: str(session.conf.get(name)) for name in wanted}
    for name, value in wanted.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            session.conf.set(name, value)


def _rule(text: str, nulls: str = "sql") -> Rule:
    (rule,) = RuleBook.of(text).with_nulls(Nulls(nulls))
    return rule


def _numbered(table: pa.Table) -> pa.Table:
    return table.append_column("id", pa.array(range(table.num_rows), pa.int64()))


def _check(frame: DataFrame, table: pa.Table, text: str, nulls: str = "sql") -> int:
    """The number of violations, once Spark has counted and verified as the definition says; the key is `id`."""
    rule = _rule(text, nulls)
    truth = oracle.violations(table, rule.constraint, nulls)
    engine = SparkEngine(frame, key=["id"], budget=DISTRIBUTED)
    assert engine.count(rule) == len(truth)
    verdict = engine.verify(rule)
    assert verdict.holds == (not truth)
    if verdict.witness is not None:
        assert (verdict.witness[:1] if rule.constraint.is_single_row else tuple(verdict.witness)) in truth
    return len(truth)


def _moments() -> pa.Table:
    """Moments around a midnight, few of them distinct, with and without a zone."""
    places = [i * 7 % 9 for i in range(27)]
    plain = [MIDNIGHT + (place - 4) * HOUR for place in places]
    zoned = [moment.replace(tzinfo=dt.UTC) for moment in plain]
    return pa.table(
        {
            "z": pa.array([None if i == 5 else moment for i, moment in enumerate(zoned)], pa.timestamp("us", "UTC")),
            "y": pa.array(zoned[3:] + zoned[:3], pa.timestamp("us", "UTC")),
            "n": pa.array(plain, pa.timestamp("us")),
            "a": [i * 5 % 11 for i in range(27)],
        }
    )


@pytest.mark.parametrize(
    "text",
    [
        "not (s.z > timestamp '2020-01-20 01:30:00+02:00')",
        "not (s.z >= timestamp '2020-01-20 02:00:00+02:00' and s.z = t.y and s.a < t.a)",
    ],
)
def test_moments_are_the_same_whatever_the_session_calls_a_timestamp(spark: SparkSession, text: str) -> None:
    table = _moments()
    with _settings(spark, timestampType="TIMESTAMP_NTZ", session__timeZone="America/New_York"):
        assert _check(frame_of(_numbered(table), spark), table, text)


def test_moments_are_the_same_through_connect(connect: SparkSession) -> None:
    table = _moments()
    with _settings(connect, timestampType="TIMESTAMP_NTZ", session__timeZone="America/New_York"):
        assert _check(frame_of(_numbered(table), connect), table, "row(z < timestamp '2020-01-20 01:30:00+02:00')")


def test_a_constant_moment_is_an_instant_even_at_the_ends_of_time(spark_kind: SparkSession) -> None:
    moments = [
        dt.datetime(1, 1, 1, tzinfo=dt.timezone(5 * HOUR)),
        dt.datetime(2020, 11, 1, 1, 30, fold=1, tzinfo=ZoneInfo("America/New_York")),
        dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(-5 * HOUR)),
    ]
    with _settings(spark_kind, timestampType="TIMESTAMP_NTZ", session__timeZone="Asia/Kolkata"):
        frame = spark_kind.range(1).select(
            *(literal(one, "timestamp").alias(f"m{i}") for i, one in enumerate(moments)),
            literal(None, "timestamp").alias("none"),
        )
        assert all(field.dataType == TimestampType() for field in frame.schema)
        found = frame.select(*(F.unix_micros(name) for name in frame.columns)).collect()[0]
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert tuple(found) == (*((one - epoch) // dt.timedelta(microseconds=1) for one in moments), None)


WORDS = ("abc", "ABC", "abd", "Zed", "zed", "é", "É", "abc ", None)


def _words(session: SparkSession, collation: str, times: int = 2) -> tuple[DataFrame, pa.Table]:
    """Texts with a collation in `c`, and without in `p`."""
    words = [WORDS[i * 4 % 9] for i in range(9 * times)]
    table = pa.table({"c": words, "p": words[5:] + words[:5], "a": [i % 5 for i in range(9 * times)]})
    return frame_of(_numbered(table), session).withColumn("c", F.collate("c", collation)), table


@pytest.mark.parametrize(
    "text",
    [
        "row(c = 'abc')",
        "unique(c)",
        "c -> a",
        "not (s.c = t.p and s.a < t.a)",
        "not (s.c < t.c)",
        "not (s.c < t.p and s.a != t.a)",
    ],
)
def test_texts_with_a_collation_compare_by_code_point(spark: SparkSession, text: str) -> None:
    assert _check(*_words(spark, "UTF8_LCASE"), text, "equal")


def test_texts_with_a_collation_are_listed_and_marked_by_code_point(spark: SparkSession) -> None:
    frame, table = _words(spark, "UTF8_LCASE")
    rules = [_rule("not (s.c = t.c and s.a < t.a)"), _rule("c -> a"), _rule("row(c < 'b')")]
    found = [oracle.violations(table, rule.constraint) for rule in rules]
    engine = SparkEngine(frame, key=["id"], budget=DISTRIBUTED)
    assert sorted(Violations(engine, rules[0])) == found[0]
    marked = engine.marked(rules[1:])
    assert marked.schema["c"] == frame.schema["c"]
    truth = {row for violation in found[1] + found[2] for row in violation}
    assert {row["id"] for row in marked.collect() if row["refute"]} == truth
    measured = engine.measure(rules[1:], counts=True)
    assert [one.finding.violations for one in measured] == [len(violations) for violations in found[1:]]


def test_texts_with_a_collation_compare_by_code_point_through_connect(connect: SparkSession) -> None:
    assert _check(*_words(connect, "UTF8_BINARY_RTRIM"), "unique(c)")


def test_few_distinct_texts_with_a_collation_are_summarised_by_code_point(spark: SparkSession) -> None:
    frame, table = _words(spark, "UNICODE_CI", times=20)
    rule = _rule("not (s.c < t.p)")
    engine = SparkEngine(frame, key=["id"], budget=SparkBudget(driver_bytes=0, sample_rows=1000))
    assert engine.prepared(rule).way.name == "summarise"
    truth = oracle.violations(table, rule.constraint)
    assert engine.count(rule) == len(truth)
    assert engine.prepared(rule).partners().count() == len(oracle.rows_in_violation(truth))


def test_a_key_may_have_a_collation(spark: SparkSession) -> None:
    names = ["a", "b", "C", "d"]
    table = pa.table({"k": names, "x": [1, 2, 3, 0], "c": ["u", "U", "u", "U"]})
    frame = frame_of(table, spark).withColumns({name: F.collate(name, "UTF8_LCASE") for name in ("k", "c")})
    rule = _rule("c -> x")
    engine = SparkEngine(frame, key=["k"], budget=DISTRIBUTED)
    assert sorted(Violations(engine, rule)) == [("C", "a"), ("a", "C"), ("b", "d"), ("d", "b")]
    assert {row["k"] for row in engine.marked([rule]).collect() if row["refute"]} == set(names)
    alike = SparkEngine(frame.withColumn("k", F.translate("k", "b", "A")), key=["k"])
    assert sorted(Violations(alike, rule)) == [("A", "d"), ("C", "a"), ("a", "C"), ("d", "A")]


def test_tables_without_a_collation_are_read_as_they_are(spark: SparkSession) -> None:
    spark.sql("create table padded (id int, c char(4), v varchar(4)) using parquet")
    try:
        spark.sql("insert into padded values (1, 'a', 'a '), (2, 'a ', 'a'), (3, 'b', 'b')")
        engine = SparkEngine(spark.table("padded"), key=["id"], budget=DISTRIBUTED)
        assert engine.plain.sameSemantics(spark.table("padded").toDF("c0", "c1", "c2"))
        assert [engine.count(_rule(text)) for text in ("unique(c)", "unique(v)", "not (s.c = t.v)")] == [2, 0, 0]
    finally:
        spark.sql("drop table padded")


def _spans() -> pa.Table:
    """Columns of the types that no rule can write a constant of: durations, times of day, and nothing at all."""
    steps = [i * 7 % 10 for i in range(24)]
    spans = [None if i == 7 else (step - 4) * HOUR + dt.timedelta(microseconds=step) for i, step in enumerate(steps)]
    times = [dt.time(step, 0, 0, 23 * step) for step in steps]
    return pa.table(
        {
            "d": pa.array(spans, pa.duration("us")),
            "e": pa.array(spans[5:] + spans[:5], pa.duration("us")),
            "t": pa.array(times, pa.time64("us")),
            "u": pa.array(times[5:] + times[:5], pa.time64("us")),
            "n": pa.nulls(24),
            "a": [i % 5 for i in range(24)],
        }
    )


@pytest.mark.parametrize(
    ("text", "nulls"),
    [
        ("not (s.d < t.d and s.a > t.a)", "sql"),
        ("not (s.d = t.e and s.a < t.a)", "equal"),
        ("not (s.t < t.u)", "sql"),
        ("not (s.n != 1 and s.n = t.n and s.a > t.a)", "equal"),
        ("not (s.n != t.a and s.a > t.a)", "equal"),
        ("not (s.n = t.n and s.n < t.d)", "equal"),
    ],
)
def test_durations_times_and_columns_of_nothing_are_distributed(spark: SparkSession, text: str, nulls: str) -> None:
    table = _spans()
    with _settings(spark, timeType__enabled="true"):
        _check(frame_of(_numbered(table), spark), table, text, nulls)


def test_durations_of_other_units_compare(connect: SparkSession) -> None:
    table = pa.table(
        {
            "d": pa.array([dt.timedelta(days=i % 4) for i in range(12)], pa.duration("us")),
            "e": pa.array([dt.timedelta(hours=6 * (11 - i)) for i in range(12)], pa.duration("us")),
        }
    )
    units = {"d": F.col("d").cast("interval day"), "e": F.col("e").cast("interval hour to minute")}
    frame = frame_of(_numbered(table), connect).withColumns(units)
    assert _check(frame, table, "not (s.d < t.e)")


def test_a_constant_of_any_type_is_what_spark_gave_back(spark_kind: SparkSession) -> None:
    values = {
        "interval day to second": dt.timedelta(days=-3, microseconds=7),
        "interval hour": 5 * HOUR,
        "time(6)": dt.time(1, 2, 3, 4),
        "date": MIDNIGHT.date(),
        "timestamp_ntz": MIDNIGHT + HOUR / 7,
        "void": None,
    }
    with _settings(spark_kind, timeType__enabled="true"):
        columns = [literal(value, kind).alias(kind) for kind, value in values.items()]
        frame = spark_kind.range(1).select(*columns)
        assert [field.dataType.simpleString() for field in frame.schema] == list(values)
        assert frame.collect()[0].asDict() == values
