"""CSV files read with Arrow; cells become numbers, dates or booleans only where nothing is lost."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from refute.errors import DataError
from refute.relation.read.csv.cells import ARROW_TYPES, castable, cells_of, typed_cells
from refute.relation.read.csv.delimiter import check_header, check_rows
from refute.relation.read.csv.ends import refuse_unclosed, with_last_null
from refute.relation.read.csv.header import header_of, no_header, other_header
from refute.relation.read.csv.letters import check_encoding, check_is_text, not_encoded
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.csv.ragged import ragged_row_of, with_line
from refute.relation.read.csv.types import FEW, CsvType, all_fit
from refute.relation.read.schema import Schema
from refute.relation.read.unreadable import reading

_SHOWING = 5  # lines that show what separates cells
_BEGINNING = 1000  # bytes that show whether a file is text
_BLOCKS = (1 << 20, 1 << 26, (1 << 31) - 1)  # bytes that Arrow parses at once: more only where a row is that long


def read_csv(
    files: Sequence[Path],
    delimiter: str = ",",
    schema: Schema | None = None,
    options: CsvOptions = USUAL,
    *,
    shared: bool = False,
) -> list[pa.Table]:
    """The tables in CSV files with one header, of one schema; an empty cell is null, whatever the type of its column.

    Without a schema, a column's type is inferred from the cells of all files. Files without a single byte, which Spark
    writes for tasks without rows, are skipped. Raises DataError where a file is malformed or does not fit the
    schema, or where headers differ, unless only columns that all files have are asked for as `shared`.
    """
    parts: dict[Path, pa.Table] = {}
    given = None if schema is None or schema.header else schema.names
    for file in files:
        with reading(file):
            if file.stat().st_size:
                parts[file] = read_text(file, delimiter, given, options, single=is_single(schema))
    if not parts:
        raise no_header(str(files[0]))
    (first, head), *others = parts.items()
    names = head.column_names
    if shared:
        names = [name for name in names if all(name in part.column_names for _, part in others)]
        parts = {file: part.select(names) for file, part in parts.items()}
    for file, part in () if shared else others:
        if part.column_names != names:
            raise other_header(str(file), part.column_names, str(first), names)
    if schema is not None:
        schema.require(names, str(first))
        typed = {file: schema.table(_columns(part), str(file)) for file, part in parts.items()}
        return [typed.get(file, typed[first].slice(0, 0)) for file in files]
    whole = pa.concat_tables(parts.values())
    if not len(whole):  # no cell says of which type a column is, so it compares with all
        return [pa.schema([(name, pa.null()) for name in names]).empty_table() for _ in files]
    if len(whole) <= FEW:
        whole = typed_cells(whole, names)
    else:
        whole = whole.cast(pa.schema(list(zip(names, map(column_type, whole.columns), strict=True))))
    counts = [len(parts[file]) if file in parts else 0 for file in files]
    return [whole.slice(end - count, count) for end, count in zip(accumulate(counts), counts, strict=True)]


def _columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))


def is_single(schema: Schema | None) -> bool:
    """Whether a schema says that files have a single column."""
    return schema is not None and len(schema.types) == 1


def read_text(
    file: Path,
    delimiter: str,
    names: Sequence[str] | None = None,
    options: CsvOptions = USUAL,
    *,
    single: bool = False,
) -> pa.Table:
    """The cells of a file as text: null where empty, the empty string where written as two quotes.

    Where names are given, the file has no header. With `single`, its one column is not doubted.
    """
    try:
        return _cells(file, delimiter, names, options, single)
    except UnicodeDecodeError:
        raise _not_encoded(file, options) from None
    except pa.ArrowInvalid as error:
        if options.is_utf8 and "UTF8" in str(error):
            raise _not_encoded(file, options) from None
        ragged = ragged_row_of(error, file)
        if ragged is None:
            raise
        raise with_line(ragged, file, delimiter, len(names) if names else None, options) from error


def _not_encoded(file: Path, options: CsvOptions) -> DataError:
    check_encoding(file, options)
    with pa.input_stream(str(file), compression="detect") as stream:
        return not_encoded(str(file), options.encoding, stream.read(_BLOCKS[0]))


def _cells(file: Path, delimiter: str, names: Sequence[str] | None, given: CsvOptions, single: bool) -> pa.Table:
    opening = _opening(file, delimiter, names, given, single)
    check_encoding(file, given)
    if not opening.has_rows:  # of which Arrow makes nothing where the header's line has no end
        return pa.schema([(name, pa.string()) for name in opening.names]).empty_table()
    text = _parsed(file, delimiter, opening, given)
    text = _with_nulls(text, given)
    return text if file.stat().st_size <= _BLOCKS[0] and not _has_quotes(file, given) else _with_line_feeds(text)


def last_cells(
    file: Path, delimiter: str, names: Sequence[str], options: CsvOptions, *, has_header: bool
) -> pa.ChunkedArray:
    """The last column of a file as text; raises DataError where the last quote is never closed."""
    opening = _opening(file, delimiter, None if has_header else names, replace(options, as_given=True), single=True)
    return _parsed(file, delimiter, opening, options, columns=[names[-1]]).column(0)


def _parsed(
    file: Path, delimiter: str, opening: _Opening, given: CsvOptions, columns: list[str] | None = None
) -> pa.Table:
    """The cells as Arrow reads them; raises DataError where the last quote is never closed."""
    converting = csv.ConvertOptions(
        column_types={name: pa.string() for name in opening.names},
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
        include_columns=columns,
    )
    small = file.stat().st_size <= _BLOCKS[0]  # and not worth threads, of which each would hold memory for all columns
    options = csv.ReadOptions(
        column_names=list(opening.names),
        skip_rows_after_names=opening.skipped,
        use_threads=not small,
        encoding=given.encoding,
    )
    parsing = csv.ParseOptions(
        delimiter=given.separates(delimiter), quote_char=given.quote or False, newlines_in_values=True
    )
    for block in _BLOCKS:
        options.block_size = block
        try:
            text = csv.read_csv(file, options, parsing, converting)
            if not len(text):
                return text
            refuse_unclosed(file, text.column(-1)[-1].as_py(), given)
            return with_last_null(text, file, given.separates(delimiter), given.encoding)
        except pa.ArrowInvalid as error:  # Arrow reads no row that is longer than two blocks
            if "straddl" not in str(error) or block == _BLOCKS[-1]:
                raise
    raise AssertionError("the last block has returned or raised")


def _has_quotes(file: Path, options: CsvOptions) -> bool:
    """Whether the file has any; without, no cell has a line break."""
    if options.quote is None:
        return False
    quote = options.quote.encode()
    with pa.input_stream(str(file), compression="detect") as stream:
        return any(quote in piece for piece in iter(lambda: stream.read(_BLOCKS[0]), b""))


def _with_nulls(text: pa.Table, options: CsvOptions) -> pa.Table:
    """The table with null for cells that are written as such."""
    if not options.null_values:
        return text
    written, null = pa.array(options.null_values, pa.string()), pa.scalar(None, pa.string())
    columns = [pc.if_else(pc.is_in(column, value_set=written), null, column) for column in text.columns]
    return pa.table(columns, names=text.column_names)


def _with_line_feeds(text: pa.Table) -> pa.Table:
    """The table with CR LF in cells as LF, as Spark has it."""
    if len(text) <= FEW:  # looked at all at once, since each call costs more than such a column
        if not pc.any(pc.match_substring(cells_of(text), "\r\n")).as_py():
            return text
    return pa.table([pc.replace_substring(column, "\r\n", "\n") for column in text.columns], names=text.column_names)


def read_header(
    file: Path,
    delimiter: str,
    options: CsvOptions = USUAL,
    given: Sequence[str] | None = None,
    *,
    single: bool = False,
) -> tuple[str, ...]:
    """The names of the columns, if none are given; raises DataError where two are equal, or for a wrong delimiter."""
    try:
        return _opening(file, delimiter, given, options, single).names
    except UnicodeDecodeError:
        raise _not_encoded(file, options) from None


@dataclass(frozen=True, slots=True)
class _Opening:
    """How a file begins: the columns, how many rows and empty lines are above the first row, and if there is one."""

    names: tuple[str, ...]
    skipped: int
    has_rows: bool


def _opening(file: Path, delimiter: str, given: Sequence[str] | None, options: CsvOptions, single: bool) -> _Opening:
    """How a file begins, with the names that are given or else those of its header."""
    with (
        pa.input_stream(str(file), compression="detect") as stream,
        io.BufferedReader(stream) as letters,
        io.TextIOWrapper(letters, encoding="utf-8-sig" if options.is_utf8 else options.encoding, newline="") as text,
    ):
        check_is_text(str(file), letters.peek(_BEGINNING)[:_BEGINNING])
        header = header_of(text, delimiter, str(file), options) if given is None else None
        rest = list(islice(text, _SHOWING))
        if header is None:
            names, skipped = tuple(given or ()), 0
            check_rows(len(names), rest, delimiter, str(file), options)
        else:
            names, skipped = header.names, header.above + 1
            if not (single and len(names) == 1):
                check_header(header.text, rest, delimiter, str(file), options)
        return _Opening(names, skipped, any(line.strip("\r\n") for line in chain(rest, text)))


def column_type(column: pa.ChunkedArray) -> pa.DataType:
    """The narrowest type that every cell of a text column fits, else text."""
    if column.null_count == len(column):
        return pa.string()
    kind = next((kind for kind in CsvType if _all_match(column, kind) and castable(column, kind)), None)
    return pa.string() if kind is None else ARROW_TYPES[kind]


def column_fits(column: pa.ChunkedArray) -> dict[CsvType, bool]:
    """Which types every cell of a text column fits; without cells all of them."""
    return {kind: _all_match(column, kind) and castable(column, kind) for kind in CsvType}


def _all_match(column: pa.ChunkedArray, kind: CsvType) -> bool:
    if len(column) <= FEW:
        return all_fit(column.to_pylist(), kind)
    return pc.all(pc.match_substring_regex(column, kind.value)).as_py() is not False
