"""Counts stay exact where 64 bits do not hold them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import within
from refute.detect.detector import PartnerCounts
from refute.detect.methods import method_of
from refute.detect.sweep import tallies
from refute.detect.sweep.points import Points
from refute.plan.method import MethodName
from refute.plan.problem import Comparison
from refute.relation.arrays import exact_sum

BIG = 2**63 - 1


@given(st.lists(st.integers(0, BIG), max_size=50))
def test_sums_of_partners_are_exact_beyond_64_bits(counts: list[int]) -> None:
    array = np.array(counts, dtype=np.int64)
    assert exact_sum(array) == sum(counts)
    assert PartnerCounts(array, array).violations == sum(counts)


def test_a_billion_largest_counts_would_still_add_up() -> None:
    array = np.full(4096, BIG, dtype=np.int64)
    assert exact_sum(array) == 4096 * BIG


def test_group_sizes_multiply_beyond_64_bits() -> None:
    sizes = np.array([2**33, 3, 2**34 + 1], dtype=np.int64)
    assert tallies.sum_of_products(sizes, sizes, int(sizes.sum()) ** 2) == 2**66 + 9 + (2**34 + 1) ** 2


def test_all_pairs_of_rows_multiply_beyond_64_bits() -> None:
    free = Points(
        n_s=2**33,
        n_t=2**33,
        s_rows=None,
        t_rows=None,
        s_pick=None,
        t_pick=None,
        group=None,
        order=(),
        differ=(),
        self_pairs=False,
    )
    assert tallies.group_products(free, None) == 2**66


@pytest.mark.parametrize("method", [MethodName.SWEEP, MethodName.RANGE_SEARCH, MethodName.REFINE])
def test_counts_beyond_32_bits_are_exact(method: MethodName) -> None:
    n = 200_000
    half = np.repeat(np.array([0, 1], np.int32), n // 2)
    order = Comparison(half, half, 2)
    problem = within(n, (), (order,), (), False)
    assert method_of(method).count(problem) == (n // 2) ** 2
    s_partners, t_partners = method_of(method).partners(problem)
    assert s_partners.sum() == t_partners.sum() == (n // 2) ** 2
    assert s_partners.max() == n // 2
