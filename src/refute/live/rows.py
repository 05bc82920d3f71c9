"""The rows that a monitor holds, by their slots: Arrow tables that never change, some hundred thousand rows each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from refute.kernels.runs.dealing import deal
from refute.relation.arrays import row_numbers

Longs = NDArray[np.int64]
Alive = NDArray[np.uint8]


class Joining(NamedTuple):
    """When small segments are joined; no answer depends on it."""

    full: int = 1 << 16  # rows of small segments that are joined
    small: int = 128  # segments of less that are let be

    @property
    def large(self) -> int:
        """Rows from which a segment is not joined with others: most rows are then copied once."""
        return self.full >> 1


JOINING = Joining()


class Segment(NamedTuple):
    """Some rows, in the order of their slots."""

    slots: Longs
    table: pa.Table

    def places(self, slots: Longs) -> Longs:
        """Where these slots are."""
        first, last = int(self.slots[0]), int(self.slots[-1])
        return slots - first if last - first + 1 == len(self.slots) else np.searchsorted(self.slots, slots)

    def kept(self, alive: Alive) -> Segment:
        """The rows that are alive."""
        mask = alive[self.slots].view(np.bool_)
        if mask.all():
            return self
        return Segment(self.slots[mask], self.table.take(row_numbers(np.flatnonzero(mask))).combine_chunks())


class Rows:
    """All rows at one moment. What changes them gives others, so a moment can be looked at later.

    Moments that follow each other share a list that grows, of which each has the first segments as its own: so a row
    that comes alone does not copy what says where all others are.
    """

    def __init__(self, schema: pa.Schema, segments: Sequence[Segment] = (), joining: Joining = JOINING) -> None:
        self.schema = schema
        self.joining = joining
        self._shared = list(segments)
        self._own = len(self._shared)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The segments of this moment."""
        return tuple(self._shared[: self._own])

    @cached_property
    def _starts(self) -> Longs:
        return np.array([segment.slots[0] for segment in self.segments], np.int64)

    @cached_property
    def _tail(self) -> tuple[int, int]:
        """Where the segments begin that are not full yet, and how many rows these have."""
        large = self.joining.large
        first = next((k for k, one in enumerate(self.segments) if len(one.slots) < large), len(self.segments))
        return first, sum(len(one.slots) for one in self.segments[first:])

    def cast(self, schema: pa.Schema) -> Rows:
        """The same rows in other types, which hold what they hold."""
        return Rows(schema, [Segment(one.slots, one.table.cast(schema)) for one in self.segments], self.joining)

    def with_more(self, table: pa.Table, slots: Longs, alive: Alive) -> Rows:
        """The rows and more, whose slots come behind. Small segments are joined, without rows that are not alive."""
        if not len(slots):
            return self
        first, few = self._tail
        few, waiting = few + len(slots), self._own + 1 - first
        joining = self.joining
        if waiting > 1 and (few >= joining.full or waiting > joining.small):
            return self._with_joined(Segment(slots, table), first, few >= joining.full, alive)
        found = Rows(self.schema, (), joining)
        found._shared, found._own = self._shared, self._own + 1
        if len(self._shared) > self._own:  # what came after this moment has been given up
            found._shared = self._shared[: self._own]
        found._shared.append(Segment(slots, table))
        if waiting > 1 or len(slots) < joining.large:
            found._tail = first, few
        return found

    def _with_joined(self, last: Segment, first: int, full: bool, alive: Alive) -> Rows:
        """The rows and a segment, joined with small ones before it: with all from the first on if these are full."""
        kept = [*self._shared[: self._own], last]
        small, rows = 1, len(last.slots)
        while first + small < len(kept) and (full or len(kept[-small - 1].slots) <= 4 * rows):
            small += 1
            rows += len(kept[-small].slots)
        kept[-small:] = [one for one in [_joined(kept[-small:], alive)] if len(one.slots)]
        return Rows(self.schema, kept, self.joining)

    def in_few(self, alive: Alive) -> Rows:
        """The rows with all small segments as one: what is written should be few files."""
        first = self._tail[0]
        if len(self.segments) - first < 2:
            return self
        joined = _joined(self.segments[first:], alive)
        return Rows(self.schema, [*self.segments[:first], *([joined] if len(joined.slots) else [])], self.joining)

    def without_dead(self, alive: Alive) -> Rows:
        """The rows without most that are not alive: segments of which less than half are alive are rebuilt."""
        changed = False
        kept = []
        for segment in self.segments:
            living = int(np.count_nonzero(alive[segment.slots]))
            changed |= 2 * living < len(segment.slots)
            if 2 * living >= len(segment.slots):
                kept.append(segment)
            elif living:
                kept.append(segment.kept(alive))
        return Rows(self.schema, kept, self.joining) if changed else self

    def take(self, slots: Longs, names: Sequence[str] | None = None) -> pa.Table:
        """The rows of these slots, in their order, with all columns or some."""
        wanted = self.schema if names is None else pa.schema([self.schema.field(name) for name in names])
        if not len(slots):
            return wanted.empty_table()
        ascend = len(self.segments) == 1 or bool((slots[1:] >= slots[:-1]).all())
        if ascend:
            dealt, back = slots, None
            ends = np.append(np.searchsorted(slots, self._starts[1:]), len(slots))
        else:
            asked = np.array(slots, np.int64)  # a copy: kernels are made for arrays of that kind
            dealt, back, ends = np.empty_like(asked), np.empty_like(asked), np.empty(len(self.segments), np.int64)
            deal(asked, self._starts, ends, dealt, back)
        columns = None if names is None else list(names)
        parts, start = [], 0
        for segment, end in zip(self.segments, ends.tolist(), strict=True):
            if start < end:
                part = segment.table if columns is None else segment.table.select(columns)
                parts.append(part.take(row_numbers(segment.places(dealt[start:end]))))
            start = end
        found = parts[0] if len(parts) == 1 else pa.concat_tables(parts).combine_chunks()
        return found if back is None else found.take(row_numbers(back))

    def living(self, alive: Alive, names: Sequence[str] | None = None) -> tuple[Longs, pa.Table]:
        """The slots and rows that are alive, in the order in which they came, with all columns or some."""
        wanted = self.schema.names if names is None else list(names)
        kept = [Segment(one.slots, one.table.select(wanted)).kept(alive) for one in self.segments]
        if not kept:
            return np.empty(0, np.int64), self.schema.empty_table().select(wanted)
        return np.concatenate([segment.slots for segment in kept]), pa.concat_tables([one.table for one in kept])

    @property
    def nbytes(self) -> int:
        """The memory of all rows."""
        return sum(segment.table.nbytes + segment.slots.nbytes for segment in self.segments)


def _joined(parts: Sequence[Segment], alive: Alive) -> Segment:
    """The rows of some segments that are alive, as one."""
    slots = np.concatenate([part.slots for part in parts])
    kept = Segment(slots, pa.concat_tables([part.table for part in parts])).kept(alive)
    return Segment(kept.slots, kept.table.combine_chunks())
