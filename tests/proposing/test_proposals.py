"""Proposals: complete within their shapes, right about rows to blame, silent about what is only chance."""

from __future__ import annotations

import _thread
import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import refute as rf
from proposing.exhaustive import expected, groups, out_of_order
from refute.discovery.options import Options, Progress
from refute.discovery.work import Budget
from refute.errors import DataError, OptionError, SchemaError
from refute.language.rulebook import Status
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.columns import read_columns
from refute.proposing.scores import Limits
from refute.proposing.search import ProposalSearch, search_heads
from refute.relation import Relation
from speaking_tables import people, random_table, repeated
from thorough import THOROUGH

SEEDS = range(200 if THOROUGH else 12)
LOOSE = Limits(rule=0.5, tendency=0.2, support=0.01, chance=2.0, order_support=0.05, order_chance=0.01)


def texts(found: rf.Discovery) -> set[str]:
    """All rules and what stands under them."""
    return {one.text for head in found.rules for one in (head, *head.members)}  # type: ignore[attr-defined]


def test_the_rules_of_a_dirty_table_are_proposed_and_noise_is_not() -> None:
    found = rf.propose(people())
    said = texts(found)
    assert {
        "unique(id)",
        "zip -> city",
        "zip -> state",
        "order(salary asc, rate asc) by state",
        "no_overlap(start, end) by room",
        "row(sex in ('f', 'm'))",
        "not_null(zip)",
    } <= said
    assert {"row(end > start)", "row(end >= start)"} & said
    assert not any("noise" in text for text in said if not text.startswith(("not_null", "row(noise >= 0)")))
    by_text = {one.text: one for one in found.rules}
    city = by_text["zip -> city"]
    assert city.kind == "functional dependency"
    assert 0 < city.blame == rf.suspects(people(), "zip -> city").count < (city.chance or 0) / 10
    assert "rows break it, by chance" in city.evidence
    assert city.suspects.count == city.blame
    assert next(iter(city.suspects)).cells[0].suggestion.startswith("city ")
    assert city.sentence == "Two rows with the same zip have the same city."
    assert f"# When proposed: {city.evidence}.\n- name: zip_fixes_city\n" in found.to_yaml()
    book = found.book()
    assert book["zip_fixes_city"].description == city.sentence, "which no later check contradicts"
    assert not any("rows break" in rule.description for rule in book)


def candidates(table: pa.Table, limits: Limits, *, pruned: bool, max_left: int = 2) -> list[Candidate]:
    relation = Relation.of(table)
    columns = read_columns(relation, relation.names, 1)
    search = ProposalSearch(relation, columns, Budget(Options(threads=1)), max_left, limits=limits, pruned=pruned)
    return sorted(search.candidates(), key=str)


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_by_what_is_left_out(seed: int) -> None:
    table, limits = random_table(seed), LOOSE if seed % 2 else Limits(chance=4.0)
    width = 3 if seed % 3 == 0 else 2
    everything = candidates(table, limits, pruned=False, max_left=width)
    assert candidates(table, limits, pruned=True, max_left=width) == everything


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_to_blame_are_as_few_as_suspects(seed: int) -> None:
    table = random_table(seed)
    for one in candidates(table, LOOSE, pruned=True):
        if one.shape is not RuleShape.NO_OVERLAP:
            assert rf.suspects(table, rf.RuleBook(rules := one.entry("x").rules(), ())).count == one.figures.blame, (
                rules
            )


def test_an_order_is_broken_in_groups_of_two_rows_too() -> None:
    rows = [(by, x, x + 40 * by) for by in range(8) for x in range(30)]
    rows += [(10 + place, x, -x) for place in range(9) for x in (1, 2)]
    table = pa.table(dict(zip(("team", "x", "y"), zip(*rows, strict=True), strict=True)))
    (one,) = (one for one in rf.propose(table, kinds="order rule").rules if one.text == "order(x asc, y asc) by team")
    assert one.evidence.startswith("9 of 258 rows break it")
    assert one.suspects.count == 9


def test_spans_that_end_before_they_begin_are_to_blame_where_others_reach_over_them() -> None:
    rows = [(team, 10 * at, 10 * at + 9) for team in range(6) for at in range(40)]
    rows[7:240:60] = [(team, begin - 6, begin - 8) for team, begin, _ in rows[7:240:60]]
    table = pa.table(dict(zip(("room", "start", "end"), zip(*rows, strict=True), strict=True)))
    (one,) = rf.propose(table, kinds="no overlap").rules
    assert one.evidence.startswith("4 of 240 rows break it")
    assert one.suspects.count == 4


@pytest.mark.parametrize("seed", SEEDS)
def test_the_list_does_not_depend_on_the_order_of_rows(seed: int) -> None:
    table = random_table(seed) if seed % 2 else people(200, seed)
    shuffled = table.take(np.random.default_rng(seed).permutation(table.num_rows))
    first, second = (rf.propose(one).to_arrow() for one in (table, shuffled))
    assert first.equals(second)


def shuffled(table: pa.Table, names: list[str], seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            name: table[name].take(rng.permutation(table.num_rows)) if name in names else table[name]
            for name in table.column_names
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_columns_say_nothing(seed: int) -> None:
    table = people(seed=seed)
    alone = {"key", "domain", "not null"}  # which shuffling leaves true
    nothing = rf.propose(shuffled(table, table.column_names, seed))
    assert {one.kind for one in nothing.rules} <= alone
    assert nothing.tendencies == []
    for name in table.column_names:
        found = rf.propose(shuffled(table, [name], seed))
        for head in (*found.rules, *found.tendencies):
            for one in (head, *head.members):
                assert one.kind in alone or name not in one.candidate.columns, one.text


@pytest.mark.parametrize("second", [0, 2, 60])
@pytest.mark.parametrize("others", ["null", "alone"])
def test_groups_that_are_drawn_say_nothing_however_few_they_are(others: str, second: int) -> None:
    said: set[str] = set()
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = rng.integers(0, 1000, 300)
        y = np.where(rng.random(300) < 0.115, rng.integers(0, 3000, 300), x * 3)  # too many are wrong among all rows
        team = [None if others == "null" else f"alone {row}" for row in range(300)]
        for row in rng.permutation(300)[:180]:
            team[row] = "a"
        for row in rng.permutation(300)[:second]:
            team[row] = "b"
        said |= texts(rf.propose(pa.table({"x": x, "y": y, "team": team}), kinds="order rule"))
    assert said <= {"order(x asc, y asc)"}


def test_an_order_that_one_group_alone_obeys_is_said_of_it() -> None:
    rng = np.random.default_rng(1)
    team = rng.permutation(["a"] * 200 + [None] * 100)
    x = rng.integers(0, 1000, 300)
    y = np.where(team == "a", 3 * x, rng.integers(0, 3000, 300))
    assert texts(rf.propose(pa.table({"x": x, "y": y, "team": team}), kinds="order rule")) == {
        "order(x asc, y asc) by team"
    }


def test_a_key_of_two_columns_is_no_accident() -> None:
    rng = np.random.default_rng(756)
    lucky = pa.table({"a": rng.integers(0, 60, 300), "b": rng.integers(0, 70, 300)})
    assert lucky.group_by(["a", "b"]).aggregate([]).num_rows == 298  # where chance would give 290
    sure = pa.table({"a": np.arange(300) % 60, "b": np.arange(300) // 60})
    assert not rf.propose(lucky, kinds="key").tendencies
    assert texts(rf.propose(sure, kinds="key")) == {"unique(a, b)"}


def test_a_left_side_that_explains_no_more_than_a_part_of_it_is_left_out() -> None:
    said = texts(rf.propose(people()))
    assert "zip -> city" in said
    assert not any(text.startswith(("zip, ", "salary, zip")) and text.endswith("-> city") for text in said)


def test_what_is_said_of_columns_that_are_the_same_is_said_once() -> None:
    rng = np.random.default_rng(3)
    start = rng.integers(0, 50, 400)
    end = start + rng.integers(1, 30, 400)
    columns = {f"start {k}": start for k in range(4)} | {f"end {k}": end for k in range(3)}
    compared = [one for one in rf.propose(pa.table(columns)).rules if one.kind == "comparison"]
    equal, bounded = (
        [1 + len(one.members) for one in compared if (" = " in one.text) is is_equal] for is_equal in (True, False)
    )
    assert sorted(equal) == [1, 1, 1, 2, 4], "as many as are needed, and what follows under them"
    assert bounded == [12]


def test_comparisons_that_the_first_rows_alone_break_are_found() -> None:
    rng = np.random.default_rng(4)
    n, wrong = 6000, 240
    low = rng.integers(0, 1000, n)
    high = np.where(np.arange(n) < wrong, low - 5, low + rng.integers(0, 500, n))
    word = rng.integers(0, 90, n)
    other = np.where(np.arange(n) < wrong, word + 100, word)
    columns: dict[str, Any] = {"low": low, "high": high, "noise": rng.integers(0, 1000, n)}
    columns |= {name: [f"w{value}" for value in values] for name, values in (("word", word), ("other", other))}
    found = {one.text: one.blame for one in rf.propose(pa.table(columns), kinds="comparison").rules}
    assert found == {"row(high >= low)": wrong, "row(other = word)": wrong}


def test_chance_in_groups_is_a_mean_where_it_is_small() -> None:
    table = people(500, 0, 0.05)
    found = rf.propose(table, kinds="order rule")
    said = [one for head in found.rules for one in (head, *head.members)]
    (one,) = (one for one in said if one.text == "order(salary asc, rate asc) by city")
    points = list(zip(*(table[name].to_pylist() for name in ("salary", "rate")), strict=True))
    members = groups([table["city"].to_pylist()])
    every, rng = [row for rows in members for row in rows], np.random.default_rng(0)
    bounds = [0, *itertools.accumulate(map(len, members))]
    blamed = 0
    for _ in range(40):
        dealt = [points[row] for row in rng.permutation(every)]
        blamed += sum(out_of_order(dealt[first:last]) for first, last in itertools.pairwise(bounds))
    assert one.chance == pytest.approx(blamed / 40, rel=0.08)


def test_orders_between_two_keys_are_not_said() -> None:
    n = 400
    table = pa.table({"id": range(n), "row": [i * 3 for i in range(n)], "team": [i % 8 for i in range(n)]})
    assert not any("order" in text for text in texts(rf.propose(table)))


def test_rows_that_repeat_others_count_once_and_that_is_said() -> None:
    few: dict[str, list[Any]] = {
        "a": [1, 2, 3, 4],
        "b": ["x", "y", "x", "y"],
        "c": [1, 1, 2, 2],
        "d": [5, 6, 5, 6],
        "e": [0, 1, 1, 0],
    }
    found = rf.propose(pa.table({name: values * 300 for name, values in few.items()}))
    assert any("Only 4 of 1,200 rows are distinct" in note for note in found.notes)
    assert not any("->" in text for text in texts(found))


@pytest.mark.parametrize("rows", [0, 1, 2, 9])
def test_a_table_of_fewer_rows_than_chance_must_blame_speaks_for_nothing_and_that_is_said(rows: int) -> None:
    def proposed(n: int) -> Any:
        return rf.propose(pa.table({"id": np.arange(n), "name": [f"name {i}" for i in range(n)], "one": np.ones(n)}))

    found = proposed(rows)
    assert not found.rules
    assert not found.tendencies
    assert found.notes == (f"There are too few rows to tell a rule from chance: {rows}, where at least 10 are needed.",)
    assert {"unique(id)", "not_null(one)"} <= texts(proposed(10))
    assert not proposed(10).notes


def test_what_is_written_lets_the_same_rows_pass_and_dirtier_ones_fail(tmp_path: Path) -> None:
    table, file = people(), tmp_path / "rules.yaml"
    found = rf.propose(table)
    found.to_yaml(file)
    book = rf.load_rules(file)
    assert {rule.status for rule in book} == {Status.PROPOSED}
    report = rf.check(table, book)
    assert report.ok
    assert any(not result.finding.holds for result in report), "some are tolerated"
    dirty = table.to_pylist()
    for row in dirty[:60]:
        row["city"], row["zip"] = "nowhere", row["zip"]
    again = rf.check(pa.Table.from_pylist(dirty, table.schema), book)
    assert "zip_fixes_city" in {result.name for result in again if not result.passed}


@pytest.mark.parametrize("seed", [0, 1])
def test_one_more_mistake_of_its_kind_breaks_each_rule_that_is_written(seed: int) -> None:
    table = people(400, seed)
    proposed = [one for one in rf.propose(table).rules if one.kind in ("functional dependency", "key", "not null")]
    assert {one.kind for one in proposed} == {"functional dependency", "key", "not null"}
    for one in proposed:
        book = rf.propose(table, kinds=one.kind).book()
        names = {rule.name for rule in book if rule.constraint in {other.constraint for other in one.rules}}
        assert rf.check(table, book).ok
        report = rf.check(one_worse(table, one.candidate), book)
        assert names & {result.name for result in report if not result.passed}, one.text


def one_worse(table: pa.Table, candidate: Candidate) -> pa.Table:
    """The rows, of which one more than before is to blame."""
    rows = table.to_pylist()
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in candidate.left), []).append(row)
    if candidate.shape is RuleShape.NOT_NULL:
        rows[5][candidate.right[0]] = None
    elif candidate.shape is RuleShape.KEY:
        (one,), (other,) = [group for group in groups.values() if len(group) == 1][:2]
        one.update({name: other[name] for name in candidate.left})
    else:
        (right,) = candidate.right
        agreed = next(one for one in groups.values() if len(one) > 3 and len({row[right] for row in one}) == 1)
        agreed[0][right] = next(row[right] for row in rows if row[right] not in (None, agreed[0][right]))
    return pa.Table.from_pylist(rows, table.schema)


def test_keys_of_rows_that_repeat_are_keys_of_all_rows() -> None:
    random_rows = np.random.default_rng(0)
    few = pa.table({f"c{k}": random_rows.integers(0, 5 if k % 2 else 30, 60) for k in range(6)})
    table = few.take(random_rows.integers(0, 60, 900)).append_column("id", pa.array(range(900)))
    found = rf.propose(table)
    assert any("rows are distinct" in note for note in found.notes)
    assert [one.text for one in found.rules if one.kind == "key"] == ["unique(id)"]
    assert not any(one.kind == "key" for one in found.tendencies)
    report = rf.check(table, found.book())
    assert report.ok
    assert all(result.finding.holds for result in report if result.name.startswith("unique"))


def test_what_is_found_among_rows_that_differ_is_true_of_all_rows() -> None:
    table = repeated()
    found = rf.propose(table)
    assert found.notes == ("Only 60 of 2,000 rows are distinct. Rows that repeat another were counted once.",)
    said = [one for head in (*found.rules, *found.tendencies) for one in (head, *head.members)]
    (key,) = (one for one in said if one.kind == "key")
    assert key.evidence == "3 of 2,000 rows break it"
    assert "1 of 60 distinct rows breaks it, by chance 34 would" in {one.evidence for one in said}
    for one in said:
        blamed = rf.suspects(table, rf.RuleBook(one.rules, ())).count
        assert one.blame == blamed or (one.figures.distinct and 0 < one.blame < blamed < 0.5 * table.num_rows), one.text


def test_a_null_breaks_a_rule_that_there_is_none(tmp_path: Path) -> None:
    table, file = people(), tmp_path / "rules.yaml"
    rf.propose(table, kinds=["not null"]).to_yaml(file)
    assert "not_null: id, " in file.read_text() or "not_null: " in file.read_text()
    rows = table.to_pylist()
    rows[7]["zip"] = None
    report = rf.check(pa.Table.from_pylist(rows, table.schema), file)
    failed = [result for result in report if not result.passed]
    assert [(one.name, one.finding.rows) for one in failed] == [("never_null[zip]", 1)]
    assert list(report.violations("never_null[zip]")) == [(7,)]
    assert failed[0].sentence == "In every row, zip has a value.", "not that of the first column beside it"
    assert failed[0].rule.sentence == "In every row, zip has a value."


def test_kinds_and_columns_limit_what_is_proposed() -> None:
    table = people()
    assert {one.kind for one in rf.propose(table, kinds="key").rules} == {"key"}
    assert texts(rf.propose(table, columns=["zip", "city"], kinds=["functional dependency"])) == {"zip -> city"}
    assert "zip -> city" not in texts(rf.propose(table, where="zip = '00001'"))


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"columns": ["zap"]}, SchemaError, "no column 'zap'"),
        ({"kinds": ["keys"]}, OptionError, "kinds"),
        ({"max_left": 4}, OptionError, "max_left must be 1, 2 or 3"),
        ({"max_left": "2"}, OptionError, "max_left must be a whole number"),
        ({"time_limit": 0}, OptionError, "time_limit"),
        ({"engine": "sparc"}, OptionError, "engine"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        rf.propose(people(50), **options)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}),
        pa.table({"a": [1], "b": ["x"]}),
        pa.table({"a": pa.array([None] * 50, pa.int64()), "b": [1] * 50}),
        pa.table({"a": [float("nan")] * 30, "b": [[1]] * 30}),
        pa.table({"a": pa.nulls(20)}),
    ],
    ids=["empty", "one row", "constants", "nothing to read", "null type"],
)
def test_tables_with_nothing_to_say_say_nothing_false(table: pa.Table, tmp_path: Path) -> None:
    found = rf.propose(table)
    if len(found):
        found.to_yaml(tmp_path / "rules.yaml")
        assert rf.check(table, tmp_path / "rules.yaml").ok


def test_a_search_that_is_stopped_gives_what_it_found() -> None:
    seen: list[str] = []
    found = rf.propose(people(3000), time_limit=1e-6, progress=lambda step: seen.append(step.phase))
    assert found.partial
    assert any("stopped" in note for note in found.notes)
    assert seen


def test_columns_are_read_one_by_one_and_none_once_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(100)
    read: list[tuple[str, ...]] = []
    encode = Relation.encode

    def followed(self: Relation, *args: Any, **options: Any) -> Any:
        read.append(self.names)
        return encode(self, *args, **options)

    monkeypatch.setattr(Relation, "encode", followed)
    rf.propose(table, time_limit=1e-6)
    assert not read
    read_columns(Relation.of(table), table.column_names, 1)
    assert read == [(name,) for name in table.column_names]  # wide tables are not looked at as a whole for each


class Looks(Budget):
    """Time that is up at some looks at the clock."""

    def __init__(self, up: Callable[[int], bool]) -> None:
        super().__init__(Options(threads=1))
        self.looks, self.up = 0, up

    @property
    def expired(self) -> bool:
        self.looks += 1
        return self.up(self.looks)


def stopped_by(table: pa.Table, up: Callable[[int], bool]) -> set[str]:
    """What a search says that finds its time to be up at some looks at the clock."""
    relation = Relation.of(table)
    search = ProposalSearch(relation, [], Looks(up))
    search.read(relation.names)
    search.candidates()
    assert not search.complete
    return {str(one) for one in search.found}


def test_keys_and_what_columns_hold_are_known_first() -> None:
    table = people(300)
    seen: list[str] = []
    rf.propose(table, progress=lambda step: seen.append(step.phase.partition(",")[0]))
    assert list(dict.fromkeys(seen))[:3] == ["reading columns", "values", "dependencies"]
    found = stopped_by(table, lambda look: look > 2 * table.num_columns + 1)
    assert {"unique(id)", "row(sex in ('f', 'm'))", "row(salary >= 0)"} <= found
    assert {f"not_null({name})" for name in table.column_names} <= found


def test_where_reading_takes_half_of_the_time_the_rest_is_for_the_columns_that_were_read() -> None:
    table = people(300)
    found = stopped_by(table, lambda look: look in (6, 7))
    read = {column for text in found if text.startswith("not_null(") for column in [text[9:-1]]}
    assert read == set(table.column_names[:5])
    assert {"unique(id)", "zip -> city", "zip -> state"} <= found


def test_where_rows_may_repeat_others_and_not_all_columns_were_read_only_values_and_keys_are_judged() -> None:
    table = repeated().append_column("last", pa.array(range(2000)))
    found = stopped_by(table, lambda look: look in (9, 10))
    assert "not_null(base)" in found
    assert not any("->" in text or "overlap" in text or "order" in text for text in found)


@pytest.mark.parametrize("phase", ["reading", "values", "orders", "dependencies"])
def test_ctrl_c_gives_what_was_found(phase: str) -> None:
    seen: list[str] = []

    def follow(step: Progress) -> None:
        seen.append(step.phase)
        if step.phase.startswith(phase) and "stop" not in seen:
            seen.append("stop")
            _thread.interrupt_main()

    found = rf.propose(people(2000), progress=follow)
    whole = rf.propose(people(2000))
    assert found.partial
    assert any("stopped" in note for note in found.notes)
    assert "unique(id)" in texts(found) or phase == "reading"
    assert len(texts(found)) < len(texts(whole))


def test_the_list_is_the_same_for_a_seed_on_any_number_of_threads() -> None:
    first, second = (rf.propose(people(), threads=threads, seed=5).to_arrow() for threads in (1, 3))
    assert first.equals(second)


def test_columns_that_rules_cannot_read_are_left_out_and_that_is_said() -> None:
    table = people(200).append_column("tags", pa.array([["a"]] * 200))
    found = rf.propose(table)
    assert found.notes == ("Rules cannot read every type, so these columns were left out: tags.",)
    assert texts(found) == texts(rf.propose(people(200)))
    mixed = people(200).to_pandas().assign(mixed=[1, "a"] * 100)
    assert texts(rf.propose(mixed)) == texts(found)


def test_progress_names_what_was_found() -> None:
    seen: list[str] = []
    rf.propose(people(), progress=lambda step: seen.append(step.phase))
    assert any("zip -> state" in phase for phase in seen)


@pytest.mark.parametrize("make", [lambda t: t.to_pandas(), lambda t: __import__("polars").from_arrow(t)])
def test_other_tables_give_the_same(make: Callable[[pa.Table], Any]) -> None:
    table = people(300)
    assert texts(rf.propose(make(table))) == texts(rf.propose(table))


def test_proposals_are_short_in_a_notebook_and_iterate() -> None:
    found = rf.propose(people(300))
    assert repr(found).startswith("Proposals(")
    assert [one.text for one in found] == [one.text for one in found.rules]
    assert isinstance(found, rf.Discovery)
    assert found.to_pandas().columns[0] == "rule"
    with pytest.raises(OptionError, match="not proposals"):
        rf.Tracker(found)
    random.seed(0)
    with pytest.raises((DataError, SchemaError, OptionError)):
        rf.propose(people(20), key="nothing")


@pytest.mark.parametrize("seed", range(60 if THOROUGH else 5))
def test_all_that_an_exhaustive_search_finds_is_proposed_and_nothing_else(seed: int) -> None:
    table = random_table(seed + 1000)
    limits = Limits(chance=4.0, order_support=0.2)
    by_definition = {one.text: one for one in expected(table, limits, 2)}
    found = {str(one): one for one in candidates(table, limits, pruned=True) if one.shape.value in _SEARCHED}
    for text, one in found.items():
        if text.startswith("unique(") and "," not in text:
            continue
        meant = by_definition[text]
        assert (one.figures.rows, one.figures.blame) == (meant.rows, meant.blame), text
        assert one.figures.chance == pytest.approx(meant.chance, rel=0.3, abs=3), text
    for text, meant in by_definition.items():
        least_chance = max(limits.chance, limits.order_chance * meant.rows if meant.kind == "order" else 0)
        surely = meant.score > meant.least + 0.15 and meant.chance > 1.3 * least_chance + 3
        assert text in found or not surely, meant
    heads = search_heads(Relation.of(table), Options(threads=1), limits=limits)
    said = [one for head in (*heads.rules, *heads.tendencies) for one in (head.candidate, *head.members)]
    assert len(set(map(str, said))) == len(said)
    listed = {str(one) for one in said}
    for text, one in found.items():
        shorter = [
            found.get(str(replace(one, left=part)))
            for size in range(len(one.left))
            for part in itertools.combinations(one.left, size)
        ]
        exact = one.shape is not RuleShape.DEPENDENCY
        superfluous = any(
            part is not None and (exact or one.figures.error > part.figures.error / 2) for part in shorter
        )
        assert (text in listed) != superfluous, text


_SEARCHED = {"key", "functional dependency", "order rule"}


def test_what_is_said_of_hundreds_of_columns_is_written_so_that_it_is_read() -> None:
    draws = np.random.default_rng(0)
    table = pa.table({f"c{k}": draws.integers(0, 20 + k, 200) for k in range(300)})
    found = rf.propose(table, kinds=["domain"])
    text = found.to_yaml()
    read = {name for rule in rf.load_rules(text) for name in rule.columns}
    assert read == set(table.column_names)
    assert rf.check(table, rf.load_rules(text)).ok
    assert "c299" in found.to_html()  # which needs more than one entry for a rule
