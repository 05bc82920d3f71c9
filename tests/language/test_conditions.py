"""Conditions have three truth values, and row rules stand for the constraints of their negation."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import compare
from refute.errors import RuleError
from refute.language.conditions import (
    And,
    Compare,
    Condition,
    IsNull,
    Not,
    Or,
    alternatives,
    columns_of,
    evaluate,
    negation,
    normal_form,
)
from refute.language.operators import Operator
from refute.language.parsing.parser import parse_condition, parse_rule
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.render import render_text
from refute.language.short_forms.sugar import RowRule

NAMES = ("a", "b")
VALUES = (None, 0, 1, 2)
ROWS = [dict(zip(NAMES, found, strict=True)) for found in product(VALUES, repeat=2)]

columns = st.sampled_from([Column(Row.S, name) for name in NAMES])
operands = columns | st.builds(Constant, st.sampled_from((0, 1, 2)))
compares = st.builds(Compare, st.builds(Predicate.of, columns, st.sampled_from(list(Operator)), operands))


def joined(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(parts, min_size=1, max_size=3).map(tuple)
    return st.builds(And, several) | st.builds(Or, several) | st.builds(Not, parts)


conditions = st.recursive(compares | st.builds(IsNull, st.sampled_from(NAMES), st.booleans()), joined, max_leaves=5)
comparisons_only = st.recursive(compares, joined, max_leaves=5)


@given(conditions)
def test_the_normal_form_is_true_and_false_for_the_same_rows(condition: Condition) -> None:
    for row in ROWS:
        assert evaluate(normal_form(condition), row) is evaluate(condition, row)
        opposite = evaluate(condition, row)
        assert evaluate(negation(condition), row) is (None if opposite is None else not opposite)


@given(conditions)
def test_one_of_the_alternatives_is_true_exactly_if_the_condition_is(condition: Condition) -> None:
    for row in ROWS:
        found = any(all(evaluate(part, row) is True for part in parts) for parts in alternatives(condition))
        assert found == (evaluate(condition, row) is True)


@given(comparisons_only)
def test_a_row_rule_is_violated_by_the_rows_for_which_it_is_false(condition: Condition) -> None:
    rules = RowRule(condition).constraints()
    for row in ROWS:
        broken = any(all(_true(p, row) for p in rule.predicates) for rule in rules)
        assert broken == (evaluate(condition, row) is False)


@given(conditions)
def test_a_row_rule_with_null_tests_is_exact_or_an_error(condition: Condition) -> None:
    try:
        rules = RowRule(condition).constraints()
    except RuleError:
        return
    for row in ROWS:
        broken = any(all(_true(p, row) for p in rule.predicates) for rule in rules)
        assert broken == (evaluate(condition, row) is False)


def _true(predicate: Predicate, row: dict[str, Any]) -> bool:
    right = predicate.right
    other = row[right.name] if isinstance(right, Column) else right.value
    return compare(row[predicate.left.name], predicate.op, other, "sql")


@pytest.mark.parametrize(
    ("text", "row", "truth"),
    [
        ("a = 1", {"a": None}, None),
        ("a = 1", {"a": float("nan")}, None),
        ("not a = 1", {"a": None}, None),
        ("a is null", {"a": None}, True),
        ("a is null", {"a": float("nan")}, True),
        ("a is not null", {"a": 0}, True),
        ("a = 1 or a is null", {"a": None}, True),
        ("a in (1, 2)", {"a": 2}, True),
        ("a not in (1, 2)", {"a": 3}, True),
        ("a not in (1, 2)", {"a": None}, None),
        ("a between 1 and 3 and a != 2", {"a": 3}, True),
        ("a not between 1 and 3", {"a": 0}, True),
        ("not (a > 1 and a < 3) or a = 2", {"a": 2}, True),
        ("a > 1 or a < 0 and a > -5", {"a": 2}, True),
        ("5 > a", {"a": 2}, True),
        ("s.a > 1", {"a": 2}, True),
    ],
)
def test_conditions_mean_what_sql_means(text: str, row: dict[str, Any], truth: bool | None) -> None:
    assert evaluate(parse_condition(text), row) is truth


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("row(qty >= 0)", ["not (s.qty < 0)"]),
        ("row(qty >= 0 and unit in ('kg', 'g'))", ["not (s.qty < 0)", "not (s.unit != 'kg' and s.unit != 'g')"]),
        ("row(start <= end)", ["not (s.end < s.start)"]),
        ("row(a is null or a > 5)", ["not (s.a <= 5)"]),
        ("row(a is null or b > 5)", ["not (s.b <= 5 and s.a <= s.a)"]),
        ("row(a is null)", ["not (s.a <= s.a)"]),
        ("row(not (a = 1 and (b = 2 or c = 3)))", ["not (s.a = 1 and s.b = 2)", "not (s.a = 1 and s.c = 3)"]),
    ],
)
def test_a_row_rule_stands_for_the_constraints_of_its_negation(text: str, expected: list[str]) -> None:
    assert [render_text(rule) for rule in parse_rule(text)] == expected


def test_a_row_rule_that_null_breaks_is_an_error() -> None:
    with pytest.raises(RuleError, match="'a' is null break this row rule"):
        parse_rule("row(a is not null)")


def test_a_row_rule_with_too_many_alternatives_is_an_error() -> None:
    text = " or ".join(f"(a{i} = 1 and b{i} = 1)" for i in range(12))
    with pytest.raises(RuleError, match="more than 256 alternatives"):
        parse_rule(f"row({text})")


def test_the_columns_of_a_condition_are_named_once_in_order() -> None:
    assert columns_of(parse_condition("b > a or not (c is null and b = 1)")) == ("a", "b", "c")
