"""What runs in Spark's Python workers: blocks packed, surveyed and sent on, and rows that meet answered by the kernels.

Each is a function for `mapInArrow` that ships by name, so a worker compiles nothing that is cached on disk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import TaskContext

from refute.detect.detector import Detector
from refute.language.rulebook import Rule
from refute.plan.compile import skipped_nulls
from refute.plan.method import MethodName
from refute.relation import Relation
from refute.spark.answer.fetching.narrowing import widened
from refute.spark.grid.division import DividedSide, Division
from refute.spark.grid.sending import Sending
from refute.spark.grid.shape import GridShape
from refute.spark.workers.blocks import BLOCK, Batches, packed, stacked, tables_of, unpacked
from refute.spark.workers.worker import ROW_COLUMN, WITNESS_COLUMNS, settle

Ints = NDArray[np.int64]
TASK, KIND = "task", "kind"
SURVEYED = f"{BLOCK} binary, rows bigint, skipped bigint"
SENT = f"{TASK} int, {KIND} int, {BLOCK} binary"
CELLS = "cell bigint, s bigint, t bigint"
COUNTED = "violations string, task_rows bigint"
OWN = -1  # in place of a cell: the rows that pair with themselves
PASSED = -1  # in place of a way of meeting: what is known already, and only passed on
_ROWS_OF_A_TASK = 40  # bits of a row number that number the rows of one task
_LEAST_PER_PIECE = 256  # rows for each task that are cut at a time, so pieces are worth their packing


class Question(Enum):
    """What tasks answer about the rows that meet in them."""

    COUNT = "count"
    EXISTS = "exists"
    PARTNERS = "partners"
    PAIRS = "pairs"


@dataclass(frozen=True, slots=True)
class Pack:
    """Packs rows into blocks; `exact` are the types of columns that Spark sent in narrower ones. Rows without ids of
    their own are numbered where `numbered` says so."""

    exact: dict[str, pa.DataType]
    numbered: bool
    rows: int

    def __call__(self, batches: Batches) -> Batches:
        """One row per block."""
        number = first_number()
        for held in stacked(batches, self.rows):
            yield self._block(held, number)
            number += sum(batch.num_rows for batch in held)

    def _block(self, batches: list[pa.RecordBatch], number: int) -> pa.RecordBatch:
        table = widened(pa.Table.from_batches(batches).combine_chunks(), self.exact)
        if self.numbered:
            table = table.append_column(ROW_COLUMN, pa.array(np.arange(number, number + table.num_rows)))
        return pa.record_batch({BLOCK: pa.array([packed(table)], pa.binary())})


def first_number() -> int:
    """The number of the first row of this task: no row of another task has it, or one of those that follow."""
    context = TaskContext.get()
    return (0 if context is None else context.partitionId()) << _ROWS_OF_A_TASK


@dataclass(frozen=True, slots=True)
class Survey:
    """Draws a share of the rows of each block, and counts them and those that a null keeps out."""

    shape: GridShape
    share: float
    seed: int

    def __call__(self, batches: Batches) -> Batches:
        """One row per block."""
        for number, table in enumerate(tables_of(batches)):
            random = np.random.default_rng((self.seed, first_number(), number))
            names = [name for name in table.column_names if name != ROW_COLUMN]
            drawn = table.select(names).filter(pa.array(random.random(table.num_rows) < self.share))
            yield pa.record_batch(
                {
                    BLOCK: pa.array([packed(drawn.combine_chunks())], pa.binary()),
                    "rows": pa.array([table.num_rows], pa.int64()),
                    "skipped": pa.array([skipped_nulls(Relation.of(table), self.shape.form)], pa.int64()),
                }
            )


@dataclass(frozen=True, slots=True)
class CountCells:
    """Counts the rows of each cell, as `s` and as `t`, and those that cells alone would pair with themselves."""

    division: Division

    def __call__(self, batches: Batches) -> Batches:
        """One row per block and cell."""
        for table in tables_of(batches):
            sides = self.division.sides(table)
            s_cells, s_counts = _occupied(self.division, sides[0])
            t_cells, t_counts = (s_cells, s_counts) if sides[0] is sides[1] else _occupied(self.division, sides[1])
            own = int(self.division.settles_itself(*sides).sum()) if self.division.shape.form.self_pairs else 0
            zeros = (np.zeros(len(t_cells), np.int64), np.zeros(len(s_cells), np.int64))
            columns = {
                "cell": np.concatenate([s_cells, t_cells, [OWN]]),
                "s": np.concatenate([s_counts, zeros[0], [own]]),
                "t": np.concatenate([zeros[1], t_counts, [0]]),
            }
            yield pa.record_batch({name: pa.array(values, pa.int64()) for name, values in columns.items()})


def _occupied(division: Division, side: DividedSide) -> tuple[Ints, Ints]:
    cells = division.cells(side)
    found, counts = np.unique(cells[side.admitted & (cells >= 0)], return_counts=True)
    return found, counts.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Known:
    """The partners that cells alone settle, for cells that have any."""

    s_cells: Ints
    as_s: Ints
    t_cells: Ints
    as_t: Ints

    def of(self, division: Division, table: pa.Table, sides: tuple[DividedSide, DividedSide]) -> pa.Table:
        """The rows of a table that have such partners, with how many in each role."""
        as_s = _looked_up(division.cells(sides[0]), sides[0].admitted, self.s_cells, self.as_s)
        as_t = _looked_up(division.cells(sides[1]), sides[1].admitted, self.t_cells, self.as_t)
        if division.shape.form.self_pairs:
            own = division.settles_itself(*sides)
            as_s, as_t = as_s - own, as_t - own
        return _partners(table, as_s, as_t)


def _looked_up(cells: Ints, admitted: NDArray[np.bool_], known: Ints, partners: Ints) -> Ints:
    if not len(known):
        return np.zeros(len(cells), np.int64)
    places = np.minimum(np.searchsorted(known, cells), len(known) - 1)
    return np.where(admitted & (known[places] == cells), partners[places], 0)


def _partners(table: pa.Table, as_s: Ints, as_t: Ints) -> pa.Table:
    """The rows with some partner: `__row`, and how many in each role."""
    found = np.flatnonzero((as_s > 0) | (as_t > 0))
    ids = table.column(ROW_COLUMN).take(pa.array(found))  # not its field, which may say that no row is null
    return pa.table({ROW_COLUMN: ids, "as_s": pa.array(as_s[found]), "as_t": pa.array(as_t[found])})


@dataclass(frozen=True, slots=True)
class Send:
    """Sends the rows of blocks to the tasks where they meet, and with them what cells alone say of them."""

    sending: Sending
    known: Known | None = None

    def __call__(self, batches: Batches) -> Batches:
        """One row per block, task and way of meeting."""
        settle()
        turn, division = first_number(), self.sending.division
        for table in _merged(batches, _LEAST_PER_PIECE * division.tasks):
            sides = division.sides(table)
            sent = [
                (task, kind, packed(piece.combine_chunks()))
                for task, kind, piece in self.sending.pieces(table, sides, turn)
            ]
            if self.known is not None:
                partners = self.known.of(division, table, sides)
                if partners.num_rows:
                    sent.append((turn % division.tasks, PASSED, packed(partners.combine_chunks())))
            turn += table.num_rows
            if sent:
                tasks, kinds, blocks = zip(*sent, strict=True)
                yield pa.record_batch(
                    {
                        TASK: pa.array(tasks, pa.int32()),
                        KIND: pa.array(kinds, pa.int32()),
                        BLOCK: pa.array(blocks, pa.binary()),
                    }
                )


def _merged(batches: Batches, rows: int) -> Iterator[pa.Table]:
    """The tables of blocks, several as one until they have so many rows."""
    held: list[pa.Table] = []
    for table in tables_of(batches):
        held.append(table)
        if sum(one.num_rows for one in held) >= rows:
            yield pa.concat_tables(held).combine_chunks()
            held = []
    if held:
        yield pa.concat_tables(held).combine_chunks()


@dataclass(frozen=True, slots=True)
class Meet:
    """Answers a question about the rows that meet in a task, by the rule for each way of meeting."""

    question: Question
    shape: GridShape
    rules: tuple[Rule, ...]
    method: MethodName
    limit: int | None = None

    def __call__(self, batches: Batches) -> Batches:
        """What the question asks for."""
        settle()
        held: dict[int, list[pa.Table]] = {}
        for batch in batches:
            for kind, cell in zip(batch.column(KIND).to_pylist(), batch.column(BLOCK), strict=True):
                held.setdefault(kind, []).append(unpacked(cell))
        for kind in sorted(held):
            table = pa.concat_tables(held.pop(kind)).combine_chunks()
            if kind == PASSED:
                yield from table.to_batches()
            else:
                yield from self._answered(self.shape.with_values(table), self.rules[kind])

    def _answered(self, table: pa.Table, rule: Rule) -> Batches:
        detector = Detector(Relation.of(table), method=self.method)
        match self.question:
            case Question.COUNT:
                counts = {
                    "violations": pa.array([str(detector.count(rule))]),  # which may exceed 64 bits
                    "task_rows": pa.array([table.num_rows], pa.int64()),
                }
                yield pa.record_batch(counts)
            case Question.EXISTS:
                witness = detector.verify(rule).witness
                if witness is not None:
                    yield _named(table, *(np.array([row]) for row in witness))
            case Question.PARTNERS:
                counted = detector.partners(rule)
                yield from _partners(table, counted.as_s, counted.as_t).combine_chunks().to_batches()
            case Question.PAIRS:
                for s_rows, t_rows in detector.pairs(rule, self.limit):
                    assert t_rows is not None
                    yield _named(table, s_rows, t_rows)


def _named(table: pa.Table, s_rows: Ints, t_rows: Ints) -> pa.RecordBatch:
    """Pairs of rows by their ids."""
    ids = table.column(ROW_COLUMN).combine_chunks()
    return pa.record_batch([ids.take(pa.array(rows)) for rows in (s_rows, t_rows)], names=list(WITNESS_COLUMNS))


@dataclass(frozen=True, slots=True)
class Locate:
    """Finds rows by their cells: `wanted` are cells of one side, and each row found comes with its cell."""

    division: Division
    wanted: Ints | None
    of_t: bool

    def __call__(self, batches: Batches) -> Batches:
        """Rows of `__row` and `cell`."""
        for table in tables_of(batches):
            side = self.division.sides(table)[self.of_t]
            cells = self.division.cells(side)
            found = side.admitted & (cells >= 0)
            if self.wanted is not None:
                found &= np.isin(cells, self.wanted)
            rows = np.flatnonzero(found)
            if len(rows):
                kept = table.select([ROW_COLUMN]).take(pa.array(rows)).append_column("cell", pa.array(cells[rows]))
                yield from kept.combine_chunks().to_batches()


@dataclass(frozen=True, slots=True)
class Find:
    """Finds the rows with these ids, with the values of all columns."""

    ids: pa.Array

    def __call__(self, batches: Batches) -> Batches:
        """One row per block that has some."""
        for table in tables_of(batches):
            found = table.filter(_among(table.column(ROW_COLUMN).combine_chunks(), self.ids))
            if found.num_rows:
                yield pa.record_batch({BLOCK: pa.array([packed(found.combine_chunks())], pa.binary())})


def _among(column: pa.Array, wanted: pa.Array) -> pa.Array:
    """Which ids are among the wanted ones; of keys of several columns each part is compared."""
    if not pa.types.is_struct(column.type):
        return pc.is_in(column, value_set=wanted.cast(column.type))
    found = pa.array(np.zeros(len(column), np.bool_))
    for row in wanted:
        same = pa.array(np.ones(len(column), np.bool_))
        for place, name in enumerate(column.type.names):
            same = pc.and_(same, pc.fill_null(pc.equal(column.field(place), row[name]), False))
        found = pc.or_(found, same)
    return found
