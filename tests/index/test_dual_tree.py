"""Two forests against all pairs, and the forests themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from problems import listed
from refute.index.dual_tree import DualTree
from refute.index.forest import Forest

Longs = NDArray[np.int64]


@dataclass(frozen=True)
class Given:
    """The points of one side: a row for each column, a group and a row number for each point."""

    columns: Longs
    groups: Longs
    rows: Longs
    n_groups: int

    def forest(self, leaf: int, *, turned: bool = False, leading: int | None = None) -> Forest:
        """These points alone as a forest; `turned` gives the same values from codes that are read downwards."""
        n_points, top = len(self.rows), int(self.columns.max(initial=0)) + 3
        columns = [(top - each, True, top) if turned else (each, False, 0) for each in self.columns]
        groups = (self.groups, self.n_groups)
        return Forest.build(n_points, columns, groups=groups, rows=self.rows, leaf=leaf, leading=leading)


def matches(s: Given, t: Given, n_order: int, lag: Longs) -> NDArray[np.bool_]:
    """The matrix of which points satisfy all comparisons, by looking at all pairs."""
    held: NDArray[np.bool_] = s.groups[:, None] == t.groups
    for place, (left, right) in enumerate(zip(s.columns, t.columns, strict=True)):
        held &= left[:, None] < right + lag[place] if place < n_order else left[:, None] != right
    return held


def assert_all_answers_right(dual: DualTree, s: Given, t: Given, *, threads: int = 1, chunk: int = 1000) -> None:
    held = matches(s, t, dual.n_order, dual.lag.astype(np.int64))
    assert dual.count(threads=threads) == held.sum()
    partners = dual.partners(threads=threads)
    assert partners is not None
    assert partners[0].tolist() == held.sum(axis=1).tolist()
    assert partners[1].tolist() == held.sum(axis=0).tolist()
    assert not len(dual.roots) or (dual.count(0) is None and dual.partners(0) is None)
    held &= s.rows[:, None] != t.rows
    found = dual.find(threads)
    assert (found is None) == (not held.any())
    assert found is None or held[found]
    if held.sum() < 200_000:
        pairs = np.nonzero(held)
        assert listed(dual.pairs(chunk)) == sorted(zip(*(side.tolist() for side in pairs), strict=True))


@st.composite
def sides(draw: st.DrawFn) -> tuple[Given, Given]:
    """Two sides of their own sizes, without a column at times."""
    n_groups, tops = draw(st.integers(1, 4)), draw(st.lists(st.sampled_from([1, 3, 20, 2**30]), max_size=5))

    def side() -> Given:
        n = draw(st.integers(1, 30))

        def column(top: int) -> list[int]:
            return draw(st.lists(st.integers(0, top), min_size=n, max_size=n))

        columns = np.array([column(top) for top in tops], np.int64).reshape(len(tops), n)
        rows = draw(st.lists(st.integers(0, 40), min_size=n, max_size=n, unique=True))
        return Given(columns, np.array(column(n_groups - 1), np.int64), np.array(rows, np.int64), n_groups)

    return side(), side()


@given(both=sides(), leaf=st.sampled_from([1, 2, 5, 32]), chunk=st.integers(1, 9), data=st.data())
def test_all_answers_equal_those_of_all_pairs(
    both: tuple[Given, Given], leaf: int, chunk: int, data: st.DataObject
) -> None:
    s, t = both
    dims = len(s.columns)
    n_order = data.draw(st.integers(0, dims))
    lag = np.array([data.draw(st.integers(0, 1)) if place < n_order else 0 for place in range(dims)], np.int32)
    leading = st.none() | st.integers(0, dims - 1) if dims else st.none()
    s_forest, t_forest = (
        s.forest(leaf, leading=data.draw(leading)),
        t.forest(3, turned=True, leading=data.draw(leading)),
    )
    threads = data.draw(st.sampled_from([1, 2]))
    assert_all_answers_right(DualTree.of(s_forest, t_forest, n_order, lag), s, t, threads=threads, chunk=chunk)
    assert_all_answers_right(DualTree.of(s_forest, s_forest, n_order), s, s, chunk=chunk)


@pytest.mark.parametrize("shape", ["random", "sorted", "constant", "antichain", "skewed"])
@pytest.mark.parametrize("threads", [1, 2])
def test_answers_stay_right_on_thousands_of_points(shape: str, threads: int) -> None:
    draw = np.random.default_rng(5)
    n = 2000
    rising = np.arange(n)
    columns = {
        "random": [draw.integers(0, n, n) for _ in range(4)],
        "sorted": [rising, rising, rising[::-1], rising % 10],
        "constant": [np.zeros(n, np.int64), rising, np.zeros(n, np.int64), np.ones(n, np.int64)],
        "antichain": [rising, rising[::-1], rising // 3, draw.integers(0, 5, n)],
        "skewed": [draw.zipf(1.3, n) % 2**31 for _ in range(4)],
    }[shape]
    for n_groups in (1, 7):
        groups = draw.integers(0, n_groups, n)
        s = Given(np.stack(columns), groups, rising, n_groups)
        t = Given(np.stack(columns[::-1])[:, 500:], groups[:1500], rising[500:], n_groups)
        for n_order, leading in ((0, None), (3, 2), (4, None), (4, 0)):
            trees = DualTree.of(s.forest(8, leading=leading), t.forest(12, leading=leading), n_order)
            assert_all_answers_right(trees, s, t, threads=threads)


def test_a_forest_that_was_built_once_meets_any_other() -> None:
    draw = np.random.default_rng(0)

    def side(n: int, first: int) -> Given:
        return Given(draw.integers(0, 900, (3, n)), draw.integers(0, 5, n), np.arange(first, first + n), 5)

    kept, *others = side(1000, 0), side(1, 1000), side(70, 1001), side(2000, 1071)
    forest = kept.forest(12)
    for other in others:
        assert_all_answers_right(DualTree.of(other.forest(12), forest, 2), other, kept)
        assert_all_answers_right(DualTree.of(forest, other.forest(12), 2), kept, other)


@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 3), st.integers(1, 5))
def test_a_forest_holds_every_point_once_in_tight_boxes(n: int, leaf: int, dims: int, n_groups: int) -> None:
    draw = np.random.default_rng(n)
    points = Given(draw.integers(0, 9, (dims, n)), draw.integers(0, n_groups, n), draw.permutation(n), n_groups)
    forest = points.forest(leaf)
    assert sorted(forest.positions.tolist()) == list(range(n))
    assert (forest.points[:, :dims] == points.columns.T[forest.positions]).all()
    assert (forest.points[:, -1] == points.rows[forest.positions]).all()
    for group, root in enumerate(forest.roots.tolist()):
        own = np.flatnonzero(points.groups == group)
        assert (root < 0) == (len(own) == 0)
        assert root < 0 or sorted(forest.positions[slice(*forest.nodes[root, :2])].tolist()) == own.tolist()
    for (start, stop, child), box in zip(forest.nodes.tolist(), forest.boxes, strict=True):
        assert (box[0] == forest.points[start:stop, :dims].min(axis=0)).all()
        assert (box[1] == forest.points[start:stop, :dims].max(axis=0)).all()
        if child >= 0:
            (left, middle), (same, right) = forest.nodes[child : child + 2, :2].tolist()
            assert (left, middle, right) == (start, same, stop)
        else:
            assert stop - start <= max(leaf, leaf * (dims - 1) // 2)


@pytest.mark.parametrize(
    "values", [np.arange(50_000), np.arange(50_000)[::-1], np.zeros(50_000, np.int64), np.arange(50_000) % 2]
)
def test_a_tree_stays_shallow_whatever_the_order_of_its_points(values: Longs) -> None:
    forest = Forest.build(len(values), [(values, False, 0)] * 2, leaf=16)
    level = np.zeros(len(forest.nodes), np.int64)
    for node, child in enumerate(forest.nodes[:, 2].tolist()):
        if child >= 0:
            level[child : child + 2] = level[node] + 1
    assert level.max() <= 18
