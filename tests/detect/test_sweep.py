"""The method sweep against all pairs, in rank space, by every way it may take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import listed, naive_matches, naive_pairs, problems, random_problem, within
from refute.detect import sweep
from refute.detect.sweep import Tuning
from refute.detect.sweep.points import Points
from refute.detect.sweep.trees import dual_tree, leading_order
from refute.plan.problem import Comparison, Problem, ProblemSide
from refute.plan.share import Share
from thorough import examples

WAYS = {
    "default": Tuning(),
    "no tables": Tuning(cells=0),
    "trees": Tuning(few=0, packed=0),
    "small tables": Tuning(packed=0),
    "packed": Tuning(packed=1 << 8),
    "blocks": Tuning(cells=0.01, block=2),
    "dividing": Tuning(cells=0, tree_steps=0, brute=4, patience=0, probe=0),
    "dividing in place": Tuning(cells=0, tree_steps=0, brute=1, patience=0, probe=0, arena=60),
    "boxes": Tuning(cells=0, tree_steps=0, subsets=0, leaf=1, probe=1, divided=0),
    "boxes along one order": Tuning(cells=0, tree_steps=0, subsets=0, leaf=1, leading=1, probe=1, divided=0),
    "sampling": Tuning(cells=0.1, tree_steps=0, probe=1, brute=1, leaf=2, divided=0),
    "threads": Tuning(parallel=0, tree_steps=0, leaf=2, probe=0, cells=0),
}


def assert_all_answers_right(problem: Problem, tuning: Tuning, share: Share | None = None) -> None:
    matches = naive_matches(problem)
    witness = sweep.exists(problem, share, tuning=tuning)
    assert (witness is None) == (not matches.any())
    if witness is not None:
        s, t = (
            row if rows is None else int(np.searchsorted(rows, row))
            for row, rows in zip(witness, (problem.s.rows, problem.t.rows), strict=True)
        )
        assert matches[s, t]
    assert sweep.count(problem, share, tuning=tuning) == matches.sum()
    s_partners, t_partners = sweep.partners(problem, share, tuning=tuning)
    assert s_partners.tolist() == matches.sum(axis=1).tolist()
    assert t_partners.tolist() == matches.sum(axis=0).tolist()
    total, s_flags, t_flags = sweep.involved(problem, share, tuning=tuning)
    assert total == matches.sum()
    assert s_flags.tolist() == matches.any(axis=1).tolist()
    assert t_flags.tolist() == matches.any(axis=0).tolist()
    if matches.sum() < 100_000:
        assert listed(sweep.pairs(problem, share, tuning=tuning)) == naive_pairs(problem)


@pytest.mark.parametrize("way", WAYS)
@given(problem=problems())
def test_all_four_answers_equal_those_of_all_pairs(way: str, problem: Problem) -> None:
    assert_all_answers_right(problem, WAYS[way], Share(threads=2))


@given(problems(), st.integers(-1, 30), st.integers(1, 5), st.integers(0, 1))
def test_a_limit_cuts_the_listing_and_chunks_stay_within_their_size(
    problem: Problem, limit: int, chunk: int, probe: int
) -> None:
    expected = naive_pairs(problem)
    chunks = list(sweep.pairs(problem, None, limit, tuning=Tuning(chunk=chunk, probe=probe)))
    found = listed(chunks)
    assert len(found) == len(set(found)) == min(max(limit, 0), len(expected))
    assert set(found) <= set(expected)
    assert all(0 < len(s) == len(t) <= chunk for s, t in chunks)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("differ", range(3))
@pytest.mark.parametrize("equal", range(3))
def test_answers_stay_right_on_thousands_of_rows(order: int, differ: int, equal: int) -> None:
    for seed, sizes in enumerate(((3, 40, 10_000, 2**40), (2, 3, 10, 1000))):
        problem = random_problem(seed, rows=1500, equal=equal, order=order, differ=differ, sizes=sizes)
        assert_all_answers_right(problem, Tuning())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", range(2, 6))
def test_rules_that_nearly_hold_are_answered_right_every_way(way: str, order: int) -> None:
    for seed in range(2):
        problem = random_problem(
            seed, rows=1200, equal=seed, order=order, differ=seed, sizes=(4, 5000), twin=True, antichain=True
        )
        assert_all_answers_right(problem, WAYS[way], Share(threads=2))
        broken = problem.order[-1]
        values = broken.s.copy()
        values[len(values) // 2] = broken.size - 1
        broken = Comparison(values, values if broken.s is broken.t else broken.t, broken.size)
        assert_all_answers_right(replace(problem, order=(*problem.order[:-1], broken)), WAYS[way], Share(threads=2))


@pytest.mark.parametrize("differ", [3, 7, 12])
def test_many_differences_are_counted_right(differ: int) -> None:
    problem = random_problem(differ, rows=300, equal=1, order=1, differ=differ, sizes=(2, 3, 50), subset=False)
    assert_all_answers_right(problem, Tuning())
    assert_all_answers_right(replace(problem, order=()), Tuning())


@examples(30)
@given(problems(), problems())
def test_what_is_shared_between_rules_changes_no_answer(first: Problem, second: Problem) -> None:
    share = Share()
    for number, problem in enumerate((first, second, first)):

        def labelled(kind: str, comparisons: tuple[Comparison, ...], number: int = number) -> tuple[Comparison, ...]:
            return tuple(each.over(*each.codes, each.size, (number % 2, kind, i)) for i, each in enumerate(comparisons))

        named = replace(
            problem,
            equal=labelled("equal", problem.equal),
            order=labelled("order", problem.order),
            differ=labelled("differ", problem.differ),
        )
        assert_all_answers_right(named, Tuning(), share)


def test_a_count_beyond_63_bits_is_exact() -> None:
    n = 2**33
    assert sweep.count(within(n, (), (), (), True)) == n * (n - 1) > 2**63


def test_a_count_of_trillions_takes_no_listing() -> None:
    n = 2_000_000
    zeros = np.zeros(n, np.int32)
    problem = within(n, (Comparison(zeros, zeros, 1),), (), (), True)
    assert sweep.count(problem) == n * (n - 1)
    s, t = next(sweep.pairs(problem))
    assert len(s) == len(t) > 0
    assert (s != t).all()


def test_a_small_limit_on_billions_of_pairs_gives_only_that_many() -> None:
    n = 200_000
    rising = np.arange(n, dtype=np.int32)
    problem = within(n, (), (Comparison(rising, rising, n),), (), False)
    chunks = list(sweep.pairs(problem, None, 10))
    assert sum(len(s) for s, _ in chunks) == 10
    assert sweep.count(problem) == n * (n - 1) // 2


def test_the_first_chunk_of_billions_of_pairs_comes_before_the_rest_is_looked_at() -> None:
    n = 100_000
    rising = np.arange(n, dtype=np.int32)
    problem = within(n, (), (Comparison(rising, rising, n),) * 2, (), False)
    chunks = sweep.pairs(problem)
    for _ in range(3):
        s, t = next(chunks)
        assert (rising[s] < rising[t]).all()


def test_read_only_and_strided_arrays_are_answered_too() -> None:
    values = np.arange(40, dtype=np.int64)[::2] % 7
    values.flags.writeable = False
    problem = within(20, (), (Comparison(values, values, 7),), (), False)
    assert_all_answers_right(problem, Tuning())


@pytest.mark.parametrize("rows", [0, 1])
def test_no_or_one_row_has_no_pairs(rows: int) -> None:
    values = np.zeros(rows, np.int32)
    for kind in ("equal", "order", "differ"):
        sides: dict[str, tuple[Comparison, ...]] = {"equal": (), "order": (), "differ": ()}
        sides[kind] = (Comparison(values, values, 1),)
        assert_all_answers_right(within(rows, self_pairs=True, **sides), Tuning())


def test_an_order_read_from_the_top_or_shifted_by_one_is_the_order_over_arrays_made_so() -> None:
    codes = np.array([4, 0, 3, 3, 1], np.int32)
    down = Comparison(codes, codes, 6, turned=True, lag=1)
    assert down.s.tolist() == [0, 4, 1, 1, 3]
    assert down.t.tolist() == [1, 5, 2, 2, 4]
    some = np.array([1, 4])
    assert down.s_at(some).tolist() == down.s[some].tolist()
    assert down.t_at(some).tolist() == down.t[some].tolist()
    assert down.head(2).t.tolist() == down.t[:2].tolist()
    assert down.picked(some, some, together=True).same_codes
    turned = down.mirrored()
    assert ((down.s[:, None] < down.t) == (turned.s[:, None] < turned.t).T).all()


def points_of(*orders: np.ndarray) -> Points:
    """The points of a table with itself that has these orders, as ranks."""
    ranks = [np.unique(values, return_inverse=True)[1].astype(np.int32) for values in orders]
    rows = len(ranks[0])
    return Points.of(within(rows, (), tuple(Comparison(each, each, rows) for each in ranks), (), False))


def test_boxes_are_cut_first_along_an_order_that_another_falls_against() -> None:
    random = np.random.default_rng(2)
    x, y, z, noise = random.random((4, 20_000))
    assert leading_order(points_of(y, x, z, -x)) == 1
    assert leading_order(points_of(y, x + 0.1 * y, x + 0.1 * z, -x - 0.1 * y)) == 1
    assert leading_order(points_of(x, y, z, noise)) is None
    assert leading_order(points_of(x, y, z, -(x + y + z))) is None
    assert leading_order(points_of(x, x, x, -x)) is None  # cuts in turn are as good there
    assert leading_order(points_of(x, -x)) is None  # two orders are swept


def test_a_leading_order_is_found_where_it_saves_more_than_the_search_for_it_costs() -> None:
    random = np.random.default_rng(2)
    x, y, z = random.random((3, 16_384))
    trees = dual_tree(points_of(y, x, z, -x))
    assert trees.count(3 * len(trees.s.nodes)) == 0  # as no box meets more than its neighbours


def test_boxes_are_cut_in_turn_where_neighbours_do_not_follow_an_order_that_others_follow() -> None:
    random = np.random.default_rng(2)
    x, y, z = random.random((3, 200_000))
    noisy = [x + 0.002 * side for side in (y, z, random.random(200_000))]
    assert leading_order(points_of(*noisy, -sum(noisy))) is None


def test_a_side_without_neighbours_has_no_leading_order_to_fear() -> None:
    x, y, z = np.random.default_rng(3).random((3, 6_000))
    ranks = [np.argsort(np.argsort(values)).astype(np.int32) for values in (y, x, z, -x)]
    far = [np.full(5_000, rank.max(), np.int32) for rank in ranks]
    order = tuple(Comparison(rank, other, 6_000) for rank, other in zip(ranks, far, strict=True))
    points = Points.of(Problem(ProblemSide(6_000), ProblemSide(5_000), (), order, (), False))
    assert dual_tree(points, leading=1).count() == dual_tree(points, leading=len(x) + 1).count()
