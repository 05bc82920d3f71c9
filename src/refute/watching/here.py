"""The rows of a watch in this process: a state of a monitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from refute.durable.directory import Directory
from refute.faults import no_key_for_feed
from refute.language.rulebook import Rule
from refute.live.changes import clashes_table
from refute.live.columns import ReadRows
from refute.live.engine import LiveEngine
from refute.live.feed import Turns, leaves_rows, net_changes
from refute.live.saved import KeptState, logged
from refute.live.state import Change, State
from refute.watching.intake import Intake, completed, fitted, with_words
from refute.watching.kept import WATCH
from refute.watching.outcome import NOTHING, BatchOutcome
from refute.watching.publishing.ledger import Ledger
from refute.watching.publishing.table_parts import Listed, Longs


class RowsHere:
    """Rows and violations in the memory of this process."""

    def __init__(self, kept: KeptState) -> None:
        self.kept = kept

    @property
    def state(self) -> State:
        """The rows, and what is known of them."""
        return self.kept.state

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that are watched."""
        return self.state.rules

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that identify a row."""
        return self.state.key

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types; None before the first rows have come."""
        return self.state.schema

    @property
    def counts(self) -> dict[str, int]:
        """How many violations of each rule there are."""
        return {rule.name: store.count for rule, store in zip(self.rules, self.state.stores, strict=True)}

    @property
    def listed(self) -> set[str]:
        """The rules whose violations are listed, not counted alone."""
        return {rule.name for rule, store in zip(self.rules, self.state.stores, strict=True) if store.is_listed}

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return self.state.n_rows

    def taken(
        self, intake: Intake, table: pa.Table, directory: Directory[Any], ledger: Ledger
    ) -> tuple[BatchOutcome, dict[str, int]]:
        """Takes a batch in; what it did, and the columns that are lost."""
        state = self.state
        change, lost = self._change(intake, table)
        if len(change.gone):
            ledger.locate(self.find)  # by keys, which the rows that go still have
        state.carry_out(change)
        directory.note(logged(change), state.version)
        before, after = change.rows
        clashes = {
            rule: (clashes_table(new, after, state.key, ()), clashes_table(old, before, state.key, ()))
            for rule, (new, old) in change.pairs.items()
        }

        def named(rule: str, numbers: Longs) -> pa.Table:
            went, stays = ~numbers[numbers < 0], numbers[numbers >= 0]
            return pa.concat_tables(
                [clashes_table((went,), before, state.key, ()), clashes_table((stays,), after, state.key, ())]
            )

        return BatchOutcome(
            table.num_rows,
            state.n_rows,
            change.counts,
            change.deltas,
            clashes,
            change.pairs,
            change.gone,
            change.gone,
            _moved(change, state.next_slot),
            named,
        ), lost

    def _change(self, intake: Intake, table: pa.Table) -> tuple[Change, dict[str, int]]:
        """The change that a batch amounts to, and the columns that are lost."""
        state, op = self.state, intake.op
        if not intake.fed:
            rows = table.drop_columns([op]) if op is not None and op in table.column_names else table
            fit, lost = fitted(rows, state.schema, intake.read, intake.lost, intake.batch)
            return state.inserting(fit), lost
        assert op is not None
        if not state.key:
            raise no_key_for_feed(WATCH.noun)
        if op not in table.column_names:
            return net_changes(state, table, op), dict(intake.lost)  # which says so, unless there are no rows
        if len(table) == 0 and state.schema is None:
            fit, lost = fitted(table.drop_columns([op]), None, intake.read, {}, intake.batch)
            return state.inserting(fit), lost
        if state.schema is not None and not leaves_rows(table.column(op)):  # so nothing but keys is read
            keys = completed(table, intake, state.schema, state.key)
            return net_changes(state, keys, op, Turns(intake.order)), dict(intake.lost)
        fit, lost = fitted(table.drop_columns([op]), state.schema, intake.read, intake.lost, intake.batch)
        return net_changes(state, with_words(fit, table, intake), op, Turns(intake.order)), lost

    def pass_over(self) -> None:
        """Has another version, of the same rows."""
        self.kept.state = self.state.with_rules(self.rules)

    def violating_rows(self, rule: Rule, ledger: Ledger) -> int:
        """How many rows break a rule."""
        store = self.state.stores[self.rules.index(rule)]
        if store.is_listed:
            return len(np.unique(np.concatenate(store.pairs(self.state.alive))))
        (found,) = LiveEngine.of(self.state).measure([rule], counts=True)
        return found.finding.rows or 0

    def blamed(self, rule: Rule) -> int:
        """How many rows are to blame for the violations of a rule."""
        return LiveEngine.of(self.state).blamed(rule)

    def with_rules(self, rules: Sequence[Rule], *, anew: bool = False) -> Listed:
        """Watches other rules from now on; the violations of those that are new, or of all if `anew`."""
        same = {rule.name: rule for rule in self.rules}
        found = self.kept.state = self.state.with_rules(rules)
        new = {}
        for rule, store in zip(rules, found.stores, strict=True):
            if (anew or same.get(rule.name) != rule) and store.is_listed and store.count:
                pairs = store.pairs(found.alive)
                new[rule.name] = clashes_table(pairs, found.rows, found.key, ()), pairs
        return new

    def find(self, lines: pa.Table, side: str) -> Longs:
        """The numbers of the rows on one side of some violations; -1 where there is none."""
        if not self.key:
            return np.asarray(lines.column(side).fill_null(-1)).astype(np.int64)
        frame, found = self.state.frame, np.full(len(lines), -1, np.int64)
        assert frame is not None
        there, keys = keys_of(lines, side, {name: frame.schema.field(name).type for name in self.key})
        found[there] = frame.find(frame.columns.key_lines(ReadRows(keys), extend=False)[0], self.state)
        return found

    def engine(self, *, newest_first: bool = False) -> LiveEngine:
        """The engine for the rows of the last batch; it lists violations as they came, or `newest_first`."""
        return LiveEngine(self.state, newest_first=True) if newest_first else LiveEngine.of(self.state)

    def listing(self, rule: Rule, limit: int | None) -> LiveEngine:
        """An engine that lists the violations of a rule."""
        return self.engine()


def keys_of(lines: pa.Table, side: str, kinds: dict[str, pa.DataType]) -> tuple[Longs, pa.Table]:
    """Which lines have a row on a side, and the keys of these rows, in their types."""
    columns = {name: lines.column(f"{side}_{name}").cast(kind) for name, kind in kinds.items()}
    if not any(column.null_count for column in columns.values()):
        return np.arange(len(lines)), pa.table(columns)
    there = np.flatnonzero(np.asarray(columns[next(iter(kinds))].is_valid()))
    return there, pa.table({name: column.take(pa.array(there)) for name, column in columns.items()})


def _moved(change: Change, slots: int) -> tuple[Longs, Longs]:
    """Rows that have other slots now: before, and after. Rows that came have the last slots."""
    if change.links is None:
        return NOTHING, NOTHING
    first = slots - len(change.coming)
    return change.gone[: len(change.links)], first + np.asarray(change.links, np.int64)
