"""What tasks do with the blocks of a table whose rules are proposed.

A block has the columns of the table, c0, c1 and so on, and as many columns of hashes, h0, h1: rows with the same value
have the same hash, so they meet in the same part.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refute.proposing.parts import ANYWHERE, NUMBERS, AskedOfParts, Line, compared_in_part
from refute.proposing.questions import OpenQuestion
from refute.proposing.scores import Limits
from refute.relation import Relation
from refute.spark.workers.blocks import BLOCK, Batches, packed, stacked, tables_of, unpacked
from refute.spark.workers.worker import settle

ROWS, TASK, NUMBER, FOUND, COUNT = "rows", "task", "number", "found", "count"
PACKED_ROWS = f"{BLOCK} binary, {ROWS} bigint"
SENT = f"{TASK} int, {NUMBER} int, {BLOCK} binary"
ANSWERED = f"{NUMBER} int, {FOUND} binary"
HELD = f"{NUMBER} int, present bigint, size bigint, grouped bigint, groups bigint, top bigint, {BLOCK} binary"
LINE = ("what", "a", "b", "c", *(f"n{place}" for place in range(NUMBERS)))
LINES = ", ".join(f"{name} bigint" for name in LINE)


@dataclass(frozen=True, slots=True)
class PackRows:
    """The task that packs rows into blocks of about so many."""

    rows: int

    def __call__(self, batches: Batches) -> Batches:
        """One row per block."""
        return map(_block, stacked(batches, self.rows))


def _block(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches).combine_chunks()
    return pa.record_batch(
        {BLOCK: pa.array([packed(table)], pa.binary()), ROWS: pa.array([table.num_rows], pa.int64())}
    )


@dataclass(frozen=True, slots=True)
class ToParts:
    """The task that sends rows to the parts of their home columns; with `alone`, no other column goes with them.

    Parts of no home column have rows by their hash in the column `spread`.
    """

    homes: tuple[int, ...]
    parts: int
    tasks: int
    spread: int = 0
    alone: bool = False

    def __call__(self, batches: Batches) -> Batches:
        """The rows of each block for each part."""
        settle()
        for table in tables_of(batches):
            yield from _sent(self._cut(table))

    def _cut(self, table: pa.Table) -> Iterator[tuple[int, int, bytes]]:
        width = table.num_columns // 2
        for place, home in enumerate(self.homes):
            anywhere = home == ANYWHERE
            known = np.ones(len(table), np.bool_) if anywhere else table.column(home).is_valid().to_numpy()
            hashes = table.column(width + (self.spread if anywhere else home)).to_numpy() % self.parts
            chosen = table.select([home] if self.alone else list(range(width)))
            for part in range(self.parts):
                rows = known & (hashes == part)
                if rows.any():
                    number = place * self.parts + part
                    yield number % self.tasks, number, packed(chosen if rows.all() else chosen.filter(pa.array(rows)))


def _sent(blocks: Iterator[tuple[int, int, bytes]]) -> Batches:
    for task, number, block in blocks:
        yield pa.record_batch(
            {
                TASK: pa.array([task], pa.int32()),
                NUMBER: pa.array([number], pa.int32()),
                BLOCK: pa.array([block], pa.binary()),
            }
        )


def _together(batches: Batches) -> Iterator[tuple[int, pa.Table]]:
    """The blocks of a task by their numbers, those of one number as one table."""
    settle()
    found: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for number, cell in zip(batch.column(NUMBER).to_pylist(), batch.column(BLOCK), strict=True):
            found.setdefault(number, []).append(unpacked(cell))
    for number in sorted(found):
        yield number, pa.concat_tables(found.pop(number)).combine_chunks()


@dataclass(frozen=True, slots=True)
class ValuesHeld:
    """The task that counts the values of the home columns of its parts, and finds one that is most common there."""

    homes: tuple[int, ...]
    parts: int

    def __call__(self, batches: Batches) -> Batches:
        """One row for each part, with that value as a block."""
        for number, table in _together(batches):
            coded = Relation.of(table).encode(table.column_names[0], ordered=False, dense=True)
            times = np.bincount(coded.values[coded.values >= 0], minlength=1)
            row = int(np.argmax(coded.values == int(np.argmax(times))))
            yield pa.record_batch(
                {
                    NUMBER: pa.array([self.homes[number // self.parts]], pa.int32()),
                    "present": pa.array([len(table) - coded.nulls], pa.int64()),
                    "size": pa.array([coded.size], pa.int64()),
                    "grouped": pa.array([int(times[times > 1].sum())], pa.int64()),
                    "groups": pa.array([int(np.count_nonzero(times > 1))], pa.int64()),
                    "top": pa.array([int(times.max())], pa.int64()),
                    BLOCK: pa.array([packed(table.slice(row, 1).combine_chunks())], pa.binary()),
                }
            )


@dataclass(frozen=True, slots=True)
class SumsOfParts:
    """The task that answers what is asked of parts; `common` is a block of one row, of common values."""

    asked: AskedOfParts
    parts: int
    common: bytes

    def __call__(self, batches: Batches) -> Batches:
        """The sums of each part."""
        homes = self.asked.homes
        common = pa.ipc.open_stream(self.common).read_all()
        for number, table in _together(batches):
            rows = pa.concat_tables([table, common.cast(table.schema)]).combine_chunks()
            yield _lines(self.asked.of_part(homes[number // self.parts], Relation.of(rows)))


@dataclass(frozen=True, slots=True)
class SumsCompared:
    """The task that counts how columns compare inside rows."""

    realms: Sequence[tuple[Sequence[int], bool]]

    def __call__(self, batches: Batches) -> Batches:
        """The sums of each block."""
        settle()
        for table in tables_of(batches):
            yield _lines(compared_in_part(Relation.of(table), self.realms))


def _lines(lines: Iterator[Line]) -> pa.RecordBatch:
    numbers = np.array(list(lines), np.int64).reshape(-1, len(LINE))
    return pa.record_batch([pa.array(column) for column in numbers.T], names=list(LINE))


@dataclass(frozen=True, slots=True)
class ToQuestions:
    """The task that sends the columns of each question to the task that answers it: each distinct row and its count."""

    columns: tuple[tuple[int, ...], ...]  # of each question
    tasks: int

    def __call__(self, batches: Batches) -> Batches:
        """The rows of each block for each question."""
        settle()
        for table in tables_of(batches):
            yield from _sent(
                (number % self.tasks, number, packed(_counted(table.select(list(columns)))))
                for number, columns in enumerate(self.columns)
            )


def _counted(table: pa.Table) -> pa.Table:
    """The distinct rows and how often each comes."""
    try:
        counted = table.group_by(table.column_names).aggregate([([], "count_all")])
    except pa.ArrowNotImplementedError:  # a type that Arrow cannot group by
        return table.append_column(COUNT, pa.array(np.ones(len(table), np.int64)))
    return counted.rename_columns({"count_all": COUNT})


@dataclass(frozen=True, slots=True)
class AnswerQuestions:
    """The task that answers questions from all rows of their columns."""

    questions: tuple[OpenQuestion, ...]
    limits: Limits
    seed: int

    def __call__(self, batches: Batches) -> Batches:
        """The candidates of each question."""
        for number, table in _together(batches):
            question = self.questions[number]
            rows = _repeated(table).rename_columns(list(question.columns))
            found = question.answered(Relation.of(rows), self.limits, self.seed)
            if found:
                yield pa.record_batch(
                    {NUMBER: pa.array([number], pa.int32()), FOUND: pa.array([pickle.dumps(found)], pa.binary())}
                )


def _repeated(table: pa.Table) -> pa.Table:
    """The rows as often as they come; texts as numbers with a dictionary, of which each is written once."""
    times = table.column(COUNT).to_numpy()
    rows = table.drop_columns([COUNT])
    for place, field in enumerate(rows.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            rows = rows.set_column(place, field.name, pc.dictionary_encode(rows.column(place).combine_chunks()))
    return rows if (times == 1).all() else rows.take(pa.array(np.repeat(np.arange(len(times)), times)))
