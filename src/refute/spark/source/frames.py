"""Tables in memory as Spark DataFrames."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.types as pt
from pyspark.errors import PySparkException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, DateType, StructField, StructType, TimestampNTZType, TimestampType

from refute.errors import DataError, ended
from refute.relation import Family
from refute.spark.expressions import as_number, quoted
from refute.spark.session.failures import plain_failures
from refute.spark.session.session import session as any_session
from refute.spark.session.warning import calm
from refute.spark.source.types import arrow_type


def frame_of(table: pa.Table, session: SparkSession | None = None) -> DataFrame:
    """The Arrow table as a DataFrame of the given session, the running one, or a new one.

    Timestamps have a zone there if they have one here. Raises DataError where Spark cannot hold a column exactly.
    """
    chosen = session if session is not None else any_session()
    plain = _for_spark(table)
    schema = StructType([StructField(field.name, _spark_type(field)) for field in plain.schema])
    with calm(), plain_failures():
        # Connect does not take the types of a table without rows.
        return chosen.createDataFrame(plain if plain.num_rows else [], schema)


def first_rows(frame: DataFrame, most: int) -> pa.Table:
    """The first rows as an Arrow table; unlike `limit(n).toArrow()` it reads no more of the frame than it must."""
    fields = frame.schema.fields
    numbered = [_as_numbers(F.col(quoted(field.name)), field.dataType).alias(field.name) for field in fields]
    rows = frame.select(*numbered).take(most)
    arrays = []
    for i, field in enumerate(fields):
        values = [row[i].asDict(recursive=True) if isinstance(row[i], Row) else row[i] for row in rows]
        kind = arrow_type(field.dataType)
        arrays.append(_from_numbers(pa.array(values, _numbers_type(kind)), kind))
    return pa.table(arrays, names=frame.columns)


def _as_numbers(value: SparkColumn, kind: DataType) -> SparkColumn:
    """A column in which days and moments, also those in structs, are numbers: Python has fewer of them than Spark."""
    if isinstance(kind, StructType):
        parts = [_as_numbers(value.getField(one.name), one.dataType).alias(one.name) for one in kind.fields]
        return F.when(value.isNotNull(), F.struct(*parts))
    family = _FAMILIES.get(type(kind))
    return value if family is None else as_number(value, family)


_FAMILIES: dict[type[DataType], Family] = {
    DateType: Family.DATE,
    TimestampType: Family.ZONED,
    TimestampNTZType: Family.TIMESTAMP,
}


def _numbers_type(kind: pa.DataType) -> pa.DataType:
    """The type of a column whose days and moments are numbers."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, _numbers_type(one.type)) for one in kind])
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64() if kind.tz is not None else pa.duration("us")
    return kind


def _from_numbers(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column with its days and moments."""
    if pa.types.is_struct(kind):
        parts = [_from_numbers(values.field(i), one.type) for i, one in enumerate(kind)]
        fields = [pa.field(one.name, one.type) for one in kind]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=values.is_null())
    if pa.types.is_duration(values.type) and not pa.types.is_duration(kind):
        values = values.cast(pa.int64())
    return values if values.type == kind else values.cast(kind)


def _for_spark(table: pa.Table) -> pa.Table:
    """The table with the types that Spark has, each as wide as that of its column."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = _held_as(field.type)
        try:
            columns.append(column if kind == field.type else _cast(column, kind))
        except pa.ArrowException as error:
            raise DataError(
                f"Spark cannot hold the column {field.name!r} ({field.type}) exactly: {ended(str(error))}",
                column=field.name,
                type=str(field.type),
                reason=str(error),
            ) from error
    return pa.table(columns, names=table.column_names)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """The column as one of another type; the distinct values of one that has them are cast once."""
    if pt.is_dictionary(column.type):
        return pa.chunked_array([one.dictionary.cast(kind).take(one.indices) for one in column.chunks], kind)
    if pt.is_decimal(column.type) and column.type.bit_width < 128:  # of which Arrow casts no negative scale
        column = column.cast(pa.decimal128(column.type.precision, column.type.scale))
    return column.cast(kind)


def _held_as(kind: pa.DataType) -> pa.DataType:
    """The Arrow type by which Spark takes values of a type."""
    if pt.is_dictionary(kind):
        return _held_as(kind.value_type)
    if pt.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pt.is_time(kind):
        return pa.time64("us")
    if pt.is_decimal(kind) and kind.precision - min(kind.scale, 0) <= 38:
        return pa.decimal128(kind.precision - min(kind.scale, 0), max(kind.scale, 0))
    return _HELD_AS.get(kind, kind)


_HELD_AS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.string_view(): pa.string(),
    pa.date64(): pa.date32(),
    **{pa.duration(unit): pa.duration("us") for unit in ("s", "ms", "ns")},
}


def _spark_type(field: pa.Field) -> DataType:
    try:
        if pt.is_decimal(field.type) and field.type.scale < 0:  # for which it has not the digits
            raise ValueError(f"{field.type} has more than 38 digits.")
        kind = from_arrow_type(field.type, prefer_timestamp_ntz=True)
        arrow_type(kind)  # a decimal of more digits than Spark has is found only by the way back
        return kind
    except (PySparkException, ValueError) as error:
        raise DataError(
            f"Spark has no type for the column {field.name!r} ({field.type}). Leave it out.",
            column=field.name,
            type=str(field.type),
        ) from error
