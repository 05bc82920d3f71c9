"""File formats, known by names alone, so every reader agrees on what a file is and in which order files come."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from pathlib import PurePosixPath

from refute.errors import DataError

HINT = "Refute reads .csv, .tsv, .json, .jsonl, .ndjson, .parquet, .orc, .arrow and .feather files."
_PACKED = frozenset({".gz", ".bz2", ".zst", ".lz4"})


class FileFormat(Enum):
    """How the rows of a file are written; the value is what messages call it."""

    CSV = "CSV"
    TSV = "TSV"
    JSON = "JSON lines"
    PARQUET = "Parquet"
    ORC = "ORC"
    ARROW = "Arrow"

    @property
    def delimiter(self) -> str | None:
        """What separates the cells of a line; None where lines have no cells."""
        return _DELIMITERS.get(self)


_DELIMITERS = {FileFormat.CSV: ",", FileFormat.TSV: "\t"}

_BY_SUFFIX = {
    ".csv": FileFormat.CSV,
    ".tsv": FileFormat.TSV,
    ".json": FileFormat.JSON,
    ".jsonl": FileFormat.JSON,
    ".ndjson": FileFormat.JSON,
    ".parquet": FileFormat.PARQUET,
    ".orc": FileFormat.ORC,
    ".arrow": FileFormat.ARROW,
    ".feather": FileFormat.ARROW,
}


def format_of(path: str) -> FileFormat | None:
    """The format of a file by its name, compressed or not; None if the name does not show it."""
    suffixes = _suffixes(path)
    return _BY_SUFFIX.get(suffixes[-1]) if suffixes else None


def is_packed(path: str) -> bool:
    """Whether the whole file is compressed, so nobody can start in its middle."""
    return PurePosixPath(path).suffix.lower() in _PACKED


def _suffixes(path: str) -> list[str]:
    suffixes = [suffix.lower() for suffix in PurePosixPath(path).suffixes]
    return suffixes[:-1] if suffixes and suffixes[-1] in _PACKED else suffixes


def common_format(files: Iterable[str], where: str) -> FileFormat:
    """The one format of these files; raises DataError if names show none, or more than one."""
    found: dict[FileFormat, str] = {}
    for file in files:
        kind = format_of(file)
        if kind is None:
            raise DataError(f"Cannot tell the format of {file!r} from its name. {HINT}", path=file)
        found.setdefault(kind, file)
    if len(found) > 1:
        (first, one), (second, other) = list(found.items())[:2]
        raise DataError(
            f"{where!r} mixes formats: {one!r} is {first.value}, {other!r} is {second.value}. "
            "Name the files of one format, with a glob such as '*.csv'.",
            path=where,
            paths=(one, other),
        )
    if not found:
        raise DataError(f"{where!r} holds no files that can be read. {HINT}", path=where)
    return next(iter(found))


def in_order(path: str) -> tuple[str, ...]:
    """What files are sorted by: folder by folder, so the order is that of a directory tree."""
    return tuple(part for part in path.split("/") if part)
