"""A short run of what Refute does on Spark, during which Java notes the classes it loads.

Run by `refute.spark.session.archive` in a process of its own, with the base archive and the file to write as arguments.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from refute.spark.session.java import find_java
from refute.spark.session.session import start

_ROWS = "k,g,v,w,d,n\n" + "".join(f"{i},g{i % 7},{i * 37 % 101},{i / 8},2024-01-{i % 28 + 1:02},\n" for i in range(200))


def main(base: str, archive: str) -> None:
    """Run it, and have Java write the archive when it exits."""
    java = find_java()
    options = [f"-XX:SharedArchiveFile={base}", f"-XX:ArchiveClassesAtExit={archive}"]
    session = start("local[2]", java, options)
    with tempfile.TemporaryDirectory() as folder:
        _rehearse(session, Path(folder))
    session.stop()


def _rehearse(session: SparkSession, folder: Path) -> None:
    text, columns = folder / "rows.csv", folder / "rows.parquet"
    text.write_text(_ROWS, encoding="utf-8")
    rows = session.read.csv(str(text), header=True, inferSchema=True)
    rows.write.parquet(str(columns))
    for table in (rows, session.read.parquet(str(columns))):
        grouped = table.groupBy("g").agg(F.min("v"), F.max("v"), F.count("*").alias("n"), F.collect_set("w"))
        grouped.filter("n > 1").count()
        _shipped(table).toArrow()
    rows.repartition(3, "g").join(rows.select("g", F.col("v").alias("u")).distinct(), "g").orderBy("v").limit(
        5
    ).collect()
    session.createDataFrame([(1, "a")], ["k", "g"]).toArrow()


def _shipped(table: DataFrame) -> DataFrame:
    def as_they_came(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    narrow = table.select("g", "v")
    return narrow.repartition(2, "g").mapInArrow(as_they_came, narrow.schema)


if __name__ == "__main__":
    main(*sys.argv[1:])
