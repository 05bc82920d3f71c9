"""A tracker on disk under random changes, commits, reopenings and losses: its rules are those of a search."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition
from hypothesis.stateful import rule as step

import refute as rf
from refute.api.tracker import LOGGED_ROWS
from refute.discovery.search import search
from refute.discovery.table import LocalTable
from refute.errors import RefuteError
from refute.relation import Relation
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways
from thorough import THOROUGH, examples
from tracking.changing import WAYS, Shape, from_scratch, options, shapes

KEYS = 40
THEN = st.sampled_from(("", "commit", "reopen"))


class Tracked(RuleBasedStateMachine):
    """Rows by key, those of the last commit, since when rules hold, and a tracker on disk."""

    tracker: rf.Tracker

    @initialize(
        data=st.data(),
        shape=shapes(),
        given=options(),
        ways=WAYS,
        size=st.sampled_from((0, 1, 3, 12)),
        logged=st.sampled_from([0, 7, LOGGED_ROWS, LOGGED_ROWS]),
        error=st.sampled_from([0.0, 0.0, 0.0, 0.1]),
    )
    def begin(self, data: Any, shape: Shape, given: Any, ways: Ways, size: int, logged: int, error: float) -> None:
        """States are written after each commit, some, or none."""
        ways = replace(ways, counted=True) if error else ways  # which such rules need
        self.shape, self.ways, self.logged = shape, ways, logged
        self.rows = dict(enumerate(data.draw(st.lists(shape.rows(), min_size=size, max_size=size))))
        same = ("cross_columns", "shared_values", "average_ratio", "one_row", "constants", "operators", "nulls")
        chosen = {name: getattr(given, name) for name in (*same, "max_predicates")} | {"error": error}
        self.options = {**chosen, "columns": [f"c{n}" for n in range(len(shape.kinds))]}
        self.folder = Path(tempfile.mkdtemp()) / "tracker"
        self.tracker = rf.Tracker.open(
            self.folder, self.table(self.rows), key="id", ways=ways, log_rows=logged, **self.options
        )
        self.batch = 1
        self.since = dict.fromkeys(self.tracker.held, 1)
        self.kept = self.rows, self.batch, self.since

    def table(self, rows: dict[int, Any]) -> pa.Table:
        return self.shape.table(list(rows.values())).append_column("id", pa.array(list(rows), pa.int64()))

    def changed(self, changes: rf.RuleChanges, rows: dict[int, Any], then: str) -> None:
        """Rows are these now, and rules have the age that follows; then all may be kept, and read again."""
        self.rows, self.batch = rows, self.batch + 1
        for one in changes.removed:
            assert one.held == self.batch - self.since[one.text]
        self.date()
        if then:
            self.commit()
        if then == "reopen":
            self.lose()

    def date(self) -> None:
        self.since = {text: self.since.get(text, self.batch) for text in self.tracker.held}

    @step(data=st.data(), then=THEN)
    def insert(self, data: Any, then: str) -> None:
        free = [number for number in range(KEYS) if number not in self.rows][:5]
        new = {number: data.draw(self.shape.rows()) for number in free[: data.draw(st.integers(1, 5))]}
        self.changed(self.tracker.insert(self.table(new)), self.rows | new, then)

    @precondition(lambda self: bool(getattr(self, "rows", None)))
    @step(data=st.data(), then=THEN)
    def delete(self, data: Any, then: str) -> None:
        gone = data.draw(st.lists(st.sampled_from(list(self.rows)), min_size=1, max_size=5, unique=True))
        left = {key: row for key, row in self.rows.items() if key not in gone}
        self.changed(self.tracker.delete(gone), left, then)

    @step(data=st.data(), then=THEN)
    def become(self, data: Any, then: str) -> None:
        """A whole table in which rows are missing, new, or have other values."""
        keys = data.draw(st.lists(st.integers(0, 20), max_size=12, unique=True))
        rows = {key: self.rows.get(key) if data.draw(st.booleans()) else None for key in keys}
        rows = {key: row if row is not None else data.draw(self.shape.rows()) for key, row in rows.items()}
        self.changed(self.tracker.become(self.table(rows)), rows, then)

    @precondition(lambda self: bool(getattr(self, "rows", None)))
    @step()
    def refused(self) -> None:
        there = next(iter(self.rows))
        for rows in ({90: self.rows[there], there: self.rows[there]}, {None: self.rows[there]}):
            with pytest.raises(RefuteError):
                self.tracker.insert(self.table(rows))  # type: ignore[arg-type]
        twice = self.table({there: self.rows[there]})
        with pytest.raises(RefuteError):
            self.tracker.become(pa.concat_tables([twice, twice]))

    @step()
    def refit(self) -> None:
        self.tracker.refit()
        self.date()

    def commit(self) -> None:
        self.tracker.commit()
        self.kept = self.rows, self.batch, self.since

    @step()
    def lose(self) -> None:
        """All since the last commit is lost."""
        self.tracker.close()
        self.tracker = rf.Tracker.open(self.folder, log_rows=self.logged, ways=self.ways, **self.options)
        self.rows, self.batch, self.since = self.kept

    @precondition(lambda self: hasattr(self, "tracker"))
    @invariant()
    def rules_are_those_of_a_search(self) -> None:
        tracker = self.tracker
        found = {row.pop("id"): tuple(row.values()) for row in tracker.table().to_pylist()}
        assert found == self.rows
        relation = Relation.of(tracker.table())
        whole = search(LocalTable(relation), tracker._options, tracker._kinds, space=tracker.space)
        assert sorted(rule.text for rule in tracker.rules) == sorted(rule.text for rule in whole.rules)
        assert tracker.batches == self.batch
        assert tracker.held == {text: self.batch + 1 - since for text, since in self.since.items()}
        tracking = tracker._ready()
        assert isinstance(tracking, Tracking)
        known = tracking.known
        truth = from_scratch(relation, tracker.space, tracking.options).evidence
        counts = dict(zip(map(tuple, truth.points.tolist()), truth.counts.tolist(), strict=True))
        for point, count in zip(
            known.points[known.covered].tolist(), known.counts[known.covered].tolist(), strict=True
        ):
            assert counts[tuple(point)] == count
        assert {tuple(point) for point in known.points.tolist()} <= counts.keys()
        listed = known.witnesses[known.witnesses >= 0]
        assert tracking.rows.alive[np.stack([listed >> 32, listed & 0xFFFFFFFF])].all()

    def teardown(self) -> None:
        if hasattr(self, "tracker"):
            self.tracker.close()
            shutil.rmtree(self.folder.parent)


Tracked.TestCase.settings = examples(12, stateful_step_count=20 if THOROUGH else 8, deadline=None)
TestTracked = Tracked.TestCase
