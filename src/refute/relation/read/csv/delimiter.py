"""What separates the cells of a CSV file, by its first lines, where that does not seem to be the sign in use."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

from refute.errors import DataError
from refute.faults import AS_GIVEN, csv_advice, quotation, short
from refute.relation.read.csv.options import CsvOptions

_USUAL = (",", ";", "\t", "|", ":")  # the likeliest first
_NAME = re.compile(r"\w+")


def check_header(text: str, rows: Sequence[str], usual: str, file: str, options: CsvOptions) -> None:
    """Raises DataError where cells seem to be separated by another sign than the one in use, given or not, unless the
    options say that files are read as given.

    That sign cuts the header, whose `text` is as written, and all first rows into as many cells. The one in use makes
    a single column of them, leaves a quote within a name, or cuts no row as it cuts the header.
    """
    if options.as_given:
        return
    used, text = options.separates(usual), text.lstrip("\r\n")
    names, filled = _cells(text, used, options), _filled(rows, options)
    is_single = len(names) == 1
    if not (is_single or _has_quotes(text, names, options) or _all_differ(filled, len(names), used, options)):
        return
    for likely in _USUAL:
        cells = _cells(text, likely, options)
        if likely == used or len(cells) < 2 or any(len(_cells(row, likely, options)) != len(cells) for row in filled):
            continue
        if _has_quotes(text, cells, options) or (likely == ":" and not all(map(_NAME.fullmatch, cells))):
            continue  # a colon may well stand in the name of a single column
        found = f"has {'a single column,' if is_single else 'columns such as'} {names[0]!r}"
        raise _separated(found, likely, used, file)


def check_rows(columns: int, rows: Sequence[str], usual: str, file: str, options: CsvOptions) -> None:
    """Raises DataError where another sign cuts the first rows of a file without a header into as many cells as there
    are columns, and the one in use cuts none so."""
    used, filled = options.separates(usual), _filled(rows, options)
    if options.as_given or not filled or columns == 1 or not _all_differ(filled, columns, used, options):
        return
    for likely in _USUAL:
        if likely != used and all(len(_cells(row, likely, options)) == columns for row in filled):
            row = repr(short(filled[0].strip()))
            raise _separated(f"has rows such as {row}", likely, used, file, quoted=quotation(row))


def _separated(found: str, likely: str, used: str, file: str, *, quoted: Any = None) -> DataError:
    shown, instead = ("a tab" if sign == "\t" else repr(sign) for sign in (likely, used))
    return DataError(
        f"{file!r} {found}: its cells seem to be separated by {shown}, not by {instead}. "
        f"{csv_advice('delimiter', likely)} {AS_GIVEN}",
        path=file,
        option="delimiter",
        expected=likely,
        quoted=quoted,
    )


def _filled(lines: Sequence[str], options: CsvOptions) -> list[str]:
    """The rows of some lines, without those that are empty; a row goes on while a quote is open in it, and one that
    goes on behind the last line is left out."""
    rows: list[str] = []
    row = ""
    for line in lines:
        row += line
        if options.quote is None or row.count(options.quote) % 2 == 0:
            rows.append(row)
            row = ""
    return [row for row in rows if row.strip("\r\n")]


def _all_differ(rows: Sequence[str], columns: int, sign: str, options: CsvOptions) -> bool:
    """Whether there are rows, and none has so many cells."""
    return bool(rows) and all(len(_cells(row, sign, options)) != columns for row in rows)


def _has_quotes(text: str, names: Sequence[str], options: CsvOptions) -> bool:
    """Whether a name holds a quote that is not written twice, as where a name in quotes is cut."""
    quote = options.quote
    return quote is not None and quote * 2 not in text and any(quote in name for name in names)


def _cells(line: str, sign: str, options: CsvOptions) -> list[str]:
    """The cells of a row, or of its first line; none where quotes leave them open."""
    if sign == options.quote:
        return []
    rules: dict[str, Any] = {"quoting": csv.QUOTE_NONE} if options.quote is None else {"quotechar": options.quote}
    try:
        return next(csv.reader(line.splitlines(keepends=True), delimiter=sign, **rules), [])
    except csv.Error:  # a cell that is longer than its reader takes
        return []
