"""Rules that share predicates are refined together, with the answers that each has alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import naive_pairs, problems
from refute.detect import refine
from refute.detect.refine import Organisation, Tuning
from refute.detect.refine.stages import Algorithm
from refute.detect.refine.trie import pipelines, trie_of
from refute.plan.problem import Comparison, Problem
from refute.plan.share import Share
from thorough import examples


@st.composite
def families(draw: st.DrawFn) -> list[Problem]:
    """Several problems over one table whose comparisons come from one small pool."""
    rows = draw(st.integers(0, 14))
    chosen = draw(st.one_of(st.none(), st.sets(st.integers(0, max(rows - 1, 0)), max_size=rows)))
    admitted = None if chosen is None or not rows else np.array(sorted(chosen), np.int64)

    def column() -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        values = np.array(draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)), np.int64)
        return values if admitted is None else values[admitted]

    columns = [column() for _ in range(4)]
    pool = [Comparison(values, values, 4, ("same", i)) for i, values in enumerate(columns)]
    pool += [Comparison(2 * columns[i], 2 * columns[j] + 1, 9, ("cross", i, j)) for i, j in ((0, 0), (0, 1), (2, 3))]
    some = st.lists(st.sampled_from(pool), max_size=2, unique_by=lambda comparison: comparison.label)
    orders = st.lists(st.sampled_from(pool), max_size=4, unique_by=lambda comparison: comparison.label)
    kinds = st.tuples(some, orders, some)
    return [
        Problem(rows, admitted, admitted, tuple(equal), tuple(order), tuple(differ), True)
        for equal, order, differ in draw(st.lists(kinds, min_size=1, max_size=6))
    ]


@examples(200)
@given(
    families(),
    st.sampled_from(Organisation),
    st.sampled_from((None, Algorithm.BHSM, Algorithm.IEJOIN)),
    st.sampled_from((2, 1 << 20)),
)
def test_shared_prefixes_change_no_count(
    family: list[Problem], organisation: Organisation, force: Algorithm | None, budget: int
) -> None:
    tuning = Tuning(force=force, budget=budget, leaf=1)
    expected = [len(naive_pairs(problem)) for problem in family]
    assert refine.refine_many(family, organisation=organisation, tuning=tuning) == expected


@examples(50)
@given(st.lists(problems(max_rows=8, max_order=2, max_differ=1), max_size=4))
def test_problems_without_labels_or_over_other_rows_stay_apart(unrelated: list[Problem]) -> None:
    expected = [len(naive_pairs(problem)) for problem in unrelated]
    assert refine.refine_many(unrelated) == expected


def _columns(rows: int, *sizes: int) -> list[Comparison]:
    rng = np.random.default_rng(1)
    found = [rng.integers(0, size, rows).astype(np.int32) for size in sizes]
    return [Comparison(c, c, size, i) for i, (c, size) in enumerate(zip(found, sizes, strict=True))]


@pytest.mark.parametrize("organisation", Organisation)
def test_a_common_predicate_is_one_node(organisation: Organisation) -> None:
    a, b, c = _columns(100, 3, 50, 60)
    rules = [Problem(100, None, None, (a, x), (), (), True) for x in (b, c)]
    planned = pipelines(rules, organisation, Tuning(), None)
    trie = trie_of(list(enumerate(planned)), Tuning())
    assert trie.stages == 3
    assert len(trie.children) == 1


def test_frequency_moves_a_common_predicate_to_the_front() -> None:
    a, b, c = _columns(100, 60, 3, 4)
    rules = [Problem(100, None, None, (a, x), (), (), True) for x in (b, c)]
    by_cost, by_frequency = (
        trie_of(list(enumerate(pipelines(rules, organisation, Tuning(), None))), Tuning())
        for organisation in Organisation
    )
    assert by_cost.stages == 4
    assert by_frequency.stages == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_dense_sets_of_few_values_agree_with_arrays(threads: int) -> None:
    a, b, c, d = _columns(3000, 2, 3, 4, 500)
    few = [Problem(3000, None, None, (), (a, b), (c,), False), Problem(3000, None, None, (c,), (b, a), (), False)]
    many = Problem(3000, None, None, (a,), (b, d), (), False)
    rules = [*few, many]
    with_bitmaps, without = Tuning(bitmap_rows=1), Tuning(bitmap_values=0, partner_bitmap_values=0)
    counts = refine.refine_many(rules, Share(threads=threads), tuning=with_bitmaps)
    assert counts == refine.refine_many(rules, tuning=without)
    assert counts == [refine.count(rule, tuning=with_bitmaps) for rule in rules]
    assert counts == [len(naive_pairs(rule)) for rule in rules]
    for rule in few:
        for left, right in zip(
            refine.partners(rule, tuning=with_bitmaps), refine.partners(rule, tuning=without), strict=True
        ):
            assert (left == right).all()


def test_no_rules_have_no_counts() -> None:
    assert refine.refine_many([]) == []
