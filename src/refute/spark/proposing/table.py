"""A Spark table as proposals look at it: rows in blocks that are kept, of which sums and answers come here."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.proposing.candidates import Candidate
from refute.proposing.columns import UNREAD, CodedColumn
from refute.proposing.parts import AskedOfParts, Sum
from refute.proposing.questions import OpenQuestion
from refute.proposing.scores import Limits
from refute.spark.budget import cores
from refute.spark.expressions import column, quoted
from refute.spark.proposing.tasks import (
    ANSWERED,
    FOUND,
    HELD,
    LINE,
    LINES,
    NUMBER,
    PACKED_ROWS,
    ROWS,
    SENT,
    TASK,
    AnswerQuestions,
    PackRows,
    SumsCompared,
    SumsOfParts,
    ToParts,
    ToQuestions,
    ValuesHeld,
)
from refute.spark.source.keeping import Kept
from refute.spark.source.renaming import by_code_point, plain_names
from refute.spark.source.types import arrow_type, empty_relation
from refute.spark.workers.blocks import BLOCK, packed, unpacked

_HASHES = 1 << 12  # by which rows find their parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposingTuning:
    """The rows of a block, and the cells of a part and of a task; groups with more cells than `large_cells` are not
    brought to one task with all of their columns. No answer depends on any of it."""

    block_rows: int = 1 << 16
    part_cells: int = 1 << 24
    task_cells: int = 1 << 24
    large_cells: int = 1 << 26


@dataclass(slots=True)
class ColumnFacts:
    """Rows with a value in a column, its values, rows whose value another row has, values of these, and the rows of the
    most common value, which is in a block of one row."""

    present: int = 0
    size: int = 0
    grouped: int = 0
    groups: int = 0
    top: int = 0
    block: bytes = b""

    def add(self, present: int, size: int, grouped: int, groups: int, top: int, block: bytes) -> None:
        """Add those of another part, which has other values."""
        self.present, self.size = self.present + present, self.size + size
        self.grouped, self.groups = self.grouped + grouped, self.groups + groups
        if top > self.top:
            self.top, self.block = top, block


class BlockedTable:
    """The columns that rules can read, in blocks; `places` are these columns in the order of the table."""

    def __init__(self, frame: DataFrame, names: Sequence[str], place: Kept, tuning: ProposingTuning) -> None:
        types = empty_relation(frame)
        read = [name for name in names if types.type_of(name).family not in UNREAD]
        plain = plain_names(read)
        chosen = frame.select(*(F.col(quoted(name)).alias(plain[name]) for name in read))
        chosen = by_code_point(chosen, chosen.schema)
        kinds = empty_relation(chosen)
        self.names = read
        self.families = [types.type_of(name).family for name in read]
        self.frame = chosen.select(*(column(kinds.type_of(name)).alias(name) for name in plain.values()))
        self._place, self._tuning = place, tuning
        self._schema = pa.schema([pa.field(one.name, arrow_type(one.dataType)) for one in self.frame.schema.fields])
        self._common = self._schema.empty_table()
        self.facts: list[ColumnFacts] = []

    @cached_property
    def _blocks(self) -> DataFrame:
        hashes = [
            F.pmod(F.xxhash64(F.col(name)), F.lit(_HASHES)).cast("int").alias(f"h{place}")
            for place, name in enumerate(self.frame.columns)
        ]
        rows = self.frame.select("*", *hashes)
        packing = PackRows(self._tuning.block_rows)
        return self._place.keep(rows.mapInArrow(packing, PACKED_ROWS), StorageLevel.DISK_ONLY)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self._blocks.agg(F.coalesce(F.sum(ROWS), F.lit(0))).collect()[0][0]) if self.names else 0

    @cached_property
    def _parts(self) -> int:
        return min(_HASHES, -(-self.n_rows * len(self.names) // self._tuning.part_cells))

    @cached_property
    def _cores(self) -> int:
        return cores(self.frame.sparkSession)

    def tasks(self, cells: int, most: int | None = None) -> int:
        """How many tasks share so many cells, at most one for each of so many pieces."""
        worthwhile = max(2 * self._cores, -(-cells // self._tuning.task_cells))
        return worthwhile if most is None else max(1, min(most, worthwhile))

    @cached_property
    def _read(self) -> DataFrame:
        """The blocks, in no more parts than are worth a task each."""
        return self._blocks.select(BLOCK).coalesce(self.tasks(self.n_rows * len(self.names)))

    def columns(self) -> list[CodedColumn]:
        """The columns with their numbers of values; the values themselves stay where they are."""
        homes = tuple(range(len(self.names)))
        self.facts = [ColumnFacts() for _ in homes]
        if self.n_rows:
            tasks = self.tasks(self.n_rows * len(homes), len(homes) * self._parts)
            sent = self._sent(ToParts(homes, self._parts, tasks, alone=True))
            found = sent.mapInArrow(ValuesHeld(homes, self._parts), HELD).toArrow()
            for place, *facts in zip(*found.to_pydict().values(), strict=True):
                self.facts[place].add(*facts)
        self._common = pa.table([self._value(place, self.facts[place].block) for place in homes], schema=self._schema)
        nothing = np.empty(0, np.int32)
        return [
            CodedColumn(name, family, nothing, facts.size, facts.present)
            for name, family, facts in zip(self.names, self.families, self.facts, strict=True)
        ]

    def is_large(self, place: int) -> bool:
        """Whether a group of a column is so large that no task should have all columns of its rows."""
        return self.facts[place].top * len(self.names) > self._tuning.large_cells

    @property
    def _spread(self) -> int:
        """The column by which rows that may meet anywhere are divided most evenly; nulls have one hash."""
        return min(
            range(len(self.names)), key=lambda one: max(self.facts[one].top, self.n_rows - self.facts[one].present)
        )

    def _value(self, place: int, block: bytes) -> pa.Array:
        kind = self._schema.field(place).type
        if not block:
            return pa.nulls(1, kind)
        return unpacked(pa.scalar(block, pa.binary())).column(0).combine_chunks().cast(kind)

    def sums(self, asked: AskedOfParts, most: float | None = None) -> dict[Sum, dict[tuple[int, ...], list[int]]]:
        """The sums over all parts; with `most`, without right sides of which a larger share of rows is to blame."""
        homes = tuple(asked.homes)
        numbers = len(homes) * self._parts
        tasks = self.tasks(len(homes) * self.n_rows * len(self.names), numbers)
        sent = ToParts(homes, self._parts, tasks, self._spread)
        lines = self._sent(sent).mapInArrow(SumsOfParts(asked, self._parts, packed(self._common)), LINES)
        return self._added(lines, F.lit(True) if most is None else _worth(asked, most))

    def compared(self, realms: Sequence[tuple[Sequence[int], bool]]) -> dict[Sum, dict[tuple[int, ...], list[int]]]:
        """How the columns of each realm compare inside rows."""
        return self._added(self._read.mapInArrow(SumsCompared(realms), LINES), F.lit(True))

    def _added(self, lines: DataFrame, wanted: object) -> dict[Sum, dict[tuple[int, ...], list[int]]]:
        totals = lines.groupBy(*LINE[:4]).agg(*(F.sum(name).alias(name) for name in LINE[4:]))
        found = totals.where(wanted).toArrow()  # type: ignore[arg-type]
        out: dict[Sum, dict[tuple[int, ...], list[int]]] = {what: {} for what in Sum}
        for what, a, b, c, *sums in zip(*(found.column(name).to_pylist() for name in LINE), strict=True):
            out[Sum(what)][a, b, c] = sums
        return out

    def answers(self, questions: Sequence[OpenQuestion], limits: Limits, seed: int) -> list[Candidate]:
        """The candidates that are good enough, each judged by a task that has all rows of its columns."""
        if not questions or not self.n_rows:
            return []
        columns = tuple(tuple(self.names.index(name) for name in question.columns) for question in questions)
        tasks = self.tasks(sum(map(len, columns)) * self.n_rows, len(questions))
        answering = AnswerQuestions(tuple(questions), limits, seed)
        found = self._sent(ToQuestions(columns, tasks)).mapInArrow(answering, ANSWERED).toArrow()
        by_number = dict(zip(found.column(NUMBER).to_pylist(), found.column(FOUND).to_pylist(), strict=True))
        return [one for number in sorted(by_number) for one in pickle.loads(by_number[number])]

    def _sent(self, sending: ToParts | ToQuestions) -> DataFrame:
        sent = self._read.mapInArrow(sending, SENT)
        return sent.repartitionById(sending.tasks, F.col(TASK))


def _worth(asked: AskedOfParts, most: float) -> object:
    """Which sums may lead to a rule: of the others there may be millions."""
    limit = int(asked.limits.order_error * asked.n_rows)
    blamed = (F.col("what") == Sum.RIGHT.value) & (F.col("n1") > most * F.col("n0"))
    clashing = (F.col("what") == Sum.ORDER.value) & (F.least("n0", "n1") > limit)
    return ~(blamed | clashing)
