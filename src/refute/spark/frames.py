"""Tables in memory as Spark DataFrames."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

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


def _without_dictionaries(table: pa.Table) -> pa.Table:
    """Dictionary-encoded columns as plain ones, since Spark knows none."""
    plain = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))
