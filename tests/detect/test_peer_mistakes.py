"""Rules and tables on which a peer (Desbordante 2.5) answers wrongly or falls over, with what is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import RuleError
from refute.relation.read.files import read_local

METHODS = ("auto", "sweep", "range_search", "refine")


@pytest.mark.parametrize("method", METHODS)
def test_predicates_may_name_the_rows_in_either_order(method: str) -> None:
    table = pa.table({"a": [1, 2, 3], "b": [3, 2, 1]})
    mixed = "not (s.a > t.a and t.b > s.b)"
    straight = "not (s.a > t.a and s.b < t.b)"
    assert rf.parse(mixed) == rf.parse(straight)
    assert sorted(rf.violations(table, mixed, method=method)) == [(1, 0), (2, 0), (2, 1)]
    assert rf.verify(pa.table({"a": [1, 2, 3], "b": [1, 2, 3]}), mixed, method=method).holds


@pytest.mark.parametrize("method", METHODS)
def test_one_column_may_have_two_bounds(method: str) -> None:
    table = pa.table({"a": [1, 5, 9], "b": [0, 6, 1], "c": [9, 0, 6]})
    rule = "not (s.a <= t.b and s.a < t.c)"
    assert sorted(rf.violations(table, rule, method=method)) == [(0, 2)]
    between = "not (s.a > t.b and s.a < t.c)"
    assert sorted(rf.violations(table, between, method=method)) == [(1, 0), (1, 2)]


@pytest.mark.parametrize("method", METHODS)
def test_a_rule_about_two_rows_may_have_constants(method: str) -> None:
    table = pa.table({"state": ["NY", "NY", "TX", "TX"], "salary": [10, 20, 10, 20], "rate": [2.0, 1.0, 2.0, 1.0]})
    rule = "not (s.state = t.state and s.salary > t.salary and s.rate < t.rate and s.state = 'NY' and t.salary >= 10)"
    assert list(rf.violations(table, rule, method=method)) == [(1, 0)]
    assert rf.count(table, rule.replace("t.salary >= 10", "t.salary > 10"), method=method) == 0


def test_a_text_that_is_no_rule_is_an_error_and_changes_nothing() -> None:
    table = pa.table({"a": [1, 1]})
    for text in ("not (s.a == t.a", "not (s.a ~ t.a)", "not ()", "", "s.a == t.a", "not (s.a == u.a and t.a == s.a)"):
        with pytest.raises(RuleError):
            rf.verify(table, text)
    assert not rf.verify(table, "not (s.a == t.a)").holds


def test_the_text_nan_in_a_file_is_text_in_a_column_of_texts(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("name,team\nnan,1\nnan,2\nAnn,3\n", encoding="utf-8")
    assert rf.count(path, "name -> team", engine="local") == 2
    assert rf.count(read_local(path), "not (s.name = 'nan')") == 2


def test_nan_among_numbers_is_null() -> None:
    table = pa.table({"a": [float("nan"), float("nan"), 1.0, 1.0]})
    assert rf.count(table, "not (s.a = t.a)") == 2
    (result,) = rf.check(table, "not (s.a = t.a)")
    assert result.finding.skipped_nulls == 2
    assert rf.count(table, "not (s.a = t.a)", nulls="equal") == 4


@pytest.mark.parametrize("method", METHODS)
def test_a_null_keeps_a_row_only_from_the_side_that_reads_it(method: str) -> None:
    table = pa.table({"low": [1, None, 7], "high": [None, 5, 3]})
    rule = "not (s.low < t.high)"
    assert sorted(rf.violations(table, rule, method=method)) == [(0, 1), (0, 2)]
    unread = pa.table({"a": [1, 1], "b": [None, None]})
    assert rf.count(unread, "not (s.a = t.a)", method=method) == 2


def test_pairs_have_roles() -> None:
    table = pa.table({"pay": [10, 20], "tax": [2, 1]})
    assert list(rf.violations(table, "not (s.pay > t.pay and s.tax < t.tax)")) == [(1, 0)]
    assert list(rf.violations(table, "not (s.pay < t.pay and s.tax > t.tax)")) == [(0, 1)]
    assert sorted(rf.violations(table, "not (s.pay != t.pay)")) == [(0, 1), (1, 0)]


def test_a_code_with_a_leading_zero_is_another_code(tmp_path: Path) -> None:
    table = pa.table({"zip": ["05401", "5401"], "city": ["Burlington", "Elsewhere"]})
    assert rf.verify(table, "zip -> city").holds
    path = tmp_path / "zips.csv"
    path.write_text("zip,city\n05401,Burlington\n5401,Elsewhere\n", encoding="utf-8")
    assert rf.verify(path, "zip -> city", engine="local").holds


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("direction", [1, -1])
def test_sorted_rows_are_no_worse_than_shuffled_ones(method: str, direction: int) -> None:
    n = 10_000
    steps = np.arange(n)[::direction]
    table = pa.table({"a": steps, "b": steps // 2, "g": steps % 3})
    rule = "not (s.g = t.g and s.a > t.a and s.b < t.b)"
    assert rf.verify(table, rule, method=method).holds  # for which the peer needs a minute
    assert rf.count(table, rule, method=method) == 0


def test_duplicated_rows_are_distinct_rows_and_no_row_clashes_with_itself() -> None:
    table = pa.table({"a": [1, 1, 2], "b": [1, 1, 3]})
    assert rf.count(table, "not (s.a = t.a)") == 2
    assert rf.count(table, "not (s.a <= t.b)") == 4
    assert (2, 2) not in set(rf.violations(table, "not (s.a <= t.b)"))
