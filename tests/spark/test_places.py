"""Places that results go to, alike for classic and Connect sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from refute.errors import DataError, OptionError
from refute.spark.source.places import require_file_system, require_table, write_table, write_text

pytestmark = pytest.mark.spark


@pytest.fixture
def schema(spark: SparkSession) -> Iterator[str]:
    """A schema of the catalog."""
    spark.sql("create schema sinks")
    yield "sinks"
    spark.sql("drop schema sinks cascade")


def test_tables_are_made_and_refused(spark_kind: SparkSession, schema: str) -> None:
    name = f"{schema}.clashes"
    require_table(spark_kind, name)
    write_table(name, [("r", spark_kind.createDataFrame([(1, 2)], "s int, t int"))])
    require_table(spark_kind, name)
    write_table(name, [("q", spark_kind.createDataFrame([(3,)], "s int"))])
    assert [tuple(row) for row in spark_kind.table(name).collect()] == [("q", 3, None)]
    spark_kind.sql(f"create table {schema}.other (a int) using parquet")
    with pytest.raises(OptionError, match=r"'sinks\.other' already exists and is not a table of violations"):
        require_table(spark_kind, f"{schema}.other")
    with pytest.raises(OptionError, match="The catalog has no schema 'no_such'"):
        require_table(spark_kind, "no_such.clashes")
    with pytest.raises(OptionError, match="'a b' is not a valid table name"):
        require_table(spark_kind, "a b")


def test_file_systems_are_known_or_refused(spark_kind: SparkSession, tmp_path: Path) -> None:
    require_file_system(spark_kind, tmp_path.as_uri())
    require_file_system(spark_kind, f"{tmp_path.as_uri()}/not/yet/[there]")
    with pytest.raises(DataError, match="Spark has no file system for fake:// addresses"):
        require_file_system(spark_kind, "fake://place/out")


def test_a_text_is_the_only_file_of_a_folder(spark_kind: SparkSession, tmp_path: Path) -> None:
    for text in ('first line\n{"second": "line"}', "once more"):
        write_text(spark_kind, (tmp_path / "report").as_uri(), text)
        (part,) = (path for path in (tmp_path / "report").iterdir() if path.name.startswith("part-"))
        assert part.read_text(encoding="utf-8") == text + "\n"
