"""Which engine answers for a table, and tables of the kind that came in."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from refute.errors import OptionError, did_you_mean
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.relation.files import read_local
from refute.relation.schema import Schema

ENGINES = ("spark", "local")


def engine_for(
    table: Any,
    *,
    key: Sequence[str] = (),
    engine: str | None = None,
    method: str = "auto",
    threads: int | None = None,
    schema: Any = None,
    header: bool = True,
) -> Any:
    """The engine for a table: Spark for its DataFrames and for paths, else this process, unless one is named."""
    chosen = MethodName.of(method)
    if engine is not None and engine not in ENGINES:
        raise OptionError(f"Unknown engine {engine!r}; known are {', '.join(ENGINES)}.{did_you_mean(engine, ENGINES)}")
    if threads is not None and whole_number("threads", threads) < 1:
        raise OptionError(f"threads must be at least 1, not {threads}.")
    names = as_key(key)
    given = given_schema(table, schema, header)
    if on_spark(table, engine):
        from refute.spark import SparkEngine

        return SparkEngine(spark_table(table), key=names, method=chosen, schema=given)
    from refute.detect.local import LocalEngine

    data = read_local(table, given) if is_path(table) else table
    return LocalEngine(data, key=names, method=chosen, threads=threads)


def on_spark(table: Any, engine: str | None) -> bool:
    """Whether Spark answers for a table."""
    return is_spark(table) or (is_path(table) and engine != "local") or engine == "spark"


def spark_table(table: Any) -> Any:
    """The table for Spark: a path or DataFrame as it is, a table in memory as a DataFrame."""
    if is_spark(table) or is_path(table):
        return table
    from refute.spark import frame_of

    return frame_of(Relation.of(table).arrow)


def given_schema(table: Any, schema: Any, header: bool) -> Schema | None:
    """The schema to read files by; raises OptionError for tables that are no files."""
    if not is_path(table) and (schema is not None or not header):
        raise OptionError("schema= and header= say how to read files, and this table is none; leave them out.")
    return Schema.of(schema, header=header)


def whole_number(name: str, value: object) -> int:
    """The value of an option that counts something; raises OptionError for anything but an integer."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"{name} must be a whole number, not {value!r}.")
    return value


def as_key(key: str | Sequence[str] | None) -> tuple[str, ...]:
    """The key columns as a tuple; one name may stand alone."""
    return () if key is None else (key,) if isinstance(key, str) else tuple(key)


def is_spark(table: Any) -> bool:
    """Whether it is a Spark DataFrame, without importing Spark."""
    return any(cls.__module__.startswith("pyspark.") for cls in type(table).__mro__)


def is_path(table: Any) -> bool:
    """Whether it names a file, a folder, a glob or a catalog table."""
    return isinstance(table, str | Path)


def like_input(table: Any, annotated: pa.Table) -> Any:
    """An Arrow table as the kind of table that came in: pandas, polars or Arrow."""
    root = type(table).__module__.partition(".")[0]
    if root == "pandas":
        added = annotated.column_names[-1]
        return table.assign(**{added: annotated.column(added).to_pylist()})
    if root == "polars":
        import polars

        return polars.from_arrow(annotated)
    return annotated


def split_rows(rows: Any) -> tuple[Any, Any]:
    """Annotated rows split into those that break nothing and those that do, without the added column, the last one."""
    root = type(rows).__module__.partition(".")[0]
    if root == "pandas":
        dirty = rows.iloc[:, -1].map(len).to_numpy() > 0
        plain = rows.iloc[:, :-1]
        return plain[~dirty], plain[dirty]
    if root == "polars":
        import polars

        added = rows.columns[-1]
        broken = polars.col(added).list.len() > 0
        return rows.filter(~broken).drop(added), rows.filter(broken).drop(added)
    last = rows.num_columns - 1
    dirty = pc.greater(pc.list_value_length(rows.column(last)), 0)
    plain = rows.remove_column(last)
    return plain.filter(pc.invert(dirty)), plain.filter(dirty)


def name_of(table: Any) -> str:
    """What a report calls the table."""
    return os.fspath(table) if is_path(table) else f"{type(table).__name__}"
