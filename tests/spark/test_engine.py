"""On Spark every rule has the answer it has in process, whatever the partitioning, and no task gets it all."""

from __future__ import annotations

import io
from contextlib import redirect_stdout

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import oracle
import refute as rf
from refute.errors import DataError, SchemaError
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.report.violations import Violations
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from refute.spark.workers.worker import ROW_COLUMN
from spark_laws import views_of
from strategies import KINDS, Case, cases
from thorough import THOROUGH, examples

pytestmark = pytest.mark.spark

SPARK_KINDS = tuple(
    kind
    for kind in KINDS
    if kind.arrow not in (pa.uint64(), pa.timestamp("ms")) and not pa.types.is_dictionary(kind.arrow)
)
DISTRIBUTED = SparkBudget(driver_bytes=0, task_rows=20, tasks_per_core=1, sample_rows=1)
HEALTHY = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


def _rule(case: Case) -> Rule:
    return Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls))


def _frame(spark: SparkSession, table: pa.Table, partitions: int) -> DataFrame:
    numbered = table.append_column("id", pa.array(range(table.num_rows), pa.int64()))
    return frame_of(numbered, spark).repartition(partitions)


def _check(case: Case, frame: DataFrame) -> None:
    """Count, verdict, extent and pairs of a case, all distributed."""
    truth = oracle.violations(case.table, case.rule, case.nulls)
    engine, rule = SparkEngine(frame, key=["id"], budget=DISTRIBUTED), _rule(case)
    assert engine.count(rule) == len(truth)
    verdict = engine.verify(rule)
    assert verdict.holds == (not truth)
    if verdict.witness is not None:
        assert (verdict.witness[:1] if case.rule.is_single_row else tuple(verdict.witness)) in truth
    listed = Violations(engine, rule).to_arrow()
    sides = [listed.column(side).to_pylist() for side in ("s", "t") if side in listed.column_names]
    assert sorted(zip(*sides, strict=True)) == truth
    (timed,) = engine.measure([rule], counts=True)
    assert (timed.finding.violations, timed.finding.rows) == (len(truth), len(oracle.rows_in_violation(truth)))


@pytest.mark.parametrize("partitions", [1, 3, 8] if THOROUGH else [3])
@examples(3, derandomize=True, suppress_health_check=HEALTHY)
@given(case=cases(max_rows=9, kinds=SPARK_KINDS))
def test_any_rule_has_the_answer_of_the_definition(spark: SparkSession, partitions: int, case: Case) -> None:
    _check(case, _frame(spark, case.table, partitions))


@examples(2, derandomize=True, suppress_health_check=HEALTHY)
@given(case=cases(max_rows=9, kinds=SPARK_KINDS))
def test_any_rule_has_the_same_answer_through_connect(connect: SparkSession, case: Case) -> None:
    _check(case, _frame(connect, case.table, 3))


GRID_RULES = (
    "not (s.a < t.a and s.b > t.b)",
    "not (s.a <= t.a and s.b >= t.b)",
    "not (s.g = t.g and s.a < t.a and s.b > t.b and s.c <= t.c)",
    "not (s.a < t.b)",
    "not (s.a <= t.b and s.b <= t.a)",
    "not (s.g = t.g and s.a < t.b and s.c != t.c)",
    "not (s.g = t.g and s.c != t.c and s.b != t.b)",
    "not (s.g = t.c and s.a > t.b)",
    "not (s.a < t.a and s.b > t.b and s.c = 1 and t.c != 2)",
)


def _numbers(seed: int = 0, rows: int = 60) -> pa.Table:
    values = [(seed * 7919 + i * 104729) % 9973 for i in range(rows)]
    return pa.table(
        {
            "g": [value % 3 if value % 4 else 0 for value in values],
            "a": [value % 11 if value % 9 else None for value in values],
            "b": [(value // 11) % 13 for value in values],
            "c": [(value // 143) % 4 for value in values],
        }
    )


@pytest.mark.parametrize("text", GRID_RULES if THOROUGH else (GRID_RULES[2], GRID_RULES[5], GRID_RULES[7]))
def test_large_groups_are_cut_into_tiles_and_lose_no_pair(spark: SparkSession, text: str) -> None:
    case = Case(_numbers(), rf.parse(text), "sql")
    _check(case, _frame(spark, case.table, 3))


@pytest.mark.skipif(
    not THOROUGH, reason="any rule is tried through Connect anyway: HYPOTHESIS_PROFILE=thorough runs it"
)
def test_large_groups_are_cut_into_tiles_through_connect_too(connect: SparkSession) -> None:
    case = Case(_numbers(), rf.parse(GRID_RULES[5]), "equal")
    _check(case, _frame(connect, case.table, 3))


def test_marked_rows_name_role_and_partners(spark_kind: SparkSession) -> None:
    table = _numbers()
    frame = _frame(spark_kind, table, 3)
    texts = [
        "not (s.g = t.g and s.c != t.c)",
        "not (s.a < t.a and s.b > t.b)",
        "row(b < 12)",
        "not (s.a = 1 and t.c = 2)",
    ]
    rules = RuleBook.of(texts)
    local = rf.check(table.append_column("id", pa.array(range(table.num_rows))), rules, key="id")
    engine = SparkEngine(frame, key=["id"], budget=DISTRIBUTED)
    annotated = engine.marked(list(rules))
    marked = {row["id"]: [tuple(breach) for breach in row["refute"]] for row in annotated.collect()}
    expected = {row["id"]: [tuple(breach.values()) for breach in row["refute"]] for row in local.rows.to_pylist()}
    assert marked == expected
    clean, dirty = engine.split(annotated)
    assert (clean.count(), dirty.count()) == tuple(part.num_rows for part in local.split(blame="all"))


def test_a_report_on_spark_is_the_report_in_process(spark_kind: SparkSession) -> None:
    table = _numbers()
    rules = ["not (s.g = t.g and s.c != t.c)", "not (s.a < t.a and s.b > t.b)", "row(b < 12)", "not (s.id = t.id)"]
    local = rf.check(table.append_column("id", pa.array(range(table.num_rows))), rules, key="id")
    report = rf.check(_frame(spark_kind, table, 3), rules, key="id")
    assert [(one.name, one.finding.violations, one.finding.rows, one.finding.skipped_nulls) for one in report] == [
        (one.name, one.finding.violations, one.finding.rows, one.finding.skipped_nulls) for one in local
    ]
    assert report.exit_code == local.exit_code
    assert rf.count(_frame(spark_kind, table, 2), rules[1]) == rf.count(table, rules[1])
    assert not rf.verify(_frame(spark_kind, table, 2), rules[1]).holds
    assert str(rf.explain(_frame(spark_kind, table, 2), rules)).count("on Spark") == 1 + len(rules)


def test_listing_without_ids_asks_for_a_key_but_counting_does_not(spark_kind: SparkSession) -> None:
    frame = _frame(spark_kind, _numbers(), 2)
    assert rf.count(frame, "not (s.a < t.a)") > 0
    assert rf.verify(frame, "not (s.a < t.a)").witness is not None
    with pytest.raises(DataError, match="key="):
        rf.violations(frame, "not (s.a < t.a)")


def test_rows_in_violation_are_exact_without_ids(spark: SparkSession) -> None:
    table = _numbers()
    doubled = pa.concat_tables([table, table.slice(0, 20)])
    rule = RuleBook.of("not (s.a < t.a and s.b > t.b)")[0]
    (timed,) = SparkEngine(spark.createDataFrame(doubled), budget=DISTRIBUTED).measure([rule], counts=True)
    truth = oracle.violations(doubled, rule.constraint)
    assert (timed.finding.violations, timed.finding.rows) == (len(truth), len(oracle.rows_in_violation(truth)))


def test_a_badly_broken_rule_is_found_without_a_full_pass(spark_kind: SparkSession) -> None:
    forbidden = F.when(F.col("id") >= 3_000_000, F.raise_error(F.lit("touched"))).otherwise(F.col("id") % 1000)
    frame = spark_kind.range(0, 8_000_000, 1, 64).select("id", forbidden.alias("a"), (F.col("id") % 77).alias("b"))
    engine = SparkEngine(frame, budget=SparkBudget(driver_bytes=0))
    assert not engine.verify(RuleBook.of("not (s.a > t.a and s.b < t.b)")[0]).holds


def _ordered(frame: DataFrame, text: str, budget: SparkBudget) -> list[int]:
    engine = SparkEngine(frame, budget=budget)
    rule = RuleBook.of(text)[0]
    assert engine.prepared(rule).way.name == "distribute"
    return engine.task_rows(rule)


def test_one_group_of_two_million_rows_is_spread_over_tasks(spark: SparkSession) -> None:
    frame = spark.range(0, 2_000_000, 1, 4).select(F.rand(1).alias("a"), F.rand(2).alias("b"))
    rows = _ordered(frame, "not (s.a < t.a and s.b < t.b)", SparkBudget(driver_bytes=0, tasks_per_core=4))
    assert len(rows) == 8
    assert max(rows) <= 1.3 * sum(rows) / len(rows)


def test_a_key_with_nine_tenths_of_the_rows_is_spread_over_tasks(spark: SparkSession) -> None:
    group = F.when(F.rand(3) < 0.9, F.lit(0)).otherwise((F.rand(4) * 1000).cast("int"))
    frame = spark.range(0, 1_000_000, 1, 4).select(group.alias("g"), F.rand(1).alias("a"), F.rand(2).alias("b"))
    rows = _ordered(frame, "not (s.g = t.g and s.a < t.a and s.b < t.b)", SparkBudget(driver_bytes=0, tasks_per_core=4))
    assert len(rows) == 8
    assert max(rows) <= 1.3 * sum(rows) / len(rows)


@pytest.mark.parametrize("text", [GRID_RULES[3], GRID_RULES[5], "not (s.g = t.c)", "not (s.c = 1 and t.c = 2)"])
def test_no_plan_has_a_nested_loop_or_a_cartesian_product(spark: SparkSession, text: str) -> None:
    engine = SparkEngine(_frame(spark, _numbers(), 3), key=["id"], budget=DISTRIBUTED)
    prepared = engine.prepared(RuleBook.of(text)[0])
    for frame in (prepared.partners(), prepared.pairs(None), prepared.pairs(5)):
        plan = io.StringIO()
        with redirect_stdout(plan):
            frame.explain()
        assert "NestedLoop" not in plan.getvalue()
        assert "Cartesian" not in plan.getvalue()
        assert ROW_COLUMN in plan.getvalue()


@pytest.mark.parametrize("column", ["m", "x"])
def test_unsupported_types_are_named(spark_kind: SparkSession, column: str) -> None:
    frame = spark_kind.range(3).select(
        F.create_map(F.lit("k"), F.col("id")).alias("m"), F.struct(F.col("id").alias("y")).alias("x")
    )
    with pytest.raises(SchemaError, match=column):
        rf.count(frame, f"not (s.{column} = t.{column})")


def test_session_settings_and_tables_are_left_as_they_were(spark_kind: SparkSession) -> None:
    def settled() -> tuple[dict[str, str], set[str]]:
        return {row["key"]: row["value"] for row in spark_kind.sql("SET").collect()}, views_of(spark_kind)

    before = settled()
    frame, rules = _frame(spark_kind, _numbers(), 2), ["not (s.a < t.a and s.b > t.b)", "unique(g)"]
    assert rf.check(frame, rules, key="id").rows.count() == 60
    SparkEngine(frame, key=["id"], budget=DISTRIBUTED).measure(list(RuleBook.of(rules)), counts=True)
    assert settled() == before
