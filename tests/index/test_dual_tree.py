"""Two k-d trees against all pairs, and the trees themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from problems import listed
from refute.index.dual_tree import DualTree, narrow
from refute.index.kd_tree import KdTree

Sides = tuple[NDArray[np.int64], NDArray[np.int64]]
Kinds = tuple[list[Sides], list[Sides], list[Sides]]


def matches(kinds: Kinds, ids: Sides | None) -> NDArray[np.bool_]:
    """The matrix of which points pair up, by looking at all pairs."""
    some = next(sides for kind in kinds for sides in kind)
    held = np.ones((len(some[0]), len(some[1])), np.bool_)
    for holds, kind in zip((np.equal, np.less, np.not_equal), kinds, strict=True):
        for s, t in kind:
            held &= holds(s[:, None], t[None, :])
    return held if ids is None else held & (ids[0][:, None] != ids[1][None, :])


def assert_all_answers_right(
    kinds: Kinds, ids: Sides | None, *, leaf: int, threads: int = 1, chunk: int = 1000
) -> None:
    expected = matches(kinds, ids)
    dual = DualTree.build(*kinds, ids=ids, leaf=leaf, threads=threads)
    found = dual.exists(threads=threads)
    assert (found is None) == (not expected.any())
    assert found is None or expected[found]
    assert dual.count(threads=threads) == expected.sum()
    of_s, of_t = dual.partners(threads=threads)
    assert (of_s == expected.sum(axis=1)).all()
    assert (of_t == expected.sum(axis=0)).all()
    if expected.sum() < 200_000:
        s, t = np.nonzero(expected)
        assert listed(dual.pairs(chunk=chunk)) == sorted(zip(s.tolist(), t.tolist(), strict=True))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Kinds, Sides | None]:
    n_s, n_t = draw(st.integers(1, 30)), draw(st.integers(1, 30))
    together = n_s == n_t and draw(st.booleans())

    def column(n: int, top: int, step: int) -> NDArray[np.int64]:
        return np.array(draw(st.lists(st.integers(-top, top), min_size=n, max_size=n)), np.int64) * step

    def sides() -> Sides:
        top, step = draw(st.sampled_from([(1, 1), (3, 1), (20, 1), (3, 2**40)]))
        s = column(n_s, top, step)
        return s, (s + draw(st.integers(0, 1)) if together else column(n_t, top, step))

    kinds = tuple([sides() for _ in range(draw(st.integers(0, most)))] for most in (2, 4, 2))
    if not any(kinds):
        kinds = ([], [sides()], [])
    ids = (np.arange(n_s), np.arange(n_t)[::-1].copy()) if draw(st.booleans()) else None
    return kinds, ids  # type: ignore[return-value]


@given(case=cases(), leaf=st.sampled_from([1, 2, 5, 32]), chunk=st.integers(1, 9))
def test_all_answers_equal_those_of_all_pairs(case: tuple[Kinds, Sides | None], leaf: int, chunk: int) -> None:
    assert_all_answers_right(*case, leaf=leaf, chunk=chunk)


@pytest.mark.parametrize("shape", ["random", "sorted", "constant", "antichain", "skewed"])
@pytest.mark.parametrize("threads", [1, 2])
def test_answers_stay_right_on_thousands_of_points(shape: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute.index.dual_tree.PARALLEL", 100)
    monkeypatch.setattr("refute.index.kd_tree.PARALLEL", 100)
    random = np.random.default_rng(5)
    n = 2000
    columns = {
        "random": [random.integers(0, n, n) for _ in range(4)],
        "sorted": [np.arange(n), np.arange(n), -np.arange(n), np.arange(n) % 10],
        "constant": [np.zeros(n, np.int64), np.arange(n), np.zeros(n, np.int64), np.ones(n, np.int64)],
        "antichain": [np.arange(n), -np.arange(n), np.arange(n) // 3, random.integers(0, 5, n)],
        "skewed": [random.zipf(1.3, n) % 2**31 for _ in range(4)],
    }[shape]
    a, b, c, d = ((column, column) for column in columns)
    rows = np.arange(n)
    assert_all_answers_right(([], [a, b], []), None, leaf=8, threads=threads)
    assert_all_answers_right(([d], [a, b, c], []), None, leaf=8, threads=threads)
    assert_all_answers_right(([], [a, (columns[1], columns[2])], [d]), (rows, rows), leaf=16, threads=threads)
    assert_all_answers_right(([d], [], [a, c]), (rows, rows[::-1].copy()), leaf=4, threads=threads)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(1, 3))
def test_a_tree_holds_every_point_once_in_tight_boxes(n: int, leaf: int, dims: int) -> None:
    random = np.random.default_rng(n)
    columns = [random.integers(-5, 5, n).astype(np.int32) for _ in range(dims)]
    tree = KdTree.build(columns, leaf=leaf)
    assert sorted(tree.origin.tolist()) == list(range(n))
    assert (tree.columns == np.stack(columns)[:, tree.origin]).all()
    leaves = 0
    for (lo, hi, left, right), box in zip(tree.nodes.tolist(), tree.boxes, strict=True):
        assert box.tolist() == [*tree.columns[:, lo:hi].min(axis=1), *tree.columns[:, lo:hi].max(axis=1)]
        if left >= 0:
            assert tree.nodes[left, :2].tolist() == [lo, tree.nodes[right, 0]]
            assert tree.nodes[right, 1] == hi
        else:
            leaves += hi - lo
    assert leaves == n


@pytest.mark.parametrize(
    "values", [np.arange(50_000), np.arange(50_000)[::-1], np.zeros(50_000), np.arange(50_000) % 2]
)
def test_a_tree_stays_shallow_whatever_the_order_of_its_points(values: NDArray[np.int64]) -> None:
    tree = KdTree.build([values.astype(np.int32)] * 2, leaf=16)
    assert tree.depth <= 18
    assert tree.largest_leaf <= 16


def test_values_beyond_32_bits_become_ranks_in_one_order() -> None:
    s, t = np.array([2**40, 5, -(2**50)]), np.array([5, 2**41])
    assert [side.tolist() for side in narrow(s, t)] == [[2, 1, 0], [1, 3]]
