"""Where rows come from on Spark, and who a row is."""

from __future__ import annotations

import glob
import os
import re
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, FloatType, MapType, StringType, StructType, VariantType

from refute.errors import DataError, SchemaError, did_you_mean
from refute.relation.files import nameless
from refute.relation.formats import Format, format_of
from refute.relation.schema import Schema, types_of_their_own
from refute.spark.csv_source import open_csv
from refute.spark.expressions import quoted
from refute.spark.failures import plain_failures
from refute.spark.json_source import open_json
from refute.spark.keeping import Kept
from refute.spark.lineage import lineages_of, materialised, scanned_format
from refute.spark.listing import Listing, check_files_agree, glimpse_of_files, list_files, rows_by_footers
from refute.spark.naming import Naming, spelled, with_fields
from refute.spark.positions import Layout, layout_of, with_positions, with_row_numbers
from refute.spark.renaming import is_collated
from refute.spark.session import session as any_session
from refute.spark.worker import RESERVED, ROW_COLUMN

_NESTED = (ArrayType, MapType, StructType, VariantType)
_OFTEN = RESERVED + "often"


class Source:
    """A table on Spark: its rows, and their ids where they have any."""

    def __init__(
        self,
        frame: DataFrame,
        name: str,
        key: Sequence[str] = (),
        *,
        scanned: str | None = None,
        layout: Layout | None = None,
    ) -> None:
        self.frame = frame  # with a column for each field of a struct that a rule or the key has named
        self.name = name
        self.own_columns = tuple(frame.columns)
        self._naming = Naming.of(frame)
        self.key = tuple(self.spelled(column) for column in key)
        self._layout = layout
        self._n_rows: int | None = layout.n_rows if layout is not None else None
        self._most_rows: int | None = None
        self._format = scanned
        self._format_known = scanned is not None
        self._key_checked = False
        self._repeatable: dict[tuple[str, ...], bool] = {}
        self._is_steady = scanned is not None  # nothing but files, as they are
        self._numbered: DataFrame | None = None  # the rows with their positions, where both were evaluated once
        self._once = threading.RLock()  # several rules may ask at a time
        self._check_names()

    def spelled(self, name: str) -> str:
        """The table's own name of a column, or of a field inside one, which then is a column of `frame`; a name that
        leads nowhere stays as it is."""
        path = self._naming.path(name)
        if path is None:
            return name
        if spelled(path) not in self.frame.columns:
            self.frame = with_fields(self.frame, [path])
        return spelled(path)

    def n_rows(self) -> int:
        """How many rows there are; counted once."""
        with self._once, plain_failures(self.name):
            if self._n_rows is None:
                self._n_rows = self.frame.count()
            return self._n_rows

    @property
    def is_counted(self) -> bool:
        """Whether `n_rows` is known already."""
        return self._n_rows is not None

    @property
    def is_sized(self) -> bool:
        """Whether `most_rows` is known already."""
        return self._n_rows is not None or self._most_rows is not None

    def most_rows(self, chosen: DataFrame | None = None) -> int:
        """How many rows there are, or a number that is not less and comes without a job.

        What there is to know of the plan of the frame is read off that of `chosen`, columns of it that will be asked
        for next: Spark plans each frame once.
        """
        with self._once, plain_failures(self.name):
            if not self.is_sized and self._scanned(chosen) == "parquet":
                self._most_rows = rows_by_footers(self.frame)
            if self._n_rows is None and self._most_rows is not None:
                return self._most_rows
        return self.n_rows()

    def glimpse(self, names: Sequence[str], rows: int) -> pa.Table | None:
        """Some rows of these columns to form expectations by, where they come without a job; else None."""
        with self._once, plain_failures(self.name):
            return glimpse_of_files(self.frame, names, rows) if self._scanned() == "parquet" else None

    def learn_rows(self, number: int) -> None:
        """Take note of the number of rows, which somebody has come to know."""
        with self._once:
            self._n_rows = number

    @property
    def has_identity(self) -> bool:
        """Whether rows have ids: a key, or positions in files."""
        return bool(self.key) or self._numbered is not None or self._scanned() is not None

    @property
    def is_costly(self) -> bool:
        """Whether each pass over some columns costs more than reading those: all but scans of columnar files."""
        return self._scanned() not in ("parquet", "orc")

    def is_repeatable(self, names: Sequence[str]) -> bool:
        """Whether every evaluation of these columns gives the same rows, in any order, as far as Spark can tell."""
        if self._is_steady:
            return True
        with self._once, plain_failures(self.name):
            known = tuple(sorted(names))
            if known not in self._repeatable:
                self._repeatable[known] = True
                for lineage in lineages_of(self.frame, known):
                    self._format, self._format_known = lineage.scanned, True  # which the same plan tells
                    if not lineage.is_repeatable:
                        self._repeatable[known] = False
                        break
            return self._repeatable[known]

    def identified(self) -> DataFrame:
        """The frame and one more column, the id of a row: its key, a struct of its keys, or its position.

        Raises DataError where rows have none.
        """
        keys = self._key_columns()
        if keys:
            return self.frame.select("*", (keys[0] if len(keys) == 1 else F.struct(*keys)).alias(ROW_COLUMN))
        if self._numbered is not None:
            return self._numbered
        scanned = self._scanned()
        if scanned is None:
            raise DataError(
                f"the rows of {self.name} have no position, since it is not a plain scan of files (a table of Delta or "
                "Iceberg is not one either: rows of its files may be deleted); say which columns tell rows apart with "
                "key=, as in key=['id']"
            )
        with self._once, plain_failures(self.name):
            if self._layout is None and scanned == "parquet" and len(self.frame.inputFiles()) == 1:
                return with_row_numbers(self.frame, ROW_COLUMN)
            if self._layout is None:
                self._layout = layout_of(self.frame, scanned)
                self._n_rows = self._layout.n_rows
            return with_positions(self.frame, scanned, self._layout, ROW_COLUMN)

    def kept(self, place: Kept, names: Sequence[str]) -> Source:
        """The same table, of these columns alone, kept on the executors from its first use on.

        Positions are read from the files, which are there anyway.
        """
        with self._once, plain_failures(self.name):
            if not self.is_repeatable(names):  # Spark might make lost rows anew, and others
                return self.settled(names)
            frame = place.keep(self.frame.select(*(F.col(quoted(name)) for name in names)))
            found = Source(frame, self.name, self.key, scanned=self._format, layout=self._layout)
            found._format_known, found._is_steady = self._format_known, True
            return found

    def settled(self, names: Sequence[str]) -> Source:
        """The table where every evaluation gives the same rows; else these columns of it, evaluated once and for all,
        with the positions they then had."""
        with self._once, plain_failures(self.name):
            if self.is_repeatable(names):
                return self
            if self.key or self._scanned() is None:
                found = Source(materialised(self.frame, names), self.name, self.key)
            else:
                numbered = materialised(self.identified(), [*names, ROW_COLUMN])
                found = Source(numbered.drop(ROW_COLUMN), self.name)
                found._numbered = numbered
            found._format_known = found._is_steady = True
            return found

    def forget_layout(self) -> None:
        """Learn anew where rows are when that is next needed."""
        with self._once:
            self._layout = None

    def check_key(self) -> None:
        """Raises DataError with an example where a key is null or belongs to more than one row; looked at once."""
        if not self.key or self._key_checked:
            return
        null, keys = F.lit(False), self._key_columns()
        for name, column in zip(self.key, keys, strict=True):
            null = null | column.isNull()
            if isinstance(self.frame.schema[name].dataType, FloatType | DoubleType):
                null = null | F.isnan(column)
        counted = self.frame.groupBy(*keys).agg(F.count(F.lit(1)).alias(_OFTEN))
        with plain_failures(self.name):
            wrong = counted.where((F.col(_OFTEN) > 1) | null).orderBy(*keys).limit(1).collect()
        if wrong:
            values = ", ".join(f"{name} = {wrong[0][name]!r}" for name in self.key)
            often = wrong[0][_OFTEN]
            if any(wrong[0][name] is None or wrong[0][name] != wrong[0][name] for name in self.key):
                raise DataError(f"the key of {self.name} is null in some rows ({values}); a key tells every row apart")
            raise DataError(f"the key of {self.name} is not unique: {often} rows have {values}")
        self._key_checked = True

    def _key_columns(self) -> list[SparkColumn]:
        """The columns of the key, texts by their code points."""
        found = []
        for name in self.key:
            plain = F.col(quoted(name))
            collated = is_collated(self.frame.schema[name].dataType)
            found.append(plain.cast(StringType()).alias(name) if collated else plain)
        return found

    def _scanned(self, chosen: DataFrame | None = None) -> str | None:
        with self._once:
            if not self._format_known:
                self._format = scanned_format(self.frame if chosen is None else chosen)
                self._format_known = True
            return self._format

    def _check_names(self) -> None:
        names = self.frame.columns
        seen: dict[str, str] = {}
        for name in names:
            if name.lower() == ROW_COLUMN or name.lower().startswith(RESERVED):
                raise DataError(f"{self.name} has a column {name!r}, a name that Refute needs for itself; rename it")
            same = name if self._naming.is_case_sensitive else name.lower()
            if same in seen:
                raise DataError(
                    f"{self.name} has columns {seen[same]!r} and {name!r}, which Spark cannot tell apart; "
                    "rename one of them"
                )
            seen[same] = name
        for i, name in enumerate(self.key):
            if name in self.key[:i]:
                raise SchemaError(f"the key column {name!r} is named twice; name each column of a key once.")
            if name not in names:
                raise SchemaError(f"there is no key column {name!r} in {self.name}.{did_you_mean(name, names)}")
            kind = self.frame.schema[name].dataType
            if isinstance(kind, _NESTED):
                raise SchemaError(
                    f"the key column {name!r} of {self.name} is of type {kind.simpleString()}; "
                    "a key is of text, numbers, dates or booleans"
                )


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
) -> Source:
    """The source for a Spark DataFrame, a catalog table, or a path, glob or folder of files of one format.

    A schema says how to read CSV and JSON files, whose types are otherwise told from their content. Raises DataError
    where there is nothing to read, or what is there cannot be read.
    """
    given = Schema.of(schema)
    if not isinstance(table, str | Path):
        with plain_failures():
            if table.isStreaming:
                raise DataError(
                    "the DataFrame is a stream, which is not supported yet; write it to a table first, and give that"
                )
            return Source(table, "the DataFrame", key)
    chosen = session_of(table, session)
    text = os.fspath(table)
    if not text.strip():
        raise nameless()
    if not isinstance(table, Path) and _names_table(chosen, text):
        frame = _catalog_table(chosen, text)
        if given is not None:
            raise types_of_their_own("a table of the catalog", text)
        return Source(frame, text, key)
    listing = list_files(chosen, text)
    if listing.format.delimiter is not None:
        scan = open_csv(chosen, listing, given)
        return Source(scan.frame, text, key, scanned="csv", layout=scan.layout)
    if listing.format is Format.JSON:
        scan = open_json(chosen, listing, given)
        return Source(scan.frame, text, key, scanned="json", layout=scan.layout)
    if given is not None:
        raise types_of_their_own(listing.format.value, text)
    return Source(_read(chosen, listing), text, key, scanned=_SPARK_FORMATS[listing.format])


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
    raise DataError(f"there is no file, folder or table {name!r}")


_NO_SUCH_TABLE = frozenset(
    {"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PARSE_SYNTAX_ERROR", "REQUIRES_SINGLE_PART_NAMESPACE"}
)


def _read(session: SparkSession, listing: Listing) -> DataFrame:
    """Files that tell their own types, as a DataFrame."""
    if not listing.filled:
        raise DataError(f"{listing.path!r} is empty")
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
            raise DataError(f"{listing.path!r} holds no column")
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
        f"columns of {listing.path!r} are left out ({times}): they are of Spark's type TIME, which this session has "
        "switched off; set spark.sql.timeType.enabled to true to have them.",
        stacklevel=2,
    )
    return StructType(rest)


_SPARK_FORMATS = {Format.PARQUET: "parquet", Format.ORC: "orc"}
