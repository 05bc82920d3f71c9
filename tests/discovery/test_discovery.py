"""What `discover` gives back: anchors, approximate rules, ranks, files, and partial results."""

from __future__ import annotations

import _thread
import re
import threading
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import rows_of, violations
from refute.discovery import Discovery, Progress, RuleSort
from refute.discovery.options import Options
from refute.discovery.search import discover
from refute.discovery.space.predicates import space_for
from refute.discovery.table import LocalTable
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget, Crew, TimeIsUpError
from refute.errors import OptionError, SchemaError
from refute.language.constraint import DenialConstraint
from refute.language.logic.implication import implies
from refute.language.rulebook import Status
from refute.language.rulebook.reading.load import load_rules
from refute.relation import Relation
from thorough import examples

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="the papers' tables are not here")


def read(name: str) -> pa.Table:
    options = pyarrow.csv.ConvertOptions(null_values=[""], strings_can_be_null=True)
    return pyarrow.csv.read_csv(SHARED / name, convert_options=options)


def staff() -> pa.Table:
    """The example of the Hydra paper (table 1)."""
    return pa.table(
        {
            "ID": [103, 197, 338, 631, 664],
            "Name": ["J. Miller", "J. Miller", "P. Smith", "S. Blake", "P. Dean"],
            "Department": ["Sales", "Accounting", "Sales", "Accounting", "Sales"],
            "D-Code": ["SAL", "ACT", "SAL", "ACT", "SAL"],
            "Hired": [2008, 2012, 2012, 2012, 2016],
            "Salary": [3200, 3500, 2900, 3200, 2700],
        }
    )


def test_the_rules_of_hydras_example_are_found() -> None:
    texts = {rule.text for rule in discover(staff(), cross_columns=False).rules}
    assert "not (s.Department = t.Department and s.`D-Code` != t.`D-Code`)" in texts
    assert "not (s.Name = t.Name and s.Hired = t.Hired)" in texts
    assert {"not (s.ID < t.ID and s.Hired > t.Hired)", "not (s.ID <= t.ID and s.Hired > t.Hired)"} & texts


@needs_data
@pytest.mark.parametrize("method", ["tiles", "guided"])
def test_the_airport_rules_are_those_of_the_peers(method: str) -> None:
    table = read("airport_30k_original.csv")
    assert len(discover(table, cross_columns=False, method=method)) == 28
    found = {
        frozenset((frozenset(column.name for column in p.columns), p.op.symbol) for p in rule.constraint.predicates)
        for rule in discover(table, method=method).rules
    }
    expected = set()
    for line in (SHARED / "constraints" / "airport_incdc_example.txt").read_text().splitlines():
        parts = re.findall(r"t0\.(\w+)\(\w+\) (==|<>) t1\.(\w+)\(", line)
        expected.add(frozenset((frozenset((a, b)), {"==": "=", "<>": "!="}[op]) for a, op, b in parts))
    assert len(expected) == 31
    assert found == expected


@needs_data
@pytest.mark.parametrize(("rows", "rules"), [(1_000, 11_748), (10_000, 10_552)])
def test_the_tax_rules_are_as_many_as_the_peers_find(rows: int, rules: int) -> None:
    table = read("tax_50k_clean.csv")
    table = table.filter(pc.is_valid(table["rate"])).slice(0, rows)
    assert len(discover(table, cross_columns=False)) == rules


def test_rules_carry_what_people_ask_for(tmp_path: Path) -> None:
    found = discover(staff(), cross_columns=False)
    scores = [rule.score for rule in found.rules]
    assert scores == sorted(scores, reverse=True)
    assert [rule.text for rule in found.top(3)] == [rule.text for rule in found.rules[:3]]
    best = next(rule for rule in found.rules if rule.sort is RuleSort.FD)
    assert (best.violations, best.support, best.sentence.endswith(".")) == (0, 5, True)
    assert {rule.sort for rule in found.rules} >= {RuleSort.KEY, RuleSort.FD, RuleSort.ORDER}
    columns: dict[int, set[frozenset[str]]] = {}
    for rule in found.rules:
        columns.setdefault(rule.group, set()).add(frozenset(rule.constraint.columns))
    assert all(len(sets) == 1 for sets in columns.values())
    found.to_yaml(tmp_path / "rules.yaml", 5)
    book = load_rules(tmp_path / "rules.yaml")
    for read_back, rule in zip(book, found.top(5), strict=True):
        assert implies(read_back.constraint, rule.constraint)
        assert implies(rule.constraint, read_back.constraint)
    assert {read_back.status for read_back in book} == {Status.PROPOSED}
    assert found.to_arrow(4).num_rows == len(found.to_pandas(4)) == 4


def test_filters_narrow_the_search_and_are_said() -> None:
    table = staff().append_column("Empty", pa.nulls(5, pa.string())).append_column("List", pa.array([[1]] * 5))
    names = ["ID", "Hired", "Empty", "List"]
    found = discover(table, columns=names, kinds=["key"], operators=["=", "!="], max_predicates=2)
    assert [rule.text for rule in found.rules] == ["not (s.ID = t.ID)"]
    assert len(found.notes) == 4
    assert all(any(name in note for note in found.notes) for name in ("'Empty'", "'List'"))


@pytest.mark.parametrize(
    "options",
    [
        {"error": 1.5},
        {"method": "tils"},
        {"measure": "g4"},
        {"max_predicates": 0},
        {"nulls": "?"},
        {"max_predicates": "3"},
        {"threads": True},
        {"time_limit": "soon"},
        {"seed": 0.5},
        {"almost": None},
        {"cross_columns": "yes"},
        {"progress": 3},
        {"kinds": "kee"},
    ],
)
def test_options_that_make_no_sense_are_named(options: dict[str, object]) -> None:
    (name,) = options
    with pytest.raises(OptionError, match=f"^{name} must "):
        discover(staff(), **options)  # type: ignore[arg-type]


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(SchemaError, match="There is no column 'Nam'") as told:
        discover(staff(), columns=["Nam"])
    assert told.value.facts["column"] == "Nam"


def test_one_name_may_stand_for_a_list_of_one() -> None:
    several = discover(staff(), columns=["Name"], operators=["="], kinds=["key"])
    one = discover(staff(), columns="Name", operators="=", kinds="key")
    assert [rule.text for rule in one.rules] == [rule.text for rule in several.rules]


def test_almost_rules_come_with_the_pairs_that_break_them() -> None:
    table = pa.table({"zip": [1, 1, 1, 2, 2, 3, 3], "city": ["a", "a", "x", "b", "b", "c", "c"]})
    found = discover(table, cross_columns=False, almost=2)
    rule = next(r for r in found.almost if r.text == "not (s.zip = t.zip and s.city != t.city)")
    assert rule.violations == 4
    assert rule.pairs == ((0, 2), (1, 2), (2, 0), (2, 1))
    assert all(r.violations > 0 for r in found.almost)


def test_constants_and_one_row_rules_are_found_when_asked_for() -> None:
    table = pa.table({"kind": ["x", "x", "y", "y"], "low": [1, 2, 3, 4], "high": [2, 3, 4, 5]})
    texts = {r.text for r in discover(table, one_row=True, constants=2, shared_values=0.1, max_predicates=2).rules}
    assert "not (s.high <= s.low)" in texts or "not (s.low >= s.high)" in texts


@given(st.lists(st.tuples(st.none() | st.integers(0, 3), st.none() | st.integers(0, 3)), min_size=2, max_size=9))
@examples(40)
def test_state_shares_are_those_of_all_pairs(rows: list[tuple[int | None, int | None]]) -> None:
    table = pa.table({"a": pa.array([a for a, _ in rows], pa.int64()), "b": pa.array([b for _, b in rows], pa.int64())})
    found = discover(table, shared_values=0.0, average_ratio=0.0, max_predicates=1, threads=1)
    plain = rows_of(table)
    n = len(plain)
    for slot in found.space.slots:
        shares = found.table.state_shares(slot)
        for op in slot.kind.operators:
            (predicate,) = slot.predicates(slot.kind.mask(op))[:1] or (None,)
            if predicate is None or slot.kind.mask(op) == slot.kind.full:
                continue
            share = sum(s for k, s in enumerate(shares) if slot.kind.mask(op) >> k & 1)
            assert share == pytest.approx(len(violations(table, DenialConstraint((predicate,)))) / (n * (n - 1)))


def wide(rows: int) -> pa.Table:
    random = np.random.default_rng(1)
    return pa.table({f"c{k}": random.integers(0, 4 + 3 * k, rows) for k in range(14)})


def holds(found: Discovery, table: pa.Table, some: int) -> None:
    for rule in found.top(some):
        assert not violations(table, rule.constraint)


@pytest.mark.parametrize("method", ["guided", "tiles", "hydra"])
def test_a_time_limit_gives_verified_rules_flagged_partial(method: str) -> None:
    table = wide(3_000)
    found = discover(table, cross_columns=False, method=method, time_limit=0.05)
    assert found.partial
    assert any("stopped" in note for note in found.notes)
    holds(found, table.slice(0, 200), 20)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_gives_verified_rules_flagged_partial() -> None:
    phases: list[str] = []

    def interrupt(progress: Progress) -> None:
        phases.append(progress.phase)
        if progress.phase == "inversion" and len(phases) > 1:
            _thread.interrupt_main()

    found = discover(wide(2_000), cross_columns=False, method="guided", progress=interrupt)
    assert found.partial
    assert "inversion" in phases


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("by_hand", [True, False])
def test_of_many_rules_that_there_is_no_time_to_compare_the_shortest_stay(by_hand: bool) -> None:
    def stop(progress: Progress) -> None:
        if progress.phase == "minimal rules":
            _thread.interrupt_main() if by_hand else time.sleep(2)

    table = wide(30).select([f"c{k}" for k in range(4)])
    limit = None if by_hand else 2.0
    found = discover(table, progress=stop, time_limit=limit, tuning=Tuning(kept=7), shared_values=0.0)
    assert found.partial
    assert 0 < len(found) <= 7
    holds(found, table, 7)


def test_a_search_says_how_far_it_is_while_kernels_run() -> None:
    heard = threading.Event()
    phases: list[str] = []

    def hear(progress: Progress) -> None:
        phases.append(progress.phase)
        if "2 of 3 parts" in progress.phase:
            heard.set()

    def wait(task: int) -> None:
        if task == 2:
            heard.wait(60)

    budget = Budget(Options(threads=1, progress=hear))
    budget.report("inversion")
    crew: Crew[None, int] = Crew(budget, lambda: None, lambda _, task: wait(task), tasks=3)
    assert crew.run(range(3))[1]
    assert "inversion, 2 of 3 parts" in phases


@pytest.fixture
def quiet() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() <= before


@pytest.mark.usefixtures("quiet")
def test_auto_gives_up_a_guided_search_that_all_pairs_would_beat() -> None:
    random = np.random.default_rng(2)
    table = pa.table({f"c{k}": random.integers(0, 3, 400) for k in range(5)})
    found = discover(table, cross_columns=False, tuning=Tuning(few_rows=10))
    assert found.complete
    assert [r.text for r in found.rules] == [r.text for r in discover(table, cross_columns=False, method="tiles").rules]


def test_rules_do_not_depend_on_the_order_of_columns() -> None:
    table = staff()
    texts = {frozenset(rule.constraint.predicates) for rule in discover(table, cross_columns=False).rules}
    for first, second in list(combinations(table.column_names, 2))[:4]:
        names = [second if n == first else first if n == second else n for n in table.column_names]
        again = discover(table.select(names), cross_columns=False).rules
        mirrored = {frozenset(r.constraint.predicates) for r in again} | {
            frozenset(r.constraint.swapped().predicates) for r in again
        }
        assert texts <= mirrored


def test_columns_are_compared_with_each_other_only_as_long_as_there_is_time() -> None:
    compared = 0

    def look() -> None:
        nonlocal compared
        compared += 1
        if compared == 3:
            raise TimeIsUpError

    columns = LocalTable(Relation.of(pa.table({f"c{k}": [1, 2, 3] for k in range(9)})))
    with pytest.raises(TimeIsUpError):
        space_for(columns, Options(), look)
    assert compared == 3
    found = discover(pa.table({"a": [1, 2, 3], "b": [2, 1, 2]}), time_limit=1e-4, shared_values=0.0)
    assert not found.complete
    assert any(note.startswith("Columns were not compared with each other") for note in found.notes)
    assert "not (s.a = t.a)" in {rule.text for rule in found.rules}
