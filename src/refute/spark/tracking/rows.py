"""The rows of a tracked Spark table: parts on the executors that never change, and what came and went since, here.

Every row has a number, given once. Rows that were there at the start are evaluated once and for all with theirs, so no
answer depends on whether an input evaluates twice alike. Rows that come stay in this process until they are many, and
then become one more part. Rows that go are only marked. Who is looked up by key is brought here while a change is
made, so that all of a change is refused, or carried out, by what keeps the rows of a monitor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from refute.errors import DataError
from refute.live.columns import ReadRows
from refute.live.rows import Longs, Rows, Segment
from refute.live.state import NOTHING, Change, State
from refute.relation.arrays import row_numbers
from refute.spark.session.failures import plain_failures
from refute.spark.session.jobs import stoppable
from refute.spark.session.warning import calm
from refute.spark.source.frames import frame_of
from refute.spark.source.renaming import by_code_point, plain_names
from refute.spark.source.source import SparkSource
from refute.spark.source.types import empty_relation
from refute.spark.tracking.tasks import NUMBER
from refute.spark.workers.worker import RESERVED

_PLACE = RESERVED + "place"  # Spark's own number of a row: its partition, and how many came before it there
_SHIFT = 33  # bits of it below the partition
_MOST = 1 << 31  # rows, whose numbers are half of a pair of 64 bits each


class Part(NamedTuple):
    """Rows that were evaluated once and for all, with their numbers, and how many they are."""

    frame: DataFrame
    n_rows: int


class SparkRows(State):
    """Rows by number, most of them on Spark. Raises DataError for keys that are null, or not one row's alone."""

    def __init__(self, source: SparkSource, most_here: int) -> None:
        """Up to `most_here` rows that came stay in this process."""
        super().__init__([], source.key, "auto", 0)
        source.check_key()
        self._most_here = most_here
        self._first_here = 0  # the number from which on rows are in this process
        self.session = source.frame.sparkSession
        self._own_schema = empty_relation(source.frame).arrow.schema
        self._plain = plain_names(source.frame.columns)
        renamed = source.frame.toDF(*self._plain.values())
        first, count = _numbered(by_code_point(renamed, renamed.schema))
        self.parts = [Part(first, count)]
        self.replay(NOTHING, self._own_schema.empty_table())
        self._first_here = self.n_rows = self.next_slot = count
        self.alive = self._reached(count)
        self.alive[:count] = 1

    @property
    def n_here(self) -> int:
        """How many rows are in this process."""
        return int(np.count_nonzero(self.alive[self._first_here : self.next_slot]))

    def expect(self, keys: pa.Table) -> None:
        """Brings rows here that have one of the keys."""
        self._page_out()
        if not len(keys):
            return
        wanted = keys.select(self.key).rename_columns([self._plain[name] for name in self.key])
        met = [F.col(f"a.{name}") == F.col(f"b.{name}") for name in wanted.column_names]
        slots, table = self._fetched(wanted, met, self._own_schema.names)
        there = self.alive[slots] == 1
        slots, table = slots[there], table.filter(pa.array(there))
        if len(slots) and self.frame is not None:
            self.rows = Rows(self.rows.schema, [Segment(slots, table), *self.rows.segments])
            self.frame.keep_keys(ReadRows(table), slots)

    def carry_out(self, change: Change) -> None:
        """Changes all that a change concerns. Where that fails, or is interrupted, all is as it was."""
        if self.next_slot + change.table.num_rows > _MOST:
            raise DataError(
                f"A tracker on Spark numbers at most {_MOST:,} rows, deleted ones included. Start a new one.",
                count=_MOST,
            )
        super().carry_out(change)
        self._page_out()
        if self.n_here > self._most_here:
            self._send()

    def taken(self, slots: Longs, names: Sequence[str]) -> pa.Table:
        """Some columns of the rows of these slots, in their order."""
        brought = [one.slots[one.slots < self._first_here] for one in self.rows.segments]
        away = (slots < self._first_here) & ~np.isin(slots, np.concatenate([NOTHING, *brought]))
        far, near = np.unique(slots[away]), np.unique(slots[~away])
        held, numbers = self.rows.take(near, names), near
        if len(far):
            met = [F.col(f"a.{NUMBER}") == F.col(f"b.{NUMBER}")]
            fetched, table = self._fetched(pa.table({NUMBER: far}), met, names)
            held = pa.concat_tables([table, held.cast(table.schema)])
            numbers = np.concatenate([fetched, near])
            order = np.argsort(numbers)
            held, numbers = held.take(row_numbers(order)), numbers[order]
        return held.take(row_numbers(np.searchsorted(numbers, slots)))

    def here(self, without: Longs = NOTHING) -> tuple[Longs, pa.Table]:
        """The numbers and rows in this process, in the order in which they came, but for some."""
        slots, table = self.living()
        kept = (slots >= self._first_here) & ~np.isin(slots, without)
        return slots[kept], table if kept.all() else table.filter(pa.array(kept))

    def dead(self, without: Longs = NOTHING) -> Longs:
        """The numbers of rows that are in parts and went, and of some more; ascending."""
        gone = np.flatnonzero(self.alive[: self._first_here] == 0)
        return np.union1d(gone, without[without < self._first_here])

    def now(self, without: Longs = NOTHING, more: tuple[Longs, pa.Table] | None = None) -> DataFrame:
        """All rows of this moment with their numbers, but for some, and some more."""
        frame = self._far()
        dead = self.dead(without)
        if len(dead):
            gone = frame_of(pa.table({NUMBER: dead}), self.session)
            frame = frame.join(F.broadcast(gone), NUMBER, "left_anti")
        for slots, table in (self.here(without), *(() if more is None else [more])):
            if len(slots):
                frame = frame.unionByName(self._part(slots, table))
        names = {plain: name for name, plain in self._plain.items()}
        return frame.select(*(F.col(plain).alias(name) for plain, name in names.items()), NUMBER)

    def plain_of(self, name: str) -> str:
        """The name that a column has in the parts."""
        return self._plain[name]

    def _far(self) -> DataFrame:
        """The rows of all parts, also those that went."""
        return reduce(DataFrame.unionByName, [part.frame for part in self.parts])

    def _part(self, slots: Longs, table: pa.Table) -> DataFrame:
        named = table.cast(self._own_schema).rename_columns(list(self._plain.values()))
        return frame_of(named.append_column(NUMBER, pa.array(slots)), self.session)

    def _fetched(self, wanted: pa.Table, met: list[SparkColumn], names: Sequence[str]) -> tuple[Longs, pa.Table]:
        """The rows of the parts that meet a row that is wanted, in the order of their numbers."""
        small = frame_of(wanted, self.session)
        far = self._far()
        found = far.alias("a").join(F.broadcast(small.alias("b")), reduce(SparkColumn.__and__, met), "left_semi")
        chosen = found.select(NUMBER, *(self._plain[name] for name in names))
        with calm(), plain_failures():
            rows = stoppable(self.session, "track", chosen.toArrow).sort_by(NUMBER)
        wide = pa.schema([self._own_schema.field(name) for name in names])
        return rows.column(NUMBER).to_numpy(), rows.drop_columns([NUMBER]).rename_columns(list(names)).cast(wide)

    def _page_out(self) -> None:
        """Lets rows of the parts leave this process again."""
        kept = []
        for segment in self.rows.segments:
            away = segment.slots < self._first_here
            if away.any() and self.frame is not None:
                there = away & (self.alive[segment.slots] == 1)
                if there.any():
                    self.frame.forget_keys(ReadRows(segment.table.take(row_numbers(np.flatnonzero(there)))))
                own = np.flatnonzero(~away)
                segment = Segment(segment.slots[own], segment.table.take(row_numbers(own)))
            if len(segment.slots):
                kept.append(segment)
        self.rows = Rows(self.rows.schema, kept)

    def _send(self) -> None:
        """Makes a part of the rows that are here."""
        slots, table = self.here()
        part = self._part(slots, table)
        with calm(), plain_failures():
            sent = stoppable(self.session, "track", part.localCheckpoint)
        self.parts.append(Part(sent, len(slots)))
        self._first_here = self.next_slot
        self.rows = Rows(self.rows.schema)
        if self.frame is not None:
            self.frame.lose()


def _numbered(frame: DataFrame) -> tuple[DataFrame, int]:
    """The rows with numbers from 0 on, evaluated once and for all, and how many there are."""
    with plain_failures():
        placed = frame.withColumn(_PLACE, F.monotonically_increasing_id()).localCheckpoint(eager=True)
        part = F.shiftright(_PLACE, _SHIFT)
        counted = placed.groupBy(part.alias("part")).agg(F.count(F.lit(1)).alias("rows")).orderBy("part").collect()
    starts, total = {}, 0
    for row in counted:
        starts[row.part] = total
        total += row.rows
    if total > _MOST:
        raise DataError(f"A tracker on Spark numbers at most {_MOST:,} rows. Select fewer rows.", count=total)
    offsets = [F.lit(starts.get(number, 0)).cast("bigint") for number in range(max(starts, default=0) + 1)]
    within = F.col(_PLACE).bitwiseAND(F.lit((1 << _SHIFT) - 1))
    number = F.get(F.array(*offsets), part.cast("int")) + within
    return placed.select(*frame.columns, number.alias(NUMBER)), total
