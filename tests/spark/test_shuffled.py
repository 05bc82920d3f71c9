"""No answer depends on two evaluations of a table agreeing in order: tables behind shuffles, here and on a cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.language.form import Form
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of
from spark_laws import check, check_many
from standalone import environment, standalone
from thorough import THOROUGH

pytestmark = pytest.mark.spark

STAYS = "no_overlap(a, b) by g"
DUPLICATES = "not (s.g = t.g and s.a <= t.a and s.b <= t.b)"
# What runs on the cluster: its driver is a process of its own, because this one's session is local.
DRIVER = """
import json, sys, threading, time
import psutil
from spark_laws import check_many
from refute.language.rulebook import RuleBook
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.session import session

master, first, last, rules, stays, *settings = sys.argv[1:]
spark = session(master=master)
spark.conf.set("spark.sql.shuffle.partitions", "4")
failures = check_many(spark, range(int(first), int(last)), rules=int(rules))
base = spark.range(60000, numPartitions=6).selectExpr("id", "cast(id%3 as int) g", "id*10 a", "id*10+5 b", "rand(3) r")
for adaptive in settings:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    engine = SparkEngine(base.repartition(6), key=["id"], budget=SparkBudget(driver_bytes=0, task_rows=20_000))
    (rule,) = RuleBook.of(stays)
    found = engine.count(rule), engine.marked([rule]).where("size(refute) > 0").count()
    if found != (0, 0):
        failures.append(f"stays that do not overlap, adaptive {adaptive}: {found}")

killed, done = [], threading.Event()


def kill_workers():
    while not done.wait(0.2) and len(killed) < 3:  # Spark gives a task up after four failures
        for process in psutil.process_iter(["cmdline"]):
            if "pyspark.daemon" in (process.info["cmdline"] or ()) and process.children() and not done.is_set():
                killed.append(process.children()[0])
                killed[-1].kill()
                break


longer = spark.range(400_000, numPartitions=6).selectExpr("id", "id % 50 g", "id * 10 a", "id * 10 + 5 b")
engine = SparkEngine(longer.repartition(6), key=["id"], budget=SparkBudget(driver_bytes=0, task_rows=50_000))
pest = threading.Thread(target=kill_workers)
pest.start()
found = engine.count(rule), engine.verify(rule).holds
done.set()
pest.join()
if found != (0, True) or not killed:
    failures.append(f"{len(killed)} workers killed: {found}")
print(json.dumps(failures))
spark.stop()
"""


def test_random_rules_over_shuffled_tables_have_the_answers_of_all_pairs(spark: SparkSession) -> None:
    assert check_many(spark, range(100) if THOROUGH else range(1), rules=5 if THOROUGH else 3) == []


def test_random_rules_have_them_through_connect_too(connect: SparkSession) -> None:
    assert check_many(connect, range(1000, 1020) if THOROUGH else range(1000, 1001), rules=5 if THOROUGH else 3) == []


@pytest.mark.cluster
@pytest.mark.skipif(not THOROUGH, reason="takes two minutes and 2 GB: HYPOTHESIS_PROFILE=thorough runs it")
def test_random_rules_have_them_on_a_cluster_of_three_processes(tmp_path: Path) -> None:
    cases = ("2000", "2020", "5", STAYS, "true", "false")
    tests = str(Path(__file__).parents[1])
    variables = environment()
    variables["PYTHONPATH"] = os.pathsep.join([tests, variables["PYTHONPATH"]])
    with standalone(tmp_path, workers=3, cores=1) as (master, _):
        command = [sys.executable, "-W", "ignore", "-c", DRIVER, master, *cases]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.strip().splitlines()[-1]) == []


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_stays_behind_a_round_robin_shuffle_do_not_overlap_with_themselves(spark: SparkSession, adaptive: str) -> None:
    before = str(spark.conf.get("spark.sql.adaptive.enabled"))
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        stays = ("id", "cast(id%3 as int) g", "id*10 a", "id*10+5 b", "rand(3) r")
        frame = spark.range(3000, numPartitions=6).selectExpr(*stays)
        engine = SparkEngine(frame.repartition(6), key=["id"], budget=SparkBudget(driver_bytes=0, task_rows=1000))
        (rule,) = RuleBook.of(STAYS)
        assert engine.count(rule) == 0
        assert engine.verify(rule).holds
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def test_five_thousand_groups_meet_in_many_tasks(spark_kind: SparkSession) -> None:
    task_rows, tasks = (40, 1_000) if THOROUGH else (1_600, 25)
    numbers = np.arange(40_000)
    group = np.where(numbers < 30_000, numbers // 12, 2_500 + (numbers - 30_000) // 4)  # of twelve rows, and of four
    broken = np.where(numbers % 997 == 0, 60, 0)
    table = pa.table({"g": pa.array([f"group {number}" for number in group]), "a": numbers, "b": numbers - broken})
    assert len(np.unique(group)) == 5_000
    (rule,) = RuleBook.of("not (s.g = t.g and s.a < t.a and s.b > t.b)")
    engine = SparkEngine(
        frame_of(table, spark_kind).repartition(3), budget=SparkBudget(driver_bytes=0, task_rows=task_rows)
    )
    assert engine.tasks == tasks
    assert engine.count(rule) == rf.count(table, rule) > 0


@pytest.mark.parametrize("driver_bytes", [0, 1 << 13], ids=["by tasks", "fetched"])
@pytest.mark.parametrize("task_rows", [100, 1_000_000], ids=["cut", "whole"])
def test_equal_rows_without_a_key_are_a_violation(spark: SparkSession, driver_bytes: int, task_rows: int) -> None:
    rows = [(0, i, 1000 - i) for i in range(1000)] + [(0, 500, 500)] * 300
    frame = spark.createDataFrame(rows, "g int, a bigint, b bigint").coalesce(1)
    budget = SparkBudget(driver_bytes=driver_bytes, sample_rows=50, tasks_per_core=1, task_rows=task_rows)
    engine = SparkEngine(frame, budget=budget)
    (rule,) = RuleBook.of(DUPLICATES)
    verdict = engine.verify(rule)
    assert not verdict.holds
    assert verdict.witness == ({"g": 0, "a": 500, "b": 500},) * 2
    found = engine.measure([rule], counts=True)[0].finding
    assert (found.holds, found.violations, found.rows) == (False, 90300, 301)


def test_a_difference_where_null_is_a_value_costs_two_parts_a_column(spark: SparkSession) -> None:
    constraint = rf.parse("not (s.a < t.a and s.g != t.g and s.h != t.h)")
    for nulls in Nulls:
        form = Form.of(Rule(name="r", constraint=constraint, nulls=nulls))
        assert len(form.split()) == len(form.signed()) == 4
    table = pa.table(
        {
            "id": range(40),
            "a": [i * 7 % 11 for i in range(40)],
            "g": [i % 3 or None for i in range(40)],
            "h": [("x", None, "y")[i % 3] for i in range(0, 80, 2)],
        }
    )
    for how in ("as it is", "round-robin") if THOROUGH else ("round-robin",):
        rule = Rule(name="r", constraint=constraint, nulls=Nulls.EQUAL)
        assert check(spark, table, [rule], how, keyed=True, listed=True) == []
