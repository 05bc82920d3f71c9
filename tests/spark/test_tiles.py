"""The tile of a value is the same whether Spark searches for it or Python does."""

from __future__ import annotations

import datetime as dt
import inspect
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from refute.relation import Relation
from refute.relation.types import ColumnType
from refute.spark import tiles
from refute.spark.expressions import monotone
from refute.spark.frames import frame_of
from refute.spark.tiles import Tiles

pytestmark = pytest.mark.spark

DAY = dt.datetime(2024, 1, 1)
COLUMNS: dict[str, pa.Array] = {
    "even": pa.array([i * 37 % 1000 / 8 for i in range(1000)] + [float("inf"), float("-inf"), -0.0]),
    "tails": pa.array([10.0 ** (i % 600 - 300) for i in range(1200)]),
    "extremes": pa.array([-1.7e308, 1.7e308, 0.0, 5e-324, float("inf"), float("-inf")]),
    "one": pa.array([3.5, 4.5, float("inf"), float("-inf"), 2.0]),
    "wide": pa.array([2**62 + i * 7 for i in range(300)] + [-(2**62)]),
    "text": pa.array([f"{i * 7919 % 997:03d}é" for i in range(500)] + ["", "z"]),
    "flag": pa.array([True, False, True]),
    "date": pa.array([DAY.date() + dt.timedelta(days=i * 13 % 900) for i in range(400)]),
    "plain": pa.array([DAY + dt.timedelta(seconds=i * 977 % 90001) for i in range(400)], pa.timestamp("us")),
    "zoned": pa.array([DAY + dt.timedelta(seconds=i * 977 % 90001) for i in range(400)], pa.timestamp("us", "UTC")),
}


def _searched(spark: SparkSession, values: pa.Array, most: int) -> tuple[Tiles, list[tuple[Any, int, int]]]:
    """The tiles of a column, and each value with its number by Spark and by Python."""
    table = pa.table({"a": values})
    kind: ColumnType = Relation.of(table).type_of("a")
    mapped = monotone(kind, kind)
    seen = frame_of(table, spark).select(mapped.alias("v")).toArrow().column("v")
    found = Tiles.of_sample((kind, kind), seen.slice(0, max(len(seen) - 2, 1)), most)
    numbers = frame_of(table, spark).select(mapped.alias("v"), found.number(mapped).alias("n")).toArrow()
    expected = found.numbers(numbers.column("v")).tolist()
    return found, list(zip(numbers.column("v").to_pylist(), numbers.column("n").to_pylist(), expected, strict=True))


@pytest.mark.parametrize("most", [1, 15, 255])
@pytest.mark.parametrize("name", COLUMNS)
def test_spark_finds_the_tile_that_python_finds(spark: SparkSession, name: str, most: int) -> None:
    found, numbers = _searched(spark, COLUMNS[name], most)
    assert all(number == expected for _, number, expected in numbers)
    assert all(0 <= number < found.size for _, number, _ in numbers)


def test_spark_finds_the_tile_through_connect(connect: SparkSession) -> None:
    for name in ("even", "text", "date"):
        _, numbers = _searched(connect, COLUMNS[name], 15)
        assert all(number == expected for _, number, expected in numbers)


def test_a_null_has_a_tile_too(spark: SparkSession) -> None:
    found = Tiles((1.0, 2.0), "double", True)
    value = F.lit(None).cast("double")
    (row,) = spark.range(1).select(found.number(value)).collect()
    assert 0 <= row[0] < found.size


def test_only_public_functions_of_spark_search() -> None:
    assert "internal" not in inspect.getsource(tiles)
