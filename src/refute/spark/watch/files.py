"""Files as they arrive: Spark says which are new, once each, and this process reads them as any table is read."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.files import local_files
from refute.relation.read.formats import format_of, in_order
from refute.relation.read.schema import Schema
from refute.spark.session.failures import plain_failures
from refute.spark.watch.batches import BatchReader, first_rows
from refute.watching.file_batch import FileBatch
from refute.watching.intake import Intake, read_by
from refute.watching.watcher import BOOTSTRAP, Watcher

_SHOWN = 3  # files that a message names
BATCH_BYTES = 1 << 28  # of files in one batch, if they are more than one
_ANY_AGE = "36500d"  # of files that arrive: Spark would pass over those a week older than the newest, and not say so
_COLUMNS = "path string, modificationTime timestamp, length bigint, content binary"


def arriving(session: SparkSession, path: str, batch_bytes: int = BATCH_BYTES) -> DataFrame:
    """The stream of names of files in a folder, below it, or that match a glob; contents are not read."""
    with plain_failures(path):
        reader = session.readStream.format("binaryFile").schema(_COLUMNS)
        options = {"recursiveFileLookup": "true", "maxBytesPerTrigger": str(batch_bytes), "maxFileAge": _ANY_AGE}
        return reader.options(**options).load(path).select("path")


@dataclass(slots=True)
class FileReader(BatchReader):
    """Rows of files whose names a batch has: under a schema, else with the types that the first ones had."""

    path: str
    schema: Schema | None = None
    csv: CsvOptions = USUAL
    files: list[Path] = field(default_factory=list, compare=False)  # of the last batch

    def read(self, frame: DataFrame, watcher: Watcher) -> pa.Table:
        """The rows of the files of a batch, in the order of their names."""
        names = [re.sub(r"^file:/+", "/", str(row[0])) for row in frame.collect()]
        self.files = [Path(name) for name in sorted(names, key=in_order) if format_of(name) is not None]
        known, options = watcher.schema, watcher.options
        if not self.files:
            return pa.table({}) if known is None else known.empty_table()
        batch = BOOTSTRAP + 1 if watcher.batch is None else watcher.batch + 1
        read = read_by(watcher.rules, watcher.key)
        if options.order is not None:
            read.setdefault(options.order, "the order of changes")
        intake = Intake(batch, options.op is not None, options.op, options.order, read, {})
        return FileBatch(self.files, self.path, intake, watcher.key, self.schema, self.csv).table(known)

    @property
    def origin(self) -> str | None:
        """The names of the files of the last batch, or some of them."""
        shown = ", ".join(os.path.relpath(one, _root(self.path)) for one in self.files[:_SHOWN])
        more = len(self.files) - _SHOWN
        return f"{shown} and {more:,} more" if more > 0 else shown or None

    def bootstrap(self, table: Any, watcher: Watcher) -> Any:
        """The table that was there first, whose files are read as those that arrive are."""
        if not isinstance(table, str | Path):
            return BatchReader.bootstrap(self, table, watcher)
        schema, files, options = self.schema, local_files(str(table)), watcher.options
        if schema is not None:  # a table that was there first need not say what is done with rows, and in which order
            spare = {options.op} | ({options.order} - read_by(watcher.rules, watcher.key).keys())
            schema = Schema({name: kind for name, kind in schema.types.items() if name not in spare}, schema.header)
        return first_rows(files, str(table), watcher, schema, self.csv)


def _root(path: str) -> Path:
    """The folder that files of a folder or glob are below."""
    place = Path(path)
    while not place.is_dir():
        place = place.parent
    return place
