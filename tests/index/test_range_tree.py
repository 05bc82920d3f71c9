"""Range trees filled in sweep order against all pairs, and the memory they are said to take."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from problems import listed
from refute.index.range_tree import SortedSides, tree_bytes
from refute.kernels.range_search import visits as kernel
from refute.kernels.range_search.range_tree import plant

Order = tuple[NDArray[np.int64], NDArray[np.int64], int]


def matches(group: Order, order: list[Order]) -> NDArray[np.bool_]:
    """The matrix of which points pair up, by looking at all pairs."""
    held: NDArray[np.bool_] = np.equal.outer(group[0], group[1])
    for s, t, _ in order:
        held &= s[:, None] < t[None, :]
    return held


def assert_all_answers_right(group: Order, order: list[Order], *, threads: int = 1, chunk: int = 1000) -> None:
    expected = matches(group, order)
    sides = SortedSides.build(group, order)
    total, of_t = sides.count(threads=threads)
    assert total == expected.sum()
    assert of_t.tolist() == expected.sum(axis=0).tolist()
    first = sides.first()
    assert (first is None) == (not expected.any())
    assert first is None or expected[:, first].any()
    assert sides.first(expected.sum(axis=0)) is None
    s, t = np.nonzero(expected)
    assert listed(sides.pairs(chunk=chunk)) == sorted(zip(s.tolist(), t.tolist(), strict=True))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Order, list[Order]]:
    n_s, n_t, groups = draw(st.integers(1, 20)), draw(st.integers(1, 20)), draw(st.integers(1, 3))

    def sides(size: int) -> Order:
        s, t = (draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)) for n in (n_s, n_t))
        return np.array(s), np.array(t), size

    return sides(groups), [sides(draw(st.sampled_from([2, 5, 50]))) for _ in range(draw(st.integers(1, 4)))]


@given(cases(), st.integers(1, 9))
def test_small_groups_equal_all_pairs(case: tuple[Order, list[Order]], chunk: int) -> None:
    assert_all_answers_right(*case, chunk=chunk)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("size", [3, 1000])
@pytest.mark.parametrize("groups", [1, 4])
def test_large_groups_equal_all_pairs(k: int, size: int, groups: int) -> None:
    random = np.random.default_rng(k)

    def sides(size: int) -> Order:
        return random.integers(0, size, 700), random.integers(0, size, 600), size

    assert_all_answers_right(sides(groups), [sides(size) for _ in range(k)], threads=2)


@pytest.mark.parametrize("dims", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 333])
def test_a_tree_counts_and_reports_what_was_inserted(dims: int, n: int) -> None:
    random = np.random.default_rng(n)
    ranks = np.array([random.permutation(n) for _ in range(dims)], np.int32)
    tree = plant(ranks, False)
    lows = random.permutation(n).astype(np.int32)
    low_tree = plant(ranks, True)
    on = np.zeros(n, np.bool_)
    for point in random.permutation(n)[: n // 2 + 1]:
        kernel.insert(tree, point, -1)
        kernel.insert(low_tree, point, lows[point])
        on[point] = True
        corner = random.integers(0, n + 1, dims).astype(np.int32)
        inside = np.flatnonzero(on & (ranks < corner[:, None]).all(axis=0))
        out = np.empty(n, np.int64)
        assert kernel.count(tree, corner) == len(inside)
        assert sorted(out[: kernel.report(tree, corner, out, 0)].tolist()) == inside.tolist()
        for bound in (0, n // 3, n):
            assert kernel.has_lower(low_tree, corner, lows, bound) == (lows[inside] < bound).any()


def test_memory_grows_by_a_logarithm_with_each_dimension() -> None:
    n = 1 << 20
    one, two, three = (tree_bytes(n, dims) / (4 * n) for dims in (1, 2, 3))
    assert one <= 6
    assert 20 * 0.5 < two < 20 * 2
    assert 20 * 20 * 0.1 < three < 20 * 20
    assert tree_bytes(0, 3) == tree_bytes(5, 0) == 0


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_memory_is_what_the_estimate_says(dims: int) -> None:
    n = 5000
    tree = plant(np.array([np.random.default_rng(dims).permutation(n) for _ in range(dims)], np.int32), False)
    taken = sum(array.nbytes for array in (tree.ranks, tree.points, tree.values, tree.tallies))
    assert taken <= tree_bytes(n, dims) <= 1.5 * taken
