"""The same suspects on Spark as in process, and halves that are DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import refute as rf
from refute.blame.contest import Longs
from refute.cli.app import run
from refute.errors import DataError
from refute.language.rulebook import Rule, RuleBook
from refute.spark.blame.rounds import SparkRounds
from refute.spark.budget import SparkBudget
from refute.spark.engine import SparkEngine
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


IN_QUESTION = "The suspects were found by one task among rows in question, and only they came to this process."
FAR = SparkBudget(driver_bytes=0, task_bytes=0)  # nothing comes here, nor all rows in question to one task


def asked(frame: DataFrame, rules: Sequence[str] | dict[str, Any], budget: SparkBudget) -> rf.Suspects:
    """The suspects of a frame with a key `id`."""
    return rf.Suspects(SparkEngine(frame, key=("id",), budget=budget).suspects(list(RuleBook.of(rules))))


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
    here = rf.suspects(table, rules, key="id")
    there = asked(frame, rules, SparkBudget(driver_bytes=most, task_bytes=0))
    assert f"stand for all {SIZE}" in there.notes[0]
    assert list(there) == list(here)
    assert (there.count, there.shares) == (here.count, here.shares)
    assert there.lower_bound <= here.count


def test_of_groups_that_all_differ_those_in_question_come(connect: SparkSession) -> None:
    rules = ["zip -> city", "zip -> state", "not (s.zip = t.zip and s.salary < t.salary and s.rate > t.rate)"]
    table = errors_in(seed=5, zips=SIZE)
    here = rf.suspects(table, rules, key="id")
    there = asked(connect.createDataFrame(table), rules, SparkBudget(driver_bytes=FEW_BYTES, task_bytes=0))
    assert here.count > 0
    assert there.notes[0].endswith("stand for all 300.")
    assert list(there) == list(here)
    assert any(cell.suggestion for line in here for cell in line.cells)


def test_several_dependencies_of_several_columns_do_not_pile_up_plans(spark: SparkSession) -> None:
    table = pa.table(
        {
            "a": [None, 1, 1, 4, 5, 6],
            "b": [0, 0, 0, 4, 5, 6],
            "c": [1, 1, 2, 4, 4, 4],
            "x": [2, 2, 3, 4, 4, 4],
            "y": [9, 9, 9, 4, 5, 6],
            "id": range(6),
        }
    )
    book = {"rules": [{"name": "r", "fd": "y, b -> x"}, {"name": "q", "fd": "a, y -> c", "nulls": "equal"}]}
    found = asked(spark.createDataFrame(table), book, SparkBudget(driver_bytes=0, task_rows=5))
    assert found.notes == (IN_QUESTION,)
    assert found.rows == rf.suspects(table, book, key="id").rows


def test_rows_that_are_alike_all_go(spark: SparkSession, tmp_path: Path) -> None:
    few = pa.table({"zip": ["1", "1", "2", "2"], "city": ["a", "b", "c", "d"], "more": ["x", "x", "x", "x"]})
    table = few.take(pa.array([0] * 400 + [1] * 7 + [2] * 398 + [3] * 2))  # two are told apart from more
    file = tmp_path / "rows.parquet"
    pq.write_table(table, file)
    engine = SparkEngine(spark.read.parquet(str(file)), budget=SparkBudget(driver_bytes=2_000, task_bytes=0))
    found = rf.Suspects(engine.suspects([Rule.of("zip -> city")]))
    assert found.notes == ("4 rows came to this process; they stand for all 807.",)
    assert [line.row for line in found] == [*range(400, 407), 805, 806]
    said = {line.cells[0].support for line in found}
    assert said == {"400 of 407 rows with zip 1 say a", "398 of 400 rows with zip 2 say c"}
    folder = tmp_path / "halves"
    asked = ["check", str(file), "zip -> city", "--driver-bytes", "2000", "--quarantine", str(folder)]
    assert run([*asked, "--suspects", str(tmp_path / "lines.csv")]) == 1
    clean, blamed = (pq.read_table(folder / name) for name in ("clean.parquet", "suspects.parquet"))
    assert (clean.num_rows, blamed.num_rows) == (798, 9)
    assert sorted(blamed["city"].to_pylist()) == ["b"] * 7 + ["d"] * 2
    assert len((tmp_path / "lines.csv").read_text().splitlines()) == 10


EVERY = (  # a rule of each shape
    *SHARED,
    *APART,
    "not (s.zip = t.zip and s.rate < t.rate)",
    "not (s.kind = t.kind and s.number <= t.number)",
    "not (s.state != t.state)",
    "not (s.zip = t.zip and s.number < t.share and t.number < s.share)",
    "not (s.zip = t.zip and s.number <= t.number and s.share >= t.share)",
    "not (s.city != t.city and s.kind != t.kind and s.number = t.number)",
    "not (s.salary = 1 and t.salary = 1 and s.rate != t.rate)",
    "state, zip -> rate",
)


def some_rules(most: int) -> st.SearchStrategy[set[str]]:
    return st.sets(st.sampled_from(EVERY), min_size=2, max_size=most)


def assert_same(spark: SparkSession, seed: int, rules: set[str], budget: SparkBudget, note: str) -> None:
    """Assert that rows which may not come here are blamed as they are here."""
    table = errors_in(seed).slice(0, 60)
    here = rf.suspects(table, sorted(rules), key="id")
    there = asked(spark.createDataFrame(table).repartition(3, F.col("city")), sorted(rules), budget)
    assert there.notes[0] == note
    assert list(there) == list(here)
    assert (there.count, there.shares) == (here.count, here.shares)
    assert 0 < there.lower_bound <= here.count or here.count == 0  # which each engine proves in its own way


@given(st.integers(0, 2**32), some_rules(5))
@settings(max_examples=40 if THOROUGH else 5, deadline=None)
def test_one_task_finds_what_may_not_come_here(spark: SparkSession, seed: int, rules: set[str]) -> None:
    assert_same(
        spark,
        seed,
        rules,
        SparkBudget(driver_bytes=0),
        "The suspects were found by one task, and only they came to this process.",
    )


@given(st.integers(0, 2**32), some_rules(3 if THOROUGH else 2))
@settings(max_examples=40 if THOROUGH else 1, deadline=None)
def test_what_may_go_nowhere_is_decided_where_it_is(spark: SparkSession, seed: int, rules: set[str]) -> None:
    assert_same(spark, seed, rules, FAR, "The suspects were found on Spark, and only they came to this process.")


def test_one_task_decides_on_rows_in_question_alone(spark: SparkSession) -> None:
    table = errors_in(seed=7)
    rules = ["unique(number)", "row(rate <= 4)", "zip, kind -> state", EVERY[2]]
    here = rf.suspects(table, rules, key="id")
    there = asked(spark.createDataFrame(table), rules, SparkBudget(driver_bytes=0, task_rows=SIZE - 1))
    assert there.notes == (IN_QUESTION,)
    assert list(there) == list(here)
    assert (there.count, there.shares) == (here.count, here.shares)
    assert any(line.either and not line.removed for line in here)


def test_a_table_without_rows_has_no_suspects_in_a_task(spark_kind: SparkSession) -> None:
    found = rf.suspects(spark_kind.createDataFrame(TABLE).limit(0), RULES, key="id", driver_bytes=0)
    assert (found.count, found.lower_bound, list(found)) == (0, 0, [])


def test_nothing_comes_here_by_connect_either(connect: SparkSession) -> None:
    rules = [RULES[0], RULES[2], "not (s.salary < t.salary and s.rate > t.rate and s.city != t.city)"]
    here = rf.suspects(TABLE, rules, key="id")
    there = asked(connect.createDataFrame(TABLE), rules, FAR)
    assert here.count > 0
    assert list(there) == list(here)
    assert 0 < there.lower_bound <= here.count
    clean, blamed = there.split()
    assert sorted(row["id"] for row in blamed.collect()) == here.rows
    assert clean.count() == TABLE.num_rows - here.count


def test_values_that_would_break_a_rule_are_withheld_where_the_rows_are(spark: SparkSession) -> None:
    table = pa.table(
        {
            "id": range(22),
            "zip": [1.0] * 10 + [float("nan"), -0.0] + [0.0] * 8 + [8.0, 9.0],
            "city": [*"aaaaaaaabb", "a", "d", *"cccccccc", *"ef"],
            "mark": [8, *range(1, 22)],  # with city a, row 8 would be a second (a, 8); row 9 would be alone
            "rate": [None, *range(14), 2, *range(15, 21)],  # the last two rows are not in question
        }
    )
    rules = {
        "rules": [
            {"name": "city", "fd": "zip -> city", "nulls": "equal"},
            {"name": "mark", "unique": "city, mark", "where": "rate >= 0 or rate is null"},
            {"name": "order", "dc": "not (s.mark < t.mark and s.rate > t.rate)"},
        ]
    }
    here = rf.suspects(table, rules, key="id")
    assert [cell.suggestion for line in here for cell in line.cells if cell.column == "city"] == [None, "a", "c"]
    found = asked(spark.createDataFrame(table), rules, SparkBudget(driver_bytes=0, task_rows=21))
    assert found.notes == (IN_QUESTION,)
    assert list(found) == list(here)


def test_groups_too_large_for_a_task_go_in_rounds(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    salary, rate = list(range(SIZE)), list(range(SIZE))
    rate[10], rate[20], rate[250], rate[290] = 1000, 999, 30, 285
    table = pa.table({"id": salary, "salary": salary, "rate": rate})
    rule = "not (s.salary < t.salary and s.rate > t.rate)"
    plans: list[str] = []
    once = SparkRounds._degrees

    def measured(self: SparkRounds, rows: DataFrame, number: int) -> DataFrame:
        plans.append(rows._jdf.queryExecution().toString())
        return once(self, rows, number)

    monkeypatch.setattr(SparkRounds, "_degrees", measured)
    budget = SparkBudget(driver_bytes=0, task_rows=100)
    engine = SparkEngine(spark.createDataFrame(table), key=("id",), budget=budget)
    found = rf.Suspects(engine.suspects([Rule.of(rule)]))
    assert "were found by rounds of partner counts" in found.notes[-1]
    assert [line.row for line in found] == [10, 20, 250, 290]
    clashing = {
        row: [other for other in range(SIZE) if (row - other) * (rate[row] - rate[other]) < 0] for row in salary
    }
    staying = [sum(other not in found.rows for other in clashing[line.row]) for line in found]
    assert [line.clears for line in found] == staying
    assert [line.violations for line in found] == [len(clashing[line.row]) for line in found]
    assert found.lower_bound <= 4
    assert len(plans) > 3
    assert not any("Join" in plan for plan in plans)  # the plan of a round does not hold those of rounds before


def test_rows_need_ids(spark: SparkSession) -> None:
    with pytest.raises(DataError, match="Finding suspects needs row ids"):
        rf.suspects(spark.createDataFrame(TABLE), RULES)


TIES: dict[
    tuple[str, ...], Callable[[Longs], dict[str, Longs]]
] = {  # columns of paths of clashes by rules, in which all rows but those at the ends are trusted alike
    ("unique(a)", "unique(b)"): lambda i: {"a": i // 2, "b": (i + 1) // 2},
    ("a -> c", "b -> c"): lambda i: {"a": i // 2, "b": (i + 1) // 2, "c": i % 2},
    ("no_overlap(x, y) by a", "b -> c"): lambda i: {"a": i // 2, "b": (i + 1) // 2, "c": i, "x": i * 0, "y": i * 0 + 1},
}


@pytest.mark.parametrize("rules", TIES)
def test_rows_that_are_trusted_alike_are_chosen_from_as_in_this_process(
    spark_kind: SparkSession, rules: tuple[str, ...]
) -> None:
    order = np.random.default_rng(4).permutation(60)
    table = pa.table({"id": np.arange(60), **TIES[rules](order)})
    here, there = rf.suspects(table, rules, key="id"), asked(spark_kind.createDataFrame(table), rules, FAR)
    assert here.lower_bound == 30
    assert here.count <= (33 if "overlap" in rules[0] else 30)  # spans choose between equals on their own
    assert list(there) == list(here)
