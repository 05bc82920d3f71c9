"""CSV files as Spark DataFrames of the types that the local reader gives, inferred from all cells by its patterns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path

from pyspark.sql import Column, DataFrame, DataFrameReader, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from refute.errors import DataError
from refute.faults import mixed_line_ends
from refute.relation.read.csv.delimiter import check_header
from refute.relation.read.csv.header import header_of, no_header, other_header
from refute.relation.read.csv.letters import check_is_text
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.csv.ragged import has_mixed_ends, with_line
from refute.relation.read.csv.reader import column_fits, is_single, read_header
from refute.relation.read.csv.types import CsvType, narrowest
from refute.relation.read.schema import CellType, Schema
from refute.relation.read.unreadable import reading
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.session.warning import calm
from refute.spark.source.files import Listing
from refute.spark.source.positions import BLOCK, FILE, FileLayout, block_facts, located
from refute.spark.source.text_cells import (
    Scan,
    announce,
    breaks,
    cast,
    check_ends,
    check_letters,
    check_text,
    checked,
    unread,
)

_NO_CELL = "\ue000\ue001"  # what Spark shall take for null instead of the empty string: text that no file has
SPLIT_BYTES = 16 << 20  # of a file, from which on it pays to read it in parts, by several tasks
_SAMPLE = 1000  # rows that show which types a column cannot have

_SPARK_TYPES = {
    CsvType.INTEGER: "bigint",
    CsvType.BIG_INTEGER: "decimal(38,0)",
    CsvType.FLOAT: "double",
    CsvType.BOOLEAN: "boolean",
    CsvType.DATE: "date",
    CsvType.TIMESTAMP: "timestamp_ntz",
}
_BITS = {kind: 1 << position for position, kind in enumerate(CsvType)}
_LARGEST_INTEGER = 10**18 - 1  # what the pattern of whole numbers admits
_SURELY_EXACT = 15  # digits of a whole number that a float holds for certain
_BEGINNING = 1000  # bytes that show whether a file is text
_SHOWING = 5  # lines that show what separates cells
_HEADER_LINES = 50  # lines that a header with line breaks in its names may take


def open_csv(
    session: SparkSession,
    listing: Listing,
    schema: Schema | None,
    options: CsvOptions = USUAL,
    *,
    split_bytes: int = SPLIT_BYTES,
) -> Scan:
    """The files as a DataFrame, of the given schema or of types inferred from every cell; a warning then says so.

    Several tasks may read a file of `split_bytes` or more, where no cell holds a line break.
    """
    if not listing.filled:
        raise no_header(listing.path)
    if schema is None or schema.header:
        names, header = _header(session, listing, options, single=is_single(schema)), True
    else:
        names, header = schema.names, False
        if listing.here and listing.format.delimiter is not None:
            first = Path(listing.named(listing.filled[0]))
            with reading(first):
                read_header(first, listing.format.delimiter, options, names)
    check_letters(session, listing, options)
    if schema is not None:
        schema.require(names, listing.path)
    split = len(names) > 1 and listing.largest >= split_bytes and not _has_broken_lines(session, listing, options)
    text = _Text(session, listing, names, split, header, options)
    if schema is not None:
        with _files_looked_at(listing, names, options, header=header):
            found = checked(text.frame(all_cells=True), schema, listing, options, names)
        return Scan(text.typed(schema.types), found.layout)
    with _files_looked_at(listing, names, options, header=header):
        possible = text.sampled()
    with _files_looked_at(listing, names, options, header=header), plain_failures(listing.path):
        cells = located(text.frame(all_cells=True))
        facts = (*block_facts(), unread(names), *breaks(names[-1]))
        rows = cells.groupBy(FILE, BLOCK).agg(*facts, *_fits(possible)).collect()
    check_text(session, listing, rows, options)
    check_ends(listing, rows, text.frame(), names, options, has_header=header)
    if not rows:
        return Scan(text.untyped(), FileLayout.of(rows))
    types = _types(possible, rows)
    announce(listing.path, {name: kind.name for name, kind in types.items()})
    return Scan(text.typed(types), FileLayout.of(rows))


@dataclass(frozen=True, slots=True)
class _Text:
    """The cells of CSV files as text: null where empty, the empty string where written as two quotes."""

    session: SparkSession
    listing: Listing
    names: tuple[str, ...]
    split: bool
    header: bool
    options: CsvOptions

    def frame(self, *, all_cells: bool = False) -> DataFrame:
        """The cells; with `all_cells` every row's number of cells is checked, whichever columns are asked for."""
        reader = self._reader(all_cells)
        schema = StructType([StructField(name, StringType()) for name in self._raw_names])
        frame = reader.schema(schema).csv(self.listing.paths)
        if not (self.header or self.split):
            frame = _without_line_ends(frame, self._raw_names[-1])
        return frame if self.options.is_utf8 and not self.options.null_values else self._meant(frame)

    @property
    def _raw_names(self) -> list[str]:
        """The names as Spark reads them, which takes each byte of another encoding than UTF-8 for a letter."""
        if self.options.is_utf8:
            return list(self.names)
        return [name.encode(self.options.encoding).decode("latin-1") for name in self.names]

    def _meant(self, frame: DataFrame) -> DataFrame:
        """The cells with the letters that their bytes stand for, and null where that is what they say."""
        upper, nulls = self.options.upper_letters, self.options.null_values
        cells = []
        for name, raw in zip(self.names, self._raw_names, strict=True):
            cell = F.col(quoted(raw))
            if not self.options.is_utf8:
                cell = F.translate(cell, bytes(range(128, 256)).decode("latin-1"), upper)
            cells.append((F.when(~cell.isin(*nulls), cell) if nulls else cell).alias(name))
        return frame.select(*cells, *(F.col(quoted(name)) for name in frame.columns[len(self.names) :]))

    def sampled(self) -> dict[str, int]:
        """The types that columns may have after a few rows have been seen: patterns of others need not be tried."""
        with calm(), plain_failures(self.listing.path):
            rows = self.frame().select(*map(quoted, self.names)).limit(_SAMPLE).toArrow()
        return {
            name: sum(_BITS[kind] for kind, fits in column_fits(column).items() if fits)
            for name, column in zip(self.names, rows.columns, strict=True)
        }

    def typed(self, types: Mapping[str, CellType]) -> DataFrame:
        """The columns of these types, in their order, as values; columns that folders carry follow."""
        frame = self.frame()
        cells = [self._cell(name, kind) for name, kind in types.items()]
        return frame.select(*cells, *(F.col(quoted(name)) for name in frame.columns[len(self.names) :]))

    def untyped(self) -> DataFrame:
        """The columns of files without rows: no cell says of which type one is, so it compares with all."""
        frame = self.frame()
        nothing = (F.lit(None).alias(name) for name in self.names)
        return frame.select(*nothing, *(F.col(quoted(name)) for name in frame.columns[len(self.names) :]))

    def _cell(self, name: str, kind: CellType) -> Column:
        if kind.pattern is not None or self.split:
            return cast(name, kind)
        return F.replace(F.col(quoted(name)), F.lit("\r\n"), F.lit("\n")).alias(name)

    def _reader(self, all_cells: bool) -> DataFrameReader:
        assert self.listing.format.delimiter is not None
        separator = self.options.separates(self.listing.format.delimiter)
        return self.session.read.options(
            header=self.header,
            sep="\\\\" if separator == "\\" else separator,  # in which Spark sees the first half of a sign such as \t
            quote=self.options.quote or "",
            escape=self.options.quote or "\0",
            encoding="UTF-8" if self.options.is_utf8 else "ISO-8859-1",
            nullValue=_NO_CELL,
            emptyValue="",
            mode="FAILFAST",
            enforceSchema=not _all_named(self.names),
            multiLine=not self.split,
            unescapedQuoteHandling="RAISE_ERROR",  # which it else takes for a part of a cell without quotes
            columnPruning=not all_cells,
            **self.listing.options,
        )


def _without_line_ends(frame: DataFrame, last: str) -> DataFrame:
    """The cells where lines may end in CR LF, and the first line break is an LF within a cell.

    Spark takes the first break of a file for the end of all lines, and then leaves a CR in the last cell of each. A
    header, where there is one, holds no break but its own.
    """
    cell = F.col(quoted(last))
    return frame.withColumn(last, F.when(cell != "\r", F.regexp_replace(cell, r"\r\z", "")))


def _all_named(names: Sequence[str]) -> bool:
    """Whether Spark can compare the headers of files with these names: it knows none for a column without a name."""
    return not any(name == f"_c{position}" for position, name in enumerate(names))


def _header(session: SparkSession, listing: Listing, options: CsvOptions, *, single: bool) -> tuple[str, ...]:
    """The names of the columns, of the first file in order; with `single`, its one column is not doubted."""
    assert listing.format.delimiter is not None
    first = listing.named(listing.filled[0])
    if listing.here:
        with reading(Path(first)):
            return read_header(Path(first), listing.format.delimiter, options, single=single)
    with plain_failures(first):
        rows = session.read.text(listing.paths[0]).select(F.col("value").cast("binary")).head(_HEADER_LINES)
    written = [bytes(row["value"]) for row in rows]
    check_is_text(first, b"\n".join(written)[:_BEGINNING])
    lines = [line.decode(options.encoding, "replace") + "\n" for line in written]
    header = header_of(lines, listing.format.delimiter, first, options)
    if not (single and len(header.names) == 1):
        below = lines[header.text.count("\n") :][:_SHOWING]
        check_header(header.text, below, listing.format.delimiter, first, options)
    return header.names


@contextmanager
def _files_looked_at(listing: Listing, names: Sequence[str], options: CsvOptions, *, header: bool) -> Iterator[None]:
    """Where files cannot be read, looks for headers that differ and for the line of a row with too many or too few
    cells, which says more than what Spark fails with."""
    try:
        yield
    except DataError as error:
        delimiter = listing.format.delimiter
        if not listing.here or delimiter is None:
            raise
        first, *others = map(listing.named, listing.filled)
        for file in others if header else ():
            with reading(Path(file)):
                other = read_header(Path(file), delimiter, options)
            if other != names:
                raise other_header(file, other, first, names) from None
        if error.facts.keys() - {"quoted"} == {"path", "text"}:
            for file in (first, *others):
                with reading(Path(file)):
                    found = with_line(error, Path(file), delimiter, None if header else len(names), options)
                if found is not error:
                    raise found from error
                if has_mixed_ends(Path(file)):
                    raise mixed_line_ends(file) from error
        raise _as_named(error, listing) from error.__cause__


def _as_named(error: DataError, listing: Listing) -> DataError:
    """The error with its file as the path names it, where Spark names it in full."""
    path = str(error.facts.get("path"))
    if not os.path.isabs(path) or listing.named(path) == path:
        return error
    said = str(error).replace(repr(path), repr(listing.named(path)))
    return type(error)(said, **{**error.facts, "path": listing.named(path)})


def _has_broken_lines(session: SparkSession, listing: Listing, options: CsvOptions) -> bool:
    """Whether a cell may hold a line break: some line then has an odd number of quotes."""
    if options.quote is None:
        return False
    line = F.col("value")
    quotes = F.length(line) - F.length(F.replace(line, F.lit(options.quote), F.lit("")))
    with plain_failures(listing.path):
        return bool(session.read.text(listing.paths).select(F.max(quotes % 2)).collect()[0][0])


def _fits(possible: Mapping[str, int]) -> list[Column]:
    """For each column that may yet have a type, the types that all of its cells fit, as bits; null without cells."""
    return [
        F.bit_and(_cell_fits(F.col(quoted(name)), bits)).alias(f"fits {position}")
        for position, (name, bits) in enumerate(possible.items())
        if bits
    ]


def _cell_fits(cell: Column, bits: int) -> Column:
    """The types, out of these bits, that a cell fits; patterns are tried one by one until one matches."""
    found = F.when(cell.isNull(), F.lit(None).cast("int"))
    for kind in CsvType:
        if _BITS[kind] & bits:
            found = found.when(_matches(kind, cell), _fitting(kind, cell, bits))
    return found.otherwise(F.lit(0))


def _matches(kind: CsvType, cell: Column) -> Column:
    """Whether a cell is of a type: has its pattern, and is a day or time there is, unlike 2021-02-30.

    Whole numbers and dates have their pattern if they are written as Spark would write them, which is cheaper to see.
    """
    value = cell.try_cast(_SPARK_TYPES[kind])
    if kind is CsvType.INTEGER:
        return (value.cast("string") == cell) & value.between(-_LARGEST_INTEGER, _LARGEST_INTEGER)
    if kind is CsvType.DATE:
        return (value.cast("string") == cell) & (F.length(cell) == 10) & (cell >= "0001")
    if kind is CsvType.TIMESTAMP:
        return cell.rlike(kind.value) & value.isNotNull()
    return cell.rlike(kind.value)


def _fitting(kind: CsvType, cell: Column, bits: int) -> Column:
    """The types, out of these bits, that a cell of this narrowest type fits: whole numbers fit wider ones too."""
    if kind not in (CsvType.INTEGER, CsvType.BIG_INTEGER):
        return F.lit(_BITS[kind])
    own = F.lit(bits & (_BITS[kind] | _BITS[CsvType.BIG_INTEGER]))
    if not bits & _BITS[CsvType.FLOAT]:
        return own
    fits_float = (F.length(cell) <= _SURELY_EXACT) | cell.rlike(CsvType.FLOAT.value)
    return F.when(fits_float, own.bitwiseOR(F.lit(_BITS[CsvType.FLOAT]))).otherwise(own)


def _types(possible: Mapping[str, int], rows: Sequence[Row]) -> dict[str, CellType]:
    """The type of every column after all rows have been seen; text where no row has a cell."""
    known = {}
    for position, (name, bits) in enumerate(possible.items()):
        masks = [row[f"fits {position}"] for row in rows] if bits else []
        seen = [mask for mask in masks if mask is not None]
        fits = reduce(and_, seen) if seen else 0
        kind = narrowest({kind: bool(fits & bit) for kind, bit in _BITS.items()})
        known[name] = CellType.of("string" if kind is None else _SPARK_TYPES[kind], name)
    return known
