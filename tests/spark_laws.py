"""What must be true of a rule on Spark wherever its rows come from: the answers of all pairs, in plain Python."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import oracle
from refute.language.rulebook import Rule
from refute.spark.budget import Budget
from refute.spark.engine import SparkEngine
from refute.spark.frames import frame_of

DISTRIBUTED = Budget(driver_bytes=0, task_rows=16, tasks_per_core=1, sample_rows=1)
SHUFFLES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "as it is": lambda frame: frame,
    "round-robin": lambda frame: frame.repartition(5),
    "hash": lambda frame: frame.repartition(4, "g"),
    "range": lambda frame: frame.repartitionByRange(3, "b", "id"),
    "join": lambda frame: frame.join(frame.select(F.col("id").alias("other")), F.col("id") == F.col("other")).drop(
        "other"
    ),
    "distinct": lambda frame: frame.dropDuplicates(["id"]),
    "random order": lambda frame: frame.orderBy(F.rand(3)).limit(10**6),
    "sorted": lambda frame: frame.orderBy("b"),
}


def check(session: SparkSession, table: pa.Table, rule: Rule, how: str, *, keyed: bool, listed: bool) -> None:
    """Counts, verdict, rows and pairs of a rule, all of them by tasks."""
    truth = oracle.violations(table, rule.constraint, rule.nulls.value)
    frame = SHUFFLES[how](frame_of(table, session))
    engine = SparkEngine(frame if keyed else frame.drop("id"), key=["id"] if keyed else [], budget=DISTRIBUTED)
    assert engine.count(rule) == len(truth)
    found = engine.measure([rule], counts=True)[0].finding
    assert (found.violations, found.rows) == (len(truth), len(oracle.rows_in_violation(truth)))
    assert found.holds == (not truth)
    if keyed and found.witness is not None:
        assert tuple(found.witness) in truth
    if keyed and listed:
        pairs = engine.violations(rule, None).to_arrow()
        assert sorted(zip(pairs["s"].to_pylist(), pairs["t"].to_pylist(), strict=True)) == truth


def check_many(session: SparkSession, seeds: range) -> list[str]:
    """The seeds for which an answer is wrong or missing, with what was found; each kind of shuffle in turn."""
    from random_cases import random_case

    failures = []
    for seed in seeds:
        table, rule = random_case(seed)
        how = list(SHUFFLES)[seed % len(SHUFFLES)]
        try:
            check(session, table, rule, how, keyed=seed % 3 != 0, listed=seed % 5 == 1)
        except Exception as error:  # noqa: BLE001  all seeds are tried, whatever happens to one
            failures.append(f"seed {seed} ({how}) {rule.constraint}: {type(error).__name__}: {str(error)[:300]}")
    return failures
