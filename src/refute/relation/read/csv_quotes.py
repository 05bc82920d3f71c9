"""Quotes that are opened in a CSV file and never closed: all rows behind them would become one cell."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from refute.errors import DataError
from refute.relation.read.csv_options import CsvOptions

_PIECE = 1 << 20
_AROUND = 16  # bytes that may follow the closing quote of the last cell


def refuse_unclosed(file: Path, last: str | None, options: CsvOptions) -> None:
    """Raises DataError where the last cell of a file, the last one of its row, begins with a quote that nothing closes.

    Only there does a reader go on to the end in silence: elsewhere the row lacks cells. The bytes are looked at where
    that cell holds a line break, without which no row is lost.
    """
    if options.quote is None or last is None or not ("\n" in last or "\r" in last):
        return
    quote = options.quote
    written = (quote + last.replace(quote, quote * 2)).encode(options.encoding)
    tail, lines = b"", 0
    with pa.input_stream(str(file), compression="detect") as stream:
        for piece in iter(lambda: stream.read(_PIECE), b""):
            lines += piece.count(b"\n")
            tail = (tail + piece)[-2 * len(written) - _AROUND :]
    closed = tail.rstrip(b"\r\n").endswith(written + quote.encode(options.encoding))
    if tail.endswith(written) and not closed:
        line = lines - written.count(b"\n") + 1
        raise DataError(
            f"{file}:{line}: the quote that opens here is never closed, so all that follows would be one cell; close "
            "it, or name another quote, or none, by the options for CSV",
            path=str(file),
            line=line,
        )
