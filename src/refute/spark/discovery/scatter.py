"""Who meets whom: rows are sent to tasks such that all pairs that agree on some slots meet in one of them.

Rows of small groups meet in the bucket of their key. A large group, and the whole table where nothing must agree, is
cut into parts, and each two parts, and each part with itself, are one task: a row goes to as many tasks as there are
parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.discovery.pairs import Chosen
from refute.discovery.space.slots import PredicateSpace
from refute.language.nulls import Nulls
from refute.spark.discovery.agreeing import keys_of
from refute.spark.workers.blocks import BLOCK, Batches, packed, tables_of

TASK, PART = "task", "part"
FIRST, SECOND, ALONE = range(3)  # of the two parts that meet in a task, or the only one
SCATTERED = f"{TASK} int, {PART} int, {BLOCK} binary"
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Large:
    """A large group: its key, the parts it is cut into, and the number of its first task."""

    key: int
    parts: int
    first: int

    @property
    def tasks(self) -> int:
        """How many tasks look at it."""
        return self.parts * (self.parts + 1) // 2

    def meetings(self, part: int) -> Iterator[tuple[int, int]]:
        """The tasks that a part is sent to, and as what."""
        for other in range(self.parts):
            low, high = sorted((part, other))
            role = ALONE if low == high else FIRST if part == low else SECOND
            yield self.first + high * (high + 1) // 2 + low, role


@dataclass(frozen=True)
class Scatter:
    """The task that sends the rows of each block on."""

    space: PredicateSpace
    chosen: Chosen
    nulls: Nulls
    buckets: int
    large: tuple[Large, ...] = field(default=())

    @property
    def tasks(self) -> int:
        """How many tasks rows are sent to."""
        return self.buckets + sum(group.tasks for group in self.large)

    def __call__(self, batches: Batches) -> Batches:
        """The rows for each task, cut from each block."""
        turn = 0  # so that small blocks fill all parts alike
        for table in tables_of(batches):
            sent = list(self._sent(table, turn))
            turn += table.num_rows
            if sent:
                tasks, parts, blocks = zip(*sent, strict=True)
                yield pa.record_batch(
                    {
                        TASK: pa.array(tasks, pa.int32()),
                        PART: pa.array(parts, pa.int32()),
                        BLOCK: pa.array(blocks, pa.binary()),
                    }
                )

    def _sent(self, table: pa.Table, turn: int) -> Iterator[tuple[int, int, bytes]]:
        keys = keys_of(table, self.space, self.chosen, self.nulls)
        s_left, t_left = keys.s_known, keys.t_known
        for group in self.large:
            ours, theirs = keys.s_known & (keys.s == group.key), keys.t_known & (keys.t == group.key)
            s_left, t_left = s_left & ~ours, t_left & ~theirs
            rows = np.flatnonzero(ours | theirs)
            for part in range(group.parts):
                chosen = rows[(part - turn) % group.parts :: group.parts]
                if len(chosen):
                    block = packed(table.take(pa.array(chosen)))
                    yield from ((task, role, block) for task, role in group.meetings(part))
        if not self.buckets:
            return
        s_bucket = np.where(s_left, (keys.s % np.uint64(self.buckets)).astype(np.int64), -1)
        yield from self._bucketed(table, s_bucket, np.flatnonzero(s_left))
        if not keys.same:
            t_bucket = (keys.t % np.uint64(self.buckets)).astype(np.int64)
            yield from self._bucketed(table, t_bucket, np.flatnonzero(t_left & (t_bucket != s_bucket)))

    def _bucketed(self, table: pa.Table, bucket: Rows, rows: Rows) -> Iterator[tuple[int, int, bytes]]:
        rows = rows[np.argsort(bucket[rows], kind="stable")]
        ordered = table.take(pa.array(rows)).combine_chunks()
        stops = np.searchsorted(bucket[rows], np.arange(self.buckets), side="right")
        start = 0
        for number, stop in enumerate(stops.tolist()):
            if stop > start:
                yield number, ALONE, packed(ordered.slice(start, stop - start))
            start = stop
