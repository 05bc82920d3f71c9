"""The rows of one shard in the memory of a task, and what a batch does to them.

A part of a bucket has rows of its own, and those of other parts are held against it. Of two rows that come together in
different parts, the one of the lower part is held against the rows of the higher part once those of the batch have
come, the other way round before; of two that go together, the one of the lower part before the other goes. So each pair
of rows is found by one part, and all that is found of a pair in one batch is found there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from refute.kernels.runs.rows import Lines
from refute.language.rulebook import Rule
from refute.live.changes import clashes_table
from refute.live.columns import ReadRows
from refute.live.frame import Frame
from refute.live.indexes.index import Batch, Found, Longs
from refute.live.rows import Rows, Segment
from refute.live.state import ALL, NOTHING, NOTHING_FOUND, Change, State
from refute.live.store import Passing
from refute.relation.arrays import row_numbers
from refute.watching.shards.files import KeyedChange, ShardFiles, read_region
from refute.watching.shards.shard_layout import GONE, HOME, INSTEAD, same_rows


@dataclass(slots=True)
class RuleFound:
    """What a batch did to a rule in some shard: how many violations came and went, and which, unless too many.

    Tables have the keys of the rows of violations.
    """

    counts: list[int] = field(default_factory=lambda: [0, 0])
    tables: tuple[list[pa.Table], list[pa.Table]] | None = field(default_factory=lambda: ([], []))

    def add(self, way: int, count: int, table: pa.Table | None) -> None:
        """Takes violations in that came (0) or went (1)."""
        self.counts[way] += count
        if table is None:
            self.tables = None
        elif self.tables is not None and len(table):
            self.tables[way].append(table)


class ShardFrame(Frame):
    """A frame that knows rows by key once they are looked up so: where none goes, only keepers do that."""

    _knows_keys = False

    def know_keys(self, state: State) -> None:
        """Takes the keys of all rows in, unless they are known."""
        if not self._knows_keys:
            self._knows_keys = True
            slots, table = state.rows.living(state.alive, self.columns.key)
            self.keep_keys(ReadRows(table), slots)

    def find(self, keys: Lines, state: State) -> Longs:
        """The slot of each key, -1 where there is none."""
        self.know_keys(state)
        return super().find(keys, state)

    def keep_keys(self, rows: ReadRows, slots: Longs) -> None:
        """Takes the keys of rows in, if others are known."""
        if self._knows_keys:
            super().keep_keys(rows, slots)

    def forget_keys(self, rows: ReadRows) -> None:
        """Lets the keys of rows go, if they are known."""
        if self._knows_keys:
            super().forget_keys(rows)


class ShardState(State):
    """The rows of a shard and their indexes. Violations are found, and handed on."""

    def __init__(self, rules: Sequence[Rule], key: Sequence[str], schema: pa.Schema) -> None:
        super().__init__(rules, key, "auto", 0)
        self.frame = ShardFrame.of(schema, rules, key, "auto")
        self.rows = Rows(schema)
        self._unasked = False

    def expect(self, keys: pa.Table) -> None:
        """Knows rows by key from now on."""
        if isinstance(self.frame, ShardFrame):  # not one that was widened, which knows them from the start
            self.frame.know_keys(self)

    def limit(self, limits: Mapping[str, int]) -> None:
        """Takes how many violations of each rule are handed on, at a time; of others, their number alone."""
        self.stores = [
            Passing(store.sides, limits[rule.name]) for rule, store in zip(self.rules, self.stores, strict=True)
        ]

    def keyed(self, gone: pa.Table, came: pa.Table) -> Change:
        """The change by which rows of these keys go, and others come."""
        return self._replacing(self.slots_of(gone) if len(gone) else NOTHING, came)

    def _replacing(self, slots: Longs, came: pa.Table) -> Change:
        """The change by which the rows of these slots go, and others come."""
        kinds = [(one, came.schema.field(one.name)) for one in self.known_schema()]
        schema = pa.schema([old if pa.types.is_null(new.type) else new for old, new in kinds])
        return Change(self.frame_for(schema), slots, ReadRows(came.cast(schema)))

    def repeat(self, change: KeyedChange) -> None:
        """Carries out what is known already, without a look at violations."""
        self._unasked = True
        try:
            self.carry_out(self.keyed(change.gone, change.came))
        finally:
            self._unasked = False

    def exchanged(self, going: pa.Table | None, rows: pa.Table) -> tuple[pa.Table, pa.Table, dict[str, RuleFound]]:
        """What it does when the rows of some keys go, those that are here, and others come in their place or anew.

        Returns the keys of rows that went, the rows that came, and what was found. A row that comes as it went stays.
        """
        slots, came, places = NOTHING, rows, NOTHING
        if INSTEAD in rows.column_names:
            came, places = rows.drop_columns([INSTEAD]), np.flatnonzero(rows.column(INSTEAD).to_numpy())
        if going is not None and self.n_rows:
            slots = self._here(going)
            slots = np.sort(slots[slots >= 0])
            slots = slots[np.append(True, slots[1:] != slots[:-1])[: len(slots)]]  # an update may come as two changes
        if len(slots) and len(places):
            before = self._here(came.select(self.key).take(row_numbers(places)))
            places, before = places[before >= 0], before[before >= 0]
            old = self.taken(before, came.column_names).cast(came.schema)
            same = same_rows(old, came.take(row_numbers(places)))
            if same.any():
                comes = np.ones(len(came), np.bool_)
                comes[places[same]] = False
                slots, came = np.setdiff1d(slots, before[same]), came.take(row_numbers(np.flatnonzero(comes)))
        found = {rule.name: RuleFound() for rule in self.rules}
        gone = self.taken(slots, self.key)
        if len(slots) or len(came):
            change = self._replacing(slots, came)
            self.carry_out(change)
            tell(change, self.key, found)
        return gone, came, found

    def _here(self, keys: pa.Table) -> Longs:
        """The slot of each key, -1 where it has none."""
        frame = self._known_frame()
        if any(pa.types.is_null(frame.schema.field(name).type) for name in self.key):  # so no row has a key
            return np.full(len(keys), -1, np.int64)
        self.expect(keys)
        lines, _ = frame.columns.key_lines(ReadRows(keys), extend=False)
        return frame.find(lines, self)

    def held_against(self, rows: pa.Table, part: int) -> dict[str, RuleFound]:
        """What it does when rows go and come, some of them in other parts of the bucket."""
        homes = np.asarray(rows.column(HOME))
        goes = rows.column(GONE).to_numpy(zero_copy_only=False)
        plain = rows.drop_columns([GONE, HOME])

        def some(which: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> pa.Table:
            return plain if which.all() else plain.take(row_numbers(np.flatnonzero(which)))

        found = {rule.name: RuleFound() for rule in self.rules}
        own, lower = homes == part, homes < part
        if own.all():
            self._carry_out(some(goes), some(~goes), found)
            return found
        nothing = plain.slice(0, 0)
        self._meet(some(goes & lower), 1, found)
        self._carry_out(some(goes & own), nothing, found)
        self._meet(some(goes & ~lower & ~own), 1, found)
        self._meet(some(~goes & ~lower & ~own), 0, found)
        self._carry_out(nothing, some(~goes & own), found)
        self._meet(some(~goes & lower), 0, found)
        return found

    def own(self, rows: pa.Table, part: int) -> tuple[pa.Table, pa.Table]:
        """Of rows that go and come, those of a part: the keys of the ones, and the others."""
        mine = np.asarray(rows.column(HOME)) == part
        goes = rows.column(GONE).to_numpy(zero_copy_only=False)
        plain = rows.drop_columns([GONE, HOME])
        gone, came = (plain.take(row_numbers(np.flatnonzero(mine & which))) for which in (goes, ~goes))
        return gone.select(list(self.key)), came

    def _carry_out(self, gone: pa.Table, came: pa.Table, found: dict[str, RuleFound]) -> None:
        if not len(gone) and not len(came):
            return
        change = self.keyed(gone.select(list(self.key)), came)
        self.carry_out(change)
        tell(change, self.key, found)

    def _meet(self, rows: pa.Table, way: int, found: dict[str, RuleFound]) -> None:
        """Finds the pairs of its rows with others that it does not take in."""
        if not len(rows) or not self.n_rows:
            return
        frame = self.frame_for(rows.schema)
        slots = np.arange(self.next_slot, self.next_slot + len(rows))
        limits = [(ALL if way else store.room) if store.is_listed else 0 for store in self.stores]
        met = self.met(frame, ReadRows(rows), slots, limits)
        both = Rows(rows.schema, (*self.rows.cast(rows.schema).segments, Segment(slots, rows)))
        for number, one in met.items():
            table = None if one.pairs is None else _keys_of(one.pairs, both, self.key)
            found[self.rules[number].name].add(way, one.count, table)

    def _asked(
        self, change: Change, gone: Longs, came: Longs, arriving: tuple[Batch, set[str]] | None
    ) -> tuple[list[Found], list[Found]]:
        if not self._unasked:
            return super()._asked(change, gone, came, arriving)
        frame = change.frame
        if arriving is not None:
            frame.note(arriving[1])
        index = frame.ready(self)
        if len(gone):
            old = self._going(frame, gone)
            leaving, _ = frame.columns.batch(old, gone, extend=False)
            index.delete(leaving, [-1] * len(frame.columns.followed))
            frame.forget_keys(old)
        if arriving is not None:
            index.load(arriving[0])
            frame.keep_keys(change.coming, came)
        nothing = [NOTHING_FOUND] * len(self.rules)
        return nothing, nothing


def tell(change: Change, key: Sequence[str], found: dict[str, RuleFound]) -> None:
    """Takes in what a change did that was carried out."""
    for name, one in found.items():
        for way in (0, 1):
            listed = change.pairs.get(name)
            table = None if listed is None else _keys_of(listed[way], change.rows[1 - way], key)
            one.add(way, change.deltas[name][way], table)


def _keys_of(pairs: tuple[Longs, ...], rows: Rows, key: Sequence[str]) -> pa.Table:
    """The keys of the rows of violations; their ids, which say the same, are not sent."""
    clashes = clashes_table(pairs, rows, key, ())
    return clashes.drop_columns([side for side in ("s", "t") if side in clashes.column_names])


@dataclass(slots=True)
class OpenedShard:
    """A shard in memory, and which commits it has taken in."""

    state: ShardState
    start: str
    changes: int
    token: str
    nbytes: int

    def is_at(self, files: ShardFiles) -> bool:
        """Whether it has the rows of these files."""
        return (self.start, self.changes, self.token) == (files.start, files.changes, files.token)


class OpenedShards:
    """The shards that a process has opened, used again only where files say the same.

    A batch needs all shards of a place, in turn. Where they are too many for the memory, those that are in it stay, and
    the last one goes: if it were the one that was not used for longest, none would be there when it is needed again.
    """

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[str, int], OpenedShard] = OrderedDict()  # as they were used
        self._used: dict[tuple[str, int], int] = {}  # when each of all shards was last, in uses of any

    def readiness(self, folder: Path, shard: int, files: ShardFiles) -> int:
        """How little has to be done for a shard to be as files say: 2 for nothing, 0 for all."""
        held = self._held.get((str(folder), shard))
        if held is None or held.start != files.start or held.changes > files.changes:
            return 0
        return 2 if held.is_at(files) else 1

    def take(
        self, folder: Path, shard: int, files: ShardFiles, rules: Sequence[Rule], key: Sequence[str], schema: pa.Schema
    ) -> ShardState:
        """The rows of a shard as files say, which is then nobody else's."""
        is_ready = self.readiness(folder, shard, files)
        held = self._held.pop((str(folder), shard), None)
        if held is not None and is_ready:
            if held.is_at(files) or self._caught_up(folder, held, files):
                return held.state
        return opened(folder, files, rules, key, schema)

    def give(self, folder: Path, shard: int, files: ShardFiles, state: ShardState, most: int) -> None:
        """Keeps a shard whose files will say this, if they are committed."""
        own = str(folder), shard
        before = self._used.get(own, -1)
        self._used[own] = 1 + max(self._used.values(), default=0)
        self._held[own] = OpenedShard(state, files.start, files.changes, files.token, state.nbytes)
        while sum(one.nbytes for one in self._held.values()) > most and len(self._held) > 1:
            is_idle = self._used[next(iter(self._held))] < before  # so it was not needed while this one was twice
            self._held.popitem(last=not is_idle)

    def _caught_up(self, folder: Path, held: OpenedShard, files: ShardFiles) -> bool:
        """Takes in what others have changed since; False where it has something that no commit has."""
        changes: Iterator[KeyedChange] = files.after(folder, held.changes)
        if held.changes and next(changes).token != held.token:
            return False
        for change in changes:
            held.state.repeat(change)
        return True


def opened(folder: Path, files: ShardFiles, rules: Sequence[Rule], key: Sequence[str], schema: pa.Schema) -> ShardState:
    """A shard from its files."""
    state = ShardState(rules, key, schema)
    if files.base is not None:
        for change in read_region(folder, files.base):
            state.repeat(change)
    for change in files.after(folder, 0):
        state.repeat(change)
    return state
