"""A form asks for the pairs that its rule asks for, however it is read: whole, by sides, and with `!=` taken apart."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import compare, holds, rows_of, violations
from refute.language.form import Form, Order, operands
from refute.language.logic.differences import signed, split, subsets
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Predicate, Row
from refute.language.rulebook import Rule
from strategies import KINDS, Case, cases
from thorough import examples

EXACT = tuple(kind for kind in KINDS if kind.arrow in (pa.int32(), pa.bool_(), pa.string(), pa.date32()))
Cells = dict[str, Any]
Pair = tuple[int, int]


def form_of(case: Case) -> Form:
    return Form.of(Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls)))


def admits(form: Form, row: Row, cells: Cells) -> bool:
    """Whether a row may stand on a side, as the form says."""
    side = form.side(row)
    present = all(cells[name] is not None for name in side.barred)
    return present and all(holds(one, {Row.S: cells}, form.nulls.value) for one in side.filters)


def is_true(predicate: Predicate, s: Cells, t: Cells, nulls: Nulls) -> bool:
    return holds(predicate, {Row.S: s, Row.T: t}, nulls.value)


def is_ordered(order: Order, s: Cells, t: Cells, nulls: Nulls) -> bool:
    if not order.nulls_first:
        return is_true(order.predicate, s, t, nulls)
    s_name, t_name = operands(order.predicate)
    left, right = s[s_name], t[t_name]
    if left is None or right is None:
        return compare(left is not None, order.predicate.op, right is not None, "sql")
    return compare(left, order.predicate.op, right, "sql")


def asked_for(form: Form, rows: list[Cells]) -> list[Pair]:
    """All pairs that satisfy a form, a row with itself too."""
    if not form.possible:
        return []
    return [
        (i, j)
        for (i, s), (j, t) in product(enumerate(rows), repeat=2)
        if admits(form, Row.S, s)
        and admits(form, Row.T, t)
        and all(is_true(one, s, t, form.nulls) for one in (*form.equal, *form.differ))
        and all(is_ordered(one, s, t, form.nulls) for one in form.order)
    ]


def of_two_rows(pairs: list[Pair]) -> list[Pair]:
    return [(i, j) for i, j in pairs if i != j]


@examples(300)
@given(cases(max_rows=6, kinds=EXACT))
def test_a_form_asks_for_the_pairs_of_its_rule(case: Case) -> None:
    form, rows, truth = form_of(case), rows_of(case.table), violations(case.table, case.rule, case.nulls)
    if case.rule.is_single_row:
        assert [(i,) for i, row in enumerate(rows) if admits(form, Row.S, row)] == truth
        assert not form.predicates
    else:
        assert of_two_rows(asked_for(form, rows)) == truth


@examples(300)
@given(cases(max_rows=6, kinds=EXACT))
def test_aligned_sides_admit_the_same_rows_and_read_the_same_columns(case: Case) -> None:
    form, rows = form_of(case), rows_of(case.table)
    if form.aligned:
        assert all(admits(form, Row.S, row) == admits(form, Row.T, row) for row in rows)
        assert all(len(set(operands(one))) == 1 for one in form.predicates)
    swapped = Form.of(Rule(name="swapped", constraint=case.rule.swapped(), nulls=form.nulls))
    if not case.rule.is_single_row:
        assert (swapped.side(Row.S), swapped.side(Row.T)) == (form.side(Row.T), form.side(Row.S))
        assert (swapped.aligned, swapped.self_pairs) == (form.aligned, form.self_pairs)


@examples(300)
@given(cases(max_rows=6, kinds=EXACT))
def test_a_row_that_satisfies_a_rule_with_itself_is_foreseen(case: Case) -> None:
    form, rows = form_of(case), rows_of(case.table)
    for each in (form, *form.split(), *(one for _, one in form.signed())):
        if not case.rule.is_single_row and not each.self_pairs:
            assert all(i != j for i, j in asked_for(each, rows))


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("unique(a)", True),
        ("a -> b", False),
        ("not (s.a < t.b)", True),
        ("not (s.a < t.b and s.b < t.a)", False),
        ("not (s.a <= t.a)", True),
        ("not (s.a = 1 and t.a = 2)", False),
        ("not (s.a < t.a and s.a > t.a)", False),
    ],
)
def test_a_row_can_stand_on_both_sides_only_if_the_rule_allows(text: str, possible: bool) -> None:
    assert Form.of(Rule.of(text)).self_pairs == possible


@examples(300)
@given(cases(max_rows=6, kinds=EXACT))
def test_signed_forms_count_and_split_forms_list_what_the_whole_does(case: Case) -> None:
    form, rows = form_of(case), rows_of(case.table)
    truth = asked_for(form, rows)
    terms = form.signed()
    assert sum(sign * len(asked_for(term, rows)) for sign, term in terms) == len(truth)
    assert not any(term.differ for _, term in terms)
    parts = form.split()
    assert Counter(pair for part in parts for pair in asked_for(part, rows)) == Counter(truth)
    assert not any(part.differ for part in parts)


def test_comparisons_of_the_same_columns_are_one_and_bar_nulls_as_all_of_them_do() -> None:
    rule = Rule(name="rule", constraint=Rule.of("not (s.a = t.a and s.a <= t.a and s.b != t.b)").constraint)
    form = Form.of(rule)
    assert [one.op for one in form.predicates] == [Operator.EQ, Operator.NE]
    assert form.barred() == {"a", "b"}
    equal = Form.of(Rule(name="rule", constraint=rule.constraint, nulls=Nulls.EQUAL))
    assert equal.barred() == equal.barred(Row.S) == {"a"}
    assert not Form.of(Rule.of("not (s.a < t.a and s.a > t.a)")).possible


@given(st.lists(st.frozensets(st.integers(0, 6)), max_size=4))
def test_what_lies_in_none_of_some_sets_is_counted_by_signed_terms(agreeing: list[frozenset[int]]) -> None:
    everything = frozenset(range(7))
    outside = len(everything.difference(*agreeing))
    counts = (sign * len(everything.intersection(*chosen)) for sign, chosen in subsets(agreeing))
    assert sum(counts) == outside

    def take(state: tuple[frozenset[int], int]) -> tuple[frozenset[int], tuple[frozenset[int], int]] | None:
        left, n = state
        return (agreeing[n], (left, n + 1)) if n < len(agreeing) else None

    def agree(state: tuple[frozenset[int], int], one: frozenset[int]) -> tuple[frozenset[int], int] | None:
        return (state[0] & one, state[1]) if state[0] & one else None

    terms = list(signed((everything, 0), take, agree))
    assert sum(term.sign * len(term.counted[0]) for term in terms) == outside
    assert all(len(term.ignored) + len(term.same) == len(agreeing) for term in terms)


@pytest.mark.parametrize("number", range(4))
def test_half_of_the_choices_and_their_mirror_images_are_all(number: int) -> None:
    every = list(split(range(number), lambda _: -1, lambda _: 1))
    half = list(split(range(number), lambda _: -1, lambda _: 1, halved=True))
    assert len(every) == 2**number
    assert {*half, *(tuple(-sign for sign in one) for one in half)} == set(every)
    assert len(half) == max(2 ** (number - 1), 1)
