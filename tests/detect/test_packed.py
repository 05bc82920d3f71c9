"""Counting from packed integers: every direction, with and without ties, by lanes of every width."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from problems import naive_matches, within
from refute.detect import sweep
from refute.detect.sweep import Tuning
from refute.plan.problem import Comparison, Problem
from refute.plan.share import Share

DIRECTIONS = list(product((False, True), (0, 1)))


def _problem(rows: int, sizes: tuple[int, ...], readings: tuple[tuple[bool, int], ...], groups: int) -> Problem:
    draw = np.random.default_rng(rows + groups)
    order = []
    for size, (turned, lag) in zip(sizes, readings, strict=True):
        codes = draw.integers(0, size, rows).astype(np.int32)
        order.append(Comparison(codes, codes, size + lag, turned=turned, lag=lag))
    group = draw.integers(0, groups, rows).astype(np.int32)
    equal = (Comparison(group, group, groups),) if groups > 1 else ()
    self_pairs = all(lag for _, lag in readings)
    return within(rows, equal, tuple(order), (), self_pairs)


@pytest.mark.parametrize("groups", [1, 7, 300])
@pytest.mark.parametrize("swept", DIRECTIONS)
@pytest.mark.parametrize("kept", DIRECTIONS)
def test_one_kept_order_in_every_direction(swept: tuple[bool, int], kept: tuple[bool, int], groups: int) -> None:
    for sizes in ((900, 11), (5, 4), (2**30, 2)):
        problem = _problem(700, sizes, (swept, kept), groups)
        assert sweep.count(problem) == naive_matches(problem).sum()


@pytest.mark.parametrize("readings", list(product(DIRECTIONS, repeat=3)))
def test_two_kept_orders_in_every_direction(readings: tuple[tuple[bool, int], ...]) -> None:
    for sizes, groups in (((2000, 4, 3), 1), ((40, 5, 5), 9)):
        problem = _problem(500, sizes, readings, groups)
        assert sweep.count(problem, tuning=Tuning(packed=64)) == naive_matches(problem).sum()


@pytest.mark.parametrize("rows", [200, 60_000, 70_000])  # points of a group that 8, 16 and 32 bits hold
@pytest.mark.parametrize("lag", [0, 1])
def test_lanes_are_as_wide_as_the_largest_group_needs(rows: int, lag: int) -> None:
    problem = _problem(rows, (1 << 20, 6), ((False, lag), (True, lag)), 1)
    assert sweep.count(problem) == sweep.count(problem, tuning=Tuning(packed=0))


def test_threads_share_the_buckets() -> None:
    problem = _problem(60_000, (1 << 20, 6), ((False, 0), (True, 1)), 5)
    counted = {sweep.count(problem, Share(threads=threads), tuning=Tuning(parallel=0)) for threads in (1, 2, 3)}
    assert counted == {sweep.count(problem, tuning=Tuning(packed=0))}


def test_what_is_swept_and_grouped_may_be_too_wide_for_a_key() -> None:
    draw = np.random.default_rng(3)
    wide = draw.integers(0, 2**60, 400)
    few = draw.integers(0, 5, 400).astype(np.int32)
    group = draw.integers(0, 9, 400).astype(np.int32)
    problem = within(
        400,
        (Comparison(group, group, 9),),
        (Comparison(wide, wide, 2**60), Comparison(few, few, 5)),
        (),
        False,
    )
    assert sweep.count(problem) == naive_matches(problem).sum()
