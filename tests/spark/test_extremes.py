"""Verifying one order predicate by the least and the greatest of each group: the definition's answer, and no Python."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import oracle
import refute as rf
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from thorough import THOROUGH, crossed

pytestmark = pytest.mark.spark

RULES = (
    "not (s.g = t.g and s.a < t.a)",
    "not (s.g = t.g and s.a >= t.a)",
    "not (s.a > t.b)",
    "not (s.a <= t.b)",
    "not (s.g = t.g and s.a < t.b)",
    "not (s.g = t.g and s.a >= t.b)",
    "not (s.g = t.h and s.a <= t.b)",
    "not (s.g = t.h and s.h = t.g and s.b > t.a)",
    "not (s.g = t.g and s.a < t.a and s.h = 1)",
    "not (s.g = t.g and s.a <= t.b and s.h = 1 and t.h != 1)",
    "not (s.g = t.g and s.a <= t.b and s.b > s.a)",
    "not (s.a <= t.a and t.h = 2)",
    "not (s.g = t.g and s.d < t.d)",
    "not (s.g = t.g and s.w <= t.w)",
)

LABELLED = (
    "not (s.g = t.g and s.a < t.a and s.h != t.h)",
    "not (s.a >= t.a and s.w != t.w)",
    "not (s.g = t.g and s.a <= t.b and s.h != t.h)",
    "not (s.h = t.h and s.b > t.a and s.w != t.w)",
    "not (s.g = t.h and s.a <= t.b and s.w != t.w)",
    "not (s.g = t.g and s.a < t.a and s.h != t.b)",
    "not (s.a > t.a and s.g != t.h and s.h = 1)",
    "not (s.d < t.d and s.h != t.h and t.w = 'w1')",
)


def _table(seed: int, rows: int) -> pa.Table:
    """Few groups of few rows, some of one; nulls in keys and values; `b` mostly below `a`, so rules may hold."""
    mixed = [(seed * 7919 + i * 104729) % 9973 for i in range(rows)]
    a = [value % 7 if value % 9 else None for value in mixed]
    return pa.table(
        {
            "g": [i // 2 if value % 8 else None for i, value in enumerate(mixed)],
            "h": [value % 3 if value % 5 else None for value in mixed],
            "a": a,
            "b": [
                None if one is None or value % 11 == 0 else one - (value % 3)
                for one, value in zip(a, mixed, strict=True)
            ],
            "d": pa.array([value % 5 if value % 6 else None for value in mixed], pa.date32()),
            "w": [f"w{value % 4}" for value in mixed],
        }
    )


def _agrees(spark: SparkSession, text: str, table: pa.Table, nulls: str, parts: int = 2) -> bool:
    rule = Rule(name="rule", constraint=rf.parse(text), nulls=Nulls(nulls))
    truth = oracle.violations(table, rule.constraint, nulls)
    frame = frame_of(table.append_column("id", pa.array(range(table.num_rows), pa.int64())), spark).repartition(parts)
    engine = SparkEngine(frame, key=["id"], budget=SparkBudget(driver_bytes=0, sample_rows=1))
    prepared = engine.prepared(rule)
    assert prepared._extremes is not None
    verdict = prepared.verify()
    assert verdict.holds == (not truth), (text, nulls, table.to_pylist())
    assert verdict.witness is None or tuple(verdict.witness) in truth
    return verdict.holds


@pytest.mark.parametrize(("text", "nulls"), crossed(RULES, ["sql", "equal"]))
def test_one_order_predicate_is_verified_as_the_definition_says(spark: SparkSession, text: str, nulls: str) -> None:
    for seed, rows in ((2, 5), (3, 12)) if THOROUGH else ((3, 12),):
        _agrees(spark, text, _table(seed, rows), nulls)


@pytest.mark.parametrize(("text", "nulls"), crossed(LABELLED, ["equal", "sql"]))
def test_one_order_with_one_difference_is_verified_as_the_definition_says(
    spark: SparkSession, text: str, nulls: str
) -> None:
    for seed, rows, parts in ((2, 4, 1), (3, 12, 3), (5, 7, 8)) if THOROUGH else ((3, 12, 3),):
        _agrees(spark, text, _table(seed, rows), nulls, parts)


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_the_best_of_other_labels_decide_where_the_extremes_share_one(spark_kind: SparkSession, nulls: str) -> None:
    text = "not (s.g = t.g and s.a < t.a and s.h != t.h)"
    within = pa.table({"g": [1, 1, 2, 2], "a": [1, 9, 5, 5], "h": [7, 7, 1, 2]})
    assert _agrees(spark_kind, text, within, nulls)
    as_t = pa.table({"g": [1, 1, 1], "a": [1, 9, 9], "h": [7, 7, 8]})
    as_s = pa.table({"g": [1, 1, 1], "a": [1, 9, 1], "h": [7, 7, 8]})
    assert not _agrees(spark_kind, text, as_t, nulls)
    assert not _agrees(spark_kind, text, as_s, nulls)
    alone = "not (s.a < t.a and s.h != t.h)"
    assert not _agrees(spark_kind, alone, as_t, nulls)
    assert _agrees(spark_kind, alone, within.slice(0, 2), nulls)
    of_null = pa.table({"g": [1, 1, 1], "a": [1, 9, 4], "h": pa.array([None, None, 8], pa.int64())})
    assert _agrees(spark_kind, alone, of_null, nulls) == (nulls == "sql")


def test_a_row_is_never_its_own_partner(spark_kind: SparkSession) -> None:
    alone = pa.table({"g": [1, 2, 3], "h": [0, 0, 0], "a": [1, 2, 3], "b": [1, 2, 3]})
    assert _agrees(spark_kind, "not (s.g = t.g and s.a <= t.b)", alone, "sql")
    only_itself = pa.table({"g": [1, 1], "a": [0, 9], "b": [5, -1]})
    assert _agrees(spark_kind, "not (s.g = t.g and s.a < t.b)", only_itself, "sql")
    with_next = pa.table({"g": [1, 1], "a": [0, 4], "b": [5, -1]})
    assert not _agrees(spark_kind, "not (s.g = t.g and s.a < t.b)", with_next, "sql")
    twins = pa.table({"g": [1, 1], "a": [0, 0], "b": [5, 5]})
    assert not _agrees(spark_kind, "not (s.a < t.b)", twins, "sql")


@pytest.mark.parametrize("text", [RULES[0], RULES[3], RULES[6], LABELLED[0], LABELLED[1], LABELLED[4]])
def test_no_plan_has_a_python_worker_or_a_nested_loop(spark: SparkSession, text: str) -> None:
    engine = SparkEngine(frame_of(_table(3, 12), spark))
    prepared = engine.prepared(Rule(name="rule", constraint=rf.parse(text)))
    assert prepared._extremes is not None
    plans = io.StringIO()
    for groups in prepared._extremes.broken_groups():
        with redirect_stdout(plans):
            groups.explain()
    assert "HashAggregate" in plans.getvalue()
    for unwanted in ("Python", "InArrow", "InPandas", "NestedLoop", "Cartesian"):
        assert unwanted not in plans.getvalue()
