"""Which shards there are, and where rows belong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from refute.language.conditions import columns_of
from refute.language.form import Form, operands
from refute.language.operators import Operator
from refute.language.rulebook import Rule
from refute.relation.arrays import row_numbers
from refute.watching.shards.hashing import hashes

Longs = NDArray[np.int64]
GONE, HOME = "refute gone", "refute home"  # of a row that is sent: whether it goes, and the part that it is in
INSTEAD = "refute instead"  # of a row that comes: whether it may take the place of the one with its key


@dataclass(frozen=True, slots=True)
class ShardTuning:
    """Sizes of shards; no answer depends on them."""

    rows: int = 1 << 20  # of a shard: with four times as many, rows are distributed anew
    least: int = 1 << 14  # rows of changes before a shard is written as a whole, unless they are half as many as it has
    sent_rows: int = 1 << 19  # rows of a table in the driver that it sends to all shards itself
    opened_bytes: int | None = None  # of shards that a task's process remembers; None: by the machine's memory


@dataclass(frozen=True)
class RowsInMotion:
    """Rows that go and rows that come, row `links[i]` in the place of row `i`, for as many as there are."""

    gone: pa.Table
    came: pa.Table
    links: Longs | None = None

    def read(self, names: Sequence[str]) -> pa.Table:
        """Some columns of both, and which go; without rows that come again as they go, as far as these columns say."""
        gone, came = self.gone.select(names), self.came.select(names)
        if self.links is not None and len(self.links):
            same = same_rows(gone.slice(0, len(self.links)), came.take(row_numbers(self.links)))
            leaving, coming = np.ones(len(gone), np.bool_), np.ones(len(came), np.bool_)
            leaving[: len(same)] = ~same
            coming[self.links[same]] = False
            gone, came = gone.filter(pa.array(leaving)), came.filter(pa.array(coming))
        goes = [pa.repeat(pa.scalar(True), len(gone)), pa.repeat(pa.scalar(False), len(came))]
        both = pa.concat_tables([gone, came]).append_column(GONE, pa.chunked_array(goes))
        return both.combine_chunks()


def same_rows(one: pa.Table, two: pa.Table) -> NDArray[np.bool_]:
    """Where the rows of two tables with the same columns and types hold the same."""
    alike = np.ones(len(one), np.bool_)
    for before, after in zip(one.columns, two.columns, strict=True):
        alike &= _are_same(before, after)
    return alike


def _are_same(one: pa.ChunkedArray, two: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where two columns of a type hold the same, null or not. Two zeros differ, and no number is like no other."""
    if pt.is_null(one.type):
        return np.ones(len(one), np.bool_)
    try:
        alike = np.asarray(pc.equal(one, two).fill_null(False), np.bool_)
    except pa.ArrowNotImplementedError:  # so they are taken for others
        return np.zeros(len(one), np.bool_)
    if pt.is_floating(one.type):
        alike = alike & np.equal(*(np.signbit(side.fill_null(0.0).to_numpy()) for side in (one, two)))
    return alike | np.asarray(pc.and_(one.is_null(), two.is_null()), np.bool_)


@dataclass(frozen=True)
class Group:
    """Rules that hold the same columns equal, and in how many parts each bucket of their rows is."""

    columns: tuple[str, ...]
    rules: tuple[Rule, ...]
    key: tuple[str, ...]
    parts: tuple[int, ...]

    @cached_property
    def names(self) -> list[str]:
        """The columns that its shards hold: the key, and what its rules read."""
        found = dict.fromkeys(self.key)
        for rule in self.rules:
            found |= dict.fromkeys(rule.constraint.columns)
            found |= dict.fromkeys(() if rule.where is None else columns_of(rule.where))
        return list(found)

    @property
    def is_divided(self) -> bool:
        """Whether a bucket is in several parts."""
        return max(self.parts) > 1

    def sent(self, moved: RowsInMotion) -> Iterator[tuple[int, pa.Table]]:
        """Rows by bucket, each with the part that it is in; those that change in no column of the group stay."""
        rows = moved.read(self.names)
        buckets = self._buckets(rows)
        parts = np.array(self.parts, np.uint64)[buckets]
        home = ((hashes(rows, self.key) >> np.uint64(32)) % parts).astype(np.int32)
        return divided(rows.append_column(HOME, pa.array(home)), buckets, len(self.parts))

    def arriving(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Rows that come by bucket, each of which is in one part."""
        table = rows.select([*self.names, *(name for name in [INSTEAD] if name in rows.column_names)])
        return divided(table, self._buckets(table), len(self.parts))

    def _buckets(self, rows: pa.Table) -> Longs:
        return (hashes(rows, self.columns) % np.uint64(len(self.parts))).astype(np.int64)


@dataclass(frozen=True)
class ShardLayout:
    """All shards of a watch, by numbers: keepers by key, then those of each group, by bucket and part."""

    name: str  # of no other layout
    key: tuple[str, ...]
    single: tuple[Rule, ...]  # which keepers answer: rules about one row, and those that nothing can violate
    keepers: int
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, name: str, rules: Sequence[Rule], key: Sequence[str], shape: ShardShape) -> ShardLayout:
        """The layout for rules, of a shape."""
        single, grouped = groups_of(rules)
        groups = [
            Group(columns, tuple(own), tuple(key), parts)
            for (columns, own), parts in zip(grouped.items(), shape.parts, strict=True)
        ]
        return cls(name, tuple(key), tuple(single), shape.keepers, tuple(groups))

    @property
    def shape(self) -> ShardShape:
        """In how many shards it has rows."""
        return ShardShape(self.keepers, tuple(group.parts for group in self.groups))

    @cached_property
    def places(self) -> list[tuple[int, int, int]]:
        """The group, bucket and part of each shard; group -1 are keepers."""
        found = [(-1, bucket, 0) for bucket in range(self.keepers)]
        for number, group in enumerate(self.groups):
            found += [(number, bucket, part) for bucket, parts in enumerate(group.parts) for part in range(parts)]
        return found

    @cached_property
    def _numbers(self) -> dict[tuple[int, int, int], int]:
        return {place: number for number, place in enumerate(self.places)}

    def number(self, group: int, bucket: int, part: int) -> int:
        """The number of a shard."""
        return self._numbers[group, bucket, part]

    def rules_of(self, shard: int) -> tuple[Rule, ...]:
        """The rules that a shard answers."""
        group = self.places[shard][0]
        return self.single if group < 0 else self.groups[group].rules

    @cached_property
    def is_divided(self) -> bool:
        """Whether some bucket is in several parts, so that what goes must be known to all of them."""
        return any(group.is_divided for group in self.groups)

    def to_keepers(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Rows by the keeper of their key."""
        where = (hashes(table, self.key) % np.uint64(self.keepers)).astype(np.int64)
        return divided(table, where, self.keepers)

    def to_groups(self, moved: RowsInMotion) -> Iterator[tuple[int, pa.Table]]:
        """Rows that go and come by the shards that they are held against."""
        for number, group in enumerate(self.groups):
            for bucket, rows in group.sent(moved):
                for part in range(group.parts[bucket]):
                    yield self.number(number, bucket, part), rows

    def to_buckets(self, rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Rows that come by the shards that have them, where no bucket is divided."""
        for number, group in enumerate(self.groups):
            for bucket, some in group.arriving(rows):
                yield self.number(number, bucket, 0), some


@dataclass(frozen=True, slots=True)
class ShardShape:
    """How many keepers there are, and for each group in how many parts each of its buckets is."""

    keepers: int
    parts: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, said: dict[str, Any]) -> ShardShape:
        """The shape that was written."""
        return cls(said["keepers"], tuple(tuple(parts) for parts in said["parts"]))

    def to_dict(self) -> dict[str, Any]:
        """The shape as what JSON holds."""
        return {"keepers": self.keepers, "parts": [list(parts) for parts in self.parts]}

    @classmethod
    def fitting(cls, rules: Sequence[Rule], rows: int, tasks: int, tuning: ShardTuning) -> ShardShape:
        """The shape for so many rows: buckets for rules with an equality, one bucket in parts for others."""
        most = max(tasks, -(-rows // tuning.rows))
        _, grouped = groups_of(rules)
        return cls(most, tuple((1,) * most if columns else (most,) for columns in grouped))

    def grown(self, sizes: Sequence[int], layout: ShardLayout, tuning: ShardTuning) -> ShardShape:
        """A shape in which no shard has too many rows, where the shards of a layout have so many: itself, if none has.

        A bucket is divided into parts where there are enough of them, but it alone is too large, as by one large group.
        """
        if max(sizes, default=0) <= 4 * tuning.rows:
            return self
        held = dict(zip(layout.places, sizes, strict=True))
        keepers = _doubled(self.keepers, sum(sizes[: self.keepers]), tuning.rows)
        parts = []
        for number, (group, own) in enumerate(zip(layout.groups, self.parts, strict=True)):
            rows = [sum(held[number, bucket, part] for part in range(some)) for bucket, some in enumerate(own)]
            buckets = _doubled(len(own), sum(rows), tuning.rows) if group.columns else 1
            if buckets > len(own):
                parts.append((1,) * buckets)
            else:
                parts.append(tuple(_doubled(some, most, 2 * tuning.rows) for some, most in zip(own, rows, strict=True)))
        return ShardShape(keepers, tuple(parts))


def _doubled(number: int, rows: int, most: int) -> int:
    """So many, doubled until each has no more rows than it should."""
    while rows > number * most:
        number *= 2
    return number


def groups_of(rules: Sequence[Rule]) -> tuple[list[Rule], dict[tuple[str, ...], list[Rule]]]:
    """Rules that need no pairs, and others by the columns that they hold equal."""
    single: list[Rule] = []
    grouped: dict[tuple[str, ...], list[Rule]] = {}
    for rule in rules:
        form = Form.of(rule)
        if rule.constraint.is_single_row or not form.possible:
            single.append(rule)
            continue
        both = [operands(one) for one in form.predicates if one.op is Operator.EQ]
        grouped.setdefault(tuple(sorted({s for s, t in both if s == t})), []).append(rule)
    return single, grouped


def divided(table: pa.Table, where: Longs, places: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each place that has some."""
    if table.num_rows and (places == 1 or (where == where[0]).all()):
        yield int(where[0]), table
        return
    counts = np.bincount(where, minlength=places)
    ordered = table.take(row_numbers(np.argsort(where, kind="stable"))) if table.num_rows else table
    start = 0
    for place, count in enumerate(counts.tolist()):
        if count:
            yield place, ordered.slice(start, count)
        start += count
