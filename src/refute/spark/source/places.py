"""Where results go through Spark: file systems that it knows, and tables of its catalog."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from refute.errors import OptionError
from refute.spark.session.failures import plain_failures
from refute.spark.source.files import literally

_FIRST = ["rule", "s", "t"]  # the columns that every table of violations begins with


def require_file_system(session: SparkSession, address: str) -> None:
    """Raises an error unless Spark has a file system for an address, and that lets us look there."""
    with plain_failures(address):
        try:
            _ = session.read.format("binaryFile").load(literally(address)).columns
        except AnalysisException as error:
            if error.getCondition() not in ("PATH_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
                raise


def write_text(session: SparkSession, address: str, text: str) -> None:
    """Write a text as the only file of a folder, which is how Spark writes everything."""
    with plain_failures(address):
        session.createDataFrame([(text,)], "value string").coalesce(1).write.mode("overwrite").text(address)


def require_table(session: SparkSession, name: str) -> None:
    """Raises OptionError unless the catalog has a schema for the table, and under its name nothing but violations."""
    with plain_failures(name):
        try:
            taken = session.catalog.tableExists(name)
            schema = name.rpartition(".")[0]
            lost = not taken and bool(schema) and not session.catalog.databaseExists(schema)
        except AnalysisException as error:
            raise OptionError(f"{name!r} is not a valid table name. Write it like schema.name.", value=name) from error
        if lost:
            raise OptionError(
                f"The catalog has no schema {schema!r} for the table {name!r}. Create it first.", table=name
            )
        if taken and session.table(name).columns[: len(_FIRST)] != _FIRST:
            raise OptionError(
                f"{name!r} already exists and is not a table of violations, so it is not overwritten. Name another, or "
                "drop it first.",
                table=name,
            )


def write_table(name: str, violations: Sequence[tuple[str, DataFrame]]) -> None:
    """Write the violations of some rules as one table, in place of what an earlier run has written there."""
    with plain_failures(name):
        parts = [_part(rule, frame) for rule, frame in violations]
        whole = parts[0]
        for part in parts[1:]:
            whole = whole.unionByName(part, allowMissingColumns=True)  # rules read different columns
        whole.write.mode("overwrite").saveAsTable(name)


def _part(rule: str, frame: DataFrame) -> DataFrame:
    """The violations of one rule under its name, with nulls for `t` where it is about one row."""
    columns = frame.columns
    keys = [name for name in columns if name.startswith("s_")]
    for name in ["s", *keys]:
        other = "t" + name[1:]
        if other not in columns:
            frame = frame.withColumn(other, F.lit(None).cast(frame.schema[name].dataType))
    order = ["s", "t", *keys, *("t" + name[1:] for name in keys)]
    return frame.select(F.lit(rule).alias("rule"), *(F.col(f"`{name.replace('`', '``')}`") for name in order))
