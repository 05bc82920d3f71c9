"""The rules that a table obeys, kept exactly current while rows are inserted, deleted and updated."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from refute.api.tables import as_key, is_monitor, is_path, on_spark
from refute.discovery import CompleteDiscovery, Discovery, RuleSort
from refute.discovery.options import Options, options_of
from refute.discovery.result.discovery import Discovered
from refute.discovery.search import kinds_of, search
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.table import LocalTable
from refute.errors import OptionError
from refute.faults import no_key_for_feed, no_key_to_update
from refute.language.render.text import render_predicate, render_text
from refute.live.arrivals import arrow_of, named_rows
from refute.live.feed import net_changes
from refute.live.state import Change, State
from refute.relation import Relation
from refute.relation.read.files import read_local
from refute.report.numbers import plural
from refute.tracking.changes import RuleChanges
from refute.tracking.codes import Longs
from refute.tracking.methods import check_incdc, ways_of
from refute.tracking.rules import TrackedRules
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways

_FROZEN = "the predicates were chosen from the rows at the start, and stay as they are until refit()"


class Tracker:
    """Rows that come and go, and at every moment all minimal rules that they obey.

    The rules are those that `discover` would find from scratch, among the predicates that were chosen at the start:
    which columns are compared, with each other and with which constants, stays as it is until `refit()`; a column that
    gets its first null is only distinguished from then on. `key` names the columns by which rows are known; without
    one, rows are known by their number in the order in which they came. Every change is whole or not at all, as with a
    `Monitor`. Several threads may use a tracker, one at a time.
    """

    def __init__(
        self,
        table: Any,
        *,
        key: str | Sequence[str] | None = None,
        kinds: Iterable[str | RuleSort] | None = None,
        ways: Ways | None = None,
        **options: Any,
    ) -> None:
        """Discovers the rules of a table, by the options of `discover`; or takes a `Discovery`, with its options.

        `method` also takes 'incdc', for those who compare: rows that come are then held against the others by the
        indexes of that paper. So are `ways`: how much is kept, and by which way pairs are found.
        """
        self._lock = threading.RLock()
        self._ways, options = ways_of(ways, options)
        space: PredicateSpace | None = None
        if isinstance(table, Discovery):
            table, space, self._options = self._of_discovery(table, options)
        else:
            self._options = options_of(**options)
        if self._ways is not None and self._ways.incdc is not None:
            check_incdc(self._options)
        if self._options.time_limit is not None:
            raise OptionError("a tracker needs all rules of the start; leave time_limit= out", option="time_limit")
        self._kinds = kinds_of(kinds)
        self._state = State([], as_key(key), "auto", 0)
        first = self._state.inserting(arrow_of(_rows_of(table), None))
        self._state.carry_out(first)
        self._tracking: Tracking | None = None
        self._notes: tuple[str, ...] = ()
        self._start(space)

    @staticmethod
    def _of_discovery(found: Discovery, options: dict[str, Any]) -> tuple[Any, PredicateSpace, Options]:
        if options:
            raise OptionError(f"a discovery has its options; leave {', '.join(options)} out", option=tuple(options))
        if not isinstance(found, CompleteDiscovery):
            raise OptionError("a tracker continues what `discover` gives, and not proposals", expected="a discovery")
        if not isinstance(found.table, LocalTable):
            raise OptionError("the rows of this discovery are on Spark; a tracker keeps rows in this process")
        if not found.complete:
            raise OptionError("this discovery was stopped before all rules were found; a tracker needs all of them")
        return found.table.relation.arrow, found.space, found.options

    def _start(self, space: PredicateSpace | None) -> None:
        """Searches all rules of the rows that are there."""
        slots, table = self._state.living()
        tracking = Tracking(Relation.of(table), slots, self._options, space=space, ways=self._ways)
        self._rules = TrackedRules(tracking, self._kinds)
        if space is None:
            self._notes = tracking.notes
        self._space = tracking.space
        self._tracking = tracking
        self._found: CompleteDiscovery | None = None

    @property
    def key(self) -> tuple[str, ...]:
        """The columns by which rows are known."""
        return self._state.key

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._state.known_schema()

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._state.n_rows

    def __len__(self) -> int:
        with self._lock:
            self._ready()
            return len(self._rules)

    @property
    def rules(self) -> list[Discovered]:
        """All rules, best first."""
        return self.discovery().rules

    def top(self, n: int) -> list[Discovered]:
        """The n best rules."""
        return self.discovery().top(n)

    @property
    def almost(self) -> tuple[Discovered, ...]:
        """The rules that at most `almost` pairs break, with the positions of those in `table()`."""
        return self.discovery().almost

    @property
    def space(self) -> PredicateSpace:
        """The predicates among which rules are searched."""
        return self._space

    @property
    def boxes(self) -> Words:
        """All maximal rules of the space, those that follow from others too, as boxes."""
        with self._lock:
            return self._ready().boxes

    @property
    def nbytes(self) -> int:
        """The memory of rows, groups, points and boxes."""
        with self._lock:
            return self._state.nbytes + self._ready().nbytes

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not searched, and what stays as it was at the start."""
        return (*self._notes, _FROZEN)

    def to_yaml(self, path: str | os.PathLike[str] | None = None, n: int | None = None) -> str:
        """The n best rules (all of them by default) as a rule file, each with `status: proposed`."""
        return self.discovery().to_yaml(path, n)

    def table(self) -> pa.Table:
        """All rows, in the order in which they came."""
        with self._lock:
            return self._state.living()[1]

    def discovery(self) -> CompleteDiscovery:
        """The rules of this moment, ranked, as `discover` gives them; made when it is first asked for."""
        with self._lock:
            tracking = self._ready()
            if self._found is None:
                table = LocalTable(Relation.of(self._state.living()[1]))
                found = search(table, self._options, self._kinds, space=self._space, outcome=tracking.outcome())
                self._found = replace(found, notes=(*self.notes, *found.notes))
            return self._found

    def insert(self, table: Any) -> RuleChanges:
        """Adds rows whose keys are new: a table, or a list with one dict for each row."""
        with self._lock:
            return self._changed(self._state.inserting(arrow_of(table, self._state.schema)))

    def delete(self, keys: Any) -> RuleChanges:
        """Takes the rows of these keys away; keys come as `Monitor.delete` takes them."""
        with self._lock:
            return self._changed(self._state.deleting(named_rows(keys, self._state.known_schema(), self.key)))

    def update(self, table: Any) -> RuleChanges:
        """Puts rows in the place of those that have their keys."""
        with self._lock:
            if not self.key:
                raise no_key_to_update("tracker")
            return self._changed(self._state.updating(arrow_of(table, self._state.known_schema())))

    def apply(self, changes: Any, *, op: str = "op") -> RuleChanges:
        """Carries a feed of changes out, in its order, as one change; the column `op` says what each row is.

        It is `insert`, `update` or `delete`; for the last only the key columns matter.
        """
        with self._lock:
            if not self.key:
                raise no_key_for_feed("tracker")
            return self._changed(net_changes(self._state, changes, op))

    def refit(self) -> RuleChanges:
        """Chooses the predicates again, from the current rows; returns how rules and predicates changed."""
        with self._lock:
            self._ready()
            before = {render_text(rule): rule for rule in self._rules.constraints()}
            predicates = _asked(self._space)
            self._start(None)
            after = {render_text(rule): rule for rule in self._rules.constraints()}
            now = _asked(self._space)
            notes = [f"now asked: {one}" for one in now if one not in predicates]
            notes += [f"no longer asked: {one}" for one in predicates if one not in now]
            return RuleChanges.between(before, after, notes)

    def _ready(self) -> Tracking:
        """What is tracked; searched again where a change failed on the way."""
        if self._tracking is None:
            self._start(self._space)
        assert self._tracking is not None
        return self._tracking

    def _changed(self, change: Change) -> RuleChanges:
        """Carries out a change that is known to be possible. Where that fails, or is interrupted, all is as it was."""
        tracking = self._ready()
        state = self._state
        gone = np.sort(change.gone)
        came = np.arange(state.next_slot, state.next_slot + change.table.num_rows)

        def after() -> tuple[Relation, Longs]:
            slots, table = state.living()
            stays = ~np.isin(slots, gone)
            kept = table.filter(pa.array(stays)).cast(change.frame.schema)
            return Relation.of(pa.concat_tables([kept, change.table])), np.concatenate([slots[stays], came])

        self._tracking = None
        tracked = tracking.change(gone, Relation.of(change.table), came, after)
        changes = self._rules.changed(tracking, tracked, lambda slots: self._ids(slots, change))
        state.carry_out(change)
        self._tracking, self._space, self._found = tracking, tracking.space, None
        return changes

    def _ids(self, slots: Longs, change: Change) -> list[Any]:
        """The keys of rows that are there or come with a change, or their numbers."""
        if not self.key:
            return list(slots.tolist())
        first = self._state.next_slot
        columns = []
        old = self._state.rows.take(slots[slots < first], self.key)
        new = change.table.select(self.key).take(pa.array(slots[slots >= first] - first))
        for name in self.key:
            values = np.empty(len(slots), object)
            values[slots < first] = old.column(name).to_pylist()
            values[slots >= first] = new.column(name).to_pylist()
            columns.append(values.tolist())
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))

    def __repr__(self) -> str:
        return f"Tracker({plural(len(self), 'rule')}, {plural(self.n_rows, 'row')})"


def _rows_of(table: Any) -> Any:
    """The rows to track, read where they are in a file."""
    if is_monitor(table):
        return table.table()
    if is_path(table):
        return read_local(table, None)
    if on_spark(table, None):
        raise OptionError("a tracker keeps its rows in this process; collect the DataFrame first, as by toArrow()")
    return table


def _asked(space: PredicateSpace) -> list[str]:
    """The predicates of a space as they are written."""
    return [render_predicate(one) for one in space.predicates]
