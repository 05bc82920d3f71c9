"""The method sweep against all pairs, in rank space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import listed, naive_matches, naive_pairs, problems, random_problem
from refute.detect import sweep
from refute.detect.sweep import Tuning
from refute.plan.problem import Problem
from refute.plan.share import Share


def assert_all_answers_right(problem: Problem, share: Share | None = None) -> None:
    expected = naive_pairs(problem)
    matches = naive_matches(problem)
    witness = sweep.exists(problem, share)
    assert (witness in expected) if expected else witness is None
    assert sweep.count(problem, share) == len(expected)
    s_partners, t_partners = sweep.partners(problem, share)
    assert s_partners.tolist() == matches.sum(axis=1).tolist()
    assert t_partners.tolist() == matches.sum(axis=0).tolist()
    assert listed(sweep.pairs(problem, share, None)) == expected


@given(problems())
def test_all_four_answers_equal_those_of_all_pairs(problem: Problem) -> None:
    assert_all_answers_right(problem)


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
    for seed in range(2):
        sizes = (2, 3, 10, 1000) if seed else (3, 40, 10_000, 2**40)
        problem = random_problem(seed, rows=1500, equal=equal, order=order, differ=differ, sizes=sizes)
        matches = naive_matches(problem)
        witness = sweep.exists(problem)
        assert (witness is None) == (not matches.any())
        if witness is not None:
            s = witness[0] if problem.s_rows is None else np.searchsorted(problem.s_rows, witness[0])
            t = witness[1] if problem.t_rows is None else np.searchsorted(problem.t_rows, witness[1])
            assert matches[s, t]
        assert sweep.count(problem) == matches.sum()
        s_partners, t_partners = sweep.partners(problem)
        assert (s_partners == matches.sum(axis=1)).all()
        assert (t_partners == matches.sum(axis=0)).all()
        if matches.sum() < 300_000:
            assert listed(sweep.pairs(problem)) == naive_pairs(problem)
