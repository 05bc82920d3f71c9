"""JSON files as Spark DataFrames, of the types that Spark infers from their values or that a schema gives."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from refute.faults import empty_file, without_columns
from refute.relation.read.column_case import check_spelling
from refute.relation.read.schema import Schema, without_header
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.source.files import Listing
from refute.spark.source.text_cells import Scan, announce, cast, check_text, checked, unread


def open_json(session: SparkSession, listing: Listing, schema: Schema | None) -> Scan:
    """The files as a DataFrame, of the given schema or of types inferred from every value; a warning then says so."""
    if not listing.filled:
        raise empty_file(listing.path)
    if schema is None:
        frame = _read(session, listing)
        _check_names(session, listing, frame)
        announce(listing.path, dict(frame.dtypes))
        return Scan(frame, None)
    if not schema.header:
        raise without_header(listing.path)
    cells = _read(session, listing, StructType([StructField(name, StringType()) for name in schema.names]))
    found = checked(cells, schema, listing)
    if found.empty:  # null in all rows, or in none
        schema.require(_read(session, listing).columns, listing.path)
    values = [cast(name, kind) for name, kind in schema.types.items()]
    return Scan(cells.select(*values, *(F.col(quoted(name)) for name in cells.columns[len(values) :])), found.layout)


def _check_names(session: SparkSession, listing: Listing, frame: DataFrame) -> None:
    """Raises DataError where objects spell a column in two ways, as Spark would take one, and null for the other; and
    where the text is not UTF-8."""
    line = F.col("value")
    others = F.filter(F.json_object_keys(line), lambda key: ~key.isin(frame.columns))
    known = F.max(F.get(others, F.lit(0))).alias("other")
    with plain_failures(listing.path):
        found = session.read.text(listing.paths).agg(known, unread(["value"]), F.count(F.lit(1))).collect()
    check_text(session, listing, found)
    other = found[0]["other"]
    check_spelling({listing.path: [*frame.columns, *([] if other is None else [other])]})


def _read(session: SparkSession, listing: Listing, schema: StructType | None = None) -> DataFrame:
    reader = session.read.options(mode="FAILFAST", **listing.options)
    with plain_failures(listing.path):
        frame = (reader if schema is None else reader.schema(schema)).json(listing.paths)
        if not frame.columns:
            raise without_columns(listing.path)
    return frame
