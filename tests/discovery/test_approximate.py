"""Approximate rules by their definition: every box of the space, every pair of rows, every set of rows to remove."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from discovery.brute import implies, satisfying
from oracle import holds, rows_of
from refute.discovery import CompleteDiscovery, RuleSort
from refute.discovery.result.measures import most_within
from refute.discovery.search import discover
from refute.language.predicate import Predicate, Row
from thorough import examples

Box = tuple[int, ...]
Clashes = frozenset[tuple[int, ...]]


@dataclass
class Brute:
    """All boxes of a space over a table, with the pairs of rows, or single rows, that break each."""

    table: pa.Table
    found: CompleteDiscovery
    nulls: str

    def __post_init__(self) -> None:
        rows = rows_of(self.table)
        n = len(rows)
        self.n = n
        self.true = {
            (i, j): {p for p in self.found.space.predicates if holds(p, {Row.S: rows[i], Row.T: rows[j]}, self.nulls)}
            for i in range(n)
            for j in range(n)
            if i != j
        }

    def boxes(self, longest: int) -> Iterator[Box]:
        """Every box of at most so many predicates."""
        kinds = [slot.kind for slot in self.found.space.slots]
        for size in range(1, longest + 1):
            for slots in combinations(range(len(kinds)), size):
                for masks in product(*(kinds[k].conjunctions for k in slots)):
                    box = [kind.full for kind in kinds]
                    for k, mask in zip(slots, masks, strict=True):
                        box[k] = mask
                    if len(self.predicates(tuple(box))) <= longest:
                        yield tuple(box)

    def predicates(self, box: Box) -> tuple[Predicate, ...]:
        return self.found.space.constraint(box).predicates

    def clashes(self, box: Box) -> Clashes:
        """The pairs that break a rule, either way; single rows for a rule about one row."""
        wanted = set(self.predicates(box))
        ordered = [pair for pair, true in self.true.items() if wanted <= true]
        if self.found.space.constraint(box).is_single_row:
            (row,) = {column.row for p in wanted for column in p.columns}
            return frozenset((pair[0 if row is Row.S else 1],) for pair in ordered)
        return frozenset(tuple(sorted(pair)) for pair in ordered)

    def pairs(self, box: Box) -> int:
        wanted = set(self.predicates(box))
        return len({tuple(sorted(pair)) for pair, true in self.true.items() if wanted <= true})

    def error(self, box: Box, measure: str) -> float:
        if measure == "g1":
            return self.pairs(box) / (self.n * (self.n - 1) / 2)
        clashes = self.clashes(box)
        if measure == "g2":
            return len({row for clash in clashes for row in clash}) / self.n
        best = fewest_removed(clashes, self.n)
        if best == 0 or is_settled_exactly(self.predicates(box)):
            return best / self.n
        blamed = len(rf.suspects(self.table, self.found.space.constraint(box), nulls=self.nulls).rows)
        assert blamed >= best
        return blamed / self.n


def fewest_removed(clashes: Clashes, n: int) -> int:
    """The smallest number of rows without which nothing clashes."""
    return next(
        size
        for size in range(n + 1)
        for gone in combinations(range(n), size)
        if all(set(clash) & set(gone) for clash in clashes)
    )


def is_settled_exactly(predicates: tuple[Predicate, ...]) -> bool:
    """Whether a rule is a key, a dependency, an order within groups, or about one row."""
    columns = [column.row for p in predicates for column in p.columns]
    if len(set(columns)) == 1:
        return True
    if any(not p.is_two_row or p.is_cross_column for p in predicates):
        return False
    rest = [p.op.symbol for p in predicates if p.op.symbol != "="]
    return len(rest) < 2 or (len(rest) == 2 and "!=" not in rest)


VALUES = {"int": st.integers(0, 3), "text": st.sampled_from("xyz"), "bool": st.booleans()}


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    kinds = draw(st.sampled_from((("int", "int"), ("int", "text"), ("int", "int", "bool"), ("text", "bool"))))
    size = draw(st.integers(3, 7))
    nullable = draw(st.booleans())
    columns = {}
    for name, kind in zip("abc", kinds, strict=False):
        cells = st.none() | VALUES[kind] if nullable else VALUES[kind]
        kept = draw(st.lists(cells, min_size=size, max_size=size))
        columns[name] = pa.array(kept, {"int": pa.int64(), "text": pa.string(), "bool": pa.bool_()}[kind])
    return pa.table(columns)


@given(
    tables(),
    st.sampled_from((0.05, 0.15, 0.3, 1 / 3)),
    st.sampled_from(("g1", "g2", "g3")),
    st.sampled_from(("sql", "equal")),
    st.sampled_from(({}, {"cross_columns": True}, {"one_row": True}, {"constants": 2})),
)
@examples(60)
def test_approximate_rules_are_the_most_general_ones_within_the_error(
    table: pa.Table, error: float, measure: str, nulls: str, more: dict[str, Any]
) -> None:
    longest = 2 if more else 3
    options: dict[str, Any] = {"cross_columns": False, "operators": ["=", "!=", "<"], "max_predicates": longest} | more
    options |= {"shared_values": 0.0, "average_ratio": 0.0, "constant_share": 0.0, "threads": 1}
    found = discover(table, error=error, measure=measure, nulls=nulls, **options)
    brute = Brute(table, found, nulls)
    within = {box for box in brute.boxes(longest) if brute.error(box, measure) <= error}
    expected = {
        b for b in within if not any(o != b and all(x & ~y == 0 for x, y in zip(b, o, strict=True)) for o in within)
    }
    kept = {tuple(row) for row in found.space.masks(found.boxes).tolist()}
    assert kept <= expected
    nullable = frozenset(name for name in table.column_names if table[name].null_count)
    rules = [brute.predicates(box) for box in kept]
    kinds = kinds_of(table)
    for box in expected - kept:
        said = brute.predicates(box)
        trivial = not satisfying(said, nulls, nullable, **kinds)
        assert trivial or any(implies(rule, said, nulls, nullable, **kinds) for rule in rules), said
    for rule, masks in zip(found.rules, found.space.masks(found.boxes).tolist(), strict=True):
        assert satisfying(rule.constraint.predicates, nulls, nullable, **kinds), f"{rule} is vacuous"
        assert rule.error == brute.error(tuple(masks), measure)
        assert rule.violations == rf.count(table, rule.constraint, nulls=nulls)


def kinds_of(table: pa.Table) -> dict[str, frozenset[str]]:
    """The columns of truth values and of texts."""
    tests = {"booleans": pa.types.is_boolean, "texts": pa.types.is_string}
    return {kind: frozenset(one.name for one in table.schema if is_one(one.type)) for kind, is_one in tests.items()}


@given(st.integers(1, 10**7), st.floats(0, 0.999))
def test_a_limit_admits_what_divides_to_no_more_than_the_error(total: int, error: float) -> None:
    most = most_within(error, total)
    assert most / total <= error < (most + 1) / total


def test_limits_are_not_rounded_down() -> None:
    assert int(0.29 * 100) == 28
    assert most_within(0.29, 100) == 29
    table = pa.table({"a": [1] * 29 + list(range(2, 73)), "b": range(100)})
    found = discover(table, columns=["a"], operators=["="], error=0.28, measure="g3")
    assert [(rule.text, rule.error) for rule in found.rules] == [("not (s.a = t.a)", 0.28)]
    assert not discover(table, columns=["a"], operators=["="], error=0.2799, measure="g3").rules


@pytest.mark.parametrize(("measure", "broken"), [("g1", 16 / 780), ("g2", 20 / 40), ("g3", 4 / 40)])
def test_the_id_of_a_row_does_not_hide_a_broken_dependency(measure: str, broken: float) -> None:
    cities = ["x" if k % 10 == 4 else str(k // 5) for k in range(40)]  # every second zip has one row that is wrong
    table = pa.table({"id": range(40), "zip": [str(k // 5) for k in range(40)], "city": cities})
    dependency = rf.parse("not (s.zip = t.zip and s.city != t.city)").predicates

    def longer_ones(error: float) -> list[str]:
        found = rf.discover(table, cross_columns=False, error=error, measure=measure, max_predicates=3)
        return [rule.text for rule in found.rules if set(dependency) < set(rule.constraint.predicates)]

    assert not longer_ones(broken * 0.99)
    assert not longer_ones(broken)
    assert rf.discover(table, cross_columns=False, error=broken, measure=measure, kinds="functional dependency").rules


def test_almost_rules_are_ranked_by_the_rows_to_blame() -> None:
    rows = [{"zip": zip_, "city": f"c{zip_}", "n": zip_ * 100 + k} for zip_ in range(6) for k in range(8)]
    rows[3] |= {"city": "typo"}  # one row, seven pairs
    for place, number in ((10, 1), (20, 2), (30, 3)):
        rows[place] |= {"n": rows[place + number]["n"]}  # three pairs, three rows
    found = rf.discover(pa.Table.from_pylist(rows), cross_columns=False, almost=7, max_predicates=2)
    blame = [rule.blame or 0 for rule in found.almost]
    assert blame == sorted(blame)
    by_text = {rule.text: rule for rule in found.almost}
    fd, key = by_text["not (s.zip = t.zip and s.city != t.city)"], by_text["not (s.n = t.n)"]
    assert (fd.blame, fd.violations, key.blame, key.violations) == (1, 14, 3, 6)
    assert found.almost.index(fd) < found.almost.index(key)
    assert fd.error == 7 / (48 * 47 / 2)


def test_no_rule_about_truth_values_says_nothing() -> None:
    table = pa.table(
        {"f": [True, True, False, False, True], "g": [True, False, False, True, True], "k": [1, 1, 2, 2, 3]}
    )
    found = discover(table, one_row=True, constants=2, constant_share=0.0, shared_values=0.0)
    for rule in found.rules:
        assert satisfying(rule.constraint.predicates, "sql", frozenset(), booleans=frozenset({"f", "g"})), rule.text
    assert {rule.sort for rule in found.rules} != {RuleSort.ROW}


@pytest.mark.parametrize("measure", ["g2", "g3"])
def test_an_error_that_admits_all_pairs_still_gives_rules(measure: str) -> None:
    table = pa.table({"a": [1, 2]})
    found = discover(table, error=0.5, measure=measure, operators=["=", "!="])
    expected = {"g2": {"not (s.a = t.a)": 0.0}, "g3": {"not (s.a = t.a)": 0.0, "not (s.a != t.a)": 0.5}}
    assert {rule.text: rule.error for rule in found.rules} == expected[measure]
