"""What Spark calls with each batch of a stream: the rows come to this process, and a watcher takes them in.

Where the rows so far are on the executors, those of a batch stay there too, and a watcher has tasks take them in.
With Connect, this process is one of the server, which needs Refute and the folder.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from refute.errors import DataError, RefuteError, SchemaError
from refute.language.rulebook import Rule, Severity
from refute.relation import Relation
from refute.relation.read.csv.options import USUAL, CsvOptions
from refute.relation.read.files import local_files
from refute.relation.read.schema import Schema
from refute.spark.session.failures import plain_failures
from refute.spark.session.warning import calm
from refute.spark.source.types import arrow_type
from refute.spark.watch.executors import SparkTasks
from refute.watching.file_batch import FileBatch
from refute.watching.intake import Intake, read_by
from refute.watching.watcher import BOOTSTRAP, Watcher, WatchOptions

_watchers: dict[str, Watcher] = {}  # of this process, by folder
_lock = threading.Lock()


_CELL, _INDEXED = 16, 64  # bytes of a cell, and of a row in the indexes of a rule, in the mean
STOPPED = "The stream was stopped: "  # how the message begins where that was asked for


class StoppedError(RefuteError):
    """A stream was stopped because a rule broke, as it was asked to be. The batch is committed."""


def watcher_in(folder: str, options: WatchOptions, session: SparkSession, *, fresh: bool = False) -> Watcher:
    """The watcher of a folder, which is opened unless this process has it open; raises what keeps it from being.

    One that is `fresh` is opened anyway, which fails where the folder is in use.
    """
    with _lock:
        found = _watchers.get(folder)
        if found is None or not found.is_open or fresh:
            found = _watchers[folder] = Watcher.open(Path(folder), options, SparkTasks(session))
        return found


class BatchReader(ABC):
    """How the rows of a batch come to this process."""

    @abstractmethod
    def read(self, frame: DataFrame, watcher: Watcher) -> Any:
        """The rows of a batch: here, or as tasks read them where the rows so far are on the executors."""

    @property
    def origin(self) -> str | None:
        """What people would look at for the rows of the last batch."""
        return None

    def bootstrap(self, table: Any, watcher: Watcher) -> Any:
        """The rows of a table that was there first: a DataFrame, one in memory, or files that this process reads."""
        if isinstance(table, str | Path):
            return first_rows(local_files(str(table)), str(table), watcher)
        if not isinstance(table, DataFrame):
            relation, read = Relation.of(table), read_by(watcher.rules, watcher.key)
            single = [name for name in relation.names if relation.names.count(name) == 1]
            names = {*read, *(name for name in single if relation.type_of(name).is_usable)}
            return pa.table({name: relation.column(name) for name in relation.names if name in names})
        watcher.expect(_estimated_bytes(table, watcher))
        return table if watcher.is_elsewhere else rows_of(table)


class ColumnReader(BatchReader):
    """Rows as Spark has them, with moments in UTC."""

    def read(self, frame: DataFrame, watcher: Watcher) -> Any:
        """The rows of a batch, which Spark evaluates once."""
        return frame if watcher.is_elsewhere else rows_of(frame)


def first_rows(
    files: Sequence[Path], path: str, watcher: Watcher, schema: Schema | None = None, csv: CsvOptions = USUAL
) -> pa.Table:
    """The rows of files that were there first, of which columns that nothing reads may hold anything."""
    if not files:
        return pa.table({})
    intake = Intake(BOOTSTRAP, False, None, None, read_by(watcher.rules, watcher.key), {})
    return FileBatch(files, path, intake, watcher.key, schema, csv).table(watcher.schema)


def _estimated_bytes(table: DataFrame, watcher: Watcher) -> int:
    """The memory that rows and their indexes will take, roughly."""
    with plain_failures("the table"):
        return int(table.count()) * (_CELL * len(table.columns) + _INDEXED * len(watcher.rules))


def rows_of(frame: DataFrame) -> pa.Table:
    """All rows of a DataFrame, with moments in UTC."""
    with calm():
        table = frame.toArrow()
    wanted = pa.schema([pa.field(one.name, arrow_type(one.dataType)) for one in frame.schema.fields])
    return table if table.schema.equals(wanted) else table.cast(wanted)


@dataclass(slots=True)
class BatchTaker:
    """Takes each batch of a stream into a folder, once."""

    folder: str
    options: WatchOptions
    reader: BatchReader
    fail_on: Severity | None = None
    error: Exception | None = field(default=None, compare=False)  # what has ended the stream, in this process

    def __call__(self, frame: DataFrame, batch: int) -> None:
        """Takes a batch; what it raises ends the stream.

        Java gets it without what Spark said before: in text of that length, Spark looks for an interruption in a way
        that overflows its stack, and writes that to stderr.
        """
        try:
            with plain_failures("the stream"):
                watcher = watcher_in(self.folder, self.options, frame.sparkSession)
                query = watcher.places.query()
                if watcher.expects(batch, query):
                    self._take(watcher, batch, query, self.reader.read(frame, watcher))
                    self._stop_if_broken(watcher, batch)
        except RefuteError as error:
            self.error = error
            raise type(error)(str(error), **error.facts) from None
        except Exception as error:
            self.error = error
            raise

    def _take(self, watcher: Watcher, batch: int, query: str | None, table: Any) -> None:
        try:
            watcher.take(batch, query, table)
        except (DataError, SchemaError) as error:
            is_ours = str(error.facts.get("path", "")).startswith(self.folder)  # a file that is damaged, say
            if self.reader.origin is None or is_ours:
                raise
            raise type(error)(f"{error} Batch {batch:,} is {self.reader.origin}.", **error.facts) from error

    def _stop_if_broken(self, watcher: Watcher, batch: int) -> None:
        rule = self.broken(watcher, watcher.rules)
        if rule is not None:
            told = f"{STOPPED}{rule.name!r} is broken as of batch {batch:,}."
            raise StoppedError(told, rule=rule.name, count=batch)

    def broken(self, watcher: Watcher, rules: Sequence[Rule]) -> Rule | None:
        """One of some rules that is broken where that is to stop the stream."""
        if self.fail_on is None:
            return None
        asked = [rule for rule in rules if self.fail_on in (Severity.WARN, rule.severity)]
        return next((rule for rule in asked if watcher.is_broken(rule)), None)

    def close(self) -> None:
        """Lets the folder go, where this process has it."""
        with _lock:
            found = _watchers.pop(self.folder, None)
        if found is not None:
            found.close()
