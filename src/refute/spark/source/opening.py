"""Opening a table on Spark: a DataFrame, a table of the catalog, or files of one format."""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.types import StructType

from refute.errors import DataError
from refute.faults import empty_file, empty_path, missing_table, without_columns
from refute.relation.read.csv.options import USUAL, CsvOptions, not_csv
from refute.relation.read.formats import FileFormat, format_of
from refute.relation.read.schema import Schema, types_of_their_own
from refute.spark.session.failures import plain_failures
from refute.spark.session.session import session as any_session
from refute.spark.source.csv import SPLIT_BYTES, open_csv
from refute.spark.source.files import Listing, check_files_agree, list_files
from refute.spark.source.json import open_json
from refute.spark.source.source import SparkSource


def session_of(table: Any, session: SparkSession | None = None) -> SparkSession:
    """The session to read a table in: that of a DataFrame, else the given one, the running one, or a new one."""
    if not isinstance(table, str | Path):
        own: SparkSession = table.sparkSession
        return own
    return session if session is not None else any_session()


def open_source(
    table: Any,
    *,
    key: Sequence[str] = (),
    session: SparkSession | None = None,
    schema: Schema | StructType | str | None = None,
    csv: CsvOptions = USUAL,
    split_bytes: int = SPLIT_BYTES,
) -> SparkSource:
    """The source for a Spark DataFrame, a catalog table, or a path, glob or folder of files of one format.

    A schema says how to read CSV and JSON files, whose types are otherwise inferred from their content. CSV files of
    `split_bytes` or more are read in parts. Raises DataError where there is nothing to read, or what is there cannot be
    read.
    """
    given = Schema.of(schema)
    if not isinstance(table, str | Path):
        with plain_failures():
            if table.isStreaming:
                raise DataError(
                    "The DataFrame is a stream, and streams are not supported. Write it to a table first.",
                    table="the DataFrame",
                )
            return SparkSource(table, "the DataFrame", key)
    chosen = session_of(table, session)
    text = os.fspath(table)
    if not text.strip():
        raise empty_path()
    if not isinstance(table, Path) and _names_table(chosen, text):
        frame = _catalog_table(chosen, text)
        if given is not None:
            raise types_of_their_own("a catalog table", text)
        if csv != USUAL:
            raise not_csv("a catalog table", text)
        return SparkSource(frame, text, key)
    listing = list_files(chosen, text)
    if listing.format.delimiter is not None:
        scan = open_csv(chosen, listing, given, csv, split_bytes=split_bytes)
        return SparkSource(scan.frame, text, key, scanned="csv", layout=scan.layout)
    if csv != USUAL:
        raise not_csv(listing.format.value, text)
    if listing.format is FileFormat.JSON:
        scan = open_json(chosen, listing, given)
        return SparkSource(scan.frame, text, key, scanned="json", layout=scan.layout)
    if given is not None:
        raise types_of_their_own(listing.format.value, text)
    return SparkSource(_read(chosen, listing), text, key, scanned=_SPARK_FORMATS[listing.format])


def _names_table(session: SparkSession, text: str) -> bool:
    """Whether a text names a table rather than files; `sales.csv` may be the table `csv` of the schema `sales`."""
    if re.search(r"[/\\*?]", text) or os.path.exists(text) or glob.glob(text):
        return False
    if format_of(text) is None:
        return True
    try:
        return session.catalog.tableExists(text)
    except AnalysisException:  # no name that a table could have
        return False


def _catalog_table(session: SparkSession, name: str) -> DataFrame:
    with plain_failures(name):
        try:
            found = session.table(name)
            if found.columns:  # Connect asks the server only now
                return found
        except AnalysisException as error:
            if error.getCondition() not in _NO_SUCH_TABLE:
                raise
    raise missing_table(name)


_NO_SUCH_TABLE = frozenset(
    {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PARSE_SYNTAX_ERROR", "REQUIRES_SINGLE_PART_NAMESPACE"}
)


def _read(session: SparkSession, listing: Listing) -> DataFrame:
    """Files that carry their own types, as a DataFrame."""
    if not listing.filled:
        raise empty_file(listing.path)
    check_files_agree(session, listing)
    with plain_failures(listing.path):
        try:
            frame = _reader(session, listing).load(listing.paths)
            names = frame.columns  # Connect asks the server only now
        except AnalysisException as error:
            if error.getCondition() != "UNSUPPORTED_TIME_TYPE":
                raise
            frame = _reader(session, listing).schema(_without_times(session, listing)).load(listing.paths)
            names = frame.columns
        if not names:
            raise without_columns(listing.path)
    return frame


def _reader(session: SparkSession, listing: Listing) -> DataFrameReader:
    reader = session.read.options(**listing.options).format(_SPARK_FORMATS[listing.format])
    return reader.option("mergeSchema", True) if len(listing.files) > 1 else reader


def _without_times(session: SparkSession, listing: Listing) -> StructType:
    """The schema of files without times of day, which the session does not know; from a session beside it, since this
    one belongs to the user."""
    beside = session.newSession()
    for name, value in session.conf.getAll.items():
        if session.conf.isModifiable(name):
            beside.conf.set(name, value)
    beside.conf.set("spark.sql.timeType.enabled", "true")
    fields = _reader(beside, listing).load(listing.paths).schema.fields
    rest = [field for field in fields if field.dataType.typeName() != "time"]
    times = ", ".join(repr(field.name) for field in fields if field not in rest)
    warnings.warn(
        f"Columns of {listing.path!r} are left out ({times}): they have Spark's type TIME, which this session has "
        "switched off. Set spark.sql.timeType.enabled to true to read them.",
        stacklevel=2,
    )
    return StructType(rest)


_SPARK_FORMATS = {FileFormat.PARQUET: "parquet", FileFormat.ORC: "orc"}
