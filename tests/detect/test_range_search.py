"""The method range_search against all pairs, in rank space, with either index."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import listed, naive_matches, naive_pairs, problems, random_problem, within
from refute.detect import range_search
from refute.detect.range_search import IndexKind, RangeOptions
from refute.detect.range_search.choice import choose
from refute.detect.sweep.reduce import reduce
from refute.index.range_tree import tree_bytes
from refute.plan.problem import Comparison, Problem
from refute.plan.share import Share

EITHER = [RangeOptions(index=IndexKind.RANGE_TREE), RangeOptions(index=IndexKind.KD_TREE)]
SHAPES = {
    "ascending": lambda n: np.arange(n),
    "descending": lambda n: np.arange(n)[::-1].copy(),
    "constant": lambda n: np.zeros(n, np.int64),
    "saw": lambda n: np.arange(n) % 7,
    "organ pipe": lambda n: np.minimum(np.arange(n), np.arange(n)[::-1]),
}


def assert_all_answers_right(problem: Problem, options: RangeOptions, share: Share | None = None) -> None:
    matches = naive_matches(problem)
    witness = range_search.exists(problem, share, options)
    assert (witness is None) == (not matches.any())
    if witness is not None:
        s = witness[0] if problem.s.rows is None else np.searchsorted(problem.s.rows, witness[0])
        t = witness[1] if problem.t.rows is None else np.searchsorted(problem.t.rows, witness[1])
        assert matches[s, t]
    assert range_search.count(problem, share, options) == matches.sum()
    s_partners, t_partners = range_search.partners(problem, share, options)
    assert s_partners.tolist() == matches.sum(axis=1).tolist()
    assert t_partners.tolist() == matches.sum(axis=0).tolist()
    if matches.sum() < 300_000:
        assert listed(range_search.pairs(problem, share, None, options)) == naive_pairs(problem)


@pytest.mark.parametrize("options", EITHER, ids=lambda each: each.index.value)
@given(problem=problems())
def test_all_four_answers_equal_those_of_all_pairs(options: RangeOptions, problem: Problem) -> None:
    assert_all_answers_right(problem, options)


@given(problem=problems(), memory=st.sampled_from([None, 0, 1 << 12]))
def test_a_budget_of_memory_changes_no_answer(problem: Problem, memory: int | None) -> None:
    assert_all_answers_right(problem, RangeOptions(memory=memory), Share(2))


@pytest.mark.parametrize("options", EITHER, ids=lambda each: each.index.value)
@given(problem=problems(), limit=st.integers(-1, 30))
def test_a_limit_cuts_the_listing(options: RangeOptions, problem: Problem, limit: int) -> None:
    expected = naive_pairs(problem)
    found = listed(range_search.pairs(problem, None, limit, options))
    assert len(found) == len(set(found)) == min(max(limit, 0), len(expected))
    assert set(found) <= set(expected)


@pytest.mark.parametrize("order", range(5))
@pytest.mark.parametrize("differ", range(3))
@pytest.mark.parametrize("equal", range(3))
def test_answers_stay_right_on_hundreds_of_rows(order: int, differ: int, equal: int) -> None:
    for seed, options in enumerate(EITHER):
        assert_all_answers_right(random_problem(seed, rows=700, equal=equal, order=order, differ=differ), options)


@pytest.mark.parametrize("options", EITHER, ids=lambda each: each.index.value)
@pytest.mark.parametrize("first", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("second", SHAPES.values(), ids=SHAPES)
def test_sorted_and_constant_columns_are_answered_like_any_other(
    options: RangeOptions, first: Callable[[int], np.ndarray], second: Callable[[int], np.ndarray]
) -> None:
    n = 400
    columns = [first(n), second(n), first(n)]
    order = tuple(Comparison(column, column, n) for column in columns)
    assert_all_answers_right(within(n, (), order, (), False), options)


@pytest.mark.parametrize("options", EITHER, ids=lambda each: each.index.value)
def test_values_beyond_32_bits_keep_their_order(options: RangeOptions) -> None:
    rng = np.random.default_rng(3)
    size = 2**62
    wide = [rng.choice(rng.integers(0, size, 40), 300) for _ in range(4)]
    order = (Comparison(wide[0], wide[1], size), Comparison(wide[2], wide[2], size))
    assert_all_answers_right(within(300, (), order, (Comparison(wide[3], wide[1], size),), True), options)


def test_many_differences_are_answered() -> None:
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 5, 120) for _ in range(8)]
    differ = tuple(Comparison(column, column, 5) for column in columns)
    assert_all_answers_right(within(120, (), (), differ, False), RangeOptions())


@pytest.mark.parametrize("options", EITHER, ids=lambda each: each.index.value)
def test_a_row_that_meets_itself_hides_no_other_clash(options: RangeOptions) -> None:
    equal = (Comparison(np.array([1, 1]), np.array([1, 1]), 2),)
    differ = (Comparison(np.array([9, 9]), np.array([0, 0]), 10), Comparison(np.array([2, 0]), np.array([0, 1]), 3))
    assert_all_answers_right(within(2, equal, (), differ, True), options)


def test_a_listing_of_billions_of_pairs_starts_at_once() -> None:
    n = 200_000
    ascending = np.arange(n)
    order = tuple(Comparison(column, column, n) for column in (ascending, ascending // 2, ascending // 3))
    problem = within(n, (), order, (), False)
    for options in EITHER:
        found = listed(range_search.pairs(problem, None, 1000, options))
        assert len(set(found)) == 1000
        assert all(s // 3 < t // 3 for s, t in found)


def test_a_range_tree_is_chosen_within_its_budget_and_a_k_d_tree_beyond() -> None:
    random = np.random.default_rng(6)
    columns = [random.integers(0, 400, 400) for _ in range(3)]
    points = reduce(within(400, (), tuple(Comparison(each, each, 400) for each in columns), (), False))
    assert points is not None
    for memory, index in ((tree_bytes(400, 2), IndexKind.RANGE_TREE), (tree_bytes(400, 2) - 1, IndexKind.KD_TREE)):
        assert choose(points, 2, RangeOptions(memory=memory), most_points=400) is index
    assert choose(points, 2, RangeOptions(), most_points=399) is IndexKind.KD_TREE
    assert choose(points, 1, RangeOptions(), most_points=399) is IndexKind.RANGE_TREE


def test_a_negative_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="memory"):
        RangeOptions(memory=-1)
