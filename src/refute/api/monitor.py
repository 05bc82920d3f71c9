"""Violations of rules, kept true while rows are inserted, deleted and updated."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from refute.api.functions import check, suspects
from refute.api.tables import as_key
from refute.errors import DataError, OptionError, RefuteError, did_you_mean, whole_number
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
from refute.report.numbers import plural
from refute.report.suspects import Suspects
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
        self._setup(State(list(book), names, method, _bound(store, most_pairs)))

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
        nulls: str | Nulls | None = None,
        method: str | None = None,
        store: str | None = None,
        most_pairs: int | None = None,
    ) -> Monitor:
        """The monitor that a folder holds, as of its last commit; with `rules`, a new one where there is none.

        Changes are on the disk once `commit()` has returned; those since are gone when the process ends. In a `with`
        block the end commits, unless an error ends it. `verify` holds every file against its checksum first. Other
        options are those of `Monitor`; where there is a monitor, it must have what is given.
        """
        given = {"nulls": nulls, "method": method, "store": store, "most_pairs": most_pairs}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        place = local_path(folder, "a monitor needs a folder of this machine")
        found: Monitor = object.__new__(cls)
        if (place / MANIFEST).exists():
            directory, state = Directory.open(place, verify=verify)
            found._setup(state, directory)
            try:
                found._check_same(rules, key, nulls, method, store, most_pairs)
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
        """Lets the folder go. What was not committed is not kept. The monitor can still be asked, but not changed."""
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
            if len(self.rules) == 1:
                raise OptionError("this is the only rule of the monitor; add another before it is dropped")
            self._replace([one for place, one in enumerate(self.rules) if place != number])

    def _replace(self, rules: list[Rule]) -> None:
        self._state = self._state.with_rules(rules)

    def _check_same(
        self,
        rules: Any,
        key: str | Sequence[str] | None,
        nulls: str | Nulls | None,
        method: str | None,
        store: str | None,
        most_pairs: int | None,
    ) -> None:
        """Raises OptionError where something is given that the monitor in the folder does not have."""
        if key is not None and as_key(key) != self.key:
            raise OptionError(f"the monitor there has the key {', '.join(self.key) or 'none'}; leave key= out")
        if method is not None:
            _one_of("method", method, METHODS)
            if method != self._state.method:
                raise OptionError(f"the monitor there has the method {self._state.method}; leave method= out")
        if store is not None or most_pairs is not None:
            bound = _bound(store or "auto", MOST_PAIRS if most_pairs is None else most_pairs)
            if bound != self._state.most:
                raise OptionError("the monitor there keeps more or fewer pairs; leave store= and most_pairs= out")
        known = {_said(rule): rule.name for rule in self.rules}
        if rules is not None:
            book = RuleBook.of(rules)
            book = book if nulls is None else book.with_nulls(Nulls.of(nulls))
            asked = {_said(rule): rule.name for rule in book}
            for said in asked.keys() ^ known.keys():
                name = (asked | known)[said]
                told = f"has no rule {name!r}" if said in asked else f"has a rule {name!r} more"
                if name in asked.values() and name in known.values():
                    told = f"has another rule, condition, tolerance, severity or way with nulls under {name!r}"
                raise OptionError(f"the monitor there {told}; leave rules out, then use add() and drop()")
        elif nulls is not None and any(rule.nulls is not Nulls.of(nulls) for rule in self.rules):
            raise OptionError("the rules of the monitor there read nulls in another way; leave nulls= out")

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
        """Adds rows whose keys are new: a table, or a list with one dict for each row."""
        with self._lock:
            self._in_use()
            rows = arrow_of(table, self._state.schema)
            return self._changed(self._state.inserting(rows))

    def delete(self, keys: Any) -> Changes:
        """Takes the rows of these keys away.

        Keys are a table with the key columns, or a list: of values for a key of one column, else of tuples or dicts.
        Without a key, they are the numbers of rows.
        """
        with self._lock:
            self._in_use()
            return self._changed(self._state.deleting(self._keys(keys)))

    def update(self, table: Any) -> Changes:
        """Puts rows in the place of those that have their keys. A pair that clashes as before is not a change."""
        with self._lock:
            self._in_use()
            if not self.key:
                raise OptionError("rows are known by their number here, so none can be updated; give the monitor a key")
            rows = arrow_of(table, self._state.known_schema())
            return self._changed(self._state.updating(rows))

    def apply(self, changes: Any, *, op: str = "op") -> Changes:
        """Carries a feed of changes out, in its order, as one change.

        The column `op` says `insert`, `update` or `delete` for each row; for the last only the key columns matter.
        """
        with self._lock:
            self._in_use()
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

    @property
    def suspects(self) -> Suspects:
        """The few rows to blame at this moment, as `refute.suspects` gives them for the rows that there are."""
        with self._lock:
            return suspects(self, RuleBook.of(list(self.rules)))

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
        if column.null_count:
            raise DataError("the number of a row is null; rows are numbered from 0 on, in the order in which they came")
        return np.asarray(column.to_numpy())

    def _number(self, rule: Any) -> int:
        """The place of a rule that is named, or given as what `Monitor` takes."""
        names = [one.name for one in self._state.rules]
        name = rule.name if isinstance(rule, Rule) else rule if isinstance(rule, str) else None
        if name in names:
            return names.index(name)
        try:
            wanted = Rule.of(rule)
        except RefuteError:
            if name is None:
                raise
        else:
            for number, one in enumerate(self._state.rules):
                if (one.constraint, one.where) == (wanted.constraint, wanted.where):
                    return number
        told = name or str(rule)
        hint = did_you_mean(told, names) or f" Its rules are {', '.join(names)}"
        raise OptionError(f"the monitor has no rule {told!r}.{hint}", rule=told)

    def _changed(self, change: Change) -> Changes:
        self._state.carry_out(change)
        if self._directory is not None:
            self._directory.note(change, self._state.version)
        return self._told(change)

    def _told(self, change: Change) -> Changes:
        return Changes(change.counts, change.deltas, change.pairs, change.rows, self.key)

    def __repr__(self) -> str:
        parts = (len(self.rules), "rule"), (len(self), "row"), (sum(self.counts.values()), "violation")
        return f"Monitor({', '.join(plural(number, noun) for number, noun in parts)})"

    def _repr_html_(self) -> str:
        return self.report().to_html()


def _bound(store: str, most_pairs: int) -> int:
    """How many pairs of a rule are kept."""
    _one_of("store", store, STORES)
    most = whole_number("most_pairs", most_pairs)
    if most < 1:
        raise OptionError(f"most_pairs must be at least 1, not {most_pairs}")
    return {"auto": most, "pairs": 1 << 62, "counts": 0}[store]


def _said(rule: Rule) -> tuple[object, ...]:
    """All of a rule that a result depends on."""
    return rule.name, rule.constraint, rule.where, rule.nulls, rule.severity, rule.tolerance


def _one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise OptionError(f"unknown {what} {value!r}; choose from {', '.join(known)}.{did_you_mean(str(value), known)}")
