"""The files behind a path, wherever Spark finds them: their names, sizes and common format."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from refute.errors import DataError
from refute.faults import empty_file
from refute.relation.read.column_case import check_spelling
from refute.relation.read.files import local_files
from refute.relation.read.formats import FileFormat, common_format, format_of, in_order, is_packed
from refute.spark.session import is_connect
from refute.spark.session.failures import plain_failures

_MOST_FOOTERS = 64
_GLOB = re.compile(r"([\\*?\[\]{}])")
_REMOTE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")


@dataclass(frozen=True, slots=True)
class Listing:
    """Files of one format, in order of name.

    `base` is the folder that holds them, if a folder was named; `here` says that this process sees the same files as
    Spark.
    """

    path: str
    base: str | None
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    format: FileFormat
    here: bool

    @property
    def filled(self) -> tuple[str, ...]:
        """The files that have a byte."""
        return tuple(file for file, size in zip(self.files, self.sizes, strict=True) if size)

    def named(self, file: str) -> str:
        """A file as the path names it, which is how the other engine shows it: relative to where the process is."""
        return _named(file, self.path) if self.here else file

    @property
    def largest(self) -> int:
        """The size of the largest file that Spark could read in parts, in bytes."""
        return max((s for f, s in zip(self.files, self.sizes, strict=True) if not is_packed(f)), default=0)

    @property
    def paths(self) -> list[str]:
        """The files that have a byte, as Spark wants them: without a meaning for `*` and its like."""
        return [literally(file) for file in self.filled]

    @property
    def options(self) -> dict[str, str]:
        """What makes Spark take folders named `column=value` for columns, where the path is a folder."""
        return {"basePath": self.base} if self.base is not None else {}


def literally(path: str) -> str:
    """The path as a pattern that only it matches."""
    return _GLOB.sub(r"\\\1", path)


def list_files(session: SparkSession, path: str) -> Listing:
    """The files that a path, glob or folder names; raises DataError where there are none, or of several formats."""
    here = shares_files(session) and not _REMOTE.match(path)
    sized = _listed_here(path) if here else _listed_by_spark(session, path)
    names = [name for name, _ in sized]
    if _REMOTE.match(path) and not any(format_of(name) for name in names):
        kind = FileFormat.PARQUET
    else:
        known = [name for name in names if format_of(name)]
        asked = known if len(names) > 1 else names
        kind = common_format([_named(name, path) for name in asked] if here else asked, path)
        sized = [(name, size) for name, size in sized if len(names) == 1 or format_of(name)]
    if kind is FileFormat.ARROW:
        first = _named(names[0], path) if here else names[0]
        raise DataError(
            f"Spark does not read Arrow files such as {first!r}. Use the local engine, or write Parquet.", path=first
        )
    files, sizes = tuple(name for name, _ in sized), tuple(size for _, size in sized)
    return Listing(path, _base(path, files, here), files, sizes, kind, here)


def check_files_agree(session: SparkSession, listing: Listing) -> None:
    """Raises DataError where columnar files spell a column in two ways, which Spark takes for one.

    Files that only Spark sees are not looked at: nobody else would read them in another way.
    """
    if len(listing.filled) > 1 and listing.here:
        with plain_failures(listing.path):
            check_spelling({listing.named(file): _names(session, file, listing.format) for file in listing.filled})


def _names(session: SparkSession, file: str, kind: FileFormat) -> list[str]:
    """The columns of one file; none where it cannot be read, of which Spark says more later."""
    try:
        if kind is FileFormat.PARQUET:
            return list(pq.read_schema(file).names)
        return session.read.orc(literally(file)).columns
    except (pa.ArrowException, OSError, AnalysisException):
        return []


def rows_by_footers(frame: DataFrame) -> int | None:
    """The rows of the Parquet files that a frame reads, as the files themselves say; None where they are not here,
    or many. Some of them may be gone for the frame."""
    here = _files_here(frame)
    try:
        return None if here is None else sum(int(pq.read_metadata(file).num_rows) for file in here)
    except (pa.ArrowException, OSError):  # Spark will say better what is wrong with the file
        return None


def glimpse_of_files(frame: DataFrame, names: Sequence[str], rows: int) -> pa.Table | None:
    """The first rows of these columns in the Parquet files that a frame reads, without a job; None where they are not
    here. The frame may make other values of them: good for expectations, not for answers."""
    here = _files_here(frame)
    try:
        for path in here or ():
            with pq.ParquetFile(path) as file:
                if not set(names) <= set(file.schema_arrow.names):
                    return None
                if file.metadata.num_rows:
                    return pa.table(next(file.iter_batches(rows, columns=list(names))))
    except (pa.ArrowException, OSError, StopIteration):
        return None
    return None


def _files_here(frame: DataFrame) -> list[Path] | None:
    """The files that a frame reads, where this process sees them and they are not many."""
    if not shares_files(frame.sparkSession):
        return None
    files = frame.inputFiles()
    here = [Path(_plain(file)) for file in files if file.startswith("file:")]
    known = 0 < len(files) == len(here) <= _MOST_FOOTERS  # Spark names no file where the rows are cached
    return here if known and all(file.is_file() for file in here) else None


def _base(path: str, files: tuple[str, ...], here: bool) -> str | None:
    folder = os.path.abspath(_plain(path)) if here else re.sub(r"^file:/+", "/", path)
    parts = in_order(folder)
    return folder if all(in_order(file)[: len(parts)] == parts != in_order(file) for file in files) else None


def _named(file: str, path: str) -> str:
    """A file of this machine, relative to where the process is if the path is."""
    return file if os.path.isabs(_plain(path)) else os.path.relpath(file)


def _plain(path: str) -> str:
    return unquote(re.sub(r"^file:/*", "/", path)) if path.startswith("file:") else path


def shares_files(session: SparkSession) -> bool:
    """Whether Spark runs in this machine's processes, so asking the file system is asking Spark."""
    if is_connect(session) and "SPARK_LOCAL_REMOTE" not in os.environ:
        return False
    return re.match(r"local(\[|$)", str(session.conf.get("spark.master", ""))) is not None


def _listed_here(path: str) -> list[tuple[str, int]]:
    return [(os.path.abspath(file), Path(file).stat().st_size) for file in local_files(_plain(path))]


def _listed_by_spark(session: SparkSession, path: str) -> list[tuple[str, int]]:
    if "**" in path:
        raise DataError(
            f"Spark does not support '**' as in {path!r}. Name the folder, and all files below it are read.", path=path
        )
    asked = session.read.format("binaryFile").option("recursiveFileLookup", True)
    with plain_failures(path):
        try:
            rows = asked.load(path).select("path", "length").collect()
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND" or not _GLOB.search(path):
                raise
            rows = asked.load(literally(path)).select("path", "length").collect()
    found = [(re.sub(r"^file:/+", "/", row["path"]), int(row["length"])) for row in rows]
    if not found:  # Spark says nothing of files without a byte
        raise empty_file(path)
    return sorted(found, key=lambda pair: in_order(pair[0]))
