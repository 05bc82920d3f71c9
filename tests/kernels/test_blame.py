"""The kernels that find the heaviest rows that can stay, beside slow twins that try all sets of rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from refute.kernels.blame.giving_back import LESS, OTHER, SAME, give_back
from refute.kernels.blame.groups import (
    group_weights,
    heaviest_pairs,
    lean,
    lower_to_lift,
    lower_to_share,
    mark_outvoted,
    pair_weights,
    use_matched,
)
from refute.kernels.blame.orders import clashing_weights, heaviest_chain, heaviest_spans

Points = list[tuple[int, int, int]]
points_of = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=8)


def heaviest(points: Points, weights: list[int], clash: Callable[[int, int], bool]) -> int:
    """The weight of the heaviest set of points of one group each, no two of which clash."""
    most = 0
    for size in range(len(points) + 1):
        for chosen in combinations(range(len(points)), size):
            pairs = ((i, j) for i in chosen for j in chosen if i != j and points[i][0] == points[j][0])
            if not any(clash(i, j) for i, j in pairs):
                most = max(most, sum(weights[i] for i in chosen))
    return most


@given(points_of, st.data(), st.booleans(), st.booleans())
def test_the_heaviest_chain_is_that_of_all_sets(
    points: Points, data: st.DataObject, x_strict: bool, y_strict: bool
) -> None:
    points = sorted(points, key=lambda p: (p[0], p[1], p[2] if x_strict else -p[2]))
    weights = [data.draw(st.integers(1, 4)) for _ in points]

    def clash(i: int, j: int) -> bool:
        (_, x, y), (_, x2, y2) = points[i], points[j]
        return (x < x2 or (not x_strict and x == x2)) and (y > y2 or (not y_strict and y == y2))

    kept = np.zeros(len(points), np.bool_)
    heaviest_chain(
        np.ascontiguousarray(np.array(points, np.int64).T), np.array(weights, np.int64), (x_strict, y_strict), 4, kept
    )
    chosen = np.flatnonzero(kept).tolist()
    assert not any(clash(i, j) for i in chosen for j in chosen if i != j and points[i][0] == points[j][0])
    assert sum(weights[i] for i in chosen) == heaviest(points, weights, clash)


@given(points_of, st.data(), st.sampled_from([(True, True), (True, False), (False, True)]))
def test_points_weigh_on_those_they_clash_with(points: Points, data: st.DataObject, strict: tuple[bool, bool]) -> None:
    points = sorted(points, key=lambda p: (p[0], p[1], p[2] if strict[0] else -p[2]))
    weights = [data.draw(st.integers(0, 4)) for _ in points]

    def clash(i: int, j: int) -> bool:
        (group, x, y), (group2, x2, y2) = points[i], points[j]
        ordered = (x < x2 or (not strict[0] and x == x2)) and (y > y2 or (not strict[1] and y == y2))
        return group == group2 and ordered

    found = np.zeros(len(points), np.int64)
    clashing_weights(np.array(points, np.int64).T.copy(), np.array(weights, np.int64), strict, 4, found)
    places = range(len(points))
    expected = [sum(weights[j] * (clash(i, j) + clash(j, i)) for j in places) for i in places]
    assert found.tolist() == expected


@given(points_of, st.data(), st.booleans())
def test_the_heaviest_spans_are_those_of_all_sets(points: Points, data: st.DataObject, closed: bool) -> None:
    spans = sorted(((g, a, a + length) for g, a, length in points), key=lambda p: (p[0], p[2], p[1]))
    weights = [data.draw(st.integers(1, 4)) for _ in spans]

    def clash(i: int, j: int) -> bool:
        (_, a, b), (_, a2, b2) = spans[i], spans[j]
        return (a <= b2 and a2 <= b) if closed else (a < b2 and a2 < b)

    kept = np.zeros(len(spans), np.bool_)
    heaviest_spans(np.ascontiguousarray(np.array(spans, np.int64).T), np.array(weights, np.int64), closed, kept)
    chosen = np.flatnonzero(kept).tolist()
    assert not any(clash(i, j) for i in chosen for j in chosen if i != j and spans[i][0] == spans[j][0])
    assert sum(weights[i] for i in chosen) == heaviest(spans, weights, clash)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)), min_size=1, max_size=12), st.data())
def test_groups_are_weighed_as_in_plain_python(drawn: list[tuple[int, int]], data: st.DataObject) -> None:
    pair_groups = [data.draw(st.integers(0, 1)) for _ in range(3)]
    rows = np.arange(len(drawn), dtype=np.int64)
    pairs = np.array([pair for pair, _ in drawn], np.int32)
    weights = np.array([weight for _, weight in drawn], np.int64)
    common = np.array([data.draw(st.integers(0, 2)) for _ in range(3)], np.int64)
    groups = np.array(pair_groups, np.int32)
    sums, totals, best = np.zeros(3, np.int64), np.zeros(2, np.int64), np.full(2, -1, np.int32)
    pair_weights(rows, pairs, weights, sums)
    group_weights(groups, sums, totals)
    heaviest_pairs(groups, sums, common, best)
    assert sums.tolist() == [sum(w for p, w in drawn if p == pair) for pair in range(3)]
    assert totals.tolist() == [sum(w for p, w in drawn if pair_groups[p] == group) for group in range(2)]
    for group in range(2):
        own = [pair for pair in range(3) if pair_groups[pair] == group]
        expected = max(own, key=lambda pair: (sums[pair], common[pair], -pair), default=-1)
        assert best[group] == expected
    kept, share = np.ones(len(drawn), np.bool_), np.full(len(drawn), 1 << 16, np.int64)
    mark_outvoted(rows, pairs, groups, best, kept)
    lower_to_share(rows, pairs, groups, sums, totals, share)
    assert kept.tolist() == [best[pair_groups[pair]] == pair for pair, _ in drawn]
    assert share.tolist() == [int(sums[pair]) * 65536 // int(totals[pair_groups[pair]]) for pair, _ in drawn]
    used, spare = np.zeros(len(drawn), np.int64), np.array([1, 2], np.int64)
    use_matched(np.column_stack([rows, rows]), pairs, groups, best, spare, weights, used)
    left = [1, 2]
    for row, (pair, free) in enumerate(drawn):
        group = pair_groups[pair]
        taken = min(free, left[group]) if best[group] == pair else free
        assert used[row] == taken
        left[group] -= taken if best[group] == pair else 0


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=8))
def test_common_values_weigh_a_little_more(common: list[int]) -> None:
    sums = np.full(len(common), 1 << 30, np.int64)
    lean(sums, np.array(common, np.int64))
    expected = (1 << 30) * (1 + np.log2(np.array(common) + 1.0) / 1024)
    assert np.all(np.abs(sums - expected) <= (1 << 30) * 0.16 / 1024)  # linear between powers of two
    order = np.argsort(common, kind="stable")
    assert np.all(np.diff(sums[order]) >= 0)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60), st.sampled_from([0, 200]))
def test_values_that_rarely_meet_lower_the_share(drawn: list[tuple[int, int]], more: int) -> None:
    drawn = drawn + [(0, 0)] * more
    n = len(drawn)
    left, right = (np.array(side, np.int32) for side in zip(*drawn, strict=True))
    both = (left * 3 + right).astype(np.int32)
    counts = tuple(
        np.bincount(side, minlength=size).astype(np.int64) for side, size in ((left, 3), (right, 3), (both, 9))
    )
    share = np.full(n, 1 << 16, np.int64)
    once = np.ones(n, np.int64)
    lower_to_lift(np.arange(n, dtype=np.int64), left, right, both, (counts[0], counts[1], counts[2]), once, share)
    products = [sum(x == a for x, _ in drawn) * sum(y == b for _, y in drawn) for a, b in drawn]
    known = sum(product // n for product in products) >= 50 * n
    for row, pair in enumerate(drawn):
        expected = products[row] / n
        lift = drawn.count(pair) / expected
        unknown = known and expected < 5 and drawn.count(pair) < 5
        told = 0.1 if unknown else 0.51 if expected >= 5 and lift < 0.5 else 1
        assert abs(share[row] / 65536 - told) < 0.001


@given(st.data())
def test_candidates_come_back_in_turn_unless_they_clash(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    groups = np.array([[data.draw(st.integers(-1, 2)) for _ in range(n)]], np.int64)
    pairs = np.array([[data.draw(st.integers(0, 2)) for _ in range(n)]], np.int32)
    held = [data.draw(st.integers(-1, 2)) for _ in range(3)]
    kinds = [SAME, LESS, OTHER]
    s, t = (np.array([[data.draw(st.integers(0, 2)) for _ in range(n)] for _ in kinds], np.int64) for _ in range(2))
    taken = np.zeros(n, np.bool_)
    starts = np.array([0, 1, 3], np.int64)
    give_back(groups, pairs, np.array(held, np.int32), np.array(kinds, np.int64), starts, (s, t), taken)

    def clash(i: int, j: int) -> bool:
        return bool(s[0, i] == t[0, j] or (s[1, i] < t[1, j] and s[2, i] != t[2, j]))

    back: list[int] = []
    for i in range(n):
        group = int(groups[0, i])
        fits = group < 0 or held[group] in (-1, pairs[0, i])
        if fits and not any(clash(i, j) or clash(j, i) for j in back):
            back.append(i)
            if group >= 0:
                held[group] = int(pairs[0, i])
    assert np.flatnonzero(taken).tolist() == back
