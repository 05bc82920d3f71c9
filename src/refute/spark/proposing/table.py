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
from refute.spark.blocks import BLOCK, packed, unpacked
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

_HASHES = 1 << 12  # by which rows find their parts


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposingTuning:
    """The rows of a block, and the cells of a part and of a task. No answer depends on them."""

    block_rows: int = 1 << 16
    part_cells: int = 1 << 24
    task_cells: int = 1 << 24


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

    def _tasks(self, numbers: int, cells: int) -> int:
        """How many tasks share so many numbers, which have so many cells together."""
        worthwhile = max(2 * cores(self.frame.sparkSession), -(-cells // self._tuning.task_cells))
        return max(1, min(numbers, worthwhile))

    def columns(self) -> list[CodedColumn]:
        """The columns with their numbers of values; the values themselves stay where they are."""
        homes = tuple(range(len(self.names)))
        held = dict.fromkeys(homes, (0, 0, 0, b""))
        if self.n_rows:
            numbers = len(homes) * self._parts
            sent = ToParts(homes, self._parts, self._tasks(numbers, self.n_rows * len(homes)), alone=True)
            found = self._sent(sent).mapInArrow(ValuesHeld(homes, self._parts), HELD).toArrow()
            for place, present, size, top, block in zip(*found.to_pydict().values(), strict=True):
                before = held[place]
                best = (top, block) if top > before[2] else before[2:]
                held[place] = (before[0] + present, before[1] + size, *best)
        self._common = pa.table([self._value(place, held[place][3]) for place in homes], schema=self._schema)
        nothing = np.empty(0, np.int32)
        return [
            CodedColumn(name, family, nothing, held[place][1], held[place][0])
            for place, (name, family) in enumerate(zip(self.names, self.families, strict=True))
        ]

    def _value(self, place: int, block: bytes) -> pa.Array:
        kind = self._schema.field(place).type
        if not block:
            return pa.nulls(1, kind)
        return unpacked(pa.scalar(block, pa.binary())).column(0).combine_chunks().cast(kind)

    def sums(self, asked: AskedOfParts, most: float | None = None) -> dict[Sum, dict[tuple[int, ...], list[int]]]:
        """The sums over all parts; with `most`, without right sides of which a larger share of rows is to blame."""
        homes = tuple(asked.homes)
        numbers = len(homes) * self._parts
        sent = ToParts(homes, self._parts, self._tasks(numbers, numbers * self.n_rows * len(self.names)))
        lines = self._sent(sent).mapInArrow(SumsOfParts(asked, self._parts, packed(self._common)), LINES)
        return self._added(lines, F.lit(True) if most is None else _worth(asked, most))

    def compared(self, realms: Sequence[tuple[Sequence[int], bool]]) -> dict[Sum, dict[tuple[int, ...], list[int]]]:
        """How the columns of each realm compare inside rows."""
        return self._added(self._blocks.select(BLOCK).mapInArrow(SumsCompared(realms), LINES), F.lit(True))

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
        tasks = self._tasks(len(questions), sum(map(len, columns)) * self.n_rows)
        answering = AnswerQuestions(tuple(questions), limits, seed)
        found = self._sent(ToQuestions(columns, tasks)).mapInArrow(answering, ANSWERED).toArrow()
        by_number = dict(zip(found.column(NUMBER).to_pylist(), found.column(FOUND).to_pylist(), strict=True))
        return [one for number in sorted(by_number) for one in pickle.loads(by_number[number])]

    def _sent(self, sending: ToParts | ToQuestions) -> DataFrame:
        sent = self._blocks.select(BLOCK).mapInArrow(sending, SENT)
        return sent.repartitionById(sending.tasks, F.col(TASK))


def _worth(asked: AskedOfParts, most: float) -> object:
    """Which sums may lead to a rule: of the others there may be millions."""
    limit = int(asked.limits.order_error * asked.n_rows)
    blamed = (F.col("what") == Sum.RIGHT.value) & (F.col("n1") > most * F.col("n0"))
    clashing = (F.col("what") == Sum.ORDER.value) & (F.least("n0", "n1") > limit)
    return ~(blamed | clashing)
