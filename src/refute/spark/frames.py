"""Tables in memory as Spark DataFrames."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import TimestampType

from refute.spark.expressions import quoted
from refute.spark.failures import plain_failures
from refute.spark.session import session as running_session
from refute.spark.warning import calm


def frame_of(table: pa.Table, session: SparkSession | None = None) -> DataFrame:
    """The Arrow table as a DataFrame of the given session, the running one, or a new one."""
    chosen = session if session is not None else running_session()
    plain = _without_dictionaries(table)
    with calm(), plain_failures():
        if plain.num_rows:
            return chosen.createDataFrame(plain)
        # Connect does not take the types of a table without rows.
        return chosen.createDataFrame([], from_arrow_schema(plain.schema, prefer_timestamp_ntz=True))


def first_rows(frame: DataFrame, most: int) -> pa.Table:
    """The first rows as an Arrow table; unlike `limit(n).toArrow()` it reads no more of the frame than it must."""
    zoned = [field.name for field in frame.schema.fields if isinstance(field.dataType, TimestampType)]
    columns = [
        F.unix_micros(quoted(name)).alias(name) if name in zoned else F.col(quoted(name)) for name in frame.columns
    ]
    rows = frame.select(*columns).take(most)
    arrays = []
    for i, field in enumerate(frame.schema.fields):
        values = [row[i].asDict(recursive=True) if isinstance(row[i], Row) else row[i] for row in rows]
        kind = to_arrow_type(field.dataType, timezone="UTC")
        arrays.append(pa.array(values, pa.int64()).cast(kind) if field.name in zoned else pa.array(values, kind))
    return pa.table(arrays, names=frame.columns)


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """Dictionary-encoded columns as plain ones, since Spark knows none."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))
