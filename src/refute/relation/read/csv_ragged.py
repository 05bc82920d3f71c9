"""The first row of a CSV file with more or fewer cells than its columns, and the line where it begins."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from refute.errors import DataError
from refute.faults import ragged_row
from refute.relation.read.csv_options import CsvOptions

_RAGGED = re.compile(r"CSV parse error: .*?Expected \d+ columns, got \d+: (.*)", re.DOTALL)
_PIECE = 1 << 20
_MOST_LETTERS = 1 << 30  # looked through for a line number, at some 50 MB a second


def ragged_row_of(error: pa.ArrowInvalid, file: Path) -> DataError | None:
    """The error for such a row where that is what Arrow complains of."""
    found = _RAGGED.search(str(error))
    return None if found is None else ragged_row(str(file), found[1])


def with_line(
    error: DataError, file: Path, delimiter: str, columns: int | None, options: CsvOptions, most: int = _MOST_LETTERS
) -> DataError:
    """The error that an engine has for a row of this file, with its line where that is found; of several rows, which
    engines meet in any order, the first.

    `columns` is None where the file has a header, which says how many there are.
    """
    with (
        pa.input_stream(str(file), compression="detect") as stream,
        io.TextIOWrapper(
            stream, encoding="utf-8-sig" if options.is_utf8 else options.encoding, errors="replace", newline=""
        ) as text,
    ):
        try:
            for line, cells, row in _rows(text, delimiter, options, most):
                if columns is None:
                    columns = cells
                elif cells != columns:
                    return ragged_row(str(file), row, line=line, cells=cells, columns=columns)
        except csv.Error:  # a cell that is longer than its reader takes
            pass
    return error


def _rows(text: Iterable[str], delimiter: str, options: CsvOptions, most: int) -> Iterator[tuple[int, int, str]]:
    """For each row that is not empty: the number of its first line, the number of its cells, and its text."""
    taken: list[str] = []
    seen = 0

    def lines() -> Iterator[str]:
        nonlocal seen
        for line in text:
            seen += len(line)
            if seen > most:
                return
            taken.append(line)
            yield line

    quote = options.quote
    rules = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
    reader = csv.reader(lines(), delimiter=options.separates(delimiter), **rules)
    first = 1
    for cells in reader:
        if cells:
            yield first, len(cells), "".join(taken).rstrip("\r\n")
        first = reader.line_num + 1
        taken.clear()


def has_mixed_ends(file: Path) -> bool:
    """Whether some lines end in CR LF, and others in LF alone."""
    crlf = lone = False
    with pa.input_stream(str(file), compression="detect") as stream:
        before = b""
        for piece in iter(lambda: stream.read(_PIECE), b""):
            pairs = (before + piece).count(b"\r\n")
            crlf |= pairs > 0
            lone |= piece.count(b"\n") > pairs
            if crlf and lone:
                return True
            before = piece[-1:]
    return False
