"""Columns that are fetched for one answer rather than sent through Python workers."""

from __future__ import annotations

import threading
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import oracle
import refute as rf
from refute.detect.local import LocalEngine
from refute.language.nulls import Nulls
from refute.language.rulebook import RuleBook
from refute.spark.answer.fetching.holding import Holding
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
    """An engine that has room for the columns of about one rule, and looks at the first rows before it fetches them."""
    return SparkEngine(frame, key=["id"], budget=SparkBudget(driver_bytes=ROWS * 60, counted_bytes=0, sample_rows=1))


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


class Narrow(SparkBudget):
    """A budget for a Spark that sends little."""

    def most_bytes(self, session: SparkSession) -> int:
        return 64


def test_no_more_is_fetched_than_spark_lets_come_here(spark: SparkSession) -> None:
    assert largest_result(spark) >= 1 << 27
    assert SparkBudget(driver_bytes=1 << 60).most_bytes(spark) == largest_result(spark)
    assert SparkBudget(driver_bytes=7).most_bytes(spark) == 7
    engine = SparkEngine(frame_of(_table(), spark), key=["id"], budget=Narrow(driver_bytes=ROWS * 60, sample_rows=1))
    assert engine.prepared(RuleBook.of(RULES[0])[0]).way.name != "gather"


def test_limits_of_results_are_read_as_spark_writes_them() -> None:
    class Session:
        def __init__(self, value: str) -> None:
            self.conf = {"spark.driver.maxResultSize": value, "spark.driver.memory": "2g"}

    sizes = {"1g": 512 << 20, "512m": 256 << 20, "0": 512 << 20, "2048": 1024, "1024KB": 1 << 19}
    assert {text: largest_result(Session(text)) for text in sizes} == sizes  # type: ignore[arg-type]


def _held(columns: dict[str, range]) -> LocalEngine:
    return LocalEngine(pa.table(columns))


def test_what_is_here_is_not_brought_again_and_ids_only_where_asked_for() -> None:
    holding, brought = Holding(1 << 20), []

    def bring(names: tuple[str, ...], identified: bool) -> LocalEngine | None:
        def made() -> LocalEngine:
            brought.append((names, identified))
            return _held(dict.fromkeys(names, range(9)))

        with holding.used(names, identified=identified, size=72, bring=made) as rows:
            return rows

    both = bring(("a", "b"), False)
    assert bring(("b",), False) is both
    with_ids = bring(("a",), True)
    assert with_ids is not both
    assert bring(("a",), False) is bring(("a",), True) is with_ids
    assert brought == [(("a", "b"), False), (("a",), True)]
    assert holding.known(("b",), identified=True) is None
    holding.forget()
    assert holding.known(("a",), identified=False) is None


def test_what_was_not_asked_about_for_longest_makes_room() -> None:
    holding = Holding(3 * 8 * 100)
    for name in ("a", "b", "c", "a", "d"):
        with holding.used((name,), identified=False, size=800, bring=lambda name=name: _held({name: range(100)})):  # type: ignore[misc]
            pass
    assert [holding.known((name,), identified=False) is not None for name in "abcd"] == [True, False, True, True]


def test_rows_in_use_are_waited_for_and_one_that_is_larger_than_all_room_comes_alone() -> None:
    holding, here, most = Holding(1000), 0, 0
    lock = threading.Lock()

    def ask(number: int) -> None:
        nonlocal here, most

        def bring() -> LocalEngine:
            nonlocal here, most
            with lock:
                here += 1
                most = max(most, here)
            return _held({f"c{number}": range(200)})

        with holding.used((f"c{number}",), identified=False, size=1600, bring=bring), lock:
            here -= 1

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (here, most) == (0, 1)


def test_what_cannot_be_brought_is_not_held() -> None:
    holding = Holding(1000)
    with holding.used(("a",), identified=False, size=8, bring=lambda: None) as rows:
        assert rows is None
    with pytest.raises(ValueError, match="lost"), holding.used(("a",), identified=False, size=8, bring=_lost):
        pass
    with holding.used(("a",), identified=False, size=8, bring=lambda: _held({"a": range(1)})) as rows:
        assert rows is not None


def _lost() -> LocalEngine:
    raise ValueError("lost")


def test_long_ids_count_as_bytes_that_come_here(spark: SparkSession) -> None:
    rows = spark.range(20_000).selectExpr("concat(repeat('k', 490), id) as k", "id * 7 % 9973 as a", "id as b")
    few = SparkEngine(rows, key=["k"], budget=SparkBudget(driver_bytes=480_000, native_bytes=0, counted_bytes=0))
    many = SparkEngine(rows, key=["k"], budget=SparkBudget(driver_bytes=48_000_000, native_bytes=0, counted_bytes=0))
    (rule,) = RuleBook.of("not (s.a < t.a and s.b > t.b)")
    assert few.prepared(rule).way.name == "distribute"
    assert many.prepared(rule).way.name == "gather"


@pytest.mark.parametrize("key", [["id"], ["id", "b"]])
def test_a_rule_about_one_row_may_hold_where_ids_are_declared_without_null(
    spark_kind: SparkSession, key: list[str]
) -> None:
    rows = spark_kind.range(10).selectExpr("id", "id % 3 as a", "coalesce(id, 0) as b")
    assert not rows.schema["id"].nullable
    report = rf.check(rows, ["row(a >= 0)", "row(b < 9)"], key=key, driver_bytes=0)
    holds, broken = (result.finding for result in report.results)
    assert holds.holds
    assert holds.witness is None
    assert (broken.violations, broken.rows) == (1, 1)
    assert broken.witness is not None
    assert broken.witness.s == (9 if len(key) == 1 else {"id": 9, "b": 9})
