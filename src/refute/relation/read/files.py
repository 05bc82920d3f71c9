"""Files read in this process with Arrow, for small data and for machines without Spark."""

from __future__ import annotations

import glob
from collections.abc import Collection, Sequence
from pathlib import Path

import pyarrow as pa

from refute.errors import DataError
from refute.faults import empty_path, missing_file, mixed_files, unmatched_glob
from refute.relation.read.column_case import check_spelling
from refute.relation.read.csv.options import USUAL, CsvOptions, not_csv
from refute.relation.read.csv.reader import column_type, read_csv
from refute.relation.read.formats import FileFormat, common_format, format_of, in_order
from refute.relation.read.isolated import read_orc
from refute.relation.read.json import read_json
from refute.relation.read.partitions import partition_values
from refute.relation.read.schema import ODD, Schema, types_of_their_own
from refute.relation.read.unreadable import reading
from refute.relation.types import usable


def read_local(path: str | Path, schema: Schema | None = None, csv: CsvOptions = USUAL) -> pa.Table:
    """The table in a file, in a folder of files of one format, or in all files that match a glob, in order of name.

    In CSV an empty cell is null, whatever the type of its column, and `NA`, `nan` or `null` are text like any other.
    Folders named `column=value` below a folder add that column. A schema says which columns of CSV and JSON to read,
    and of which types; options say how CSV is written.
    """
    return read_files(local_files(str(path)), str(path), schema, csv)


def read_files(
    files: Sequence[Path],
    path: str,
    schema: Schema | None = None,
    csv: CsvOptions = USUAL,
    *,
    shared: bool = False,
    needed: Collection[str] | None = None,
) -> pa.Table:
    """The table of some of the files that a path, folder or glob names.

    Of CSV files whose headers differ, it has the columns that all of them have where these are asked for as `shared`.
    Where it is said which columns are `needed`, others may hold what cannot be read, and are missing or `ODD` then.
    """
    kind = common_format([str(file) for file in files], path)
    return joined(read_each(files, kind, schema, path, csv, shared=shared, needed=needed), files, path, needed)


def joined(
    tables: Sequence[pa.Table], files: Sequence[Path], path: str, needed: Collection[str] | None = None
) -> pa.Table:
    """The table whose parts are those of files of one format; raises an error where they do not fit together."""
    by_row = format_of(str(files[0])) is FileFormat.JSON
    if by_row or len(files) > 1:
        names = {str(file): table.column_names for file, table in zip(files, tables, strict=True)}
        check_spelling(names, needed, by_row=by_row)
    odd = {} if needed is None else {one.name: ODD for table in tables for one in table.schema if one.type == ODD}
    tables = [_made_odd(table, odd.keys() - {*(needed or ())}) for table in tables] if odd else tables
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise mixed_files(path, str(error)) from error
    return _with_partitions(whole, [len(table) for table in tables], files, path)


def _made_odd(table: pa.Table, names: Collection[str]) -> pa.Table:
    for name in names:
        if name in table.column_names:
            place = table.column_names.index(name)
            table = table.set_column(place, name, pa.nulls(len(table), ODD))
    return table


def local_files(path: str) -> list[Path]:
    """The files that a path, folder or glob names, in order; of a folder only those of a known format."""
    if not path.strip():
        raise empty_path()
    if glob.has_magic(path) and not _exists(Path(path)):
        matches = [Path(match) for match in glob.glob(path, recursive=True)]
        found = [file for match in matches for file in (_below(match) if match.is_dir() else [match])]
        if not found:
            raise unmatched_glob(path)
    else:
        place = Path(path)
        if not _exists(place):
            raise missing_file(path)
        found = [place] if place.is_file() else _below(place)
    for file in found:
        _check_name(file)
    return sorted(set(found), key=lambda file: in_order(file.as_posix()))


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except (OSError, ValueError):  # a name that is too long, or holds a zero byte
        return False


def _check_name(file: Path) -> None:
    """Raises DataError for a name that is not text, which neither Arrow nor Spark can open."""
    try:
        str(file).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"The file name {str(file)!r} is not UTF-8. Rename the file.", path=str(file)) from error


def _below(folder: Path) -> list[Path]:
    found = (file for file in folder.rglob("*") if file.is_file() and format_of(file.name))
    return [file for file in found if not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)]


def read_each(
    files: Sequence[Path],
    kind: FileFormat,
    schema: Schema | None,
    path: str,
    csv: CsvOptions,
    *,
    shared: bool = False,
    needed: Collection[str] | None = None,
) -> list[pa.Table]:
    """The tables of files of one format, one by one."""
    if kind.delimiter is not None:
        return read_csv(files, kind.delimiter, schema, csv, shared=shared, needed=needed)
    if csv != USUAL:
        raise not_csv(kind.value, path)
    if kind is FileFormat.JSON:
        return read_json(files, schema, needed)
    if schema is not None:
        raise types_of_their_own(kind.value, path)
    tables = []
    for file in files:
        with reading(file):
            table = _READERS[kind](file, needed)
            if kind is FileFormat.ARROW:  # whose lengths and offsets, damaged, may point anywhere
                table.validate(full=True)
            tables.append(table.rename_columns(table.column_names))  # which fails here where a name is not text
    return tables


def _with_partitions(whole: pa.Table, counts: Sequence[int], files: Sequence[Path], path: str) -> pa.Table:
    """The table with one more column for each `column=value` among its files' folders, typed as in a CSV file."""
    by_file = [partition_values(file.as_posix(), Path(path).as_posix()) for file in files]
    for name in by_file[0]:
        cells = [values.get(name) for values in by_file]
        indices = pa.array([i for i, count in enumerate(counts) for _ in range(count)], pa.int32())
        text = pa.chunked_array([pa.array(cells, pa.string())])
        column = text.cast(column_type(text)).take(indices)
        if name not in whole.column_names:
            whole = whole.append_column(name, column)
    return whole


def _read_parquet(file: Path, needed: Collection[str] | None) -> pa.Table:
    from pyarrow import parquet

    columns = None if needed is None else usable(parquet.read_schema(file), needed)
    return parquet.read_table(file, columns=columns, partitioning=None)


def _read_feather(file: Path, needed: Collection[str] | None) -> pa.Table:
    from pyarrow import feather

    return feather.read_table(file)


def _read_orc(file: Path, needed: Collection[str] | None) -> pa.Table:
    return read_orc(file)


_READERS = {
    FileFormat.PARQUET: _read_parquet,
    FileFormat.ORC: _read_orc,
    FileFormat.ARROW: _read_feather,
}
