"""The one who takes the batches of a stream into a folder, each of them once."""

from __future__ import annotations

import datetime as dt
import os
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from refute.durable.directory import Directory
from refute.durable.lock import keeping
from refute.durable.manifest import NAME as MANIFEST
from refute.errors import OptionError
from refute.faults import nothing_kept
from refute.language.rulebook import Rule
from refute.live.engine import LiveEngine
from refute.live.saved import KeptState
from refute.live.state import State
from refute.watching.here import RowsHere
from refute.watching.intake import Intake, read_by, refuse_lost
from refute.watching.kept import STREAM, WATCH, Kept
from refute.watching.outcome import BatchOutcome, of_rules
from refute.watching.places import WatchPlaces
from refute.watching.publishing import published
from refute.watching.publishing.ledger import LedgerTuning
from refute.watching.publishing.published import Published, next_change
from refute.watching.publishing.table_parts import lines_schema
from refute.watching.records import DRIVER, EXECUTORS, BatchRecord, Instant, RuleRecord
from refute.watching.refusals import foreign, other_moment, refuse_others, refuse_remains
from refute.watching.rule_changes import list_anew, replace_rules
from refute.watching.shards.assembling import assembled
from refute.watching.shards.elsewhere import RowsElsewhere
from refute.watching.shards.files import not_shared
from refute.watching.shards.kept import KeptShards, refuse_lacking, swept
from refute.watching.shards.runner import Runner
from refute.watching.shards.shard_layout import ShardTuning

LOGGED_ROWS = 1 << 20  # rows in logs from which a state is written: batches are large
DRIVER_BYTES = 1 << 30  # of rows and indexes that are here, unless another limit is given
BOOTSTRAP = -1  # the number of the batch that a table is which was there first
_NEW: dict[str, Any] = {
    "batch": None,
    "query": None,
    "plan": None,
    "lost": {},
    "began": False,
    "op": None,
    **published.NEW,
}


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """How the rows of a stream are read: rules, the key, and what says which of them change others."""

    rules: tuple[Rule, ...] | None  # None: those of the folder
    key: tuple[str, ...] | None = None
    op: str | None = None
    order: str | None = None
    most_pairs: int = 10_000_000
    driver_bytes: int | None = None  # of rows and indexes here, beyond which they are in shards; None: a usual limit
    log_rows: int = LOGGED_ROWS
    tuning: LedgerTuning = field(default_factory=LedgerTuning)
    shards: ShardTuning = field(default_factory=ShardTuning)


class Watcher:
    """Rows and violations of a stream in a folder, which nobody else can have open. Batches may come in any thread."""

    def __init__(
        self, places: WatchPlaces, options: WatchOptions, directory: Directory[Kept], kept: Kept, runner: Runner | None
    ) -> None:
        self.places = places
        self.options = options
        self._directory = directory
        self._runner = runner
        self._held: RowsHere | RowsElsewhere
        if isinstance(kept, KeptShards):
            self._held = RowsElsewhere(kept, places, runner, options.shards)
        else:
            self._held = RowsHere(kept)
        self._lock = threading.RLock()
        self._closed = False
        places.make()
        self._published = Published(places, self.key, [rule.name for rule in self.rules], options.tuning)
        self._ledger = self._published.table
        self._published.open(self._told)
        last = self._told["last"]
        self.before: Instant | None = None if last is None else BatchRecord.of(last).instant
        self.rule_change: BatchRecord | None = None
        self.new_rules: tuple[Rule, ...] = ()  # since it was opened

    @classmethod
    def open(cls, folder: Path, options: WatchOptions, runner: Runner | None = None) -> Watcher:
        """The watch in a folder as of its last commit, with these rules; a new one if there is none.

        Rows are in shards only where there is a runner for tasks, and a key. Raises EngineError where another has it
        open, OptionError for another key, DataError where the stream that it belongs to is not the one of its
        checkpoint.
        """
        places = WatchPlaces(folder)
        directory: Directory[Kept]
        kept: Kept
        if (places.state / MANIFEST).exists():
            directory, kept = Directory.open(places.state, WATCH, verify=True, log_rows=options.log_rows)
        elif options.rules is None:
            raise nothing_kept(WATCH.noun, str(folder), "state", " Give rules, and a key, to start one there.")
        else:
            refuse_remains(places)
            with keeping(folder, WATCH.noun):
                folder.mkdir(parents=True, exist_ok=True)
            state = State(options.rules, options.key or (), "auto", options.most_pairs)
            kept = KeptState(state, {STREAM: dict(_NEW)})
            directory = Directory.create(places.state, WATCH, kept, log_rows=options.log_rows)
        try:
            if kept.schema is None and options.key is not None and options.key != kept.key:
                kept.take_key(options.key)  # as no row has come yet
            refuse_others(places, kept, options.key, options.op)
            if isinstance(kept, KeptShards):
                refuse_lacking(places.shards, kept)
            with keeping(folder, WATCH.noun):
                found = cls(places, options, directory, kept, runner)
        except BaseException:
            directory.close()
            raise
        if found._ledger.is_lost:
            found._closing_on_failure(found._list_anew)
        if options.rules is not None:
            known = {rule.terms: rule for rule in found.rules}
            rules = tuple(known.get(rule.terms, rule) for rule in options.rules)
            if rules != found.rules:
                found._closing_on_failure(lambda: found._replace_rules(rules))
        found._closing_on_failure(lambda: found._settle(opening=True))
        return found

    @property
    def state(self) -> State:
        """Rows and violations, where these are here."""
        assert isinstance(self._held, RowsHere), "rows are elsewhere"
        return self._held.state

    @property
    def is_elsewhere(self) -> bool:
        """Whether rows are in shards, so batches need not come to this process."""
        return isinstance(self._held, RowsElsewhere)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        return self._held.rules

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self._held.key

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return self._held.schema

    @property
    def batch(self) -> int | None:
        """The last batch that was taken; None before the first."""
        batch: int | None = self._told["batch"]
        return batch

    @property
    def _told(self) -> dict[str, Any]:
        told: dict[str, Any] = self._held.kept.told[STREAM]
        return told

    def live_engine(self, *, newest_first: bool = False) -> LiveEngine:
        """The engine for the rows of the last batch; it lists violations as they came, or `newest_first`."""
        with self._lock:
            return self._held.engine(newest_first=newest_first)

    def listing(self, rule: Rule, limit: int | None) -> LiveEngine:
        """An engine that lists the violations of a rule, at most `limit` of them, as of the last batch."""
        with self._lock:
            return self._held.listing(rule, limit)

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

    def bootstrap(self, table: Any) -> BatchRecord | None:
        """Takes a table in that was there before the stream; None where that has been done, in an earlier run.

        As with batches, rows in shards may come from a table that the runner reads.
        """
        with self._lock:
            if self._told["began"]:
                return None
            if self.batch is not None:
                raise OptionError(
                    f"{self.places.folder} already has rows from its stream, so it cannot start from a table.",
                    option="bootstrap",
                    path=str(self.places.folder),
                )
            found: BatchRecord | None = self._closing_on_failure(lambda: self._taken(BOOTSTRAP, None, table, fed=False))
            return found

    def take(self, batch: int, query: str | None, table: Any) -> BatchRecord | None:
        """Takes the rows of a batch in, and commits them; None where that was done before, or there is nothing in it.

        Raises DataError where this is not the batch that comes next. After any error it is closed, with nothing taken.
        """
        with self._lock:
            if not self.expects(batch, query):
                return None
            fed = self.options.op is not None
            found: BatchRecord | None = self._closing_on_failure(lambda: self._taken(batch, query, table, fed=fed))
            return found

    def expects(self, batch: int, query: str | None) -> bool:
        """Whether a batch has not been taken yet; raises DataError where it is not the one that comes next."""
        with self._lock:
            return bool(self._closing_on_failure(lambda: self._is_next(batch, query)))

    def _closing_on_failure(self, act: Any) -> Any:
        if self._closed:
            raise OptionError(f"The watch in {self.places.folder} is closed. Start it again.", type=WATCH.noun)
        try:
            with keeping(self.places.folder, WATCH.noun):
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
            raise other_moment(self.places, batch, last)
        return True

    def _taken(self, batch: int, query: str | None, rows: Any, *, fed: bool) -> BatchRecord | None:
        if isinstance(rows, pa.Table) and not rows.num_columns and self.schema is None and batch != BOOTSTRAP:
            self._held.pass_over()  # empty files, of which not even the columns are known
            self._commit(self._told | self._come(batch, query))
            return None
        started = time.perf_counter()
        held, told = self._held, dict(self._told)
        read = read_by(held.rules, held.key)
        if self.options.order is not None and fed:
            read.setdefault(self.options.order, "the order of changes")
        intake = Intake(batch, fed, self.options.op, self.options.order, read, told["lost"])
        listed = held.listed
        outcome, told["lost"] = held.taken(intake, rows, self._directory, self._ledger)
        schema = self._lines_schema()
        told |= self._come(batch, query)
        told |= {"began": told["began"] or batch == BOOTSTRAP, "op": self.options.op if fed else told.get("op")}
        ledger, hidden = self._ledger, sorted(listed - outcome.pairs.keys())  # as they are too many
        left = of_rules(0, dict.fromkeys(hidden, 0), {}, ledger.open_of(hidden, held.find), {}, held.key)
        table = ledger.write(outcome.turn(batch, schema, ledger.numbers), schema, held.find)
        record = self._record(Instant(batch), outcome, started)
        self._publish(self._published.written(told, table, (outcome, left), schema, record))
        self._settle()
        return record

    def _publish(self, told: dict[str, Any]) -> None:
        """Commits what has changed, and lets readers see it."""
        self._commit(told)
        self._published.show(told)

    def _come(self, batch: int, query: str | None) -> dict[str, Any]:
        """How far the stream has come with a batch."""
        return {"batch": batch, "query": query, "plan": self.places.plan(batch)}

    def _commit(self, told: dict[str, Any]) -> None:
        """Commits what has changed, with how far the stream has come; files of shards that are no longer used go."""
        kept = self._held.kept
        kept.told = {STREAM: told}
        self._directory.commit(kept)
        if self.places.shards.is_dir():
            swept(self.places.shards, kept if isinstance(kept, KeptShards) else None, kept.version)

    def expect(self, n_bytes: int) -> None:
        """Hears that so many bytes of rows and indexes will come at once, before they do."""
        with self._lock:
            self._closing_on_failure(lambda: self._settle(coming=n_bytes))

    def _settle(self, *, opening: bool = False, coming: int = 0) -> None:
        """Has rows where they belong: here as long as they are few, else in shards, of which none is too large."""
        held, runner, given = self._held, self._runner, self.options.driver_bytes
        if runner is None:
            return
        limit = DRIVER_BYTES if given is None else given
        if isinstance(held, RowsHere):
            if held.state.nbytes + coming <= limit or not self._may_go(runner):
                return
            self._held = RowsElsewhere.of(held.state, held.kept.told, self.places, runner, self.options.shards)
            self._ledger.forget_marks()
        elif opening and limit > 0 and held.kept.n_bytes <= limit // 2:
            state = assembled(held.kept, self.places)
            state.version += 1
            self._held = RowsHere(KeptState(state, held.kept.told))
            self._ledger.forget_marks()
        elif held.has_grown():
            held.lay_out_anew()
        else:
            return
        self._commit(self._told)

    def _may_go(self, runner: Runner) -> bool:
        """Whether rows can be in shards; raises an error where that was asked for and they cannot."""
        asked = self.options.driver_bytes is not None
        if not self.key:
            if asked:
                raise OptionError(
                    "Rows on the executors need a key. Name it with key=, or use a larger driver_bytes.",
                    option="driver_bytes",
                    value=self.options.driver_bytes,
                )
            return False
        os.makedirs(self.places.shards, exist_ok=True)
        if runner.sees(self.places.shards):
            return True
        if asked:
            raise not_shared(self.places.shards)
        return False

    def _record(self, instant: Instant, outcome: BatchOutcome, started: float) -> BatchRecord:
        broken = {rule.name: self.is_broken(rule) for rule in self.rules}
        dropped = [name for name, both in outcome.deltas.items() if any(both) and name not in broken]
        rules = [
            RuleRecord(name, *outcome.deltas[name], outcome.counts.get(name, 0), broken.get(name, False))
            for name in (*broken, *dropped)
        ]
        now = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        seconds = round(time.perf_counter() - started, 6)
        where = EXECUTORS if self.is_elsewhere else DRIVER
        batch, change = instant
        return BatchRecord(batch, now, outcome.rows, outcome.n_rows, seconds, tuple(rules), where, change)

    def is_broken(self, rule: Rule) -> bool:
        """Whether a rule has more violations than its tolerance allows."""
        with self._lock:
            count, tolerance = self._held.counts[rule.name], rule.tolerance
            if not count or not tolerance:
                return count > 0
            rows = 0 if tolerance.rows is None else self._held.violating_rows(rule, self._ledger)
            suspects = None if tolerance.suspects is None else self._held.blamed(rule)
            return not rule.allows(count, rows, self._held.n_rows, suspects)

    def _replace_rules(self, rules: Sequence[Rule]) -> None:
        """Watches other rules from now on."""
        started = time.perf_counter()
        held, told, ledger = self._held, dict(self._told), self._ledger
        refuse_lost(rules, held.key, told["lost"])
        if held.schema is None:
            held.with_rules(rules)
            ledger.rename_rules([rule.name for rule in rules])
            self._commit(told)
            return
        self.new_rules = tuple(rule for rule in rules if rule not in held.rules)
        instant, schema = next_change(told), self._lines_schema()
        outcome = replace_rules(held, ledger, rules, instant.batch, schema)
        self.rule_change = self._record(instant, outcome, started)
        told["rule_changes"] = instant.rule_change
        self._publish(self._published.written(told, str(ledger.state), [outcome], schema, self.rule_change))

    def _list_anew(self) -> None:
        """Lists open violations again, as the table of violations is gone."""
        said = f"{self.places.tables} is missing. Open violations are listed again, as of the last batch."
        warnings.warn(said, RuntimeWarning, 2)
        list_anew(self._held, self._ledger, next_change(self._told).batch, self._lines_schema())
        self._commit(self._told | {"table": self._ledger.state, "lines": self._ledger.lines})
        self._ledger.show(str(self._ledger.state))

    def _lines_schema(self) -> pa.Schema:
        schema = self._held.schema
        assert schema is not None, "the first batch says which columns there are"
        return lines_schema({name: schema.field(name).type for name in self._held.key})
