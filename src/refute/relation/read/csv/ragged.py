"""The first row of a CSV file with more or fewer cells than its columns, and the line where it begins."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.errors import DataError
from refute.faults import ragged_row
from refute.relation.read.csv.ends import unclosed
from refute.relation.read.csv.options import CsvOptions

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
    engines meet in any order, the first. Where a row lacks cells for a quote that is never closed, that is the error.

    `columns` is None where the file has a header, which says how many there are.
    """
    found = error
    with _opened(file, options) as text:
        try:
            for line, cells, taken in _rows(text, delimiter, options, most):
                if columns is None:
                    columns = len(cells)
                elif len(cells) != columns:
                    row = "".join(taken).rstrip("\r\n")
                    found = ragged_row(str(file), row, line=line, cells=len(cells), columns=columns)
                    lines = range(line, line + len(taken))
                    break
            else:
                return error
        except csv.Error:  # a cell that is longer than its reader takes, as all that follows an open quote may be
            lines = range(1, most)
    opens = _open_quote(file, delimiter, options, most)
    return unclosed(str(file), opens) if opens in lines else found


@contextmanager
def _opened(file: Path, options: CsvOptions) -> Iterator[io.TextIOWrapper]:
    """The letters of a file, unpacked; what is no letter of its encoding is replaced."""
    encoding = "utf-8-sig" if options.is_utf8 else options.encoding
    with (
        pa.input_stream(str(file), compression="detect") as stream,
        io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="") as text,
    ):
        yield text


def _open_quote(file: Path, delimiter: str, options: CsvOptions, most: int) -> int:
    """The line of the last quote of a file, if that opens a cell and so nothing closes it; else 0."""
    if options.quote is None:
        return 0
    seen = quotes = opens = 0
    with _opened(file, options) as text:
        for number, line in enumerate(text, 1):
            seen += len(line)
            if seen > most:
                return 0
            at = line.rfind(options.quote)
            if at >= 0:
                quotes += line.count(options.quote)
                opens = number if at == 0 or line[at - 1] == options.separates(delimiter) else 0
    return opens if quotes % 2 else 0


def _rows(
    text: Iterable[str], delimiter: str, options: CsvOptions, most: int
) -> Iterator[tuple[int, list[str], list[str]]]:
    """For each row that is not empty: the number of its first line, its cells, and its lines."""
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

    rules: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if options.quote is None else {"quotechar": options.quote}
    reader = csv.reader(lines(), delimiter=options.separates(delimiter), **rules)
    first = 1
    for cells in reader:
        if cells:
            yield first, cells, taken
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
