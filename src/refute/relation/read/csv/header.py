"""Column names of CSV files: what a header may look like, whoever reads the rows below it."""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from refute.errors import DataError
from refute.faults import OTHER_QUOTE
from refute.relation.read.csv.letters import marked_as_utf8, wide_letters
from refute.relation.read.csv.options import USUAL, CsvOptions


@dataclass(frozen=True, slots=True)
class Header:
    """The names of the columns of a file, the lines they were read from, and how many empty ones of these are above."""

    names: tuple[str, ...]
    text: str
    above: int


def header_of(
    lines: Iterable[str],
    delimiter: str,
    file: str,
    options: CsvOptions = USUAL,
    needed: Collection[str] | None = None,
) -> Header:
    """The header, from the first line that is not empty on; raises DataError where there is none."""
    delimiter, quote = options.separates(delimiter), options.quote
    rules = {"quoting": csv.QUOTE_NONE} if quote is None else {"quotechar": quote}
    taken: list[str] = []
    try:
        for cells in csv.reader(_kept(lines, taken), delimiter=delimiter, **rules):
            if cells:
                _check_header(cells, taken, options, file)
                above = next(place for place, line in enumerate(taken) if line.strip("\r\n"))
                return Header(column_names(cells, file, needed), "".join(taken), above)
    except csv.Error as error:
        most = csv.field_size_limit()
        message = (
            f"The header of {file!r} has a name of more than {most:,} characters. Perhaps a quote is never closed."
        )
        raise DataError(message, path=file, most=most) from error
    raise no_header(file)


def _kept(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    """The lines, each put into a list as it is taken."""
    for line in lines:
        taken.append(line)
        yield line


def _check_header(cells: Sequence[str], taken: Sequence[str], options: CsvOptions, file: str) -> None:
    """Raises DataError for a header of another encoding, or whose last quote is never closed."""
    if any("\0" in cell for cell in cells):
        raise wide_letters(file, _wide_encoding("".join(taken)))
    is_doubted = not (options.is_utf8 or options.as_given)
    if is_doubted and cells[0].startswith(codecs.BOM_UTF8.decode(options.encoding, "replace")):
        raise marked_as_utf8(file, options.encoding)
    quote = options.quote
    if quote is None or not any(end in cells[-1] for end in "\r\n"):
        return
    written = quote + cells[-1].replace(quote, quote * 2)
    if "".join(taken).endswith(written):
        opens = sum(line.count("\n") for line in taken) - written.count("\n") + 1
        raise _unclosed(file, opens)


def _wide_encoding(text: str) -> str:
    """The encoding of several bytes per letter of a header that was read byte by byte."""
    width = "utf-32" if "\0\0" in text else "utf-16"
    if not text.isascii():  # as where a mark says in which order the bytes are
        return width
    return f"{width}be" if text.startswith("\0") else f"{width}le"


def _unclosed(file: str, line: int) -> DataError:
    return DataError(
        f"{file}:{line}: A quote that opens in the header is never closed. Close it, or {OTHER_QUOTE}.",
        path=file,
        line=line,
    )


def column_names(header: Sequence[str | None], file: str, needed: Collection[str] | None = None) -> tuple[str, ...]:
    """The names of the columns, with LF for CR LF as in cells; one without a name is `_c` and its number. Raises
    DataError where two are equal.

    Where it is said which ones are needed, others that have one name are as if they had none.
    """
    names = tuple((name or f"_c{position}").replace("\r\n", "\n") for position, name in enumerate(header))
    if len(set(names)) < len(names):
        times = Counter(names)
        if needed is not None and not any(name in needed for name, often in times.items() if often > 1):
            return _apart(names, times)
        twice = next(name for name, often in times.items() if often > 1)
        message = f"The header of {file!r} has more than one column {twice!r}. Rename one of them."
        raise DataError(message, column=twice, path=file)
    return names


def _apart(names: Sequence[str], times: Counter[str]) -> tuple[str, ...]:
    """The names, with others for those that come several times."""
    found: list[str] = []
    for position, name in enumerate(names):
        own = name if times[name] == 1 else f"_c{position}"
        while own in found or (own != name and own in times):
            own += "_"
        found.append(own)
    return tuple(found)


def listed(names: Sequence[str], most: int = 20) -> str:
    """The names with commas; of many only the first."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def no_header(file: str) -> DataError:
    """The error for a file without even a header."""
    return DataError(f"{file!r} is empty: a CSV file begins with a line of column names.", path=file)


def other_header(file: str, names: Sequence[str], first: str, expected: Sequence[str]) -> DataError:
    """The error for files that do not have the same columns."""
    return DataError(
        f"The columns of {file!r} ({listed(names)}) are not those of {first!r} ({listed(expected)}). "
        "Files that are read together need the same header.",
        path=file,
        columns=tuple(names),
        expected=tuple(expected),
    )
