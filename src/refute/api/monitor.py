"""Violations of rules, kept up to date while rows are inserted, deleted and updated."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from refute.api.functions import check, suspects
from refute.api.lasting import Lasting, folder_of
from refute.api.monitor_options import METHODS, MOST_PAIRS, bound_of, check_same, one_of
from refute.api.tables import as_key
from refute.display.markup import table_part
from refute.display.plurals import plural
from refute.durable.directory import LOGGED_ROWS, Directory
from refute.durable.manifest import NAME as MANIFEST
from refute.errors import OptionError, RefuteError
from refute.faults import no_key_for_feed, no_key_to_update, nothing_kept, unknown_rule
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook, RuleKind
from refute.live.arrivals import arrow_of, named_rows
from refute.live.changes import Changes
from refute.live.engine import LiveEngine
from refute.live.feed import net_changes
from refute.live.saved import MONITOR, KeptState, logged
from refute.live.state import Change, State
from refute.report import Report, Suspects
from refute.report.violations import Violations


class Monitor(Lasting[KeptState]):
    """Rows that come and go, and the violations of all rules among them at any time.

    `key` names the columns that identify a row; without a key, rows are numbered in the order of their arrival. A
    change is made completely or not at all: an error names the first offending rows, and then nothing is changed.
    Several threads can use a monitor: changes are made one at a time, and readers never see part of one.

    `store` sets whether violations are kept as pairs or only counted: `auto` keeps up to `most_pairs` pairs of a rule,
    and only counts those of a rule with more.
    """

    _sort = MONITOR
    _start_hint = "Monitor.open(folder, rules, key=...)"

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
        refuse_other_tables(book, "monitor")
        one_of("method", method, METHODS)
        self._setup(State(list(book), names, method, bound_of(store, most_pairs)))

    def _setup(self, state: State, directory: Directory[KeptState] | None = None) -> None:
        self._begin(directory)
        self._state = state

    def _to_keep(self) -> KeptState:
        return KeptState(self._state)

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
        log_rows: int = LOGGED_ROWS,
    ) -> Monitor:
        """The monitor in a folder, as of its last commit; if there is none, a new one with these rules.

        Changes are on disk once `commit()` returns; later changes are lost when the process ends. A `with` block
        commits at its end, unless an error ends it. With `verify`, the checksum of every file is verified first.
        Changes go to a log; once it holds more than `log_rows` rows, the state itself is written in the background.
        Fewer rows make opening faster, as the log is replayed, and writing more frequent. The other options are those
        of `Monitor`; an existing monitor must match the options given.
        """
        given = {"nulls": nulls, "method": method, "store": store, "most_pairs": most_pairs}
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        place, log_rows = folder_of(folder, MONITOR.noun, log_rows)
        found: Monitor = object.__new__(cls)
        if (place / MANIFEST).exists():
            directory, kept = Directory.open(place, MONITOR, verify=verify, log_rows=log_rows)
            state = kept.state
            found._setup(state, directory)
            try:
                check_same(state, rules, key, nulls, method, store, most_pairs)
            except BaseException:
                directory.close()
                raise
            return found
        if rules is None:
            raise nothing_kept(MONITOR.noun, str(place), MANIFEST, " Give rules, and a key, to start one there.")
        begun = cls(rules, key=key, **options)
        state = begun._state
        found._setup(state, Directory.create(place, MONITOR, KeptState(state), log_rows=log_rows))
        return found

    def add(self, rules: Any) -> dict[str, int]:
        """Adds rules and checks them on the rows that are there; how many violations each of them has.

        A rule without a name gets one that no other has; one that is watched already is refused.
        """
        with self._lock:
            self._in_use()
            known = {rule.name: rule for rule in self.rules}
            given = list(rules) if isinstance(rules, Iterator) else rules
            new = list(RuleBook.of(given, taken=known))
            refuse_other_tables(new, "monitor")
            for rule, suggested in zip(new, RuleBook.of(given), strict=True):
                there = known.get(suggested.name)
                same = there is not None and (there.constraint, there.where) == (rule.constraint, rule.where)
                if rule.name in known or same:
                    name = suggested.name
                    raise OptionError(f"The monitor already has a rule {name!r}. Drop it first.", rule=name)
            self._replace([*self.rules, *new])
            return {rule.name: self.count(rule) for rule in new}

    def drop(self, rule: Any) -> None:
        """Removes a rule."""
        with self._lock:
            self._in_use()
            number = self._number(rule)
            if len(self.rules) == 1:
                raise OptionError(
                    "This is the monitor's only rule. Add another before you drop it.", rule=self.rules[number].name
                )
            self._replace([one for place, one in enumerate(self.rules) if place != number])

    def _replace(self, rules: list[Rule]) -> None:
        self._state = self._state.with_rules(rules)

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        return self._state.rules

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self._state.key

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return self._state.schema

    def __len__(self) -> int:
        with self._lock:
            return self._state.n_rows

    def insert(self, table: Any) -> Changes:
        """Adds rows with new keys: a table, or a list with one dict per row."""
        with self._lock:
            self._in_use()
            rows = arrow_of(table, self._state.schema)
            return self._changed(self._state.inserting(rows))

    def delete(self, keys: Any) -> Changes:
        """Removes the rows with these keys.

        Keys are a table with the key columns, or a list: of values if the key is one column, otherwise of tuples or
        dicts. Without a key, they are row numbers.
        """
        with self._lock:
            self._in_use()
            return self._changed(self._state.deleting(named_rows(keys, self._state.known_schema(), self.key)))

    def update(self, table: Any) -> Changes:
        """Replaces the rows that have the same keys. A pair that clashed before and still does is not reported."""
        with self._lock:
            self._in_use()
            if not self.key:
                raise no_key_to_update("monitor")
            rows = arrow_of(table, self._state.known_schema())
            return self._changed(self._state.updating(rows))

    def apply(self, changes: Any, *, op: str = "op") -> Changes:
        """Applies a feed of changes in order, as a single change.

        The column `op` holds `insert`, `update` or `delete` for each row; to delete, only the key columns matter.
        """
        with self._lock:
            self._in_use()
            if not self.key:
                raise no_key_for_feed("monitor")
            return self._changed(net_changes(self._state, changes, op))

    def would_violate(self, table: Any) -> Changes:
        """What inserting these rows would change, without inserting them."""
        with self._lock:
            rows = arrow_of(table, self._state.schema)
            return self._changes(self._state.supposed(rows))

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
        """The clashing rows of a rule, as `refute.violations` returns them."""
        with self._lock:
            return Violations(self.live_engine(), self._state.rules[self._number(rule)], limit)

    @property
    def rows(self) -> pa.Table:
        """The rows in any violation, with a column `refute` that lists the rules they break, as in a report."""
        with self._lock:
            marked = self.live_engine().marked(list(self.rules))
        return marked.filter(pc.greater(pc.list_value_length(marked.column(marked.num_columns - 1)), 0))

    @property
    def suspects(self) -> Suspects:
        """The few rows to blame at this moment, as `refute.suspects` gives them for the rows that there are.

        They are found when they are first asked for, and kept until the next change.
        """
        with self._lock:
            return suspects(self, RuleBook.of(list(self.rules)))

    def table(self) -> pa.Table:
        """All rows, in the order of their arrival."""
        with self._lock:
            return self._state.living()[1]

    def report(self) -> Report:
        """The report of all rules, as `refute.check` returns it."""
        with self._lock:
            return check(self, RuleBook.of(list(self.rules)))

    def live_engine(self) -> LiveEngine:
        """The engine for the rows as they are now."""
        with self._lock:
            return LiveEngine.of(self._state)

    def _number(self, rule: Any) -> int:
        return place_of(rule, self._state.rules, "monitor")

    def _changed(self, change: Change) -> Changes:
        self._state.carry_out(change)
        if self._directory is not None:
            self._directory.note(logged(change), self._state.version)
        return self._changes(change)

    def _changes(self, change: Change) -> Changes:
        return Changes(change.counts, change.deltas, change.pairs, change.rows, self.key, self.rules)

    def __repr__(self) -> str:
        parts = (len(self.rules), "rule"), (len(self), "row"), (sum(self.counts.values()), "violation")
        return f"Monitor({', '.join(plural(number, noun) for number, noun in parts)})"

    def _repr_html_(self) -> str:
        """What is known of each rule: a report would look at all rows for the rules that are only counted."""
        return table_part(repr(self), ("rule", "violations"), list(self.counts.items()))


def refuse_other_tables(rules: Iterable[Rule], owner: str) -> None:
    """Raises OptionError for a rule that refers to another table: nobody would say here when that changes."""
    for rule in rules:
        if rule.kind is RuleKind.REFERENCES:
            raise OptionError(
                f"Rule {rule.name!r} refers to another table, which may change unnoticed, so a {owner} cannot keep it "
                "current. Leave it to refute.check.",
                rule=rule.name,
            )


def place_of(rule: Any, rules: Sequence[Rule], owner: str) -> int:
    """The place of a rule that is named, or given as what `Monitor` takes; raises OptionError where there is none."""
    names = [one.name for one in rules]
    name = rule.name if isinstance(rule, Rule) else rule if isinstance(rule, str) else None
    if name in names:
        return names.index(name)
    try:
        wanted = Rule.of(rule)
    except RefuteError:
        if name is None:
            raise
    else:
        for number, one in enumerate(rules):
            if (one.constraint, one.where) == (wanted.constraint, wanted.where):
                return number
    raise unknown_rule(name or str(rule), names, owner)
