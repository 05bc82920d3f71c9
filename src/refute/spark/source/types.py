"""Spark's types in Refute's terms, so a rule binds to a DataFrame with the same words as to a table in memory."""

from __future__ import annotations

import datetime as dt
import inspect
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType, StructType, TimestampType

from refute.language.rulebook import Rule
from refute.relation import Relation

# PySpark 4.1 knows no zone here: its moments are always those of UTC.
_IN_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}


def arrow_type(spark_type: DataType) -> pa.DataType:
    """The Arrow type of a Spark type, with moments in UTC; raises an error of PySpark where Arrow has none."""
    return to_arrow_type(spark_type, **_IN_UTC)


def empty_relation(frame: DataFrame) -> Relation:
    """A relation without rows that has the columns and types of the DataFrame."""
    fields = [pa.field(field.name, _arrow(field.dataType)) for field in frame.schema.fields]
    return Relation.of(pa.schema(fields).empty_table())


def plain_value(value: Any, kind: DataType) -> Any:
    """A value that Spark gave back as Arrow has it: a struct as a mapping, a moment with its zone."""
    if value is None:
        return None
    if isinstance(kind, StructType):
        return {field.name: plain_value(value[field.name], field.dataType) for field in kind.fields}
    if isinstance(kind, TimestampType):  # in the zone of this process, which it does not say
        return value.astimezone(dt.UTC)
    return value


def bind(relation: Relation, rule: Rule) -> None:
    """Check that the rule fits; raises SchemaError naming column, type, rule and the nearest name."""
    relation.bind(rule.constraint, rule=rule.name, where=rule.where)


def _arrow(spark_type: DataType) -> pa.DataType:
    """The Arrow type; one that Arrow lacks becomes binary, which no rule can read."""
    return _arrow_or_none(spark_type) or pa.binary()


def _arrow_or_none(spark_type: DataType) -> pa.DataType | None:
    try:
        return arrow_type(spark_type)
    except PySparkException:
        return None
