"""What tasks do with a batch: send rows to keepers, take them in and send what changes on, hold that against others."""

from __future__ import annotations

import pickle
import struct
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.errors import EngineError, SchemaError
from refute.live.feed import Turns, inserts_alone, net_changes
from refute.live.state import Change
from refute.watching.intake import fitted
from refute.watching.shards.files import ChangesFile, ShardFiles, bytes_of, change_bytes, packed, unpacked
from refute.watching.shards.layout import GONE, ShardLayout, ShardTuning
from refute.watching.shards.state import OpenedShards, RuleFound, ShardState, opened, tell

Sender = tuple[bool, int]  # whether it is a keeper, and its number, else that of a part of the batch
Message = tuple[int, bytes]  # the shard that it is for, and what it says
REPORT = -1  # in the place of a shard: the driver
STOP = -2  # in the place of a shard: all tasks, which then do nothing
STOPPED = b""  # the report of such a task

_HEAD = struct.Struct("<?i16s43x")  # a sender, and a name of the attempt; rows that follow are then aligned
_opened = OpenedShards()  # of this process


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a batch did to one shard."""

    shard: int
    files: ShardFiles
    found: dict[str, RuleFound] = field(default_factory=dict)
    came: int = 0  # rows of the batch, as keepers count them
    went: int = 0  # rows that went or changed, as they count them
    heard: frozenset[tuple[Sender, bytes]] = frozenset()  # what it depends on: of each sender, which attempt


@dataclass(frozen=True)
class BatchStep:
    """One batch, as all tasks know it."""

    folder: str
    version: int  # of the commit that it will be
    layout: ShardLayout
    files: tuple[ShardFiles, ...]
    schema: pa.Schema
    batch: int
    read: Mapping[str, str]  # the columns that are read, with what reads them
    limits: Mapping[str, int]  # how many violations of each rule are listed
    lost: frozenset[str] = frozenset()  # columns that the batch does not have, or in other types
    op: str | None = None
    order: str | None = None
    tuning: ShardTuning = field(default_factory=ShardTuning)
    stored: tuple[tuple[ShardFiles, ...], pa.Schema] | None = None  # keepers of an earlier layout, to be read anew
    direct: bool = False  # rows go to all shards at once, as no row that is there goes; STOP where one does

    def sent(self, table: pa.Table, part: int) -> Iterator[Message]:
        """The rows of a part of the batch for keepers, and for others too where that is direct."""
        words = None if self.op is None else table.column(self.op)
        rows = table if words is None else table.drop_columns([self.op])
        fit, lost = fitted(rows, self.schema, self.read, {}, self.batch)
        for name in sorted(lost.keys() - self.lost):
            kind = self.schema.field(name).type
            raise SchemaError(
                f"batch {self.batch:,} has a value in the column {name!r} that {kind} cannot hold",
                column=name,
                expected=str(kind),
            )
        if self.direct and words is not None and not inserts_alone(words):
            yield STOP, b""
            return
        whole = fit if words is None else fit.append_column(self.op, words)
        head = _HEAD.pack(False, part, uuid.uuid4().bytes)
        for shard, some in self.layout.to_keepers(whole):
            yield shard, head + packed(some)
        if self.direct:
            coming = fit.append_column(GONE, pa.repeat(pa.scalar(False), len(fit)))
            for shard, some in self.layout.to_groups(coming.combine_chunks()):
                yield shard, head + packed(some)

    def sent_again(self, number: int) -> Iterator[Message]:
        """The rows of a keeper of an earlier layout for the keepers of this one."""
        assert self.stored is not None
        files, schema = self.stored
        _, table = opened(Path(self.folder), files[number], (), self.layout.key, schema).living()
        yield from self.sent(table, number)

    def kept(self, messages: Mapping[int, Sequence[bytes]]) -> Iterator[Message]:
        """Takes rows into keepers; what changes for others, and reports."""
        file = ChangesFile(Path(self.folder), self.version)
        out: list[Message] = []
        for shard in sorted(messages):
            report, old, new = self._keep(shard, messages[shard], file)
            attempt = uuid.uuid4().bytes
            heard = report.heard | {((True, shard), attempt)}
            out.append((REPORT, pickle.dumps(replace(report, heard=heard))))
            goes = [pa.array([True] * len(old), pa.bool_()), pa.array([False] * len(new), pa.bool_())]
            moving = pa.concat_tables([old, new]).append_column(GONE, pa.chunked_array(goes))
            head = _HEAD.pack(True, shard, attempt)
            out += [(where, head + packed(rows)) for where, rows in self.layout.to_groups(moving.combine_chunks())]
        file.write()
        yield from out

    def met(self, messages: Mapping[int, Sequence[bytes]]) -> Iterator[bytes]:
        """Holds what changes against the rows of other shards, and takes it in; reports."""
        yield from messages.get(REPORT, ())
        file = ChangesFile(Path(self.folder), self.version)
        reports = [self._meet(shard, messages[shard], file) for shard in sorted(messages) if shard != REPORT]
        file.write()
        for report in reports:
            yield pickle.dumps(report)

    def taken(self, messages: Mapping[int, Sequence[bytes]]) -> Iterator[bytes]:
        """Takes rows that came directly into keepers and other shards; reports. STOPPED where there is a STOP."""
        if STOP in messages:
            yield STOPPED
            return
        file = ChangesFile(Path(self.folder), self.version)
        reports = []
        for shard in sorted(messages):
            is_keeper = shard < self.layout.keepers
            said = messages[shard]
            reports.append(self._keep(shard, said, file)[0] if is_keeper else self._meet(shard, said, file))
        file.write()
        for report in reports:
            yield pickle.dumps(report)

    def _keep(self, shard: int, messages: Sequence[bytes], file: ChangesFile) -> tuple[ShardReport, pa.Table, pa.Table]:
        """Takes rows into a keeper; what that did, and the rows that go and come."""
        table, heard = _read(messages)
        state = self._state(shard)
        change = self._change(state, table)
        old = state.taken(change.gone, self.schema.names).cast(change.table.schema)
        state.carry_out(change)
        found = {rule.name: RuleFound() for rule in self.layout.single}
        tell(change, self.layout.key, found)
        files = self._written(file, shard, state, old.select(list(self.layout.key)), change.table)
        return ShardReport(shard, files, found, len(table), len(old), heard), old, change.table

    def _meet(self, shard: int, messages: Sequence[bytes], file: ChangesFile) -> ShardReport:
        """Holds what changes against the rows of a shard, and takes it in; what that did."""
        rows, heard = _read(messages)
        _, _, part = self.layout.places[shard]
        state = self._state(shard)
        found = state.held_against(rows, part)
        gone, came = state.own(rows, part)
        return ShardReport(shard, self._written(file, shard, state, gone, came), found, heard=heard)

    def _state(self, shard: int) -> ShardState:
        """The rows of a shard, as of the last commit."""
        group = self.layout.places[shard][0]
        names = self.schema.names if group < 0 else self.layout.groups[group].names
        schema = pa.schema([self.schema.field(name) for name in names])
        rules = self.layout.rules_of(shard)
        state = _opened.take(Path(self.folder), shard, self.files[shard], rules, self.layout.key, schema)
        state.limit(self.limits)
        return state

    def _change(self, state: ShardState, table: pa.Table) -> Change:
        """What rows of a batch amount to; raises DataError where a key is not as it should be."""
        if self.op is None:
            return state.inserting(table)
        return net_changes(state, table, self.op, Turns(self.order))

    def _written(self, file: ChangesFile, shard: int, state: ShardState, gone: pa.Table, came: pa.Table) -> ShardFiles:
        """The files of a shard with a change that it has taken in: as it is, or, after many, all rows."""
        before, tuning = self.files[shard], self.tuning
        if not len(gone) and not len(came):
            files = before
        elif before.late + len(gone) + len(came) > max(tuning.least, before.rows // 2) or not before.rows:
            _, rows = state.living()
            token, data = change_bytes(gone.slice(0, 0), rows)
            files = ShardFiles(token, file.put(data, 1), rows=state.n_rows)
        else:
            token, data = change_bytes(gone, came)
            tail, changes = list(before.tail), 1
            while tail and tail[-1].length <= len(data):  # so there are few, each larger than the next
                last = tail.pop()
                data, changes = bytes_of(Path(self.folder), last).to_pybytes() + data, last.changes + changes
            files = replace(
                before,
                tail=(*tail, file.put(data, changes)),
                changes=before.changes + 1,
                token=token,
                rows=state.n_rows,
                late=before.late + len(gone) + len(came),
            )
        _opened.give(Path(self.folder), shard, files, state, tuning.opened_bytes)
        return files


def tasks_of(shard: int, tasks: int) -> Sequence[int]:
    """The tasks that a message is for, by the shard, or what is in its place."""
    return range(tasks) if shard == STOP else (0 if shard == REPORT else shard % tasks,)


def _read(messages: Sequence[Any]) -> tuple[pa.Table, frozenset[tuple[Sender, bytes]]]:
    """The rows of messages to one shard, and who has sent them."""
    tables, heard = [], set()
    for data in messages:
        whole = pa.py_buffer(data)
        is_keeper, number, attempt = _HEAD.unpack(whole.slice(0, _HEAD.size))
        heard.add(((is_keeper, number), attempt))
        tables.append(unpacked(whole.slice(_HEAD.size)))
    return pa.concat_tables(tables).combine_chunks(), frozenset(heard)


def refuse_mixed(reports: Sequence[ShardReport]) -> None:
    """Raises EngineError where shards depend on several attempts of one task: rows that were made twice may differ."""
    known: dict[Sender, bytes] = {}
    for report in reports:
        for sender, attempt in report.heard:
            if known.setdefault(sender, attempt) != attempt:
                raise EngineError(
                    "tasks of the batch were run again after others had used what they gave, as after the loss of an "
                    "executor. Nothing was changed; start the watch again",
                    value=sender[1],
                )
