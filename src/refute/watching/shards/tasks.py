"""What tasks do with a batch: send rows to keepers, take them in and send what changes on, hold that against others."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.errors import EngineError
from refute.live.feed import Turns, net_changes, steps_of
from refute.live.state import Change
from refute.runtime.arrays import reused_pages
from refute.runtime.memory import memory_here
from refute.runtime.threads import available_cores
from refute.watching.intake import Intake, fitted, with_words
from refute.watching.shards.exchange import Exchange, Message, sender_of
from refute.watching.shards.files import ChangesFile, Region, ShardFiles, bytes_of, change_parts, packed, unpacked
from refute.watching.shards.shard_layout import INSTEAD, RowsInMotion, ShardLayout, ShardTuning
from refute.watching.shards.state import OpenedShards, RuleFound, ShardState, opened, tell

REPORT = -1  # in the place of a shard: the driver
STOP = -2  # in the place of a shard: all tasks, which then do nothing
HEARD = -3  # in the place of a shard: the driver, which files a task has read
GOING = -4  # in the place of a shard: all that are no keepers, the keys of rows that go or change

_SENT, _KEPT, _DONE = "sent", "kept", "done"
_ALIKE, _SEVERAL = 2, 3  # regions are joined that are at most so many times as long as the next, if so many are
_LEAST_ROOM = 1 << 30
_opened = OpenedShards()  # of this process


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What a batch did to one shard."""

    shard: int
    files: ShardFiles
    found: dict[str, RuleFound] = field(default_factory=dict)
    came: int = 0  # rows of the batch, as keepers count them
    went: int = 0  # rows that went or changed, as they count them


@dataclass(frozen=True)
class BatchStep:
    """One batch, as all tasks know it.

    Parts of the batch are sent, and as many tasks as there are places take what was sent to their shards.
    """

    folder: str
    exchange: str  # the folder of what tasks leave for each other
    places: int
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
    direct: bool = False  # rows go to all shards at once; STOP where one goes that is there, unless that is known so

    @property
    def knows_going(self) -> bool:
        """Whether shards know from a feed alone which of their rows go: by the keys, as each key has one outcome."""
        return self.order is None and not self.layout.is_divided

    def send(self, table: pa.Table, part: int) -> str:
        """Sends the rows of a part of the batch to keepers, and to others too where that is direct; the file's name."""
        return self._exchange.put(f"{_SENT}-{part}", self._sent(table))

    def _sent(self, table: pa.Table) -> Iterator[Message]:
        words = None if self.op is None else table.column(self.op)
        rows = table if words is None else table.drop_columns([self.op])
        fit, lost = fitted(rows, self.schema, self.read, dict.fromkeys(self.lost, self.batch), self.batch)
        assert lost.keys() <= self.lost, "whoever plans the batch knows what does not fit"
        leaves, meets = (None, None) if words is None else steps_of(words)
        if self.direct and meets is not None and meets.any() and not self.knows_going:
            yield STOP, ()
            return
        whole = with_words(fit, table, Intake(self.batch, words is not None, self.op, self.order, self.read, {}))
        for shard, some in self.layout.to_keepers(whole):
            yield shard, (packed(some),)
        if self.direct and self.layout.is_divided:
            for shard, some in self.layout.to_groups(RowsInMotion(fit.slice(0, 0), fit)):
                yield shard, (packed(some),)
        elif self.direct:
            rows = fit
            if meets is not None:
                rows = fit.append_column(INSTEAD, pa.array(meets))
                if meets.any():
                    yield GOING, (packed(fit.select(list(self.layout.key)).filter(pa.array(meets))),)
                    rows = rows.filter(pa.array(leaves))
            for shard, some in self.layout.to_buckets(rows):
                yield shard, (packed(some),)

    def send_again(self, number: int) -> str:
        """Sends the rows of a keeper of an earlier layout to the keepers of this one; the file's name."""
        assert self.stored is not None
        files, schema = self.stored
        _, table = opened(Path(self.folder), files[number], (), self.layout.key, schema).living()
        return self.send(table, number)

    def keep(self, task: int, names: Sequence[str]) -> str:
        """Takes rows that were sent into keepers, and sends on what changes for others; the name of that file."""
        place = self._place("keep", task, range(self.layout.keepers))
        file = ChangesFile(Path(self.folder), self.version)
        out = [_heard(names)]
        with reused_pages():
            for shard, messages in sorted(self._messages(names, place).items()):
                report, moved = self._keep(shard, messages, file)
                assert moved is not None, "rows that are kept first are not sent directly"
                out.append((REPORT, (pickle.dumps(report),)))
                out += [(where, (packed(rows),)) for where, rows in self.layout.to_groups(moved)]
        file.write()
        return self._exchange.put(f"{_KEPT}-{place}", out)

    def meet(self, task: int, names: Sequence[str]) -> str:
        """Holds what keepers sent on against the rows of other shards, and takes it in; the name of the reports."""
        return self._take("meet", task, names, range(self.layout.keepers, len(self.files)))

    def take(self, task: int, names: Sequence[str]) -> str:
        """Takes rows that were sent directly into keepers and other shards; the name of the reports."""
        return self._take("take", task, names, range(len(self.files)))

    def _take(self, stage: str, task: int, names: Sequence[str], shards: range) -> str:
        place = self._place(stage, task, shards)
        file = ChangesFile(Path(self.folder), self.version)
        out = [_heard(names)]
        with reused_pages():  # as one shard after the other merges what it has
            sent = self._messages(names, place)
            if STOP in sent:
                return self._exchange.put(f"{_DONE}-{place}", [(STOP, ())])
            going = _read(sent.pop(GOING)) if GOING in sent else None
            for shard in shards[place :: self.places] if going is not None else sorted(sent):
                if shard < self.layout.keepers:
                    if shard not in sent:
                        continue
                    report, _ = self._keep(shard, sent[shard], file)
                elif self.direct and not self.layout.is_divided:
                    report = self._exchange_rows(shard, sent.get(shard, ()), going, file)
                else:
                    report = self._meet(shard, sent[shard], file)
                out.append((REPORT, (pickle.dumps(report),)))
        file.write()
        return self._exchange.put(f"{_DONE}-{place}", out)

    def reports(self, names: Sequence[str]) -> list[ShardReport] | None:
        """What all tasks report, by shard, whose last ones have left these files; None where tasks were stopped.

        Raises EngineError where it does not fit together.
        """
        found: list[ShardReport] = []
        heard: dict[str, list[str]] = {}
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            for shard, data in self._exchange.read(name, lambda shard: shard < 0):
                if shard == STOP:
                    return None
                if shard == HEARD:
                    heard[name] = bytes(data).decode().split()
                    waiting += [one for one in heard[name] if one.startswith(_KEPT) and one not in {*heard, *waiting}]
                else:
                    found.append(pickle.loads(data))  # of our own tasks
        refuse_mixed(heard, self.places)
        return sorted(found, key=lambda one: one.shard)

    @property
    def _exchange(self) -> Exchange:
        return Exchange(Path(self.exchange))

    def _place(self, stage: str, task: int, shards: range) -> int:
        """The place of a task, which are the shards that it takes: those that are in memory here, if nobody else is."""
        ready = [0] * self.places
        for shard in shards:
            ready[shard % self.places] += _opened.readiness(Path(self.folder), shard, self.files[shard])
        order = sorted(range(self.places), key=lambda place: (-ready[place], (place - task) % self.places))
        return self._exchange.place(stage, task, order)

    def _messages(self, names: Sequence[str], place: int) -> dict[int, list[Any]]:
        """What was sent to the shards of a place, by shard, and to all."""

        def wanted(shard: int) -> bool:
            return shard in (STOP, GOING) or (shard >= 0 and shard % self.places == place)

        found: dict[int, list[Any]] = {}
        for name in names:
            for shard, data in self._exchange.read(name, wanted):
                found.setdefault(shard, []).append(data)
        return found

    def _keep(self, shard: int, messages: Sequence[Any], file: ChangesFile) -> tuple[ShardReport, RowsInMotion | None]:
        """Takes rows into a keeper; what that did, and the rows that go and come, if others do not know them yet."""
        table = _read(messages)
        state = self._state(shard)
        change = self._change(state, table)
        old = state.taken(change.gone, self.layout.key if self.direct else self.schema.names)
        state.carry_out(change)
        found = {rule.name: RuleFound() for rule in self.layout.single}
        tell(change, self.layout.key, found)
        files = self._written(file, shard, state, old.select(list(self.layout.key)), change.table)
        report = ShardReport(shard, files, found, len(table), len(old))
        if self.direct:  # so all others know
            return report, None
        gone, came = (rows.select(self.schema.names).cast(self.schema) for rows in (old, change.table))
        return report, RowsInMotion(gone, came, change.links)

    def _meet(self, shard: int, messages: Sequence[Any], file: ChangesFile) -> ShardReport:
        """Holds what changes against the rows of a shard, and takes it in; what that did."""
        rows = _read(messages)
        _, _, part = self.layout.places[shard]
        state = self._state(shard)
        found = state.held_against(rows, part)
        gone, came = state.own(rows, part)
        return ShardReport(shard, self._written(file, shard, state, gone, came), found)

    def _exchange_rows(
        self, shard: int, messages: Sequence[Any], going: pa.Table | None, file: ChangesFile
    ) -> ShardReport:
        """Takes rows that come into a shard that has a bucket, and those of keys that go out of it; what that did."""
        state = self._state(shard)
        rows = _read(messages) if messages else state.known_schema().empty_table()
        gone, came, found = state.exchanged(going, rows)
        return ShardReport(shard, self._written(file, shard, state, gone, came), found)

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
        elif before.late + len(gone) + len(came) > max(tuning.least, before.rows) or not before.rows:
            _, rows = state.living()
            token, data = change_parts(gone.slice(0, 0), rows)
            files = ShardFiles(token, file.put(data, 1), rows=state.n_rows)
        else:
            token, data = change_parts(gone, came)
            tail, changes = list(before.tail), 1
            while joined := _joined(tail, sum(map(len, data))):
                data = [*(bytes_of(Path(self.folder), one) for one in joined), *data]
                changes += sum(one.changes for one in joined)
                del tail[-len(joined) :]
            files = replace(
                before,
                tail=(*tail, file.put(data, changes)),
                changes=before.changes + 1,
                token=token,
                rows=state.n_rows,
                late=before.late + len(gone) + len(came),
            )
        most = _room() if tuning.opened_bytes is None else tuning.opened_bytes
        _opened.give(Path(self.folder), shard, files, state, most)
        return files


def _joined(tail: Sequence[Region], length: int) -> Sequence[Region]:
    """The last regions, which are written again together with what is so long: none unless they are several."""
    first = len(tail)
    while first and tail[first - 1].length <= _ALIKE * length:
        first -= 1
    return tail[first:] if len(tail) - first >= _SEVERAL else ()


@cache
def _room() -> int:
    """The bytes of shards that this process remembers: of a quarter of the machine's memory the share of a core."""
    return max(_LEAST_ROOM, memory_here() // (4 * available_cores()))


def _heard(names: Sequence[str]) -> Message:
    return HEARD, ("\n".join(names).encode(),)


def _read(messages: Sequence[Any]) -> pa.Table:
    """The rows of messages to one shard."""
    return pa.concat_tables([unpacked(one) for one in messages]).combine_chunks()


def refuse_mixed(heard: Mapping[str, Sequence[str]], places: int) -> None:
    """Raises EngineError where tasks depend on several attempts of one task: rows that were made twice may differ."""
    known: dict[str, str] = {}
    for name in [*heard, *(one for names in heard.values() for one in names)]:
        sender = sender_of(name)
        if known.setdefault(sender, name) != name:
            raise EngineError(
                "Some tasks of the batch ran again after others had used their results, as happens when an executor is "
                "lost. Nothing was changed. Start the watch again.",
                value=sender,
            )
    for kind in (_KEPT, _DONE):
        assert sum(name.startswith(kind) for name in known) in (0, places), "a task is for each place"
