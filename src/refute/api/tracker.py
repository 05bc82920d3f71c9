"""The rules that a table obeys, kept exactly current while rows are inserted, deleted and updated."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from refute.api.lasting import Lasting, folder_of
from refute.api.tables import as_key, check_driver_bytes
from refute.api.tracker_options import (
    arrived,
    continued,
    on_spark_or_here,
    options_for,
    predicates_of,
    rows_to_keep,
    rows_to_track,
    stays_on_spark,
)
from refute.discovery import CompleteDiscovery, Discovered, Discovery, RuleSort
from refute.discovery.options import Options, options_of
from refute.discovery.result.kinds import kinds_of
from refute.discovery.search import search
from refute.discovery.space.slots import PredicateSpace, Words
from refute.discovery.table import LocalTable
from refute.display.plurals import plural
from refute.durable.directory import Directory
from refute.durable.manifest import NAME as MANIFEST
from refute.errors import OptionError
from refute.faults import no_key_for_feed, no_key_to_update, nothing_kept
from refute.language.render.text import render_text
from refute.live.arrivals import arrow_of, named_rows
from refute.live.feed import net_changes
from refute.live.saved import logged
from refute.live.state import Change, State
from refute.relation import Relation
from refute.tracking.after import row_names, rows_after
from refute.tracking.ages import RuleAges
from refute.tracking.changes import RowCounts, RuleChanges
from refute.tracking.methods import check_incdc, ways_of
from refute.tracking.rules import TrackedRules
from refute.tracking.saving.kept import TRACKER, Asked, KeptTracker
from refute.tracking.snapshot import to_become
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways

if TYPE_CHECKING:
    from refute.spark.tracking.table import TrackedTable
    from refute.spark.tracking.tracking import SparkTracking

LOGGED_ROWS = 1 << 15  # rows in logs from which a state is written: opening carries no more of them out again
_FROZEN = "The predicates were chosen from the rows at the start, and stay as they are until refit()."
_ON_SPARK = "The rows stay on Spark, which looks at all of them once for each change."


class Tracker(Lasting[KeptTracker]):
    """Rows that come and go, and at every moment all minimal rules that they obey.

    The rules are those that `discover` would find from scratch, among the predicates that were chosen at the start:
    which columns are compared, with each other and with which constants, stays as it is until `refit()`; a column that
    gets its first null is only distinguished from then on. `key` names the columns by which rows are known; without
    one, rows are known by their number in the order in which they came. Every change is whole or not at all, as with a
    `Monitor`. Several threads may use a tracker, one at a time.

    The rows of a Spark DataFrame are tracked in this process where they are few. Many stay on Spark: tasks discover
    their rules, and each change is one pass of tasks over them. Answers are the same.
    """

    _sort = TRACKER
    _start_hint = "Tracker.open(folder, table, key=...)"
    _far: TrackedTable | None = None

    def __init__(
        self,
        table: Any,
        *,
        key: str | Sequence[str] | None = None,
        kinds: Iterable[str | RuleSort] | None = None,
        ways: Ways | None = None,
        driver_bytes: int | None = None,
        **options: Any,
    ) -> None:
        """Discovers the rules of a table, by the options of `discover`; or takes a `Discovery`, with its options.

        `method` also takes 'incdc', for those who compare: rows that come are then held against the others by the
        indexes of that paper. So are `ways`: how much is kept, and by which way pairs are found. Of a Spark
        DataFrame, at most `driver_bytes` come to this process (256 MB by default); with 0, none do.
        """
        check_driver_bytes(driver_bytes)
        ways, options = ways_of(ways, options)
        self._setup(ways)
        space: PredicateSpace | None = None
        if isinstance(table, Discovery):
            table, space, self._options = continued(table, options)
        else:
            self._options = options_of(**options)
        if self._ways is not None and self._ways.incdc is not None:
            check_incdc(self._options)
        if self._options.time_limit is not None:
            raise OptionError("A tracker has to start from all rules. Leave time_limit= out.", option="time_limit")
        self._kinds = kinds_of(kinds)
        self._far, here = on_spark_or_here(table, as_key(key), driver_bytes, ways)
        self._state = State([], as_key(key), "auto", 0) if self._far is None else self._far.rows
        if self._far is None:
            self._state.carry_out(self._state.inserting(arrow_of(rows_to_track(here), None)))
        self._start(space)

    def _setup(self, ways: Ways | None) -> None:
        self._begin()
        self._ways = ways
        self._tracking: Tracking | SparkTracking | None = None
        self._ages: RuleAges | None = None  # of the last change that was whole
        self._notes: tuple[str, ...] = ()
        self._found: CompleteDiscovery | None = None
        self._kept: KeptTracker | None = None

    def _to_keep(self) -> KeptTracker:
        tracking = self._ready()
        assert self._kept is not None
        assert isinstance(tracking, Tracking), "rows on Spark are not kept in a folder"
        self._kept.hold(tracking, self._rules.ages)
        return self._kept

    def commit(self) -> None:
        """Writes all changes since the last commit to disk; once this returns, they survive a crash."""
        if self._far is not None:
            raise stays_on_spark(
                "Only rows in this process are kept on disk. Use Tracker.open with a larger driver_bytes."
            )
        super().commit()

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        table: Any = None,
        *,
        key: str | Sequence[str] | None = None,
        kinds: Iterable[str | RuleSort] | None = None,
        ways: Ways | None = None,
        driver_bytes: int | None = None,
        verify: bool = True,
        log_rows: int = LOGGED_ROWS,
        **options: Any,
    ) -> Tracker:
        """The tracker in a folder, as of its last commit; if there is none, a new one that starts with the table.

        Nothing is searched again. A folder that holds a tracker does not read the table. Changes are on disk once
        `commit()` returns; later changes are lost when the process ends. A `with` block commits at its end, unless an
        error ends it. With `verify`, the checksum of every file is verified first. Changes go to a log; once it holds
        more than `log_rows` rows, the state itself is written in the background. The other options are those of
        `Tracker`; an existing tracker must match the options given, but for `threads`, `progress` and `ways`. The rows
        are in this process too, so a Spark DataFrame of more than `driver_bytes` is refused.
        """
        check_driver_bytes(driver_bytes)
        place, log_rows = folder_of(folder, TRACKER.noun, log_rows)
        if (place / MANIFEST).exists():
            directory, kept = Directory.open(place, TRACKER, verify=verify, log_rows=log_rows)
            try:
                ways, options = ways_of(ways, options)
                given = options_for(kept.asked, kept.state.key, key, kinds, options)
                if ways is not None and ways.incdc is not None:
                    check_incdc(given)
                return cls._resumed(directory, kept, given, ways)
            except BaseException:
                directory.close()
                raise
        if table is None:
            raise nothing_kept(TRACKER.noun, str(place), MANIFEST, " Give a table to start one there.")
        here = rows_to_keep(table, as_key(key), driver_bytes)
        found = cls(here, key=key, kinds=kinds, ways=ways, **options)
        asked = Asked(found._options, None if found._kinds is None else frozenset(found._kinds), found._notes)
        found._kept = KeptTracker(found._state, asked, found._space)
        found._directory = Directory.create(place, TRACKER, found._to_keep(), log_rows=log_rows)
        return found

    @classmethod
    def _resumed(
        cls, directory: Directory[KeptTracker], kept: KeptTracker, options: Options, ways: Ways | None
    ) -> Tracker:
        """The tracker that a folder holds."""
        found: Tracker = object.__new__(cls)
        found._setup(ways)
        asked = kept.asked
        found._options, found._notes = options, asked.notes
        found._kinds = None if asked.kinds is None else set(asked.kinds)
        found._state, found._kept, found._directory = kept.state, kept, directory
        found._take(kept.resumed(options, ways))
        found._ages = found._rules.ages = kept.ages(found._rules.boxes)
        return found

    def _start(self, space: PredicateSpace | None) -> None:
        """Searches all rules of the rows that are there."""
        tracking: Tracking | SparkTracking
        if self._far is not None:
            tracking = self._far.tracking(self._options, space)
        else:
            slots, table = self._state.living()
            tracking = Tracking(Relation.of(table), slots, self._options, space=space, ways=self._ways)
        self._take(tracking)
        if space is None:
            self._notes = tracking.notes
        elif self._ages is not None:  # a change failed on the way: rules are as they were
            self._rules.ages = replace(self._ages, batch=self._state.version).turned(self._rules.boxes)
        self._ages = self._rules.ages

    def _take(self, tracking: Tracking | SparkTracking) -> None:
        """Goes on with a tracking of the rows that are there."""
        self._rules = TrackedRules(tracking, self._kinds)
        self._space = tracking.space
        self._tracking = tracking
        self._found = None

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self._state.key

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self._state.known_schema()

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self._state.n_rows

    @property
    def batches(self) -> int:
        """How many batches there were: the rows of the start, and every change since."""
        return self._state.version

    @property
    def held(self) -> dict[str, int]:
        """Through how many batches each rule has held so far, by its text."""
        with self._lock:
            self._ready()
            return self._rules.held()

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
        where = () if self._far is None else (_ON_SPARK,)
        return (*self._notes, *where, _FROZEN)

    def to_yaml(self, path: str | os.PathLike[str] | None = None, n: int | None = None) -> str:
        """The n best rules (all of them by default) as a rule file, each with `status: proposed`."""
        return self.discovery().to_yaml(path, n)

    def table(self) -> Any:
        """All rows, in the order in which they came, as an Arrow table; where they are on Spark, a DataFrame."""
        with self._lock:
            return self._state.living()[1] if self._far is None else self._far.frame()

    def discovery(self) -> CompleteDiscovery:
        """The rules of this moment, ranked, as `discover` gives them; made when it is first asked for."""
        with self._lock:
            tracking = self._ready()
            if self._found is None:
                if self._far is not None:
                    found = self._far.discovery(self._options, self._kinds, self._space, tracking.outcome())
                else:
                    table = LocalTable(Relation.of(self._state.living()[1]))
                    found = search(table, self._options, self._kinds, space=self._space, outcome=tracking.outcome())
                self._found = replace(found, notes=(*self.notes, *found.notes))
            return self._found

    def insert(self, table: Any) -> RuleChanges:
        """Adds rows whose keys are new: a table, or a list with one dict for each row."""
        with self._lock:
            self._in_use()
            return self._changed(self._state.inserting(arrow_of(arrived(table), self._state.schema)))

    def delete(self, keys: Any) -> RuleChanges:
        """Deletes the rows with these keys, which are given as for `Monitor.delete`."""
        with self._lock:
            self._in_use()
            return self._changed(self._state.deleting(named_rows(arrived(keys), self._state.known_schema(), self.key)))

    def update(self, table: Any) -> RuleChanges:
        """Replaces the rows that have the same keys."""
        with self._lock:
            self._in_use()
            if not self.key:
                raise no_key_to_update("tracker")
            return self._changed(self._state.updating(arrow_of(arrived(table), self._state.known_schema())))

    def apply(self, changes: Any, *, op: str = "op") -> RuleChanges:
        """Applies a feed of changes in order, as a single change; the column `op` says what each row is.

        It is `insert`, `update` or `delete`; for the last only the key columns matter.
        """
        with self._lock:
            self._in_use()
            if not self.key:
                raise no_key_for_feed("tracker")
            return self._changed(net_changes(self._state, arrived(changes), op))

    def become(self, table: Any) -> RuleChanges:
        """Makes the rows those of a table, as one change: some come, some go, and some have other values.

        Rows are known by their keys. Without a key, a row stays if the table has one that is the same in all
        columns, as often as it has it.
        """
        with self._lock:
            self._in_use()
            if self._far is not None:
                raise stays_on_spark("Tables are not compared there. Use apply(changes).")
            rows = arrow_of(arrived(rows_to_track(table)), self._state.known_schema())
            return self._changed(to_become(self._state, rows))

    def refit(self) -> RuleChanges:
        """Chooses the predicates again, from the current rows; returns how rules and predicates changed."""
        with self._lock:
            self._in_use()
            self._ready()
            before = {render_text(rule): rule for rule in self._rules.constraints()}
            predicates, held = predicates_of(self._space), self._rules.held(everything=True)
            self._start(None)
            self._rules.take_ages(self._state.version, held)
            self._ages = self._rules.ages
            if self._kept is not None:
                self._kept.refitted(self._notes)
            after = {render_text(rule): rule for rule in self._rules.constraints()}
            now = predicates_of(self._space)
            notes = [f"The search now uses {one}." for one in now if one not in predicates]
            notes += [f"The search no longer uses {one}." for one in predicates if one not in now]
            return RuleChanges.between(before, after, set(self._space.predicates), notes)

    def _ready(self) -> Tracking | SparkTracking:
        """What is tracked; searched again where a change failed on the way."""
        if self._tracking is None:
            self._start(self._space)
        assert self._tracking is not None
        return self._tracking

    def _changed(self, change: Change) -> RuleChanges:
        """Carries out a change that is known to be possible. Where that fails, or is interrupted, all is as it was."""
        tracking, state = self._ready(), self._state
        gone = np.sort(change.gone)
        came = np.arange(state.next_slot, state.next_slot + change.table.num_rows)
        self._tracking = None
        tracked = tracking.change(gone, Relation.of(change.table), came, lambda: rows_after(state, change))
        changes = self._rules.changed(tracking, tracked, lambda slots: row_names(state, change, slots))
        state.carry_out(change)
        self._tracking, self._space, self._found = tracking, tracking.space, None
        self._ages = self._rules.ages
        same = 0 if change.links is None else len(change.links)
        changes.rows = RowCounts(len(came) - same, len(gone) - same, same)
        if self._directory is not None and self._kept is not None:
            self._directory.note(logged(change), self._kept.version)
        return changes

    def __repr__(self) -> str:
        return f"Tracker({plural(len(self), 'rule')}, {plural(self.n_rows, 'row')})"

    def _repr_html_(self) -> str:
        return self.discovery()._repr_html_()
