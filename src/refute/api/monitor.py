"""Violations of rules, kept true while rows are inserted, deleted and updated."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refute.api.functions import check
from refute.api.tables import as_key
from refute.errors import DataError, OptionError, did_you_mean, whole_number
from refute.language.addresses import local_path
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.live.arrivals import arrow_of, key_table
from refute.live.changes import Changes
from refute.live.durable.directory import Directory
from refute.live.durable.manifest import NAME as MANIFEST
from refute.live.engine import LiveEngine
from refute.live.feed import net_changes
from refute.live.state import Change, State
from refute.report import Report
from refute.report.violations import Violations

METHODS = ("auto", "runs", "lt_tree")
STORES = ("auto", "pairs", "counts")
MOST_PAIRS = 10_000_000  # of a rule that are kept with `store="auto"`: 160 MB


class Monitor:
    """Rows that come and go, and at every moment the violations of all rules among them.

    `key` names the columns by which rows are known; without one, rows are known by their number in the order in which
    they came. Every change is whole or not at all: what cannot be done is refused with a message that names the first
    offenders, and nothing has changed then. Several threads may use a monitor: a change waits for the one before, and
    what is read is of a whole number of changes.

    `store` says whether violations are kept as pairs or only counted: `auto` keeps up to `most_pairs` of a rule, and
    counts those of a rule that has more.
    """

    def __init__(
        self,
        rules: Any,
        *,
        key: str | Sequence[str] | None = None,
        nulls: str | Nulls | None = None,
        method: str = "auto",
        store: str = "auto",
        most_pairs: int = MOST_PAIRS,
    ) -> None:
        book = RuleBook.of(rules)
        book = book if nulls is None else book.with_nulls(Nulls.of(nulls))
        names = as_key(key) or tuple(book.key)
        _one_of("method", method, METHODS)
        _one_of("store", store, STORES)
        most = whole_number("most_pairs", most_pairs)
        if most < 1:
            raise OptionError(f"most_pairs must be at least 1, not {most_pairs}")
        bound = {"auto": most, "pairs": 1 << 62, "counts": 0}[store]
        self._setup(State(list(book), names, method, bound))

    def _setup(self, state: State, directory: Directory | None = None) -> None:
        self._lock = threading.RLock()
        self._state = state
        self._directory = directory
        self._closed = False

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        rules: Any = None,
        *,
        key: str | Sequence[str] | None = None,
        verify: bool = True,
        **options: Any,
    ) -> Monitor:
        """The monitor that a folder holds, as of its last commit; with `rules`, a new one where there is none.

        Changes are on the disk once `commit()` has returned; those since are gone when the process ends. In a `with`
        block the end commits, unless an error ends it. `verify` holds every file against its checksum first. Options
        are those of `Monitor`.
        """
        place = Path(local_path(folder))
        found: Monitor = object.__new__(cls)
        if (place / MANIFEST).exists():
            directory, state = Directory.open(place, verify=verify)
            found._setup(state, directory)
            try:
                found._check_same(rules, key)
            except BaseException:
                directory.close()
                raise
            return found
        if rules is None:
            raise DataError(
                f"{place} holds no monitor: it has no {MANIFEST}; give rules, and a key, to begin one there",
                file=str(place),
            )
        begun = cls(rules, key=key, **options)
        found._setup(begun._state, Directory.create(place, begun._state))
        return found

    def commit(self) -> None:
        """Brings all changes since the last commit to the disk; they outlive the process once this returns."""
        with self._lock:
            self._in_use()
            if self._directory is None:
                raise OptionError("this monitor lives in memory; use Monitor.open(folder, rules, key=...) to keep one")
            self._directory.commit(self._state)

    def close(self) -> None:
        """Lets the folder go. What was not committed is not kept; nothing can be asked afterwards."""
        with self._lock:
            if not self._closed and self._directory is not None:
                self._directory.close()
            self._closed = True

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None and self._directory is not None and not self._closed:
                self.commit()
        finally:
            self.close()

    def add(self, rules: Any) -> dict[str, int]:
        """Watches more rules, over the rows that are there too; how many violations each of them has."""
        with self._lock:
            self._in_use()
            new = list(RuleBook.of(rules))
            known = {rule.name for rule in self.rules}
            for rule in new:
                if rule.name in known:
                    raise OptionError(f"the monitor has a rule {rule.name!r} already; drop it first", rule=rule.name)
            self._replace([*self.rules, *new])
            return {rule.name: self.count(rule) for rule in new}

    def drop(self, rule: Any) -> None:
        """Watches a rule no longer."""
        with self._lock:
            self._in_use()
            number = self._number(rule)
            self._replace([one for place, one in enumerate(self.rules) if place != number])

    def _replace(self, rules: list[Rule]) -> None:
        self._state = self._state.with_rules(rules)

    def _check_same(self, rules: Any, key: str | Sequence[str] | None) -> None:
        """Raises OptionError where rules or a key are given that the folder does not have."""
        if key is not None and as_key(key) != self.key:
            raise OptionError(f"the monitor there has the key {', '.join(self.key) or 'none'}; leave key= out")
        if rules is not None:
            asked = {rule.constraint for rule in RuleBook.of(rules)}
            if asked != {rule.constraint for rule in self.rules}:
                raise OptionError("the monitor there has other rules; leave rules out, then use add() and drop()")

    def _in_use(self) -> None:
        if self._closed:
            raise OptionError("the monitor is closed; open it again")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        return self._state.rules

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which rows are known."""
        return self._state.key

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return self._state.schema

    def __len__(self) -> int:
        with self._lock:
            return self._state.n_rows

    def insert(self, table: Any) -> Changes:
        """Adds rows whose keys are new."""
        with self._lock:
            rows = arrow_of(table, self._state.schema)
            return self._changed(self._state.inserting(rows))

    def delete(self, keys: Any) -> Changes:
        """Takes the rows of these keys away: a table with the key columns, or values for a key of one column."""
        with self._lock:
            return self._changed(self._state.deleting(self._keys(keys)))

    def update(self, table: Any) -> Changes:
        """Puts rows in the place of those that have their keys. A pair that still clashes is no change."""
        with self._lock:
            if not self.key:
                raise OptionError("rows are known by their number here, so none can be updated; give the monitor a key")
            rows = arrow_of(table, self._state.known_schema())
            return self._changed(self._state.updating(rows))

    def apply(self, changes: Any, *, op: str = "op") -> Changes:
        """Carries a feed of changes out, in its order, as one change.

        The column `op` says `insert`, `update` or `delete` for each row; for the last only the key columns matter.
        """
        with self._lock:
            if not self.key:
                raise OptionError("a feed of changes needs a key by which rows are known; give the monitor one")
            return self._changed(net_changes(self._state, changes, op))

    def would_violate(self, table: Any) -> Changes:
        """What `insert` of these rows would change; nothing is."""
        with self._lock:
            rows = arrow_of(table, self._state.schema)
            return self._told(self._state.supposed(rows))

    def count(self, rule: Any) -> int:
        """How many violations of a rule there are: ordered pairs of rows, or rows for a rule about one row."""
        with self._lock:
            return self._state.stores[self._number(rule)].count

    @property
    def counts(self) -> dict[str, int]:
        """How many violations of each rule there are."""
        with self._lock:
            return {rule.name: store.count for rule, store in zip(self._state.rules, self._state.stores, strict=True)}

    def violations(self, rule: Any, limit: int | None = None) -> Violations:
        """The clashing rows of a rule, as `refute.violations` gives them."""
        with self._lock:
            return Violations(self.live_engine(), self._state.rules[self._number(rule)], limit)

    @property
    def rows(self) -> pa.Table:
        """The rows that are in some violation, with a column `refute` that says in which, as a report has it."""
        with self._lock:
            marked = self.live_engine().marked(list(self.rules))
        return marked.filter(pc.greater(pc.list_value_length(marked.column(marked.num_columns - 1)), 0))

    def table(self) -> pa.Table:
        """All rows, in the order in which they came."""
        with self._lock:
            return self._state.living()[1]

    def report(self) -> Report:
        """The report of all rules, as `refute.check` gives it."""
        with self._lock:
            return check(self, RuleBook.of(list(self.rules)))

    def live_engine(self) -> LiveEngine:
        """The rows of this moment, as the one who answers for them."""
        with self._lock:
            return LiveEngine.of(self._state)

    def _keys(self, keys: Any) -> pa.Table | np.ndarray[Any, np.dtype[np.int64]]:
        schema = self._state.known_schema()
        if self.key:
            return key_table(keys, schema, self.key)
        column = key_table(keys, pa.schema([("number", pa.int64())]), ["number"]).column(0)
        return np.asarray(column.to_numpy())

    def _number(self, rule: Any) -> int:
        names = [one.name for one in self._state.rules]
        if isinstance(rule, str) and rule in names:
            return names.index(rule)
        name = rule.name if isinstance(rule, Rule) else None
        if name in names:
            return names.index(name)
        if not isinstance(rule, str):
            wanted = Rule.of(rule).constraint
            for number, one in enumerate(self._state.rules):
                if one.constraint == wanted:
                    return number
        told = name or str(rule)
        raise OptionError(f"the monitor has no rule {told!r}.{did_you_mean(told, names)}", rule=told)

    def _changed(self, change: Change) -> Changes:
        self._in_use()
        self._state.carry_out(change)
        if self._directory is not None:
            self._directory.note(change, self._state.version)
        return self._told(change)

    def _told(self, change: Change) -> Changes:
        return Changes(change.counts, change.deltas, change.pairs, change.rows, self.key)

    def __repr__(self) -> str:
        open_ones = sum(self.counts.values())
        return f"Monitor({len(self.rules)} rules, {len(self):,} rows, {open_ones:,} violations)"


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"unknown {what} {value!r}; choose from {', '.join(known)}.{did_you_mean(str(value), known)}")
