"""A tracker tells the rules that `discover` finds from scratch in its space, and says what changed and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import refute as rf
from oracle import holds, rows_of
from refute.discovery.inversion import minimal_rules
from refute.discovery.inversion.implied import find_implying
from refute.discovery.search import search
from refute.discovery.table import LocalTable
from refute.errors import DataError, OptionError, RefuteError, SchemaError
from refute.language.constraint import DenialConstraint
from refute.language.predicate import Row
from refute.language.render import render_text
from refute.relation import Relation
from refute.tracking.changes import WhyGone
from refute.tracking.ways import Ways
from thorough import THOROUGH, examples
from tracking.changing import WAYS, Shape, options, shapes

CITIES = pa.table(
    {
        "id": [1, 2, 3, 4],
        "zip": ["10115", "10115", "20095", "80331"],
        "city": ["Berlin", "Berlin", "Hamburg", "Munich"],
        "people": [10, 11, 12, 13],
    }
)


def from_scratch(tracker: rf.Tracker) -> list[str]:
    """The rules of the rows of this moment, searched anew in the same space."""
    table = LocalTable(Relation.of(tracker.table()))
    found = search(table, tracker._options, tracker._kinds, space=tracker.space)
    return sorted(rule.text for rule in found.rules)


def texts(rules: Any) -> set[str]:
    return {one.text for one in rules}


class Tracked(RuleBasedStateMachine):
    """Rows with keys come, go and change; keys come back; batches that cannot be done change nothing."""

    tracker: rf.Tracker

    @initialize(data=st.data(), shape=shapes(), given=options(), ways=WAYS, size=st.sampled_from((0, 1, 3, 12)))
    def begin(self, data: Any, shape: Shape, given: Any, ways: Ways, size: int) -> None:
        self.shape, self.nulls = shape, given.nulls.value
        self.rows = dict(enumerate(data.draw(st.lists(shape.rows(), min_size=size, max_size=size))))
        same = ("cross_columns", "shared_values", "average_ratio", "one_row", "constants", "operators")
        chosen = {name: getattr(given, name) for name in (*same, "max_predicates")}
        columns = [f"c{n}" for n in range(len(shape.kinds))]
        self.tracker = rf.Tracker(
            self.table(self.rows), key="id", ways=ways, nulls=self.nulls, columns=columns, **chosen
        )
        self.before = {rule.text: rule.constraint for rule in self.tracker.rules}

    def table(self, rows: dict[int, Any]) -> pa.Table:
        return self.shape.table(list(rows.values())).append_column("id", pa.array(list(rows), pa.int64()))

    def some(self, data: Any) -> list[int]:
        return list(data.draw(st.lists(st.sampled_from(list(self.rows)), min_size=1, max_size=5, unique=True)))

    @rule(data=st.data())
    def insert(self, data: Any) -> None:
        free = [number for number in range(40) if number not in self.rows][:5]
        rows = {number: data.draw(self.shape.rows()) for number in free[: data.draw(st.integers(1, 5))]}
        self.rows |= rows
        self.told(self.tracker.insert(self.table(rows)))

    @precondition(lambda self: bool(getattr(self, "rows", None)))
    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        gone = self.some(data)
        for number in gone:
            del self.rows[number]
        self.told(self.tracker.delete(gone))

    @precondition(lambda self: bool(getattr(self, "rows", None)))
    @rule(data=st.data())
    def update(self, data: Any) -> None:
        rows = {number: data.draw(self.shape.rows()) for number in self.some(data)}
        self.rows |= rows
        self.told(self.tracker.update(self.table(rows)))

    @precondition(lambda self: bool(getattr(self, "rows", None)))
    @rule(data=st.data())
    def feed(self, data: Any) -> None:
        gone = data.draw(st.sampled_from(list(self.rows)))
        row = data.draw(self.shape.rows())
        steps = self.table({gone: self.rows[gone]}).append_column("op", pa.array(["delete"]))
        again = self.table({gone: row}).append_column("op", pa.array(["insert"]))
        self.rows[gone] = row
        self.told(self.tracker.apply(pa.concat_tables([steps, again])))

    @precondition(lambda self: bool(getattr(self, "rows", None)))
    @rule()
    def refused(self) -> None:
        there = next(iter(self.rows))
        with pytest.raises(RefuteError):
            self.tracker.insert(self.table({90: self.rows[there], there: self.rows[there]}))
        with pytest.raises(RefuteError):
            self.tracker.delete([there, 95])

    def told(self, changes: rf.RuleChanges) -> None:
        """What changed is the difference, and each broken rule has a pair that breaks it."""
        now = {rule.text: rule.constraint for rule in self.tracker.rules}
        assert texts(changes.added) == now.keys() - self.before.keys()
        assert texts(changes.removed) == self.before.keys() - now.keys()
        rows = {row["id"]: row for row in rows_of(self.tracker.table())}
        for one in changes.removed:
            if one.pair is None:
                assert not self.broken(one.constraint, rows)
            else:
                s, t = one.pair
                assert all(holds(p, {Row.S: rows[s], Row.T: rows[t]}, self.nulls) for p in one.constraint.predicates)
        for added in changes.added:
            if added.refines is not None:  # which asked for less, and no longer holds
                assert self.broken(added.refines, rows)
                self.says_more(added.constraint, added.refines, rows)
            for less in added.generalises:
                assert render_text(less) in texts(changes.removed)
                self.says_more(less, added.constraint, rows)
        self.before = now

    def says_more(self, inner: DenialConstraint, outer: DenialConstraint, rows: dict[int, Any]) -> None:
        """Whatever two rows the inner rule speaks of, the outer one speaks of these too, or of these exchanged."""
        pairs = [(s, t) for s in rows.values() for t in rows.values() if self.meets(inner, s, t)]
        assert all(self.meets(outer, s, t) for s, t in pairs) or all(self.meets(outer, t, s) for s, t in pairs)

    def meets(self, rule: DenialConstraint, s: Any, t: Any) -> bool:
        return all(holds(p, {Row.S: s, Row.T: t}, self.nulls) for p in rule.predicates)

    def broken(self, constraint: DenialConstraint, rows: dict[int, Any]) -> bool:
        return any(
            all(holds(p, {Row.S: rows[s], Row.T: rows[t]}, self.nulls) for p in constraint.predicates)
            for s in rows
            for t in rows
            if s != t
        )

    @precondition(lambda self: hasattr(self, "tracker"))
    @invariant()
    def rules_are_those_of_a_search(self) -> None:
        assert sorted(rule.text for rule in self.tracker.rules) == from_scratch(self.tracker)
        assert len(self.tracker) == len(self.tracker.rules)
        assert self.tracker.n_rows == len(self.rows)


Tracked.TestCase.settings = examples(25, stateful_step_count=15 if THOROUGH else 5)
TestTracked = Tracked.TestCase


def test_a_broken_rule_comes_with_its_pair_and_with_what_refines_it() -> None:
    tracker = rf.Tracker(CITIES, key="id", columns=["zip", "city"])
    assert "not (s.zip = t.zip and s.city != t.city)" in texts(tracker.rules)
    changes = tracker.insert([{"id": 9, "zip": "10115", "city": "Potsdam", "people": 3}])
    lost = {rule.text: rule for rule in changes.removed}["not (s.zip = t.zip and s.city != t.city)"]
    assert lost.pair is not None
    assert 9 in lost.pair
    assert "broken: not (s.zip = t.zip and s.city != t.city), by rows" in str(changes)
    back = tracker.delete([9])
    found = {rule.text: rule for rule in back.added}["not (s.zip = t.zip and s.city != t.city)"]
    assert str(found).startswith("now holds: not (s.zip = t.zip and s.city != t.city)")
    assert not back.broken


def test_what_is_added_says_in_whose_place_it_came() -> None:
    table = CITIES.set_column(3, "people", pa.array([10, 10, 12, 12]))
    tracker = rf.Tracker(table, key="id", columns=["zip", "city", "people"], cross_columns=False)
    changes = tracker.insert([{"id": 9, "zip": "10115", "city": "Potsdam", "people": 3}])
    assert changes.added
    for one in changes.added:
        assert one.refines is not None
        assert set(one.refines.columns) <= set(one.constraint.columns)
    back = tracker.delete([9])
    assert any(rule.generalises for rule in back.added)
    assert texts(back.removed) == texts(changes.added)


@pytest.mark.parametrize(("columns", "error"), [("abcd", 0.0), ("abc", 0.01)])
def test_a_change_does_not_compare_all_rules_with_each_other(
    monkeypatch: pytest.MonkeyPatch, columns: str, error: float
) -> None:
    random = np.random.default_rng(5)
    table = pa.table({name: random.integers(0, 9, 40) for name in columns})
    tracker = rf.Tracker(table, max_predicates=4, error=error)
    before = set(map(tuple, tracker.boxes.tolist()))
    compared: list[int] = []

    def noted(among: Any, words: Any, which: Any, *rest: Any) -> None:
        compared.append(len(among.owner) * len(which))
        find_implying(among, words, which, *rest)

    monkeypatch.setattr(minimal_rules, "find_implying", noted)
    near = {name: table.column(name)[3].as_py() for name in columns}
    tracker.insert([{**near, "b": 9}])
    after = set(map(tuple, tracker.boxes.tolist()))
    changed = len(before ^ after)
    assert len(after) > 300
    assert 0 < sum(compared) <= 4 * changed * len(after)  # rules come with their mirror images
    assert error or changed < len(after) / 5
    assert sorted(texts(tracker.rules)) == from_scratch(tracker)


def test_a_batch_that_cannot_be_done_changes_nothing() -> None:
    tracker = rf.Tracker(CITIES, key="id")
    before = texts(tracker.rules)
    row = {"id": 7, "zip": "1", "city": "Bonn", "people": 1}
    wrong = [
        [row, row],
        [row, {**row, "id": 1}],
        [row, {**row, "id": None}],
        [{**row, "people": "many"}],
        [{name: row[name] for name in ("id", "zip", "city")}],
        [{**row, "more": 1}],
        [{}],
    ]
    for batch in wrong:
        with pytest.raises((DataError, SchemaError)):
            tracker.insert(batch)
    for keys in ([1, 1], [8], ["x"]):
        with pytest.raises((DataError, SchemaError)):
            tracker.delete(keys)
    with pytest.raises(DataError):
        tracker.update([{**row, "id": 8}])
    with pytest.raises(DataError):
        tracker.apply([{**row, "op": "insert"}, {**row, "op": "upsert"}])
    assert texts(tracker.rules) == before
    assert tracker.table().equals(CITIES)


def test_a_change_that_is_interrupted_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    tracker = rf.Tracker(CITIES, key="id")
    before = texts(tracker.rules)
    row = {"id": 7, "zip": "10115", "city": "Bonn", "people": 1}

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("refute.live.state.State.carry_out", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tracker.insert([row])
    assert tracker.n_rows == 4
    assert texts(tracker.rules) == before
    tracker.insert([row])
    assert sorted(texts(tracker.rules)) == from_scratch(tracker)


def test_rows_without_a_key_are_known_by_their_numbers() -> None:
    tracker = rf.Tracker(CITIES.drop_columns("id"))
    tracker.insert([{"zip": "10115", "city": "Potsdam", "people": 3}])
    tracker.delete([4, 0])
    assert tracker.n_rows == 3
    assert sorted(texts(tracker.rules)) == from_scratch(tracker)
    with pytest.raises(OptionError, match="Give the tracker a key"):
        tracker.update([{"zip": "1", "city": "x", "people": 3}])
    with pytest.raises(OptionError, match="Give the tracker one"):
        tracker.apply([{"op": "delete"}])


def test_a_discovery_is_gone_on_with() -> None:
    found = rf.discover(CITIES, max_predicates=2, columns=["zip", "city"])
    tracker = rf.Tracker(found, key="id")
    assert texts(tracker.rules) == texts(found.rules)
    assert tracker.space == found.space
    with pytest.raises(OptionError, match="Leave one_row out"):
        rf.Tracker(found, one_row=True)
    with pytest.raises(OptionError, match="time_limit"):
        rf.Tracker(CITIES, time_limit=3.0)


def test_almost_rules_and_errors_follow_the_rows() -> None:
    rows = [{"id": n, "zip": str(n % 5), "city": f"c{n % 5}"} for n in range(20)]
    tracker = rf.Tracker(pa.Table.from_pylist(rows), key="id", columns=["zip", "city"], almost=4)
    assert not tracker.almost
    tracker.insert([{"id": 99, "zip": "1", "city": "c2"}])
    assert "not (s.zip = t.zip and s.city != t.city)" in texts(tracker.almost)
    (found,) = [one for one in tracker.almost if one.text == "not (s.zip = t.zip and s.city != t.city)"]
    assert {row for pair in found.pairs for row in pair} == {1, 6, 11, 16, 20}
    nearly = rf.Tracker(tracker.table(), key="id", columns=["zip", "city"], error=0.05)
    assert "not (s.zip = t.zip and s.city != t.city)" in texts(nearly.rules)
    changes = nearly.insert([{"id": 100 + n, "zip": "1", "city": f"d{n}"} for n in range(9)])
    assert "not (s.zip = t.zip and s.city != t.city)" in texts(changes.removed)
    assert sorted(texts(nearly.rules)) == from_scratch(nearly)


def test_predicates_stay_until_they_are_chosen_anew() -> None:
    table = pa.table({"a": [1, 2, 3], "b": [7, 8, 9], "none": pa.nulls(3, pa.int64())})
    tracker = rf.Tracker(table)
    assert any("'none' was left out" in note for note in tracker.notes)
    assert any("until refit()" in note for note in tracker.notes)
    tracker.insert(pa.table({"a": [7, 8, 9], "b": [7, 8, None], "none": [1, 2, 3]}))
    assert sorted(texts(tracker.rules)) == from_scratch(tracker)
    changes = tracker.refit()
    assert "The search now uses s.a = t.b." in changes.notes
    assert "The search now uses s.none < t.none." in changes.notes
    assert texts(tracker.rules) == texts(rf.discover(tracker.table()).rules)


def test_each_rule_that_makes_another_superfluous_says_so() -> None:
    table = pa.table({"id": [1, 2, 3], "a": [1, 1, 2], "b": [5, 6, 6]})
    tracker = rf.Tracker(table, key="id", columns=["a", "b"], cross_columns=False, operators=["=", "!="])
    changes = tracker.delete([2])
    both = "not (s.a = t.a and s.b = t.b)"
    assert both in texts(changes.removed)
    said = {rule.text: [render_text(one) for one in rule.generalises] for rule in changes.added}
    assert both in said["not (s.a = t.a)"]
    assert both in said["not (s.b = t.b)"]


@pytest.mark.parametrize("error", [0.0, 0.05])
@pytest.mark.parametrize("left", [0, 1])
def test_no_rule_is_broken_by_rows_that_all_go(error: float, left: int) -> None:
    tracker = rf.Tracker(CITIES, key="id", columns=["zip", "city"], error=error)
    before = set(texts(tracker.rules))
    changes = tracker.delete(CITIES.column("id")[left:])
    assert set(texts(changes.removed)) == before
    assert not changes.broken
    assert {rule.why for rule in changes.removed} == {WhyGone.TOO_FEW_ROWS}
    assert all(str(rule).startswith("no longer a rule, as there are fewer than two") for rule in changes.removed)


def test_rules_whose_predicates_are_not_chosen_again_do_not_follow_from_others() -> None:
    tracker = rf.Tracker(pa.table({"id": [1, 2, 3], "a": [1, 2, 3], "b": [1, 2, 3]}), key="id", columns=["a", "b"])
    crossing = {rule.text for rule in tracker.rules if "s.a = t.b" in rule.text}
    assert crossing
    tracker.insert([{"id": n, "a": n, "b": 100 * n} for n in range(4, 20)])
    changes = tracker.refit()
    assert changes.removed
    assert {rule.why for rule in changes.removed} == {WhyGone.NOT_ASKED}
    assert all(str(rule).startswith("no longer asked: not (") for rule in changes.removed)


def test_rules_of_some_kinds_are_told_alone() -> None:
    tracker = rf.Tracker(CITIES, key="id", kinds=["functional dependency"])
    changes = tracker.insert([{"id": 9, "zip": "10115", "city": "Potsdam", "people": 3}])
    assert len(tracker) == len(tracker.rules)
    assert {rule.sort.value for rule in tracker.rules} <= {"functional dependency"}
    assert changes.removed
    assert all(rule.text.count("!=") == 1 for rule in changes.removed)


def test_rules_are_written_for_review() -> None:
    tracker = rf.Tracker(CITIES, key="id", columns=["zip", "city"])
    assert "status: proposed" in tracker.to_yaml()
    assert len(tracker.top(1)) == 1
    assert repr(tracker) == f"Tracker({len(tracker)} rules, 4 rows)"


def test_rules_come_back_where_the_last_known_point_is_gone() -> None:
    """With `=` alone, points of pairs that differ need not be known: then any pair says what is left."""

    def rows(*values: tuple[int, float | None, float]) -> pa.Table:
        return pa.table({name: [row[place] for row in values] for place, name in enumerate(("id", "a", "b"))})

    ways = Ways(witnesses=1, classes=5, counted=False, standing=0.06)
    tracker = rf.Tracker(
        rows((0, 3.0, 6.0), (1, 0.0, 7.5), (2, None, 7.5)),
        key="id",
        columns=["a", "b"],
        operators=["="],
        max_predicates=2,
        cross_columns=False,
        ways=ways,
    )
    tracker.update(rows((0, 1.5, 0.0), (2, 0.0, 4.5), (1, 1.5, 7.5)))
    tracker.update(rows((1, 0.0, 4.5), (0, 3.0, 3.0)))
    assert not tracker.rules
    tracker.update(rows((1, 1.5, 6.0)))
    assert sorted(rule.text for rule in tracker.rules) == ["not (s.a = t.a)", "not (s.b = t.b)"]


def test_an_option_that_there_is_not_is_refused_by_name() -> None:
    with pytest.raises(OptionError, match=r"^There is no option 'colums'\. Did you mean 'columns'\?$"):
        rf.Tracker(CITIES, colums=["zip"])
