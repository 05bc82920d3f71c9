"""Dominance kernels against comparisons of all pairs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from refute.kernels.dominance.boxes import count_partners, find_pair, list_pairs, share_out
from refute.kernels.dominance.corners import count_below as count_corners
from refute.kernels.dominance.divide import count_divided, sequence_numbers
from refute.kernels.dominance.extrema import NONE, first_clash, first_repeat, keep_two
from refute.kernels.dominance.forest import bit_tables, enclosing_boxes, grow_forest, interleave
from refute.kernels.dominance.sweeps import count_below, find_above, find_above_coded
from refute.kernels.sort.sorting import sorted_positions

Matrix = NDArray[np.int32]


def random_points(seed: int, n: int, dims: int, size: int) -> Matrix:
    return np.random.default_rng(seed).integers(0, size, (n, dims)).astype(np.int32)


def naive(s: Matrix, t: Matrix) -> NDArray[np.bool_]:
    """Which s are below which t in every column."""
    held: NDArray[np.bool_] = np.logical_and.reduce(s[:, None, :] < t[None, :, :], axis=2)
    return held


def forest(points: Matrix, leaf: int) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Points in the order of their forest with positions and rows, nodes, boxes, roots."""
    n = len(points)
    tables, bound = bit_tables([1 << 20] * points.shape[1])
    codes = np.zeros(n, np.int64)
    for table, column in zip(tables, points.T, strict=True):
        interleave(np.ascontiguousarray(column), False, 1 << 20, table, codes)
    order = sorted_positions(codes, bound)
    numbers = order.astype(np.int32)[:, None]
    full = np.ascontiguousarray(np.hstack((points[order], numbers, numbers)))
    nodes, roots = grow_forest(codes[order], np.array([0, n], np.int64), leaf)
    return full, nodes, enclosing_boxes(full, nodes, points.shape[1]), roots


@pytest.mark.parametrize("leaf", [1, 3, 8])
@pytest.mark.parametrize("dims", [1, 2, 4])
@pytest.mark.parametrize("size", [3, 2**20])
def test_nodes_of_a_forest_halve_their_points_and_boxes_enclose_them(leaf: int, dims: int, size: int) -> None:
    points, nodes, boxes, roots = forest(random_points(leaf, 300, dims, size), leaf)
    assert nodes[roots[0], :2].tolist() == [0, 300]
    for node, (start, stop, child) in enumerate(nodes):
        assert start < stop
        assert (boxes[node, 0] == points[start:stop, :dims].min(axis=0)).all()
        assert (boxes[node, 1] == points[start:stop, :dims].max(axis=0)).all()
        if child < 0:
            assert stop - start <= leaf
        else:
            assert nodes[child, 0] == start
            assert nodes[child, 1] == nodes[child + 1, 0]
            assert nodes[child + 1, 1] == stop


@pytest.mark.parametrize("dims", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [2, 6, 2**20])
def test_two_forests_give_the_pairs_partners_and_a_witness(dims: int, size: int) -> None:
    s, t = random_points(1, 200, dims, size), random_points(2, 150, dims, size)
    s_points, s_nodes, s_boxes, s_roots = forest(s, 4)
    t_points, t_nodes, t_boxes, t_roots = forest(t, 3)
    t_points[:, -1] += 1000  # no row is on both sides
    lag = (np.arange(dims) % 2).astype(np.int32)
    s_trees, t_trees = (s_points, s_nodes, s_boxes, lag), (t_points, t_nodes, t_boxes, lag)
    roots = np.array([[s_roots[0], t_roots[0]]], np.int32)
    held = naive(s, t + lag)
    found = find_pair(s_trees, t_trees, roots, dims, np.zeros(1, np.uint8))
    assert held[found] if held.any() else found == (-1, -1)
    assert find_pair(s_trees, t_trees, roots, dims, np.ones(1, np.uint8)) == (-1, -1)
    changes = (np.zeros(201, np.int64), np.zeros(151, np.int64))
    assert count_partners(s_trees, t_trees, roots, dims, changes, 10**9) == held.sum()
    nobody = np.empty(0, np.int64)
    assert count_partners(s_trees, t_trees, roots, dims, (nobody, nobody), 10**9) == held.sum()
    assert (np.cumsum(changes[0])[:-1] == held.sum(axis=1)[s_points[:, -2]]).all()
    assert (np.cumsum(changes[1])[:-1] == held.sum(axis=0)[t_points[:, -2]]).all()
    assert count_partners(s_trees, t_trees, roots, dims, changes, 0) == -1
    tasks = np.empty((40, 2), np.int32)
    split = tasks[: share_out(s_trees, t_trees, roots, dims, tasks)]
    for given in (roots, split):
        state, stack = np.zeros(7, np.int64), np.empty((256, 2), np.int32)
        pairs: list[tuple[int, ...]] = []
        while True:
            chunk = np.empty((2, 37), np.int64)
            filled = list_pairs(s_trees, t_trees, given, dims, state, stack, chunk)
            pairs.extend(zip(*chunk[:, :filled].tolist(), strict=True))
            if filled < 37:
                break
        assert sorted(pairs) == list(zip(*(side.tolist() for side in np.nonzero(held)), strict=True))


@pytest.mark.parametrize("size", [1, 5, 10**6])
@pytest.mark.parametrize("one", [False, True])
def test_points_below_others_in_one_or_two_orders_are_counted_by_a_sort(size: int, one: bool) -> None:
    s, t = random_points(5, 300, 2, size), random_points(6, 200, 2, size)
    held = naive(s[:, :1], t[:, :1]) if one else naive(s, t)
    found = np.empty(200, np.int64)
    (sx, sy), (tx, ty) = np.ascontiguousarray(s.T), np.ascontiguousarray(t.T)
    assert count_corners(sx, sy, tx, ty, one, found) == held.sum()
    assert (found == held.sum(axis=0)).all()


@pytest.mark.parametrize("differ", [0, 1])
@pytest.mark.parametrize("size", [40, 10**6])
def test_large_boxes_that_are_swept_give_the_same_numbers(differ: int, size: int) -> None:
    s, t = random_points(7, 3000, 4, size), random_points(8, 2500, 4, size)
    k = 4 - differ
    lag = np.array([0, 1, 0, 0], np.int32)
    s_points, s_nodes, s_boxes, s_roots = forest(s, 2)
    t_points, t_nodes, t_boxes, t_roots = forest(t, 2)
    trees = (s_points, s_nodes, s_boxes, lag), (t_points, t_nodes, t_boxes, lag)
    roots = np.array([[s_roots[0], t_roots[0]]], np.int32)
    held = naive(s[:, :k], (t + lag)[:, :k]) & np.logical_and.reduce(s[:, None, k:] != t[None, :, k:], axis=2)
    changes = (np.zeros(3001, np.int64), np.zeros(2501, np.int64))
    assert count_partners(*trees, roots, k, changes, 10**12) == held.sum()
    assert (np.cumsum(changes[0])[:-1] == held.sum(axis=1)[s_points[:, -2]]).all()
    assert (np.cumsum(changes[1])[:-1] == held.sum(axis=0)[t_points[:, -2]]).all()


@pytest.mark.parametrize("dims", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("size", [2, 30, 10**6])
@pytest.mark.parametrize(("brute", "arena"), [(1, 0), (16, 50), (1, 5000), (10**9, 0)])
def test_dividing_counts_the_pairs_and_leaves_the_columns_as_they_were(
    dims: int, size: int, brute: int, arena: int
) -> None:
    s, t = random_points(3, 300, dims, size), random_points(4, 250, dims, size)
    s, t = s[np.argsort(s[:, 0], kind="stable")], t[np.argsort(t[:, 0], kind="stable")]
    s_numbers, t_numbers = np.empty(300, np.int32), np.empty(250, np.int32)
    bounds = np.array([0, 300], np.int64), np.array([0, 250], np.int64)
    s_first, t_first = (np.ascontiguousarray(side[:, 0]) for side in (s, t))
    sequence_numbers(s_first, t_first, bounds[0], bounds[1], False, 0, s_numbers, t_numbers)
    assert sorted([*s_numbers, *t_numbers]) == list(range(550))
    assert ((s_numbers[:, None] < t_numbers) == (s[:, :1] < t[:, 0])).all()
    columns = [np.vstack((numbers, side.T[1:])) for numbers, side in ((s_numbers, s), (t_numbers, t))]
    s_columns, t_columns = (np.ascontiguousarray(each) for each in columns)
    per_t = np.zeros(550, np.int32)
    spare, scratch = np.empty((dims, 301), np.int32), np.empty((dims, arena), np.int32)
    total = count_divided(s_columns, t_columns, *bounds, brute, per_t, spare, scratch)
    held = naive(s, t)
    assert total == held.sum()
    assert (per_t[t_numbers] == held.sum(axis=0)).all()
    assert (s_columns == columns[0]).all()
    assert (t_columns == columns[1]).all()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("lag", [0, 1])
def test_sequence_numbers_compare_as_values_do_inside_each_group(turned: bool, lag: int) -> None:
    draw = np.random.default_rng(5)
    s_starts, t_starts = np.array([0, 20, 20, 60], np.int64), np.array([0, 10, 25, 40], np.int64)
    sides = []
    for starts in (s_starts, t_starts):
        values = draw.integers(0, 9, starts[-1])
        groups = [np.sort(values[a:b])[:: -1 if turned else 1] for a, b in pairwise(starts)]
        sides.append(np.concatenate(groups))
    numbers = np.empty(60, np.int32), np.empty(40, np.int32)
    sequence_numbers(sides[0], sides[1], s_starts, t_starts, turned, lag, numbers[0], numbers[1])
    assert sorted([*numbers[0], *numbers[1]]) == list(range(100))
    for g in range(3):
        own_s, own_t = slice(*s_starts[g : g + 2]), slice(*t_starts[g : g + 2])
        s, t = (-side if turned else side for side in sides)
        assert ((numbers[0][own_s, None] < numbers[1][own_t]) == (s[own_s, None] < t[own_t] + lag)).all()


def swept(points: Matrix, carried: list[NDArray[np.int32]], group: NDArray[np.int32]) -> Matrix:
    columns = [points[:, 0], group, *carried, *points.T[1:]]
    order = np.argsort(points[:, 0], kind="stable")
    return np.ascontiguousarray(np.stack(columns, axis=1)[order].astype(np.int32))


@pytest.mark.parametrize("tree", [0, 1, 2, 3])
def test_sweeps_count_and_find_what_all_pairs_show(tree: int) -> None:
    random = np.random.default_rng(tree)
    size, groups = 6, 3
    s, t = random_points(5, 120, tree + 1, size), random_points(6, 90, tree + 1, size)
    s_group, t_group = (random.integers(0, groups, n).astype(np.int32) for n in (120, 90))
    per_group = (size + 1) ** tree
    base = np.arange(groups, dtype=np.int64) * per_group
    length = np.full(groups, size, np.int32)
    spans = np.array([size, size], np.int64)
    held = naive(s, t) & (s_group[:, None] == t_group)
    below = np.empty(90, np.int64)
    fenwick = np.zeros(groups * per_group, np.int32)
    total = count_below(
        swept(s, [], s_group), swept(t, [], t_group), base, length, spans, fenwick, np.zeros(2, np.int64), False, below
    )
    assert total == held.sum()
    assert (below == held.sum(axis=0)[np.argsort(t[:, 0], kind="stable")]).all()
    for attempt in range(8):  # ever fewer pairs, until there is none
        s_value = random.integers(attempt, 9, 120).astype(np.int32)
        t_value = random.integers(0, 9 - attempt, 90).astype(np.int32)
        s_code, t_code = (random.integers(0, 2, n).astype(np.int32) for n in (120, 90))
        above = held & (s_value[:, None] < t_value)
        s_rows, t_rows = swept(s, [s_value, s_code], s_group), swept(t, [t_value, t_code], t_group)
        least = np.full(groups * per_group, np.iinfo(np.int32).max, np.int32)
        found = find_above(s_rows, t_rows, base, length, spans, least, np.zeros(2, np.int64), False)
        assert (found >= 0) == above.any()
        if tree < 2:
            entries = np.tile(np.array([NONE, -1, NONE, -1]), (groups * per_group, 1))
            found = find_above_coded(s_rows, t_rows, base, length, entries)
            assert (found >= 0) == (above & (s_code[:, None] != t_code)).any()


def test_an_entry_keeps_the_least_values_of_two_codes() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        entry = np.array([NONE, -1, NONE, -1])
        points = [(int(value), int(code)) for value, code in random.integers(0, 4, (random.integers(1, 8), 2))]
        for value, code in points:
            keep_two(entry, value, code)
        assert entry[0] == min(points)[0]
        others = [value for value, code in points if code != entry[1]]
        assert entry[2] == min(others, default=NONE)


def test_the_first_repeat_and_the_first_clash_are_found() -> None:
    groups = np.array([0, 1, 2, 1, 0], np.int32)
    assert first_repeat(groups, np.zeros(3, np.bool_)) == 3
    assert first_repeat(groups[:3], np.zeros(3, np.bool_)) == -1
    codes = np.array([5, 6, 7, 6, 8], np.int32)
    assert first_clash(groups, codes, np.full(3, -1, np.int32)) == 4
    assert first_clash(groups[:4], codes[:4], np.full(3, -1, np.int32)) == -1
