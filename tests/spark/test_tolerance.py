"""A tolerance of suspects is judged on Spark as in this process, also where rows stay there and have no ids."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import refute as rf
from refute.errors import DataError
from refute.language.rulebook.reading.loader import book_from_yaml
from refute.spark.source.frames import frame_of
from speaking_tables import people

BOOK = """
rules:
- {name: zips, fd: "zip -> city", tolerance: {suspects: 20%}}
- {name: both, fd: "zip, kind -> city", nulls: equal, tolerance: {suspects: 3}}
- {name: some, fd: "zip -> rate", where: "kind != 'b'", tolerance: {suspects: 30%}}
- {name: ids, unique: "id", tolerance: {suspects: 0}}
- {name: pairs, unique: "zip, rate", nulls: equal, tolerance: {suspects: 40%}}
- {name: rates, row: "rate <= 3", tolerance: {suspects: 5}}
- {name: nulls, not_null: city, tolerance: {suspects: 100%}}
"""


def rows(seed: int) -> pa.Table:
    """Rows with nulls, zeros of both signs, and NaN."""
    drawn = random.Random(seed)
    made = {
        "id": [drawn.randrange(60) for _ in range(80)],
        "zip": [drawn.choice(["a", "b", "c", "d", None]) for _ in range(80)],
        "city": [drawn.choice(["x", "x", "x", "y", None]) for _ in range(80)],
        "kind": [drawn.choice(["a", "b", None]) for _ in range(80)],
        "rate": [drawn.choice([0.0, -0.0, 1.5, float("nan"), 4.0, None]) for _ in range(80)],
    }
    return pa.table(made)


def judged(report: rf.Report) -> list[tuple[str, bool, int | None]]:
    return [(result.name, result.passed, result.suspects) for result in report]


@pytest.mark.parametrize("driver_bytes", [None, 0])
def test_rows_to_blame_are_counted_where_they_are(spark_kind: SparkSession, driver_bytes: int | None) -> None:
    table = rows(1)
    frame = frame_of(table, spark_kind).repartition(3)  # behind a shuffle, and without a key
    book = book_from_yaml(BOOK)
    found = rf.check(frame, book, driver_bytes=driver_bytes)
    assert judged(found) == judged(rf.check(table, book))
    assert {result.passed for result in found} == {True, False}


def test_what_is_proposed_for_rows_that_stay_is_written_and_passes(spark: SparkSession) -> None:
    table = people(300)
    frame = frame_of(table, spark).repartition(3)
    found = rf.propose(frame, driver_bytes=0, kinds=["order rule", "functional dependency"], max_left=1)
    assert {one.kind for one in found.rules} == {"order rule", "functional dependency"}
    book = found.book()
    assert {tuple(rule.tolerance.plain()) for rule in book} >= {("suspects",)}
    assert rf.check(frame, book, driver_bytes=0).ok
    assert rf.check(table, book).ok


def test_orders_need_ids_where_rows_stay(spark: SparkSession) -> None:
    book = book_from_yaml("rules:\n- {name: up, order: '(id asc, rate asc)', tolerance: {suspects: 50%}}\n")
    frame = frame_of(rows(2), spark)
    with pytest.raises(DataError, match="Finding suspects needs row ids"):
        rf.check(frame.repartition(3), book, driver_bytes=0)
    assert judged(rf.check(frame, book, driver_bytes=None)) == judged(rf.check(rows(2), book))
