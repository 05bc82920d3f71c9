"""The one who takes the batches of a stream into a folder, each of them once."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from refute.durable.directory import Directory
from refute.durable.lock import cannot_keep
from refute.durable.manifest import NAME as MANIFEST
from refute.errors import DataError, OptionError
from refute.faults import no_key_for_feed, nothing_kept
from refute.language.rulebook import Rule
from refute.live.changes import clashes_table
from refute.live.columns import ReadRows
from refute.live.engine import LiveEngine
from refute.live.feed import Turns, leaves_rows, net_changes
from refute.live.saved import STREAM, WATCH, KeptState, logged
from refute.live.state import Change, State
from refute.watching.feeds import Clashes, Feeds, clashes_of
from refute.watching.intake import fitted, read_by, refuse_lost
from refute.watching.ledger import Ledger, LedgerTuning, Turn
from refute.watching.pieces import Longs, PairMarks, lines_of, lines_schema
from refute.watching.places import WatchPlaces
from refute.watching.records import BatchHistory, BatchRecord, RuleRecord
from refute.watching.refusals import foreign, refuse_others, refuse_remains

LOGGED_ROWS = 1 << 20  # rows in logs from which a state is written: batches are large
BOOTSTRAP = -1  # the number of the batch that a table is which was there first
_NOTHING: Longs = np.empty(0, np.int64)
_NEW: dict[str, Any] = {
    "batch": None,
    "query": None,
    "plan": None,
    "table": None,
    "last": None,
    "lost": {},
    "feed": None,
    "began": False,
    "op": None,
}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How the rows of a stream are read: rules, the key, and what says which of them change others."""

    rules: tuple[Rule, ...] | None  # None: those of the folder
    key: tuple[str, ...] | None = None
    op: str | None = None
    order: str | None = None
    most_pairs: int = 10_000_000
    log_rows: int = LOGGED_ROWS
    tuning: LedgerTuning = field(default_factory=LedgerTuning)


class Watcher:
    """Rows and violations of a stream in a folder, which nobody else can have open. Batches may come in any thread."""

    def __init__(
        self, places: WatchPlaces, options: WatchOptions, directory: Directory[KeptState], kept: KeptState
    ) -> None:
        self.places = places
        self.options = options
        self._directory = directory
        self._kept = kept
        self._lock = threading.RLock()
        self._closed = False
        places.make()
        self._feeds = Feeds(places, self.state.key)
        self._history = BatchHistory(places.history)
        self._ledger = Ledger(
            places.tables, places.violations, [rule.name for rule in self.state.rules], options.tuning
        )
        told = self._told
        self._ledger.open(told["table"])
        self._feeds.open(told["feed"])
        self._history.mend(told["last"])

    @classmethod
    def open(cls, folder: Path, options: WatchOptions) -> Watcher:
        """The watch in a folder as of its last commit, with these rules; a new one if there is none.

        Raises EngineError where another has it open, OptionError for another key, DataError where the stream that it
        belongs to is not the one of its checkpoint.
        """
        places = WatchPlaces(folder)
        directory: Directory[KeptState]
        if (places.state / MANIFEST).exists():
            directory, kept = Directory.open(places.state, WATCH, verify=True, log_rows=options.log_rows)
        elif options.rules is None:
            raise nothing_kept(WATCH.noun, str(folder), "state", "; give rules, and a key, to start one there")
        else:
            refuse_remains(places)
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise cannot_keep(folder, WATCH.noun, error) from error
            state = State(options.rules, options.key or (), "auto", options.most_pairs)
            kept = KeptState(state, {STREAM: dict(_NEW)})
            directory = Directory.create(places.state, WATCH, kept, log_rows=options.log_rows)
        try:
            if kept.state.schema is None and options.key is not None and options.key != kept.state.key:
                kept.state = kept.state.with_key(options.key)  # as no row has come yet
            refuse_others(places, kept, options.key, options.op)
            found = cls(places, options, directory, kept)
        except BaseException:
            directory.close()
            raise
        if options.rules is not None:
            known = {rule.terms: rule for rule in kept.state.rules}
            rules = tuple(known.get(rule.terms, rule) for rule in options.rules)
            if rules != kept.state.rules:
                found._closing_on_failure(lambda: found._replace_rules(rules))
        return found

    @property
    def state(self) -> State:
        """Rows and violations."""
        return self._kept.state

    @property
    def batch(self) -> int | None:
        """The last batch that was taken; None before the first."""
        batch: int | None = self._told["batch"]
        return batch

    @property
    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = self._kept.told[STREAM]
        return told

    def live_engine(self, *, newest_first: bool = False) -> LiveEngine:
        """The engine for the rows of the last batch; it lists violations as they came, or `newest_first`."""
        with self._lock:
            return LiveEngine(self.state, newest_first=True) if newest_first else LiveEngine.of(self.state)

    @property
    def is_open(self) -> bool:
        """Whether batches can be taken."""
        return not self._closed

    def close(self) -> None:
        """Lets the folder go."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._directory.close()

    @property
    def has_begun(self) -> bool:
        """Whether it has begun with a table."""
        return bool(self._told["began"])

    def bootstrap(self, table: pa.Table) -> BatchRecord | None:
        """Takes a table in that was there before the stream; None where that has been done, in an earlier run."""
        with self._lock:
            if self._told["began"]:
                return None
            if self.batch is not None:
                raise OptionError(
                    f"{self.places.folder} already has rows of its stream, so it cannot begin with a table",
                    option="bootstrap",
                    path=str(self.places.folder),
                )
            found: BatchRecord | None = self._closing_on_failure(lambda: self._taken(BOOTSTRAP, None, table, fed=False))
            return found

    def take(self, batch: int, query: str | None, table: pa.Table) -> BatchRecord | None:
        """Takes the rows of a batch in, and commits them; None where that was done before, or there is nothing in it.

        Raises DataError where this is not the batch that comes next. After any error, the watcher is closed, and the
        folder is as of the batch before.
        """
        with self._lock:
            found: BatchRecord | None = self._closing_on_failure(
                lambda: (
                    self._taken(batch, query, table, fed=self.options.op is not None)
                    if self._is_next(batch, query)
                    else None
                )
            )
            return found

    def expects(self, batch: int, query: str | None) -> bool:
        """Whether a batch has not been taken yet; raises DataError where it is not the one that comes next."""
        with self._lock:
            return bool(self._closing_on_failure(lambda: self._is_next(batch, query)))

    def _closing_on_failure(self, act: Any) -> Any:
        if self._closed:
            raise OptionError(f"the watch in {self.places.folder} is closed; start it again", type=WATCH.noun)
        try:
            return act()
        except BaseException:
            self.close()
            raise

    def _is_next(self, batch: int, query: str | None) -> bool:
        """Whether a batch is the next one, not the last one again, which Spark repeats if it was killed after us."""
        last = BOOTSTRAP if self.batch is None else self.batch
        known = self._told["query"]
        if known is not None and query != known:
            raise foreign(self.places, known, query)
        if batch == last:
            return False
        if batch != last + 1:
            before = "no batch" if last == BOOTSTRAP else f"batch {last:,}"
            raise DataError(
                f"batch {batch:,} of the stream has come, but {self.places.folder} was left after {before}: its state "
                "and its checkpoint are not of the same moment. Restore both from one copy, or start in a new folder",
                path=str(self.places.folder),
                count=batch,
            )
        return True

    def _taken(self, batch: int, query: str | None, table: pa.Table, *, fed: bool) -> BatchRecord | None:
        if not table.num_columns and self.state.schema is None and batch != BOOTSTRAP:
            self._pass_over(batch, query)
            return None
        started = time.perf_counter()
        state, told = self.state, dict(self._told)
        read = read_by(state.rules, state.key)
        if self.options.order is not None and fed:
            read.setdefault(self.options.order, "the order of changes")
        change, told["lost"] = self._change(batch, table, read, fed)
        if len(change.gone):
            self._ledger.locate(self._find)  # by keys, which the rows that go still have
        state.carry_out(change)
        self._directory.note(logged(change), state.version)
        moved = _moved(change, state.next_slot)
        schema = self._lines_schema()
        told |= self._come(batch, query) | {"feed": batch}
        told |= {"began": told["began"] or batch == BOOTSTRAP, "op": self.options.op if fed else told.get("op")}
        clashes = clashes_of(change, state.key)
        told["table"] = self._ledger.write(self._turn(batch, change, clashes, moved, schema), schema, self._find)
        self._feeds.write(batch, change, clashes, schema, moved)
        record = self._record(batch, table.num_rows, change, started)
        told["last"] = record.to_dict()
        self._kept.told = {STREAM: told}
        self._directory.commit(self._kept)
        self._show(told)
        self._history.append(record)
        return record

    def _come(self, batch: int, query: str | None) -> dict[str, Any]:
        """How far the stream has come with a batch."""
        return {"batch": batch, "query": query, "plan": self.places.plan(batch)}

    def _pass_over(self, batch: int, query: str | None) -> None:
        """Notes that a batch has come, before all rows, of which not even the columns are known: empty files."""
        self._kept.state = self.state.with_rules(self.state.rules)  # which is another version
        self._kept.told = {STREAM: {**self._told, **self._come(batch, query)}}
        self._directory.commit(self._kept)

    def _show(self, told: dict[str, Any]) -> None:
        if told["table"] is not None:
            self._ledger.show(told["table"])
        self._feeds.show(told["feed"])

    def _change(self, batch: int, table: pa.Table, read: dict[str, str], fed: bool) -> tuple[Change, dict[str, int]]:
        """The change that a batch amounts to, and the columns that are lost."""
        state, op = self.state, self.options.op
        if not fed:
            rows = table.drop_columns([op]) if op is not None and op in table.column_names else table
            fit, lost = fitted(rows, state.schema, read, self._told["lost"], batch)
            return state.inserting(fit), lost
        assert op is not None
        if not state.key:
            raise no_key_for_feed(WATCH.noun)
        if op not in table.column_names:
            net_changes(state, table, op)  # which says so
        if len(table) == 0 and state.schema is None:
            fit, lost = fitted(table.drop_columns([op]), None, read, {}, batch)
            return state.inserting(fit), lost
        if state.schema is not None and not leaves_rows(table.column(op)):  # so nothing but keys is read
            return net_changes(state, table, op, Turns(self.options.order)), dict(self._told["lost"])
        fit, lost = fitted(table.drop_columns([op]), state.schema, read, self._told["lost"], batch)
        feed = fit.append_column(op, table.column(op))
        return net_changes(state, feed, op, Turns(self.options.order)), lost

    def _turn(
        self, batch: int, change: Change, clashes: Clashes, moved: tuple[Longs, Longs], schema: pa.Schema
    ) -> Turn:
        added, resolved = [], []
        numbers = self._ledger.numbers
        for name, (new, old) in change.pairs.items():
            if len(new[0]):
                added.append((lines_of(name, clashes[name][0], schema, batch), _marks(numbers[name], new)))
            resolved.append(_marks(numbers[name], old))
        dropped = [name for name in numbers if name not in change.pairs]
        return Turn(batch, added, PairMarks.joined(resolved), change.gone, moved, self.state.next_slot, dropped)

    def _record(self, batch: int, rows: int, change: Change, started: float) -> BatchRecord:
        rules = []
        for rule in self.state.rules:
            added, resolved = change.deltas[rule.name]
            rules.append(RuleRecord(rule.name, added, resolved, change.counts[rule.name], self.is_broken(rule)))
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        seconds = round(time.perf_counter() - started, 6)
        return BatchRecord(batch, now, rows, self.state.n_rows, seconds, tuple(rules))

    def is_broken(self, rule: Rule) -> bool:
        """Whether a rule has more violations than its tolerance allows."""
        with self._lock:
            store = self.state.stores[self.state.rules.index(rule)]
            if not store.count or not rule.tolerance:
                return store.count > 0
            rows, tolerance, engine = 0, rule.tolerance, LiveEngine.of(self.state)
            if tolerance.rows is not None and store.is_listed:
                rows = len(np.unique(np.concatenate(store.pairs(self.state.alive))))
            elif tolerance.rows is not None:
                (found,) = engine.measure([rule], counts=True)
                rows = found.finding.rows or 0
            suspects = None if tolerance.suspects is None else engine.blamed(rule)
            return not rule.allows(store.count, rows, self.state.n_rows, suspects)

    def _replace_rules(self, rules: Sequence[Rule]) -> None:
        """Watches other rules from now on: new ones are checked on the rows that are there."""
        state, told = self.state, dict(self._told)
        refuse_lost(rules, state.key, told["lost"])
        same = {rule.name: rule for rule in state.rules}
        dropped = [name for name, rule in same.items() if rule not in rules]
        found = state.with_rules(rules)
        self._kept.state = found
        if found.schema is not None:
            schema, batch = self._lines_schema(), BOOTSTRAP if self.batch is None else self.batch
            nothing = (_NOTHING, _NOTHING)
            gone = Turn(batch, [], PairMarks.joined([]), _NOTHING, nothing, found.next_slot, dropped)
            told["table"] = self._ledger.write(gone, schema, self._find)
            self._ledger.state = told["table"]
            self._ledger.rename_rules([rule.name for rule in rules])
            added = []
            for rule, store in zip(rules, found.stores, strict=True):
                if same.get(rule.name) != rule and store.is_listed and store.count:
                    pairs = store.pairs(found.alive)
                    lines = lines_of(rule.name, clashes_table(pairs, found.rows, found.key, ()), schema, batch)
                    added.append((lines, _marks(self._ledger.numbers[rule.name], pairs)))
            come = Turn(batch, added, PairMarks.joined([]), _NOTHING, nothing, found.next_slot)
            told["table"] = self._ledger.write(come, schema, self._find)
        else:
            self._ledger.rename_rules([rule.name for rule in rules])
        self._kept.told = {STREAM: told}
        self._directory.commit(self._kept)
        if told["table"] is not None:
            self._ledger.show(told["table"])

    def _lines_schema(self) -> pa.Schema:
        schema = self.state.known_schema()
        return lines_schema({name: schema.field(name).type for name in self.state.key})

    def _find(self, lines: pa.Table, side: str) -> Longs:
        """The slots of the rows on one side of some violations; -1 where there is none."""
        if not self.state.key:
            return np.asarray(lines.column(side).fill_null(-1)).astype(np.int64)
        frame, found = self.state.frame, np.full(len(lines), -1, np.int64)
        assert frame is not None
        columns = {name: lines.column(f"{side}_{name}").cast(frame.schema.field(name).type) for name in self.state.key}
        there = np.flatnonzero(np.asarray(columns[self.state.key[0]].is_valid()))
        keys = pa.table({name: column.take(pa.array(there)) for name, column in columns.items()})
        found[there] = frame.find(frame.columns.key_lines(ReadRows(keys), extend=False)[0], self.state)
        return found


def _moved(change: Change, slots: int) -> tuple[Longs, Longs]:
    """Rows that have other slots now: before, and after. Rows that came have the last slots."""
    if change.links is None:
        return _NOTHING, _NOTHING
    first = slots - len(change.coming)
    return change.gone[: len(change.links)], first + np.asarray(change.links, np.int64)


def _marks(rule: int, pairs: tuple[Longs, ...]) -> PairMarks:
    return PairMarks(np.full(len(pairs[0]), rule, np.int64), pairs[0].astype(np.int64), pairs[-1].astype(np.int64))
