"""Cells of text files on Spark: held against a given schema, and cast to its types."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from refute.errors import InferredTypesWarning
from refute.faults import mixed_line_ends, not_utf8
from refute.language.addresses import is_local_address, local_path
from refute.relation.read.csv.ends import unclosed
from refute.relation.read.csv.letters import EXAMPLE_OF_UTF8, check_encoding, named_in_vain, not_encoded
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.csv.reader import last_cells
from refute.relation.read.schema import CellType, Schema
from refute.relation.read.unreadable import reading
from refute.spark.expressions import quoted
from refute.spark.session.failures import plain_failures
from refute.spark.source.files import Listing
from refute.spark.source.positions import BLOCK, FILE, ID, FileLayout, block_facts, located

_PUT_IN_PLACE = "\N{REPLACEMENT CHARACTER}"
_UNREAD, _BROKEN, _RETURNS, _LAST, _LINES = "unread", "broken", "returns", "last cell", "lines"
_EXAMPLE = "example"
_END = 10_000  # letters at the end of a cell or line that are looked at
_SAMPLE = 1 << 20  # bytes that show which encoding they may be in


@dataclass(frozen=True, slots=True)
class Scan:
    """Text files opened: the typed frame, and the layout of its rows where a pass has found it."""

    frame: DataFrame
    layout: FileLayout | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What a pass over all cells finds: the layout of the rows, and the columns that have no cell at all."""

    layout: FileLayout
    empty: tuple[str, ...]


def unread(names: Iterable[str]) -> Column:
    """Whether some cell of these columns has the letter that Spark puts in place of bytes which are not UTF-8."""
    seen = reduce(or_, (F.contains(F.col(quoted(name)), F.lit(_PUT_IN_PLACE)) for name in names))
    return F.coalesce(F.bool_or(F.coalesce(seen, F.lit(False))), F.lit(False)).alias(_UNREAD)


def check_text(session: SparkSession, listing: Listing, rows: Sequence[Row], csv: CsvOptions = USUAL) -> None:
    """Raises DataError where bytes of the files are not UTF-8: Spark would take all of them for the same letter.

    `rows` have what `unread` gives. A file may hold that letter itself, so where it is seen the bytes are looked at.
    """
    unread = [row for row in rows if row[_UNREAD]]
    if not unread:
        return
    if not csv.is_utf8:  # no letter of such an encoding is that one
        path = listing.named(_path(unread[0][FILE]))
        raise not_encoded(path, csv.encoding, _sample(path))
    with plain_failures(listing.path):
        lines = session.read.text(listing.paths)
        file = lines.metadataColumn("_metadata").getField("file_path")
        (found,) = lines.where(~F.is_valid_utf8("value")).agg(F.min(file)).collect()[0]
    if found is not None:
        path = listing.named(_path(found))
        raise not_utf8(path) if listing.format.delimiter is None else not_encoded(path, csv.encoding, _sample(path))


def check_letters(session: SparkSession, listing: Listing, csv: CsvOptions) -> None:
    """Raises DataError where another encoding than UTF-8 was named, and a file is UTF-8.

    Files on this machine are looked at here, which ends with the first letter that is not UTF-8; Spark looks at others.
    """
    if csv.is_utf8 or csv.as_given:
        return
    if listing.here:
        for name in map(listing.named, listing.filled):
            with reading(Path(name)):
                check_encoding(Path(name), csv)
        return
    with plain_failures(listing.path):
        lines = session.read.text(listing.paths)
        file = lines.metadataColumn("_metadata").getField("file_path").alias(FILE)
        value = F.col("value")
        word = F.max(F.regexp_extract(value, EXAMPLE_OF_UTF8, 0)).alias(_EXAMPLE)
        valid = F.bool_and(F.is_valid_utf8(value)).alias(_UNREAD)
        seen = lines.groupBy(file).agg(valid, word).where(F.col(_UNREAD) & (F.col(_EXAMPLE) != ""))
        found = seen.agg(F.min(F.struct(FILE, _EXAMPLE))).collect()[0][0]
    if found is not None:
        raise named_in_vain(listing.named(_path(found[0])), csv.encoding, found[1])


def breaks(last: str) -> tuple[Column, Column]:
    """Whether some cell of the last column holds a line break, as where a quote is never closed, and how many end in a
    CR, as where lines end in CR LF below one that ends in LF."""
    cell = F.col(quoted(last))
    seen = F.contains(cell, F.lit("\n")) | F.contains(cell, F.lit("\r"))
    broken = F.coalesce(F.bool_or(F.coalesce(seen, F.lit(False))), F.lit(False))
    return broken.alias(_BROKEN), F.count_if(F.endswith(cell, F.lit("\r"))).alias(_RETURNS)


def check_ends(
    listing: Listing,
    rows: Sequence[Row],
    cells: DataFrame,
    names: Sequence[str],
    csv: CsvOptions,
    *,
    has_header: bool,
) -> None:
    """Raises DataError where the last quote of a file is never closed, or where lines end in several ways; `rows` have
    what `breaks` gives of the cells.

    Spark takes all that follows such a quote for one cell, and the first end of a line for that of all lines, so only
    files with a line break in a last cell are looked at once more. Those that Spark alone sees are asked for such a
    quote alone.
    """
    broken = sorted({str(row[FILE]) for row in rows if row[_BROKEN]})
    if not listing.here and broken:
        _check_last_quotes(listing, broken, cells, names[-1], csv)
    elif listing.format.delimiter is not None:
        for file in sorted(map(_path, broken)):
            cells = last_cells(Path(listing.named(file)), listing.format.delimiter, names, csv, has_header=has_header)
            returns = sum(row[_RETURNS] for row in rows if _path(row[FILE]) == file)
            if returns != (pc.sum(pc.ends_with(cells, "\r")).as_py() or 0):
                raise mixed_line_ends(listing.named(file))


def _check_last_quotes(listing: Listing, files: list[str], cells: DataFrame, last: str, csv: CsvOptions) -> None:
    """Raises DataError where the last quote of one of these files is never closed: its last row then ends in a cell
    whose last line is that of the file, without a quote behind it."""
    if csv.quote is None:
        return
    lines = located(cells.sparkSession.read.text(listing.paths))
    cell = F.regexp_replace(F.col(quoted(last)), "\r\n?", "\n")
    breaks = F.length(cell) - F.length(F.replace(cell, F.lit("\n"), F.lit("")))
    end = F.struct(F.right(cell, F.lit(_END)).alias(_LAST), breaks.alias(_BROKEN))
    with plain_failures(listing.path):
        rows = _last_of(located(cells), files, end).collect()
        ends = _last_of(lines, files, F.right(F.col("value"), F.lit(_END)).cast("binary"), F.col("value") != "")
        written = {row[FILE]: row for row in ends.collect()}
    for row in sorted(rows, key=lambda row: str(row[FILE])):
        text, n_breaks = row[_LAST][_LAST], row[_LAST][_BROKEN]
        if not n_breaks:
            continue
        _, above, line = text.rstrip("\n").rpartition("\n")
        is_first = not above and len(text) < _END
        meant = (csv.quote if is_first else "") + line.replace(csv.quote, csv.quote * 2)
        there = written[row[FILE]]
        ending = bytes(there[_LAST]).decode(csv.encoding, "replace")
        if ending.endswith(meant) if is_first else ending == meant[-_END:]:
            raise unclosed(_path(row[FILE]), there[_LINES] - n_breaks + text.endswith("\n"))


def _last_of(frame: DataFrame, files: list[str], value: Column, among: Column | None = None) -> DataFrame:
    """A value of the last row of each file, of those rows that count, and the number of all rows."""
    place = F.struct(BLOCK, ID)
    if among is not None:
        place = F.when(among, place)
    return (
        frame.where(F.col(FILE).isin(files))
        .groupBy(FILE)
        .agg(F.max_by(value, place).alias(_LAST), F.count(F.lit(1)).alias(_LINES))
    )


def _path(found: object) -> str:
    """The path of a file on this machine, or an address as Spark has it."""
    text = str(found)
    return str(local_path(text)) if is_local_address(text) else unquote(text)


def _sample(path: str) -> bytes:
    """Some bytes of a file, if it is on this machine."""
    try:
        with pa.input_stream(path, compression="detect") as stream:
            return bytes(stream.read(_SAMPLE))
    except (OSError, pa.ArrowException):
        return b""


def checked(
    cells: DataFrame, schema: Schema, listing: Listing, csv: CsvOptions = USUAL, names: Sequence[str] = ()
) -> Checked:
    """The facts of one pass over all cells; raises DataError where one does not fit the type of its column.

    `names` are all columns of CSV files, in their order.
    """
    path = listing.path
    numbered = list(enumerate(schema.types.items()))
    filled = [F.count(_cell(name, kind)).alias(f"cells {i}") for i, (name, kind) in numbered]
    wrong = [F.min(misfit(name, kind)).alias(f"wrong {i}") for i, (name, kind) in numbered if kind.pattern]
    facts = [*block_facts(), unread(schema.types), *filled, *wrong]
    facts += breaks(names[-1]) if names else []
    with plain_failures(path):
        rows = located(cells).groupBy(FILE, BLOCK).agg(*facts).collect()
    check_text(cells.sparkSession, listing, rows, csv)
    if names:
        check_ends(listing, rows, cells, names, csv, has_header=schema.header)
    for i, (name, kind) in numbered:
        found = [row[f"wrong {i}"] for row in rows if kind.pattern and row[f"wrong {i}"] is not None]
        if found:
            raise kind.misfit(found[0], name, path)
    empty = [name for i, (name, _) in numbered if not any(row[f"cells {i}"] for row in rows)]
    return Checked(FileLayout.of(rows), tuple(empty))


def misfit(name: str, kind: CellType) -> Column:
    """The cell if it is not a value of the type, else null."""
    assert kind.pattern is not None
    cell = _cell(name, kind)
    return F.when(~cell.rlike(kind.pattern) | cell.try_cast(_spark_name(kind)).isNull(), cell)


def cast(name: str, kind: CellType) -> Column:
    """A checked column of text as one of values, under its name."""
    return _cell(name, kind).cast(_spark_name(kind)).alias(name)


def announce(path: str, types: Mapping[str, str]) -> None:
    """Warn of types that nobody gave."""
    inferred = ", ".join(f"{name} {kind}" for name, kind in types.items())
    warnings.warn(
        f"The column types of {path!r} were inferred: {inferred}. Pass a schema to set them.",
        InferredTypesWarning,
        stacklevel=2,
    )


def _cell(name: str, kind: CellType) -> Column:
    """The text of a cell; an empty one is null, unless the column is of text."""
    cell = F.col(quoted(name))
    return cell if kind.pattern is None else F.nullif(cell, F.lit(""))


def _spark_name(kind: CellType) -> str:
    """The name that means this type whatever a session takes `timestamp` for."""
    return "timestamp_ltz" if kind.name == "timestamp" else kind.name
