"""Every method on thousands of random tables, by seed: 10,000 where everything is tried."""

from __future__ import annotations

import pytest

import oracle
import refute as rf
from random_cases import random_case
from thorough import THOROUGH

CASES = 10_000 if THOROUGH else 150


@pytest.mark.parametrize("method", ["sweep", "range_search", "refine"])
def test_verdicts_counts_and_pairs_are_those_of_all_pairs(method: str) -> None:
    for seed in range(100_000, 100_000 + CASES):
        table, (rule,) = random_case(seed, most_rows=30)
        expected = oracle.violations(table, rule.constraint, rule.nulls.value)
        verdict = rf.verify(table, rule, method=method)
        assert verdict.holds == (not expected), seed
        assert verdict.witness is None or tuple(verdict.witness) in expected, seed
        assert rf.count(table, rule, method=method) == len(expected), seed
        assert sorted(rf.violations(table, rule, method=method)) == expected, seed
