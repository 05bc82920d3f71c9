"""Several rules in one check share what they can, and say all at once what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import oracle
import refute as rf
from refute.errors import SchemaError
from refute.language.nulls import Nulls
from refute.language.parsing.parser import parse_condition
from refute.language.rulebook import Rule, RuleBook
from refute.report.violations import Violations
from refute.spark.answer import checking as measuring
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from refute.spark.source.positions import FileLayout
from spark_laws import views_of

pytestmark = pytest.mark.spark

TEXTS = (
    "not (s.g = t.g and s.a < t.a and s.b > t.b)",
    "not (s.g = t.g and s.a <= t.a and s.c >= t.c)",
    "not (s.g = t.g and s.b < t.b and s.c != t.c)",
)
DISTRIBUTED = SparkBudget(driver_bytes=0, task_rows=20, tasks_per_core=1, sample_rows=1)


def _table(rows: int = 80) -> pa.Table:
    mixed = [i * 104729 % 9973 for i in range(rows)]
    return pa.table(
        {
            "id": range(rows),
            "g": [value % 17 if value % 13 else None for value in mixed],
            "a": [value % 11 if value % 9 else None for value in mixed],
            "b": [value // 11 % 13 for value in mixed],
            "c": [value // 143 % 4 if value % 7 else None for value in mixed],
        }
    )


def _rules(nulls: str) -> list[Rule]:
    return [Rule(name=f"r{i}", constraint=rf.parse(text), nulls=Nulls(nulls)) for i, text in enumerate(TEXTS)]


@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_rules_that_tasks_answer_read_the_table_once_and_stay_exact(spark_kind: SparkSession, nulls: str) -> None:
    table, rules = _table(), _rules(nulls)
    engine = SparkEngine(frame_of(table, spark_kind).coalesce(3), key=["id"], budget=DISTRIBUTED)
    for rule, timed in zip(rules, engine.measure(rules, counts=True), strict=True):
        truth = oracle.violations(table, rule.constraint, nulls)
        found = timed.finding
        assert found.method == "distribute"
        assert (found.violations, found.rows) == (len(truth), len(oracle.rows_in_violation(truth)))
        assert found.skipped_nulls == rf.check(table, [rule], key="id").results[0].finding.skipped_nulls


FEW = (
    "not (s.g = t.g and s.h = t.h and s.e != t.e)",
    "not (s.g = t.g and s.a > t.a and s.e < t.e)",
    "not (s.h != t.h and s.e != t.e)",
    "not (s.g = t.h and s.a >= t.e)",
    "not (s.g = t.g and s.x = t.x)",
)


def _few(rows: int) -> pa.Table:
    """Rows of few distinct values, but for `x`, with nulls among them."""
    mixed = [i * 104729 % 9973 for i in range(rows)]
    return pa.table(
        {
            "id": range(rows),
            "g": [value % 2 if value % 11 else None for value in mixed],
            "h": [value % 3 for value in mixed],
            "a": [float(value % 2) if value % 13 else float("nan") for value in mixed],
            "e": [value % 2 if value % 7 else None for value in mixed],
            "x": mixed,
        }
    )


@pytest.mark.parametrize("nulls", ["sql", "equal"])
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_rules_over_few_distinct_values_share_their_counts_and_stay_exact(
    spark_kind: SparkSession, parts: int, nulls: str
) -> None:
    table = _few(1600)
    rules = [Rule(name=f"r{i}", constraint=rf.parse(text), nulls=Nulls(nulls)) for i, text in enumerate(FEW)]
    rules.append(Rule(name="last", constraint=rf.parse(FEW[1]), where=parse_condition("h = 1"), nulls=Nulls(nulls)))
    budget = SparkBudget(driver_bytes=0, sample_rows=1600)
    engine = SparkEngine(frame_of(table, spark_kind).repartition(parts), key=["id"], budget=budget)
    prepared = [engine.prepared(rule) for rule in rules]
    prepared, (counted,) = measuring._with_values_together(engine, prepared)
    assert [one.bound.shared.values is counted for one in prepared] == [True, True, True, True, False, True]
    local = rf.check(table, RuleBook.of(rules), key="id").results
    for timed, known in zip(engine.measure(rules, counts=True), local, strict=True):
        for name in ("holds", "violations", "rows", "skipped_nulls"):
            assert getattr(timed.finding, name) == getattr(known.finding, name), (known.rule.name, name)


def test_all_rules_that_do_not_fit_are_told_at_once(spark_kind: SparkSession) -> None:
    frame = frame_of(_table(), spark_kind)
    with pytest.raises(SchemaError) as told:
        rf.check(frame, ["not (s.gg = t.gg)", "not (s.a < t.a and s.bb > t.bb)", "not (s.g = t.g)"])
    assert "'gg'" in str(told.value)
    assert "'bb'" in str(told.value)


def test_only_the_columns_that_a_rule_reads_are_fetched_to_count(spark: SparkSession) -> None:
    forbidden = F.raise_error(F.lit("fetched")).cast("int")
    frame = spark.range(50).select("id", (F.col("id") % 7).alias("a"), (F.col("id") % 5).alias("b"))
    frame = frame.withColumn("z", F.when(F.col("id") >= 0, forbidden))
    assert rf.count(frame, "not (s.a < t.a and s.b > t.b)") > 0


def test_listed_violations_tell_the_values_of_their_rows(spark_kind: SparkSession, tmp_path: Path) -> None:
    table = _table()
    pq.write_table(table, tmp_path / "rows.parquet")
    for source, key in ((frame_of(table, spark_kind), "id"), (str(tmp_path / "rows.parquet"), None)):
        if key is None and not hasattr(spark_kind, "sparkContext"):
            continue
        listed: Any = rf.violations(source, TEXTS[0], 5, key=key, engine="spark")
        clashes = listed.rows()
        assert len(clashes) == 5
        for clash in clashes:
            assert [role for role, *_ in clash] == ["s", "t"]
            for _, row_id, values in clash:
                assert values == {name: table.column(name)[row_id].as_py() for name in ("g", "a", "b")}


def test_nothing_stays_persisted(spark: SparkSession) -> None:
    before, kept = views_of(spark), set(spark.sparkContext._jsc.getPersistentRDDs().keySet())
    rf.check(frame_of(_table(), spark), list(TEXTS), key="id")
    SparkEngine(frame_of(_table(), spark), key=["id"], budget=DISTRIBUTED).measure(_rules("sql"), counts=True)
    assert views_of(spark) == before
    assert set(spark.sparkContext._jsc.getPersistentRDDs().keySet()) <= kept


def test_positions_are_learnt_anew_where_spark_cuts_files_in_another_way(spark: SparkSession, tmp_path: Path) -> None:
    for name, values in (("a", range(20)), ("b", range(20, 0, -1))):
        (tmp_path / f"{name}.csv").write_text("v\n" + "".join(f"{value}\n" for value in values), encoding="utf-8")
    engine = SparkEngine(str(tmp_path), session=spark, schema="v bigint")
    engine.source.identified()
    known = engine.source._layout
    assert known is not None
    moved = tuple((file, block, first + (7 << 33), n) for file, block, first, n in known.blocks)
    engine.source._layout = FileLayout(moved)
    rule = Rule(name="r", constraint=rf.parse("not (s.v = 20 and t.v = 0)"))
    assert engine.verify(rule).witness == (20, 0)
    assert engine.source._layout == known
    listed = Violations(engine, Rule(name="r", constraint=rf.parse("not (s.v > 19 and t.v < 2)")), None)
    expected = sorted(listed)
    assert (20, 0) in expected
    engine.source._layout = FileLayout(moved)
    stale = Violations(engine, listed.rule)
    assert sorted(map(tuple, stale.to_spark().select("s", "t").collect())) == expected
    found = stale.to_arrow()
    assert sorted(zip(found["s"].to_pylist(), found["t"].to_pylist(), strict=True)) == expected
    assert set(found["s_v"].to_pylist()) == {20}


def test_parquet_files_here_are_fetched_without_counting_them_first(spark: SparkSession, tmp_path: Path) -> None:
    for i in range(3):
        pq.write_table(_table(), tmp_path / f"{i}.parquet")
    engine = SparkEngine(spark.read.parquet(str(tmp_path)))
    assert engine.source.most_rows() == 240
    assert vars(engine.source)["_n_rows"] is None
    engine.count(Rule(name="r", constraint=rf.parse(TEXTS[0])))
    assert vars(engine.source)["_n_rows"] == 240
    assert SparkEngine(spark.read.parquet(str(tmp_path)).where("a > 3")).source.most_rows() < 240
