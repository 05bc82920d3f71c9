"""Columns that are fetched for one answer rather than sent through Python workers."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import oracle
import refute as rf
from refute.language.nulls import Nulls
from refute.language.rulebook import RuleBook
from refute.spark.budget import SparkBudget, largest_result
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of

pytestmark = pytest.mark.spark

ROWS = 60
RULES = (
    "not (s.price > t.price and s.rate < t.rate)",
    "not (s.g = t.g and s.price >= t.price and s.rate <= t.rate and s.x < t.x)",
    "not (s.g = t.g and s.price < t.rate and s.x > t.x)",
    "not (s.price > t.price and s.x < t.x and s.rate > 0.02 and t.g != 'b')",
)


def _table() -> pa.Table:
    mixed = [i * 104729 % 9973 for i in range(ROWS)]
    price = [Decimal(value % 17 - 8) / 100 if value % 7 else None for value in mixed]
    return pa.table(
        {
            "id": range(ROWS),
            "price": pa.array(price, pa.decimal128(15, 2)),
            "rate": pa.array([Decimal(value % 5) / 1000 for value in mixed], pa.decimal128(18, 3)),
            "g": [("a", "b", None)[value % 3] for value in mixed],
            "x": [value % 23 for value in mixed],
        }
    )


def _engine(frame: object) -> SparkEngine:
    """An engine that keeps no columns of this table, and fetches them for one answer."""
    return SparkEngine(frame, key=["id"], budget=SparkBudget(driver_bytes=ROWS * 60, sample_rows=1))


@pytest.mark.parametrize(("parts", "nulls"), [(1, "sql"), (3, "equal"), (8, "sql")])
def test_fetched_columns_give_the_answers_of_all_pairs(spark_kind: SparkSession, parts: int, nulls: str) -> None:
    table = _table()
    engine = _engine(frame_of(table, spark_kind).repartition(parts))
    for text in RULES:
        rule = replace(RuleBook.of(text)[0], nulls=Nulls(nulls))
        assert engine.prepared(rule).way.name == "gather"
        truth = oracle.violations(table, rule.constraint, nulls)
        assert engine.count(rule) == len(truth)
        finding = engine.measure([rule], counts=True)[0].finding
        assert (finding.violations, finding.rows) == (len(truth), len(oracle.rows_in_violation(truth)))
        assert finding.holds == (not truth)
        verdict = engine.verify(rule)
        assert verdict.holds == (not truth)
        if verdict.witness is not None:
            assert tuple(verdict.witness) in truth
        assert "gather on Spark" in str(engine.explain([rule]))


def test_a_rule_that_holds_is_verified_by_what_was_fetched(spark: SparkSession) -> None:
    table = pa.table({"id": range(ROWS), "a": range(ROWS), "b": range(ROWS), "c": [i % 7 for i in range(ROWS)]})
    engine = _engine(frame_of(table, spark).repartition(3))
    rule = RuleBook.of("not (s.a < t.a and s.b > t.b and s.c < t.c)")[0]
    assert engine.verify(rule).holds
    assert engine.measure([rule], counts=True)[0].finding.violations == 0


def test_a_condition_chooses_among_fetched_rows(spark: SparkSession) -> None:
    table = _table()
    (rule,) = rf.load_rules({"rules": [{"name": "cheap", "dc": RULES[0], "where": "price > 0"}]})
    kept = table.filter(pc.greater(table["price"], Decimal(0)))
    assert _engine(frame_of(table, spark)).count(rule) == rf.count(kept, RULES[0])


def test_no_more_is_fetched_than_spark_lets_come_here(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    assert largest_result(spark) >= 1 << 28
    monkeypatch.setattr("refute.spark.answer.gathering.largest_result", lambda _: 64)
    engine = _engine(frame_of(_table(), spark))
    assert engine.prepared(RuleBook.of(RULES[0])[0]).way.name != "gather"


def test_limits_of_results_are_read_as_spark_writes_them() -> None:
    class Session:
        def __init__(self, value: str) -> None:
            self.conf = {"spark.driver.maxResultSize": value, "spark.driver.memory": "2g"}

    sizes = {"1g": 512 << 20, "512m": 256 << 20, "0": 512 << 20, "2048": 1024, "1024KB": 1 << 19}
    assert {text: largest_result(Session(text)) for text in sizes} == sizes  # type: ignore[arg-type]
