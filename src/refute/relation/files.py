"""Files read in this process with Arrow, for small data and for machines without Spark."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from refute.errors import DataError

_HINT = "Refute reads .csv, .tsv, .parquet, .json, .jsonl, .ndjson, .orc, .arrow and .feather files."


def read_local(path: str | Path) -> pa.Table:
    """The table in a file, in a folder of files of one format, or in all files that match a glob, in order of name.

    In CSV an empty cell is null, whatever the type of its column, and `NA`, `nan` or `null` are text like any other.
    """
    tables = [(file, _read_one(file)) for file in _files(str(path))]
    try:
        return pa.concat_tables([table for _, table in tables], promote_options="permissive")
    except pa.ArrowException as error:
        raise DataError(f"the files of {str(path)!r} do not fit together: {error}") from error


def _files(path: str) -> list[Path]:
    if glob.has_magic(path) and not Path(path).exists():
        found = sorted(Path(match) for match in glob.glob(path, recursive=True) if Path(match).is_file())
        if not found:
            raise DataError(f"no file matches {path!r}")
        return found
    place = Path(path)
    if not place.exists():
        raise DataError(f"there is no file {path!r}")
    if place.is_file():
        return [place]
    found = sorted(
        file for file in place.rglob("*") if file.is_file() and not file.name.startswith(("_", ".")) and _reader(file)
    )
    if not found:
        raise DataError(f"the folder {path!r} holds no file that can be read. {_HINT}")
    return found


def _read_one(file: Path) -> pa.Table:
    reader = _reader(file)
    if reader is None:
        raise DataError(f"cannot tell the format of {str(file)!r} by its name. {_HINT}")
    try:
        return reader(file)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {str(file)!r}: {error}") from error


def _reader(file: Path) -> Callable[[Path], pa.Table] | None:
    suffixes = [suffix.lower() for suffix in file.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".bz2", ".zst", ".lz4"):
        suffixes.pop()
    return _READERS.get(suffixes[-1]) if suffixes else None


def _read_csv(file: Path, delimiter: str = ",") -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(
        file,
        parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        ),
    )


def _read_tsv(file: Path) -> pa.Table:
    return _read_csv(file, "\t")


def _read_json(file: Path) -> pa.Table:
    from pyarrow import json

    return json.read_json(file)


def _read_parquet(file: Path) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(file, partitioning=None)


def _read_orc(file: Path) -> pa.Table:
    from pyarrow import orc

    return orc.read_table(file)


def _read_feather(file: Path) -> pa.Table:
    from pyarrow import feather

    return feather.read_table(file)


_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".csv": _read_csv,
    ".tsv": _read_tsv,
    ".parquet": _read_parquet,
    ".json": _read_json,
    ".jsonl": _read_json,
    ".ndjson": _read_json,
    ".orc": _read_orc,
    ".feather": _read_feather,
    ".arrow": _read_feather,
}
