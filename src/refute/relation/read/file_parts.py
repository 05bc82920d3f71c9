"""Files that were not written together: runs of them that have one format and the same columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.types as pt

from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.csv.reader import read_header
from refute.relation.read.files import joined, read_each, read_files
from refute.relation.read.formats import FileFormat, common_format, format_of
from refute.relation.read.schema import Schema
from refute.relation.read.unreadable import reading


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some files, one after the other, and their table."""

    files: tuple[Path, ...]
    table: pa.Table

    @property
    def kind(self) -> FileFormat | None:
        """The format of the files."""
        return format_of(str(self.files[0]))


def read_parts(
    files: Sequence[Path],
    path: str,
    schema: Schema | None = None,
    csv: CsvOptions = USUAL,
    needed: Collection[str] | None = None,
) -> list[FilePart]:
    """The tables of files in their order, of as many together as have one format, the same columns and types.

    Types of CSV are inferred for the files of a part. Files without a single byte are skipped, unless all are. Columns
    that are not `needed`, if these are given, may hold anything.
    """
    if len(files) == 1:
        return [FilePart(tuple(files), read_files(files, path, schema, csv, needed=needed))]
    found: list[FilePart] = []
    for _, group in groupby(_filled(files), key=lambda file: _shape(file, schema, csv, needed)):
        run = tuple(group)
        kind = common_format(map(str, run), path)
        if kind.delimiter is not None:
            found.append(FilePart(run, read_files(run, path, schema, csv, needed=needed)))
        else:
            found += _alike(run, read_each(run, kind, schema, path, csv, needed=needed), path, needed)
    return found


def _filled(files: Sequence[Path]) -> Sequence[Path]:
    found = []
    for file in files:
        with reading(file):
            if file.stat().st_size:
                found.append(file)
    return found or files


def _shape(
    file: Path, schema: Schema | None, csv: CsvOptions, needed: Collection[str] | None
) -> tuple[FileFormat | None, Sequence[str]]:
    """The format of a file, and its columns where they are quickly known."""
    kind = format_of(str(file))
    if kind is None or kind.delimiter is None:
        return kind, ()
    given = None if schema is None or schema.header else schema.names
    with reading(file):
        return kind, read_header(file, kind.delimiter, csv, given, needed=needed)


def _alike(
    files: Sequence[Path], tables: Sequence[pa.Table], path: str, needed: Collection[str] | None
) -> Iterator[FilePart]:
    """Parts of files whose tables have the same columns and types, of which one without any value fits each."""
    first = 0
    kinds = _kinds(tables[0])
    for place, table in enumerate(tables[1:], 1):
        own = _kinds(table)
        if own.keys() == kinds.keys() and all(_fit(kinds[name], own[name]) for name in own):
            kinds = {name: own[name] if pt.is_null(kind) else kind for name, kind in kinds.items()}
            continue
        yield FilePart(tuple(files[first:place]), joined(tables[first:place], files[first:place], path, needed))
        first, kinds = place, own
    yield FilePart(tuple(files[first:]), joined(tables[first:], files[first:], path, needed))


def _kinds(table: pa.Table) -> dict[str, pa.DataType]:
    return {field.name: field.type for field in table.schema}


def _fit(one: pa.DataType, other: pa.DataType) -> bool:
    return bool(one == other or pt.is_null(one) or pt.is_null(other))
