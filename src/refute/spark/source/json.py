"""JSON files as Spark DataFrames, of the types that Spark infers from their values or that a schema gives."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from refute.errors import DataError
from refute.relation.read.schema import Schema, without_header
from refute.relation.spelling import check_spelling
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.source.cells import Scan, announce, cast, checked
from refute.spark.source.files import Listing, not_utf8


def open_json(session: SparkSession, listing: Listing, schema: Schema | None) -> Scan:
    """The files as a DataFrame, of the given schema or of types inferred from every value; a warning then says so."""
    if not listing.filled:
        raise DataError(f"{listing.path!r} is empty")
    _check_text(session, listing)
    if schema is None:
        frame = _read(session, listing)
        _check_names(session, listing, frame)
        announce(listing.path, dict(frame.dtypes))
        return Scan(frame, None)
    if not schema.header:
        raise without_header(listing.path)
    cells = _read(session, listing, StructType([StructField(name, StringType()) for name in schema.names]))
    found = checked(cells, schema, listing.path)
    if found.empty:  # null in all rows, or in none
        schema.require(_read(session, listing).columns, listing.path)
    values = [cast(name, kind) for name, kind in schema.types.items()]
    return Scan(cells.select(*values, *(F.col(quoted(name)) for name in cells.columns[len(values) :])), found.layout)


def _check_text(session: SparkSession, listing: Listing) -> None:
    """Raises DataError where the text is not UTF-8: Spark would take all that it cannot read for the same letter."""
    with plain_failures(listing.path):
        (is_text,) = session.read.text(listing.paths).select(F.bool_and(F.is_valid_utf8("value"))).collect()[0]
    if is_text is False:
        raise not_utf8(session, listing)


def _check_names(session: SparkSession, listing: Listing, frame: DataFrame) -> None:
    """Raises DataError where objects spell a column in two ways: Spark would take one, and null for the other."""
    key = F.explode(F.json_object_keys("value")).alias("key")
    with plain_failures(listing.path):
        keys = session.read.text(listing.paths).select(key)
        others = keys.where(~F.col("key").isin(frame.columns)).limit(1).collect()
    check_spelling({listing.path: [*frame.columns, *(row["key"] for row in others)]})


def _read(session: SparkSession, listing: Listing, schema: StructType | None = None) -> DataFrame:
    reader = session.read.options(mode="FAILFAST", **listing.options)
    with plain_failures(listing.path):
        frame = (reader if schema is None else reader.schema(schema)).json(listing.paths)
        if not frame.columns:
            raise DataError(f"{listing.path!r} holds no column")
    return frame
