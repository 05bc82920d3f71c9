"""What must be true of a rule on Spark wherever its rows come from: the answers of all pairs, in plain Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import oracle
from random_cases import random_case
from refute.language.rulebook import Rule
from refute.report.violations import Violations
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
from refute.spark.source.frames import frame_of

DISTRIBUTED = SparkBudget(driver_bytes=0, task_rows=16, tasks_per_core=1, sample_rows=1)
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


def views_of(session: SparkSession) -> set[str]:
    """The tables and views of a session; by SQL, as Spark cannot list views by `catalog` where it generates no code."""
    return {row["tableName"] for row in session.sql("SHOW TABLES").collect()}


def check(
    session: SparkSession, table: pa.Table, rules: Sequence[Rule], how: str, *, keyed: bool, listed: bool
) -> list[str]:
    """What is wrong with the counts, verdicts, rows and pairs of rules, all of them by tasks."""
    truths = [oracle.violations(table, rule.constraint, rule.nulls.value) for rule in rules]
    frame = SHUFFLES[how](frame_of(table, session))
    engine = SparkEngine(frame if keyed else frame.drop("id"), key=["id"] if keyed else [], budget=DISTRIBUTED)
    wrong = []
    for rule, truth, timed in zip(rules, truths, engine.measure(rules, counts=True), strict=True):
        found = timed.finding
        expected = (not truth, len(truth), len(oracle.rows_in_violation(truth)))
        if (found.holds, found.violations, found.rows) != expected:
            wrong.append(f"{rule.constraint}: {found} instead of {expected}")
        elif keyed and found.witness is not None and tuple(found.witness) not in truth:
            wrong.append(f"{rule.constraint}: {found.witness} do not clash")
    counted = engine.count(rules[0])
    if counted != len(truths[0]):
        wrong.append(f"{rules[0].constraint}: counted {counted} instead of {len(truths[0])}")
    verdict = engine.verify(rules[-1])
    if verdict.holds != (not truths[-1]):
        wrong.append(f"{rules[-1].constraint}: {verdict}")
    if keyed and listed:
        pairs = Violations(engine, rules[0]).to_arrow()
        if sorted(zip(pairs["s"].to_pylist(), pairs["t"].to_pylist(), strict=True)) != truths[0]:
            wrong.append(f"{rules[0].constraint}: {pairs.num_rows} other pairs than the {len(truths[0])} there are")
    return wrong


def check_many(session: SparkSession, seeds: range, *, rules: int = 5) -> list[str]:
    """What is wrong with so many rules over the table of each seed; each kind of shuffle in turn, adaptive or not."""
    failures = []
    before = str(session.conf.get("spark.sql.adaptive.enabled"))
    for seed in seeds:
        table, chosen = random_case(seed, rules=rules)
        how = list(SHUFFLES)[seed % len(SHUFFLES)]
        session.conf.set("spark.sql.adaptive.enabled", str(seed % 16 < 8).lower())
        try:
            wrong = check(session, table, chosen, how, keyed=seed % 3 != 0, listed=seed % 5 == 1)
        except Exception as error:  # noqa: BLE001  all seeds are tried, whatever happens to one
            wrong = [f"{[str(rule.constraint) for rule in chosen]}: {type(error).__name__}: {str(error)[:300]}"]
        failures += [f"seed {seed} ({how}) {one}" for one in wrong]
    session.conf.set("spark.sql.adaptive.enabled", before)
    return failures
