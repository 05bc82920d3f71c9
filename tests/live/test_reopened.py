"""A monitor on disk under random changes, commits, reopenings and losses, held against a model of it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition
from hypothesis.stateful import rule as step

import refute as rf
from refute.durable.directory import LOGGED_ROWS
from refute.errors import DataError
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from strategies import rules, tables
from thorough import examples

KEYS = st.integers(0, 12)


class Kept(RuleBasedStateMachine):
    """Rows by key, those of the last commit, and a monitor on disk."""

    @initialize(data=st.data(), most=st.sampled_from([1, 8, 10**6]), logged=st.sampled_from([0, 7, LOGGED_ROWS]))
    def begin(self, data: st.DataObject, most: int, logged: int) -> None:
        """A pool of rows with all types, and rules over them. States are written after each commit, some, or none."""
        self.logged = logged
        self.pool, kinds = data.draw(tables(max_rows=20))
        self.known = [
            Rule(
                name=f"rule {number}", constraint=data.draw(rules(kinds)), nulls=data.draw(st.sampled_from(list(Nulls)))
            )
            for number in range(3)
        ]
        self.folder = Path(tempfile.mkdtemp()) / "monitor"
        self.monitor = rf.Monitor.open(self.folder, self.known[:2], key="id", most_pairs=most, log_rows=logged)
        self.model: dict[int, int] = {}
        self.watched = self.known[:2]
        self.kept = self.model, self.watched

    def table(self, rows: dict[int, int]) -> pa.Table:
        """Rows by key as a table."""
        held = self.pool.take(pa.array(list(rows.values()), pa.int64()))
        return held.add_column(0, "id", pa.array(list(rows), pa.int64()))

    def changed(self, change: Callable[[], object], after: dict[int, int]) -> None:
        """Carries a change out, unless it has the one number whose key stands for null."""
        try:
            change()
            self.model = after
        except DataError as error:
            if "2^63" not in str(error):
                raise

    @step(data=st.data(), keys=st.sets(KEYS, max_size=6))
    def insert(self, data: st.DataObject, keys: set[int]) -> None:
        """Rows with keys that are new."""
        chosen = sorted(keys - self.model.keys()) if len(self.pool) else []
        new = {key: data.draw(st.integers(0, len(self.pool) - 1)) for key in chosen}
        self.changed(lambda: self.monitor.insert(self.table(new)), self.model | new)

    @precondition(lambda self: bool(self.model))
    @step(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        """Some rows."""
        keys = data.draw(st.lists(st.sampled_from(sorted(self.model)), unique=True))
        after = {key: row for key, row in self.model.items() if key not in keys}
        self.changed(lambda: self.monitor.delete(keys), after)

    @precondition(lambda self: bool(self.model))
    @step(data=st.data())
    def update(self, data: st.DataObject) -> None:
        """Some rows in the place of others."""
        keys = data.draw(st.lists(st.sampled_from(sorted(self.model)), unique=True))
        new = {key: data.draw(st.integers(0, len(self.pool) - 1)) for key in keys}
        self.changed(lambda: self.monitor.update(self.table(new)), self.model | new)

    @step()
    def commit(self) -> None:
        """All that was done is kept."""
        self.monitor.commit()
        self.kept = self.model, self.watched

    @step()
    def reopen(self) -> None:
        """All that was done is kept, and read again."""
        self.commit()
        self.lose()

    @step()
    def lose(self) -> None:
        """All since the last commit is lost."""
        self.monitor.close()
        self.monitor = rf.Monitor.open(self.folder, log_rows=self.logged)
        self.model, self.watched = self.kept

    @step(number=st.integers(0, 2))
    def change_rules(self, number: int) -> None:
        """A rule comes that was not there, or one goes."""
        one = self.known[number]
        if one not in self.watched:
            self.changed(lambda: self.monitor.add(one), self.model)
        elif len(self.watched) > 1:
            self.monitor.drop(one.name)
        self.watched = [rule for rule in self.known if rule.name in self.monitor.counts]

    @invariant()
    def equal_to_a_check(self) -> None:
        """All that can be asked is as a check of the rows would say."""
        if not hasattr(self, "monitor"):
            return
        assert len(self.monitor) == len(self.model)
        assert set(self.monitor.counts) == {one.name for one in self.watched}
        table = self.table(self.model)
        for one in self.watched if self.monitor.schema is not None else ():
            clashes = sorted(rf.violations(table, one, key="id"))
            assert self.monitor.count(one) == len(clashes)
            assert sorted(self.monitor.violations(one)) == clashes

    def teardown(self) -> None:
        """Lets all go."""
        if hasattr(self, "monitor"):
            self.monitor.close()
            shutil.rmtree(self.folder.parent)


TestKept = Kept.TestCase
TestKept.settings = examples(40, stateful_step_count=15, deadline=None)
