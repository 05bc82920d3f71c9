"""Rules without order predicates by native aggregates: exact however their rows are spread, counted and shuffled."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import oracle
import refute as rf
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.spark.answer.native.ways import Aggregate
from refute.spark.budget import SparkBudget, cores
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from thorough import THOROUGH, crossed

pytestmark = pytest.mark.spark

RULES = (
    "not (s.g = t.g and s.h = t.h)",
    "not (s.x = t.x and s.h != t.h)",
    "not (s.g != t.g and s.h != t.h)",
    "not (s.g = t.g and s.h != t.h and s.x != t.x)",
    "not (s.g != t.g and s.h != t.h and s.f != t.f)",
    "not (s.g = t.h and s.h != t.g)",
    "not (s.g = t.g and s.x != t.x and s.h = 1 and t.h = 1)",
)
FEW = SparkBudget(driver_bytes=0, sample_rows=1600, tasks_per_core=1)
MANY = replace(FEW, scattered_rows=1, narrow_rows=0)


def _table(rows: int = 40) -> pa.Table:
    mixed = [i * 104729 % 9973 for i in range(rows)]
    return pa.table(
        {
            "id": range(rows),
            "g": [value % 5 if value % 7 else None for value in mixed],
            "h": [value % 3 if value % 11 else None for value in mixed],
            "x": [value % 31 for value in mixed],
            "f": [(value % 4) / 2 if value % 5 else float("nan") for value in mixed],
        }
    )


@pytest.mark.parametrize(("text", "way"), crossed(RULES, [(FEW, 3), (MANY, 1), (MANY, 8)]))
def test_counts_are_exact_whether_rows_are_shuffled_first_and_whatever_type_counts_have(
    spark: SparkSession, text: str, way: tuple[SparkBudget, int]
) -> None:
    budget, parts = way
    table = _table()
    frame = frame_of(table, spark).repartition(parts)
    for number, nulls in enumerate(("sql", "equal")):
        rule = Rule(name="rule", constraint=rf.parse(text), nulls=Nulls(nulls))
        engine = SparkEngine(frame, key=["id"], budget=budget)
        truth = oracle.violations(table, rule.constraint, nulls)
        if THOROUGH or number == RULES.index(text) % 2:
            assert engine.count(rule) == len(truth)
        finding = engine.measure([rule], counts=True)[0].finding
        assert (finding.violations, finding.rows) == (len(truth), len(oracle.rows_in_violation(truth)))


def test_one_shuffle_serves_both_groupings_where_most_values_are_rare(spark: SparkSession) -> None:
    table = pa.table({"e": [i % 397 for i in range(400)], "l": [i % 3 for i in range(400)]})
    engine = SparkEngine(frame_of(table, spark), budget=SparkBudget(driver_bytes=0, tasks_per_core=1, scattered_rows=1))
    prepared = engine.prepared(Rule(name="rule", constraint=rf.parse("not (s.e = t.e and s.l != t.l)")))
    plan = io.StringIO()
    with redirect_stdout(plan):
        Aggregate(prepared.bound)._groups(engine.plain)._by_value(["e0"], "d0").explain()
    assert plan.getvalue().count("Exchange") == 1
    assert prepared.count() == rf.count(table, prepared.rule.constraint)


def test_parquet_files_here_are_glimpsed_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(_table(), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    source = SparkEngine(frame).source
    found = source.glimpse(("g", "x"), 7)
    assert found is not None
    assert found.to_pydict() == _table().select(["g", "x"]).slice(0, 7).to_pydict()
    assert SparkEngine(frame.withColumnRenamed("g", "other")).source.glimpse(("other",), 7) is None
    assert SparkEngine(frame.where("x > 3")).source.glimpse(("x",), 7) is None


def test_a_local_master_tells_its_cores(spark_kind: SparkSession) -> None:
    assert cores(spark_kind) == 2


@pytest.mark.parametrize("text", RULES)
def test_no_plan_has_a_python_worker(spark: SparkSession, text: str) -> None:
    engine = SparkEngine(frame_of(_table(), spark), budget=SparkBudget(driver_bytes=0))
    prepared = engine.prepared(Rule(name="rule", constraint=rf.parse(text)))
    groups = Aggregate(prepared.bound)._groups(engine.plain)
    plans = io.StringIO()
    with redirect_stdout(plans):
        for frame in (groups._groups(), groups._with_partners(), groups.annotated()):
            frame.explain()
    assert "HashAggregate" in plans.getvalue()
    for unwanted in ("Python", "InArrow", "InPandas", "NestedLoop", "Cartesian"):
        assert unwanted not in plans.getvalue()


def test_a_row_that_is_its_own_only_partner_is_no_witness(spark: SparkSession) -> None:
    table = pa.table({"id": range(12), "d": [i % 4 for i in range(12)], "f": [i * 5 for i in range(12)]})
    engine = SparkEngine(
        frame_of(table, spark).coalesce(1), key=["id"], budget=SparkBudget(driver_bytes=0, sample_rows=1)
    )
    assert engine.verify(Rule(name="rule", constraint=rf.parse("not (s.d = t.f)"))).witness in ((4, 0), (8, 0))
