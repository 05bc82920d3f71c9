"""Refinement answers as all pairs do, whatever the operators, budgets and sides."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import listed, naive_matches, naive_pairs, problems, random_problem, within
from refute.detect import refine
from refute.detect.refine import Tuning
from refute.detect.refine.stages import Algorithm
from refute.plan.problem import Comparison, Problem
from refute.plan.share import Share
from thorough import examples

FORCED = (None, Algorithm.HSM, Algorithm.BHSM, Algorithm.IEJOIN)

tunings = st.builds(
    Tuning,
    budget=st.sampled_from((1, 5, 1 << 20)),
    chunk=st.sampled_from((1, 7, 1 << 16)),
    bins=st.integers(2, 4),
    leaf=st.integers(1, 3),
    force=st.sampled_from(FORCED),
    nested_pairs=st.sampled_from((0, 1, 40)),
)


def assert_right(problem: Problem, tuning: Tuning, share: Share | None = None) -> None:
    matches = naive_matches(problem)
    pairs = naive_pairs(problem)
    assert refine.count(problem, share, tuning=tuning) == len(pairs)
    s, t = refine.partners(problem, share, tuning=tuning)
    assert s.tolist() == matches.sum(axis=1).tolist()
    assert t.tolist() == matches.sum(axis=0).tolist()
    assert listed(refine.pairs(problem, share, tuning=tuning)) == pairs
    witness = refine.exists(problem, share, tuning=tuning)
    assert witness in pairs if pairs else witness is None


@examples(400)
@given(problems(), tunings)
def test_all_four_answers_are_those_of_all_pairs(problem: Problem, tuning: Tuning) -> None:
    assert_right(problem, tuning)


@examples(100)
@given(problems(max_order=2, max_differ=2), st.integers(-1, 30), tunings)
def test_a_limit_cuts_the_listing_and_nothing_else(problem: Problem, limit: int, tuning: Tuning) -> None:
    pairs = naive_pairs(problem)
    found = listed(refine.pairs(problem, None, limit, tuning=tuning))
    assert len(found) == len(set(found)) == min(max(limit, 0), len(pairs))
    assert set(found) <= set(pairs)


@pytest.mark.parametrize("force", FORCED)
@pytest.mark.parametrize(
    ("equal", "order", "differ"), [(0, 1, 0), (0, 2, 0), (1, 2, 0), (1, 3, 1), (0, 2, 1), (2, 4, 0)]
)
def test_each_inequality_algorithm_is_right_on_hundreds_of_rows(
    force: Algorithm | None, equal: int, order: int, differ: int
) -> None:
    for seed in range(4):
        problem = random_problem(seed, rows=300, equal=equal, order=order, differ=differ)
        assert_right(
            problem, Tuning(force=force, budget=200 if seed % 2 else 1 << 20, nested_pairs=0 if seed < 3 else 5)
        )


@pytest.mark.parametrize(("equal", "differ"), [(0, 0), (1, 0), (3, 0), (0, 1), (1, 1), (0, 3), (2, 2), (4, 1)])
def test_equalities_and_differences_are_right_on_hundreds_of_rows(equal: int, differ: int) -> None:
    for seed in range(4):
        assert_right(random_problem(seed, rows=250, equal=equal, order=0, differ=differ), Tuning())


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_change_nothing_in_the_answers(threads: int) -> None:
    share = Share(threads=threads)
    for seed in range(6):
        problem = random_problem(seed, rows=400, equal=seed % 2, order=1 + seed % 3, differ=seed % 2)
        assert_right(problem, Tuning(budget=300), share)


def test_rules_that_hold_have_no_witness_with_any_algorithm() -> None:
    for force in FORCED:
        problem = random_problem(3, rows=400, equal=0, order=3, differ=0, sizes=(50,), twin=True, antichain=True)
        assert refine.exists(problem, tuning=Tuning(force=force, nested_pairs=0)) is None
        assert refine.count(problem, tuning=Tuning(force=force, nested_pairs=0)) == 0


def test_a_rule_without_comparisons_is_violated_by_every_two_rows() -> None:
    problem = within(5, (), (), (), True)
    assert refine.count(problem) == 20
    assert len(listed(refine.pairs(problem))) == 20
    assert refine.exists(problem) is not None


def test_billions_of_pairs_are_counted_and_the_first_are_listed_at_once() -> None:
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, size, 200_000).astype(np.int32) for size in (9, 100_000)]
    problem = within(200_000, (), (), tuple(Comparison(c, c, 100_000) for c in columns), False)
    sizes = [np.bincount(c) for c in (*columns, columns[0].astype(np.int64) * 100_000 + columns[1])]
    equal = [int((size.astype(object) ** 2).sum()) for size in sizes]
    assert refine.count(problem) == 200_000**2 - equal[0] - equal[1] + equal[2]
    s, t = next(refine.pairs(problem))
    assert len(s) == 1 << 16
    for column in columns:
        assert (column[s] != column[t]).all()


def test_tuning_refuses_sizes_that_cannot_work() -> None:
    with pytest.raises(ValueError, match="bins"):
        Tuning(bins=1)


@pytest.mark.parametrize("threads", [1, 2])
def test_dense_sets_of_few_values_agree_with_arrays(threads: int) -> None:
    rng = np.random.default_rng(1)
    columns = [rng.integers(0, size, 3000).astype(np.int32) for size in (2, 3, 4)]
    a, b, c = (Comparison(codes, codes, len(np.unique(codes)), i) for i, codes in enumerate(columns))
    with_bitmaps, without = Tuning(bitmap_rows=1), Tuning(bitmap_values=0, partner_bitmap_values=0)
    share = Share(threads=threads)
    for rule in (
        within(3000, (), (a, b), (c,), False),
        within(3000, (c,), (b, a), (), False),
    ):
        for tuning in (with_bitmaps, without):
            assert refine.count(rule, share, tuning=tuning) == len(naive_pairs(rule))
        for dense, plain in zip(
            refine.partners(rule, tuning=with_bitmaps), refine.partners(rule, tuning=without), strict=True
        ):
            assert (dense == plain).all()
