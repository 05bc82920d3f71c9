"""Suspects that one task decides: it is given all rows, or those in question, and asks the code of a table in memory.

So nothing comes to the driver but what is found, and rows are sent once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from refute.blame.contest import Flags, Longs
from refute.blame.lines import by_severity, listed_reasons
from refute.detect.local import LocalEngine
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers, truths
from refute.spark.answer.fetching.narrowing import widened
from refute.spark.blame.alike import in_order
from refute.spark.source.renaming import by_place
from refute.spark.source.types import arrow_type
from refute.spark.workers.blocks import BLOCK, PACKED, Batches, packed, tables_of
from refute.spark.workers.worker import ROW_COLUMN, settle

_SUSPECT, _WHY, _BOUND, _ROWS = "suspect", "why", b"bound", b"rows"
_PIECE = 1 << 16  # rows of a cell, which may have 2 GB


@dataclass(frozen=True, slots=True)
class DecidingTask(ABC):
    """Decides on the rows of a frame that come to one task; ships by name."""

    sent: pa.Schema

    def __call__(self, batches: Batches) -> Batches:
        """What is found, in cells."""
        named = (batch.rename_columns(self.sent.names).cast(self.sent) for batch in batches)
        found = self.found(pa.Table.from_batches(named, self.sent))
        for first in range(0, max(found.num_rows, 1), _PIECE):
            yield pa.RecordBatch.from_arrays([pa.array([packed(found.slice(first, _PIECE))])], names=[BLOCK])
        settle()

    def found(self, rows: pa.Table) -> pa.Table:
        """What is found in some rows, with the bound and the number of all rows beside it."""
        table, bound, n_rows = self.decided(rows)
        return table.replace_schema_metadata({_BOUND: str(bound), _ROWS: str(n_rows)})

    @abstractmethod
    def decided(self, rows: pa.Table) -> tuple[pa.Table, int, int]:
        """The rows that are listed, the bound, and the number of all rows."""


def types_of(frame: DataFrame) -> pa.Schema:
    """The types that `toArrow` gives the columns of a frame: moments are those of UTC."""
    return pa.schema([(field.name, arrow_type(field.dataType)) for field in frame.schema.fields])


def decide(frame: DataFrame, task: DecidingTask) -> tuple[pa.Table, int, int]:
    """What one task finds in a frame: the rows that are listed, the bound, and the number of all rows."""
    cells = by_place(frame).repartition(1).mapInArrow(task, PACKED).toArrow()
    parts = list(tables_of(iter(cells.to_batches())))
    parts = parts or [task.found(task.sent.empty_table())]  # Spark may start no task for no rows
    bound, n_rows = (int(parts[0].schema.metadata[name]) for name in (_BOUND, _ROWS))
    return pa.concat_tables(parts).combine_chunks(), bound, n_rows


@dataclass(frozen=True, slots=True)
class SuspectTask(DecidingTask):
    """Finds the suspects of a whole table, and their cells."""

    exact: Mapping[str, pa.DataType]
    rules: tuple[Rule, ...]

    def decided(self, rows: pa.Table) -> tuple[pa.Table, int, int]:
        """The suspects, and rows that stay although one with their key goes, with all lines of each."""
        rows = in_order(widened(rows, self.exact))
        ids = rows.column(ROW_COLUMN)
        finding = LocalEngine(rows.drop_columns([ROW_COLUMN]), threads=1).suspect_finding(self.rules)
        numbers, lines = finding.lines()
        suspects = finding.blame.suspects
        listed = np.union1d(np.flatnonzero(suspects), numbers)
        offsets = np.append(np.searchsorted(numbers, listed), len(numbers)).astype(np.int32)
        columns = {
            ROW_COLUMN: ids.take(row_numbers(listed)),
            _SUSPECT: pa.array(suspects[listed].tolist(), pa.bool_()),
            _WHY: pa.ListArray.from_arrays(row_numbers(offsets), lines),
        }
        return pa.table(columns), finding.bound, finding.n_rows


@dataclass(frozen=True, eq=False)
class DecidedSuspects:
    """What a task found, by the numbers of the rows that are listed."""

    rules: tuple[Rule, ...]
    ids: pa.ChunkedArray
    suspects: Flags
    why: pa.ListArray  # the lines of each row
    bound: int
    n_rows: int  # of the table

    @classmethod
    def of(cls, frame: DataFrame, rules: tuple[Rule, ...], exact: Mapping[str, pa.DataType]) -> DecidedSuspects:
        """The suspects of a frame, in which columns have their own names and ids are beside them."""
        table, bound, n_rows = decide(frame, SuspectTask(types_of(frame), exact, rules))
        why = table.column(_WHY).combine_chunks()
        return cls(rules, table.column(ROW_COLUMN), truths(table.column(_SUSPECT)), why, bound, n_rows)

    @property
    def n_suspects(self) -> int:
        """How many rows are suspects."""
        return int(np.count_nonzero(self.suspects))

    @cached_property
    def blamed(self) -> dict[str, int]:
        """How many of the suspects each rule blames, by its name; rules of severity `error` first."""
        lines = self.why.flatten()
        counts = Counter(lines.field("rule").filter(lines.field("removed")).to_pylist())
        return {rule.name: counts[rule.name] for rule in by_severity(self.rules)}

    def lines(self) -> tuple[Longs, pa.StructArray]:
        """The row number of each line, and what it says."""
        sizes = self.why.value_lengths().to_numpy()
        return np.repeat(np.arange(len(sizes)), sizes), self.why.flatten()

    def reasons(self) -> tuple[Longs, pa.ListArray]:
        """The row numbers of all suspects, ascending, and a list for each of why it is one."""
        return listed_reasons(self.suspects, *self.lines())
