"""A monitor knows at every moment what a check of its rows would find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition
from hypothesis.stateful import rule as step

import refute as rf
from refute.errors import DataError
from refute.language.conditions import Compare
from refute.language.nulls import Nulls
from refute.language.predicate import Constant, Row
from refute.language.rulebook import Rule
from strategies import predicates, rules, tables
from thorough import examples

KEYS = st.integers(0, 9)


class Changing(RuleBasedStateMachine):
    """Rows by key, and a monitor of them under random changes."""

    method = "auto"

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """A pool of rows with all types, and rules over them."""
        self.pool, kinds = data.draw(tables(max_rows=25))
        drawn = []
        for number in range(data.draw(st.integers(1, 3))):
            where = data.draw(predicates(kinds)) if data.draw(st.integers(0, 3)) == 0 else None
            if where is not None and not (where.rows == {Row.S} and isinstance(where.right, Constant)):
                where = None
            drawn.append(
                Rule(
                    name=f"rule {number}",
                    constraint=data.draw(rules(kinds)),
                    nulls=data.draw(st.sampled_from(list(Nulls))),
                    where=None if where is None else Compare(where),
                )
            )
        self.watched = drawn
        self.monitor = rf.Monitor(
            drawn, key="id", method=self.method, most_pairs=data.draw(st.sampled_from([1, 8, 10**6]))
        )
        self.model: dict[int, int] = {}

    def drawn(self, data: st.DataObject, keys: list[int]) -> tuple[dict[int, int], pa.Table]:
        """Rows of the pool for these keys."""
        chosen = {key: data.draw(st.integers(0, len(self.pool) - 1)) for key in keys}
        return chosen, self.table(chosen)

    def table(self, rows: dict[int, int]) -> pa.Table:
        """Rows by key as a table."""
        held = self.pool.take(pa.array(list(rows.values()), pa.int64()))
        return held.add_column(0, "id", pa.array(list(rows), pa.int64()))

    def changed(self, change: Callable[[], rf.Changes], after: dict[int, int]) -> None:
        """Carries a change out, and holds what it tells against what was and is."""
        before = {one.name: self.violations(one, self.model) for one in self.watched}
        told = unless_refused(change)
        if told is None:
            return
        self.model = after
        for one in self.watched:
            now = self.violations(one, after)
            assert told.counts[one.name] == len(now)
            if one.name in told.only_counted:
                assert told.n_added[one.name] - told.n_removed[one.name] == len(now) - len(before[one.name])
            else:
                assert listed(told.added[one.name]) == sorted(now - before[one.name])
                assert listed(told.removed[one.name]) == sorted(before[one.name] - now)

    def violations(self, one: Rule, rows: dict[int, int]) -> set[tuple[int, ...]]:
        """The violations of a rule, by key."""
        return set(rf.violations(self.table(rows), one, key="id"))

    @step(data=st.data(), keys=st.sets(KEYS, max_size=5))
    def insert(self, data: st.DataObject, keys: set[int]) -> None:
        """Rows with keys that are new."""
        new, table = self.drawn(data, sorted(keys - self.model.keys()) if len(self.pool) else [])
        supposed = None
        if data.draw(st.booleans()):
            told = unless_refused(lambda: self.monitor.would_violate(table))
            supposed = None if told is None else told.n_added
        before = dict(self.model)
        self.changed(lambda: self.monitor.insert(table), self.model | new)
        if supposed is not None and self.model != before:
            for one in self.watched:
                assert supposed[one.name] == len(self.violations(one, self.model) - self.violations(one, before))

    @precondition(lambda self: bool(self.model))
    @step(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Some rows."""
        keys = data.draw(st.lists(st.sampled_from(sorted(self.model)), unique=True))
        self.changed(
            lambda: self.monitor.delete(keys), {key: row for key, row in self.model.items() if key not in keys}
        )

    @precondition(lambda self: bool(self.model))
    @step(data=st.data())
    def update(self, data: st.DataObject) -> None:
        """Some rows in the place of others."""
        keys = data.draw(st.lists(st.sampled_from(sorted(self.model)), unique=True))
        new, table = self.drawn(data, keys)
        self.changed(lambda: self.monitor.update(table), self.model | new)

    @precondition(lambda self: len(self.pool) > 0 and self.monitor.schema is not None)
    @step(data=st.data(), keys=st.lists(KEYS, max_size=6))
    def apply(self, data: st.DataObject, keys: list[int]) -> None:
        """A feed in which keys may come several times."""
        after, steps = dict(self.model), []
        for key in keys:
            row = data.draw(st.integers(0, len(self.pool) - 1))
            if key not in after:
                operation = "insert"
            else:
                operation = data.draw(st.sampled_from(["update", "delete"]))
            if operation == "delete":
                del after[key]
            else:
                after[key] = row
            steps.append((operation, key, row))
        held = self.pool.take(pa.array([row for _, _, row in steps], pa.int64()))
        feed = held.add_column(0, "id", pa.array(keys, pa.int64()))
        feed = feed.append_column("op", pa.array([operation for operation, _, _ in steps], pa.string()))
        self.changed(lambda: self.monitor.apply(feed), after)

    @precondition(lambda self: bool(self.model))
    @step(data=st.data())
    def refuse(self, data: st.DataObject) -> None:
        """A key that is there, or none that is, changes nothing."""
        key = data.draw(st.sampled_from(sorted(self.model)))
        table = self.table({key: 0, 99: 0})
        changes: tuple[Callable[[], rf.Changes], ...] = (
            lambda: self.monitor.insert(table),
            lambda: self.monitor.update(table),
            lambda: self.monitor.delete([key, 99]),
            lambda: self.monitor.delete([key, key]),
        )
        for change in changes:
            with pytest.raises(DataError):
                change()

    @invariant()
    def equal_to_a_check(self) -> None:
        """All that can be asked is as a check of the rows would say."""
        if not hasattr(self, "monitor"):
            return
        assert len(self.monitor) == len(self.model)
        table = self.table(self.model)
        for one in self.watched:
            assert self.monitor.count(one) == rf.count(table, one)
            if self.monitor.schema is not None:
                assert listed(self.monitor.violations(one).to_arrow()) == sorted(self.violations(one, self.model))
        if self.monitor.schema is not None:
            rows = rf.check(table, self.watched, key="id").rows
            dirty = {row["id"]: row["refute"] for row in rows.to_pylist() if row["refute"]}
            assert {row["id"]: row["refute"] for row in self.monitor.rows.to_pylist()} == dirty
            assert {row["id"] for row in self.monitor.table().to_pylist()} == set(self.model)


class ChangingTrees(Changing):
    """The same with Weever's index."""

    method = "lt_tree"


def unless_refused(change: Callable[[], rf.Changes]) -> rf.Changes | None:
    """What a change tells; None where it is refused for the one number whose key stands for null."""
    try:
        return change()
    except DataError as error:
        if "2^63" not in str(error):
            raise
        return None


def listed(table: pa.Table) -> list[tuple[Any, ...]]:
    """The ids of listed violations, sorted."""
    sides = [table.column(name).to_pylist() for name in ("s", "t") if name in table.column_names]
    return sorted(zip(*sides, strict=True))


TestRuns = Changing.TestCase
TestRuns.settings = examples(40, stateful_step_count=12, deadline=None)
TestTrees = ChangingTrees.TestCase
TestTrees.settings = examples(20, stateful_step_count=12, deadline=None)
