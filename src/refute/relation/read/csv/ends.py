"""The end of a CSV file, held against what Arrow makes of it: quotes that are never closed, and a last empty cell."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from refute.errors import DataError
from refute.faults import OTHER_QUOTE
from refute.relation.read.csv.options import CsvOptions

_PIECE = 1 << 20
_AROUND = 16  # bytes that may follow the closing quote of the last cell


def with_last_null(text: pa.Table, file: Path, delimiter: str, encoding: str) -> pa.Table:
    """The cells as Arrow reads them, with null for a last one that is empty and ends the file.

    Arrow takes it for one in quotes where the cell before it is, if no line break follows.
    """
    last = text.column(-1)
    if last[-1].as_py() != "" or not _tail(file, _AROUND)[0].endswith(delimiter.encode(encoding)):
        return text
    chunks = [*last.slice(0, len(last) - 1).chunks, pa.nulls(1, last.type)]
    return text.set_column(text.num_columns - 1, text.field(text.num_columns - 1), pa.chunked_array(chunks))


def refuse_unclosed(file: Path, last: str | None, options: CsvOptions) -> None:
    """Raises DataError where the last cell of a file, the last one of its row, begins with a quote that nothing closes.

    Only there does a reader go on to the end in silence: elsewhere the row lacks cells. The bytes are looked at where
    that cell holds a line break, without which no row is lost.
    """
    if options.quote is None or last is None or not ("\n" in last or "\r" in last):
        return
    quote = options.quote
    written = (quote + last.replace(quote, quote * 2)).encode(options.encoding)
    tail, lines = _tail(file, 2 * len(written) + _AROUND)
    closed = tail.rstrip(b"\r\n").endswith(written + quote.encode(options.encoding))
    if tail.endswith(written) and not closed:
        raise unclosed(str(file), lines - written.count(b"\n") + 1)


def unclosed(file: str, line: int) -> DataError:
    """The error for a quote that opens on a line and is never closed."""
    return DataError(
        f"{file}:{line}: The quote that opens here is never closed, so all that follows would be one cell. Close "
        f"it, or {OTHER_QUOTE}.",
        path=file,
        line=line,
    )


def _tail(file: Path, size: int) -> tuple[bytes, int]:
    """The last bytes of a file, unpacked, and how many lines all of them have."""
    tail, lines = b"", 0
    with pa.input_stream(str(file), compression="detect") as stream:
        for piece in iter(lambda: stream.read(_PIECE), b""):
            lines += piece.count(b"\n")
            tail = (tail + piece)[-size:]
    return tail, lines
