"""What a DataFrame is made of: plans read as text, on classic sessions and through Connect."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

import refute as rf
from refute.errors import DataError
from refute.spark.source.lineage import Lineage, is_repeatable, lineages_of, scanned_format, settled
from refute.spark.source.positions import layout_of
from refute.spark.source.source import SparkSource
from spark_laws import views_of

pytestmark = pytest.mark.spark

Rows = Iterator[pa.RecordBatch]


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Parquet files of 60 rows: whole numbers `id` and `a`, floats `f`, texts `t`."""
    path = str(tmp_path_factory.mktemp("lineage") / "rows")
    rows = spark.range(0, 60, 1, 3).selectExpr("id", "id % 7 as a", "id / 3 as f", "cast(id % 4 as string) as t")
    rows.write.parquet(path)
    return path


def _repeatable(rows: DataFrame) -> dict[str, DataFrame]:
    session, few = rows.sparkSession, rows.where("a > 4")
    other = rows.select("id", F.col("a").alias("b"))
    return {
        "scan": rows,
        "projection": rows.selectExpr("id", "a * 2 as a"),
        "filter": few,
        "join": rows.join(other, "id"),
        "semi-join": rows.join(few, "id", "left_semi"),
        "broadcast join": rows.join(F.broadcast(few.select("a").distinct()), "a"),
        "union": rows.union(few),
        "round robin": rows.repartition(3),
        "hash": rows.repartition(3, "a"),
        "range": rows.repartitionByRange(3, "a"),
        "sort": rows.orderBy("t"),
        "distinct": rows.distinct(),
        "aggregates": rows.groupBy("a").agg(F.count("*").alias("n"), F.min("f").alias("m"), F.max("t").alias("x")),
        "explode": rows.withColumn("e", F.explode(F.array("id", "a"))),
        "cached": few.select("id", "a"),
        "made here": session.createDataFrame([(1, "a")], "x int, y string"),
        "words": session.createDataFrame([(1, 2, 3)], "`rand` int, `limit` int, `sum` int"),
        "wide": rows.select("*", *(F.col("id").alias(f"c{i}") for i in range(40))),
        "evaluated once": rows.withColumn("r", F.rand()).localCheckpoint(),
    }


def _unrepeatable(rows: DataFrame) -> dict[str, DataFrame]:
    groups, within = rows.groupBy("a"), Window.partitionBy("a").orderBy("t")

    def same(batches: Rows) -> Rows:
        yield from batches

    wide = rows.select("*", *(F.col("id").alias(f"c{i}") for i in range(40)))
    return {
        "rand": rows.withColumn("r", F.rand()),
        "randn": rows.withColumn("r", F.randn(3)),
        "filter by chance": rows.where("rand() < 0.5"),
        "uuid": rows.withColumn("u", F.expr("uuid()")),
        "a random start": rows.withColumn("e", F.expr("aes_encrypt(t, '0000111122223333')")),
        "shuffle": rows.withColumn("s", F.shuffle(F.array("id", "a"))),
        "running id": rows.withColumn("m", F.monotonically_increasing_id()),
        "partition": rows.withColumn("p", F.spark_partition_id()),
        "one of each": rows.dropDuplicates(["a"]),
        "first": groups.agg(F.first("f").alias("f")),
        "last": groups.agg(F.last("f").alias("f")),
        "any": groups.agg(F.any_value("f").alias("f")),
        "list": groups.agg(F.collect_list("id").alias("l")),
        "set": groups.agg(F.collect_set("id").alias("l")),
        "joined texts": groups.agg(F.listagg("t").alias("l")),
        "sum of floats": groups.agg(F.sum("f").alias("f")),
        "average": groups.agg(F.avg("f").alias("f")),
        "deviation": groups.agg(F.stddev("f").alias("f")),
        "ties": groups.agg(F.min_by("f", "t").alias("f")),
        "approximate": groups.agg(F.approx_count_distinct("id").alias("n")),
        "limit": rows.limit(5),
        "first of an order": rows.orderBy("t").limit(5),
        "offset": rows.offset(5),
        "sample": rows.sample(0.5, 1),
        "row number": rows.withColumn("n", F.row_number().over(within)),
        "row before": rows.withColumn("n", F.lag("id").over(within)),
        "numbered": rows.zipWithIndex(),
        "python": rows.withColumn("p", F.udf(lambda x: x, "bigint")("a")),
        "python batches": rows.mapInArrow(same, rows.schema),
        "now": rows.withColumn("n", F.current_timestamp()),
        "until now": rows.where("id < unix_timestamp()"),
        "today among many": wide.withColumn("d", F.current_date()).select("d", *wide.columns[20:]),
        "cached chance": rows.withColumn("r", F.rand(3)),
        "one spelling": rows.select(F.expr("t collate UTF8_LCASE").alias("t")).distinct(),
    }


def test_rows_that_depend_on_their_input_alone_are_the_same_each_time(spark_kind: SparkSession, folder: str) -> None:
    found = _repeatable(spark_kind.read.parquet(folder))
    found["cached"].persist()
    try:
        wrong = [name for name, frame in found.items() if not is_repeatable(frame, frame.columns)]
        assert wrong == []
        assert found["cached"].storageLevel.useMemory  # asking has not dropped what is the user's
    finally:
        found["cached"].unpersist()


def test_rows_that_may_be_others_next_time_are_seen_in_the_plan(spark_kind: SparkSession, folder: str) -> None:
    found = _unrepeatable(spark_kind.read.parquet(folder))
    found["cached chance"].persist()
    try:
        assert [name for name, frame in found.items() if is_repeatable(frame, frame.columns)] == []
    finally:
        found["cached chance"].unpersist()


def test_an_rdd_made_by_chance_answers_as_it_was_when_it_is_kept(spark: SparkSession) -> None:
    numbers = spark.sparkContext.parallelize(range(300), 4).map(lambda i: (i, i % 3, random.random(), random.random()))
    frame = spark.createDataFrame(numbers, "id int, g int, a double, b double")
    rule = "not (s.g = t.g and s.a < t.a and s.b < t.b)"
    with rf.violations(frame, rule, key="id", driver_bytes=0, persist=True) as found:
        assert found.to_arrow().sort_by([("s", "ascending"), ("t", "ascending")]) == found.to_arrow().sort_by(
            [("s", "ascending"), ("t", "ascending")]
        )


def test_only_the_columns_that_are_asked_for_count(spark_kind: SparkSession, folder: str) -> None:
    found = _unrepeatable(spark_kind.read.parquet(folder))
    assert is_repeatable(found["rand"], ["id", "a"])
    assert is_repeatable(found["one of each"], ["a"])
    assert is_repeatable(found["now"], ["id", "t"])
    assert is_repeatable(found["today among many"], ["c20", "c30"])


def test_settled_rows_are_evaluated_once(spark_kind: SparkSession, folder: str) -> None:
    rows = spark_kind.read.parquet(folder)
    assert settled(rows, ["id"]) is rows
    chance = rows.select("id", F.expr("uuid()").alias("u"), "t")
    once = settled(chance, ["id", "u"])
    assert once.columns == ["id", "u"]
    assert sorted(once.toArrow().to_pylist(), key=str) == sorted(once.toArrow().to_pylist(), key=str)
    assert is_repeatable(once, once.columns)


def test_one_plan_tells_both_the_format_and_whether_rows_are_the_same(spark: SparkSession, folder: str) -> None:
    (lineage,) = lineages_of(spark.read.parquet(folder), ["id", "a"])
    assert (lineage.scanned, lineage.is_repeatable) == ("parquet", True)
    source = SparkSource(spark.read.parquet(folder).withColumn("r", F.rand()), "rows")
    assert not source.is_repeatable(["id", "r"])
    assert source.is_repeatable(["id", "a"])
    assert source.has_identity


def test_asking_leaves_no_view_behind_and_the_output_alone_in_many_threads(
    spark_kind: SparkSession, folder: str
) -> None:
    rows, out = spark_kind.read.parquet(folder), sys.stdout
    views = views_of(spark_kind)
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(lambda _: scanned_format(rows), range(24))) == {("parquet", True)}
        counts = pool.map(lambda _: rf.count(rows.where("id >= 0"), "unique(a)"), range(6))
        assert set(counts) == {sum(n * (n - 1) for n in (9, 9, 9, 9, 8, 8, 8))}
    assert sys.stdout is out
    assert views_of(spark_kind) == views


def test_positions_are_refused_where_a_file_has_rows_that_the_table_hides(spark: SparkSession, folder: str) -> None:
    rows = spark.read.parquet(folder)
    assert layout_of(rows, "parquet").n_rows == 60
    hidden = rows.where("id != 21")  # as a scan with deleted rows would give them
    with pytest.raises(DataError, match=r"hidden.*key=\['id'\]"):
        layout_of(hidden, "parquet")
    with pytest.raises(DataError, match="hidden"):
        SparkSource(hidden, "hidden", scanned="parquet").identified()


_DELTA = """== Parsed Logical Plan ==
'Project [*]
+- 'UnresolvedRelation [_pyspark_1], [], false

== Analyzed Logical Plan ==
order_date: date, amount: double
Project [order_date#548, amount#549]
+- SubqueryAlias _pyspark_1
   +- View (`_pyspark_1`, [order_date#548, amount#549])
      +- SubqueryAlias spark_catalog.default.orders_by_date
         +- Relation spark_catalog.default.orders_by_date[order_date#548,amount#549] parquet

== Optimized Logical Plan ==
Relation spark_catalog.default.orders_by_date[order_date#548,amount#549] parquet

== Physical Plan ==
*(1) ColumnarToRow
+- FileScan parquet spark_catalog.default.orders_by_date[order_date#548,amount#549] Batched: true, DataFilters: [], \
Format: Parquet, Location: {index}(1 paths)[file:/data/orders], PartitionFilters: [], PushedFilters: [], \
ReadSchema: struct<amount:double>
"""
_ICEBERG = """== Analyzed Logical Plan ==
id: bigint
Project [id#1L]
+- SubqueryAlias local.db.orders
   +- RelationV2[id#1L] local.db.orders local.db.orders

== Optimized Logical Plan ==
RelationV2[id#1L] local.db.orders

== Physical Plan ==
*(1) ColumnarToRow
+- BatchScan local.db.orders[id#1L] local.db.orders (branch=null) [filters=, groupedBy=] RuntimeFilters: []
"""


@pytest.mark.parametrize("index", ["PreparedDeltaFileIndex", "TahoeLogFileIndex", "HoodieFileIndex"])
def test_tables_whose_files_may_hold_deleted_rows_have_no_positions(index: str) -> None:
    assert Lineage.of(_DELTA.format(index=index)).scanned is None
    assert Lineage.of(_ICEBERG).scanned is None


@pytest.mark.parametrize("index", ["InMemoryFileIndex", "CatalogFileIndex"])
def test_tables_of_plain_files_have_positions(index: str) -> None:
    assert Lineage.of(_DELTA.format(index=index)).scanned == "parquet"


def test_a_text_that_cannot_be_told_apart_tells_nothing(spark: SparkSession, folder: str) -> None:
    assert Lineage.of("nothing") == Lineage("", "", "")
    odd = spark.read.parquet(folder).withColumnRenamed("id", "a\n== Physical Plan ==\nb")
    assert scanned_format(odd) == (None, False)
    assert not is_repeatable(odd, odd.columns)
    assert Path(folder).exists()
