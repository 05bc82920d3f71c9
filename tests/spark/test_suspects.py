"""The same suspects on Spark as in process, and halves that are DataFrames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import refute as rf
from refute.cli.app import run
from refute.errors import DataError, EngineError
from refute.language.rulebook import RuleBook
from refute.spark.blame.rounds import Rounds
from thorough import THOROUGH

TABLE = pa.table(
    {
        "id": list(range(40)),
        "zip": [str(i // 8) for i in range(40)],
        "city": [f"city {i // 8}" if i % 11 else "nowhere" for i in range(40)],
        "salary": [i * 10 for i in range(40)],
        "rate": [i if i % 13 else 99 - i for i in range(40)],
    }
)
RULES = ["zip -> city", "not (s.zip = t.zip and s.salary < t.salary and s.rate > t.rate)", "row(rate <= 90)"]


def test_spark_blames_the_rows_that_this_process_blames(spark_kind: SparkSession) -> None:
    frame = spark_kind.createDataFrame(TABLE)
    here, there = rf.suspects(TABLE, RULES, key="id"), rf.suspects(frame, RULES, key="id")
    assert here.count > 0
    assert list(there) == list(here)
    assert (there.count, there.lower_bound, there.shares) == (here.count, here.lower_bound, here.shares)


def test_halves_are_frames_and_the_suspects_say_why(spark_kind: SparkSession) -> None:
    report = rf.check(spark_kind.createDataFrame(TABLE), RULES, key="id")
    clean, suspects = report.split()
    local_clean, local_suspects = rf.check(TABLE, RULES, key="id").split()
    assert clean.columns == TABLE.column_names
    assert sorted(row["id"] for row in clean.collect()) == local_clean["id"].to_pylist()
    told = {row["id"]: [why["rule"] for why in row["refute"]] for row in suspects.collect()}
    rows = local_suspects.to_pylist()
    assert told == {row["id"]: [why["rule"] for why in row["refute"]] for row in rows}


def test_positions_are_ids_of_files(spark: SparkSession, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(TABLE, file)
    assert list(rf.suspects(str(file), RULES, engine="spark")) == list(rf.suspects(TABLE, RULES))
    folder = tmp_path / "apart"
    assert run(["check", str(file), "zip -> city", "--quarantine", str(folder), "--engine", "spark"]) == 1
    halves = [pq.read_table(folder / name).num_rows for name in ("clean.parquet", "suspects.parquet")]
    blamed = rf.suspects(TABLE, "zip -> city").count
    assert halves == [TABLE.num_rows - blamed, blamed]


SIZE = 300
FEW_BYTES = 9_000  # of which the columns of so many rows take more, and those of rows that differ less
SHARED = (  # what rules say of rows that are alike
    "zip -> city",
    "zip, kind -> state",
    "not (s.zip = t.zip and s.salary < t.salary and s.rate > t.rate)",
    "not (s.zip = t.zip and s.salary <= t.salary and s.rate > t.rate)",
)
APART = ("row(rate <= 4)", "unique(number)", "not (s.number < t.number and s.share > t.share and s.left < t.left)")


def errors_in(seed: int, zips: int = 5) -> pa.Table:
    """A table of few different rows and some errors, nulls and NaN; numbers mostly are each once."""
    rng = np.random.default_rng(seed)
    zip_, kind, salary = rng.integers(0, zips, SIZE), rng.integers(0, 2, SIZE), rng.integers(0, 3, SIZE)
    wrong = rng.random((4, SIZE)) < 0.03
    rate = np.where(wrong[0], rng.integers(0, 6, SIZE), salary).astype(float)
    number = np.where(wrong[3], rng.integers(0, SIZE, SIZE), np.arange(SIZE))
    return pa.table(
        {
            "id": np.arange(SIZE),
            "zip": [str(code) for code in zip_],
            "kind": kind,
            "city": [f"city {code % 3}" if right else "nowhere" for code, right in zip(zip_, ~wrong[1], strict=True)],
            "state": pa.array((zip_ + kind) % 4 + wrong[2], mask=rng.random(SIZE) < 0.05),
            "salary": salary,
            "rate": np.where(rng.random(SIZE) < 0.02, np.nan, rate),
            "number": number,
            "share": number + np.where(wrong[2], rng.integers(-3, 4, SIZE), 0),
            "left": number,
        }
    )


@given(st.integers(0, 2**32), st.sets(st.sampled_from(SHARED), min_size=1), st.sets(st.sampled_from(APART)))
@settings(max_examples=40 if THOROUGH else 3, deadline=None)
def test_rows_that_stand_for_others_blame_as_all_do(
    spark: SparkSession, seed: int, shared: set[str], apart: set[str]
) -> None:
    table, rules = errors_in(seed), sorted(shared | apart)
    frame = spark.createDataFrame(table).repartition(3, F.col("city"))
    names = {name for rule in RuleBook.of(rules) for name in rule.constraint.columns}
    most = table.select(["id", *names]).nbytes * 6 // 10
    here, there = rf.suspects(table, rules, key="id"), rf.suspects(frame, rules, key="id", driver_bytes=most)
    assert f"stand for all {SIZE}" in there.notes[0]
    assert list(there) == list(here)
    assert (there.count, there.shares) == (here.count, here.shares)
    assert there.lower_bound <= here.count


def test_of_groups_that_all_differ_those_in_question_come(connect: SparkSession) -> None:
    rules = ["zip -> city", "zip -> state", "not (s.zip = t.zip and s.salary < t.salary and s.rate > t.rate)"]
    table = errors_in(seed=5, zips=SIZE)
    here = rf.suspects(table, rules, key="id")
    there = rf.suspects(connect.createDataFrame(table), rules, key="id", driver_bytes=FEW_BYTES)
    assert here.count > 0
    assert there.notes[1].startswith("no values are suggested for city")
    assert [line._replace(cells=()) for line in there] == [line._replace(cells=()) for line in here]


def test_rows_that_are_alike_all_go(spark: SparkSession, tmp_path: Path) -> None:
    few = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"], "more": ["x", "x", "x"]})
    table = few.take(pa.array([0] * 400 + [1] * 7 + [2] * 400))
    file = tmp_path / "rows.parquet"
    pq.write_table(table, file)
    found = rf.check(spark.read.parquet(str(file)), "zip -> city", driver_bytes=2_000)
    assert [line.row for line in found.suspects] == list(range(400, 407))
    assert {line.cells[0].support for line in found.suspects} == {"400 of 407 rows with zip 1 say a"}
    folder = tmp_path / "halves"
    asked = ["check", str(file), "zip -> city", "--driver-bytes", "2000", "--quarantine", str(folder)]
    assert run([*asked, "--suspects", str(tmp_path / "lines.csv")]) == 1
    clean, blamed = (pq.read_table(folder / name) for name in ("clean.parquet", "suspects.parquet"))
    assert (clean.num_rows, blamed.num_rows) == (800, 7)
    assert blamed["city"].to_pylist() == ["b"] * 7
    assert len((tmp_path / "lines.csv").read_text().splitlines()) == 8


def test_rows_that_clash_with_most_others_go_in_rounds(spark: SparkSession) -> None:
    salary, rate = list(range(SIZE)), list(range(SIZE))
    rate[10], rate[20], rate[250], rate[290] = 1000, 999, 30, 285
    table = pa.table({"id": salary, "salary": salary, "rate": rate})
    rule = "not (s.salary < t.salary and s.rate > t.rate)"
    found = rf.suspects(spark.createDataFrame(table), rule, key="id", driver_bytes=3_000)
    assert [line.row for line in found] == [10, 20, 250, 290]
    assert "by rounds of partner counts" in found.notes[-1]
    clashing = {
        row: [other for other in range(SIZE) if (row - other) * (rate[row] - rate[other]) < 0] for row in salary
    }
    staying = [sum(other not in (10, 20, 250, 290) for other in clashing[line.row]) for line in found]
    assert [line.clears for line in found] == staying
    gone = [line for line in found if not line.cells]
    assert 0 < len(gone) < 4
    assert [line.violations for line in gone] == [len(clashing[line.row]) for line in gone]
    assert (found.count, found.lower_bound) == (4, 4 - len(gone))
    clean, blamed = found.split()
    assert (clean.count(), sorted(row["id"] for row in blamed.collect())) == (SIZE - 4, [10, 20, 250, 290])


def test_what_does_not_fit_here_is_told(spark: SparkSession) -> None:
    frame = spark.createDataFrame(TABLE)
    with pytest.raises(EngineError, match="raise driver_bytes"):
        rf.suspects(frame, RULES, key="id", driver_bytes=0)
    with pytest.raises(DataError, match="finding suspects needs row ids"):
        rf.suspects(frame, RULES)


def test_the_plan_of_a_round_does_not_hold_the_plans_of_those_before(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = np.random.default_rng(3)
    x = drawn.integers(0, 900, 500)
    table = pa.table({"id": np.arange(500), "x": x, "y": np.where(drawn.random(500) < 0.2, x[::-1], x)})
    sizes: list[int] = []
    once = Rounds._round

    def measured(self: Rounds, *args: Any) -> bool:
        went = once(self, *args)
        sizes.append(len(self.left.source.frame._jdf.queryExecution().toString()))
        return went

    monkeypatch.setattr(Rounds, "_round", measured)
    rule = "not (s.x < t.x and s.y > t.y)"
    rf.suspects(spark.createDataFrame(table), rule, key="id", driver_bytes=1500)
    assert len(sizes) > 3
    grown = np.diff(sizes[:-1])
    assert grown.max() < 2 * grown[1:].min() + 1
