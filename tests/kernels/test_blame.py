"""The kernels that find the heaviest rows that can stay, beside slow twins that try all sets of rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from refute.kernels.blame.giving_back import (
    LESS,
    OTHER,
    REFUSED,
    SAME,
    TAKEN,
    WAITING,
    count_open,
    give_back,
    list_members,
)
from refute.kernels.blame.groups import (
    drop_ties,
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
    open_, levels = best.copy(), [(int(sums[pair]), int(common[pair])) for pair in range(3)]
    drop_ties(groups, sums, common, open_)
    for group in range(2):
        equals = [pair for pair in range(3) if pair_groups[pair] == group and levels[pair] == levels[best[group]]]
        assert open_[group] == (best[group] if len(equals) == 1 else -1)
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
def test_candidates_come_back_by_tier_then_by_doubts_left_unless_they_clash(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 9))
    cut = data.draw(st.integers(0, n))
    numbers = [[data.draw(st.integers(-1, 5)) for _ in range(n)] for _ in range(2)]
    pairs = np.array(
        [[number if number < 0 else number + 6 * rule for number in own] for rule, own in enumerate(numbers)]
    )
    pair_groups = np.array([number // 3 for number in range(12)], np.int64)  # groups of three pairs each
    groups = np.where(pairs < 0, -1, pair_groups[pairs])
    tiers = np.sort(np.array([data.draw(st.integers(0, 1)) for _ in range(n)], np.int64))
    met = np.array([i for i in range(n) if data.draw(st.booleans())], np.int64)
    kinds, starts = np.array([SAME, LESS, OTHER], np.int64), np.array([0, 1, 3], np.int64)
    s, t = (np.array([[data.draw(st.integers(0, 2)) for _ in met] for _ in kinds], np.int64) for _ in range(2))
    at = {int(row): place for place, row in enumerate(met)}
    times = np.array([data.draw(st.integers(1, 2)) for _ in range(n)], np.int64)

    def compared(i: int, j: int) -> bool:
        return bool(s[0, i] == t[0, j] or (s[1, i] < t[1, j] and s[2, i] != t[2, j]))

    def by_pair(i: int, j: int) -> bool:
        same_block = (i < cut) == (j < cut)
        return same_block and i in at and j in at and (compared(at[i], at[j]) or compared(at[j], at[i]))

    def by_group(rule: int, i: int, j: int) -> bool:
        return bool(groups[rule, i] == groups[rule, j] >= 0 and pairs[rule, i] != pairs[rule, j])

    refused = {i for i in range(cut, n) if data.draw(st.integers(0, 4)) == 0}
    states = np.zeros(n, np.int8)
    live = np.zeros(12, np.int64), np.zeros(4, np.int64), np.zeros(n, np.int64)
    count_open(groups, pairs, pair_groups, live[:2], live[2])
    sizes = np.append(0, np.bincount(groups[groups >= 0], minlength=4)).astype(np.int64)
    members = np.zeros(sizes.sum(), np.int64)
    list_members(groups, sizes, members)
    waiting, back = set(range(n)), list[int]()
    for first, last in ((0, cut), (cut, n)):
        if first:
            states[[i for i in refused if states[i] == WAITING]] = REFUSED
        if last == n:
            waiting -= refused if first else set()
        here = (met >= first) & (met < last)
        own = met[here]
        sides = np.ascontiguousarray(s[:, here]), np.ascontiguousarray(t[:, here])
        give_back(
            (first, last),
            tiers,
            (groups, pairs),
            (sizes, members),
            live,
            states,
            (kinds, starts, own, times[own]),
            sides,
        )
        while candidates := [i for i in waiting if first <= i < last]:
            doubts = {
                i: sum(int(times[j]) * by_pair(i, j) for j in candidates if j != i)
                + sum(any(by_group(rule, i, j) for j in waiting | set(back)) for rule in range(2))
                for i in candidates
            }
            chosen = min(candidates, key=lambda i: (tiers[i], doubts[i], i))
            back.append(chosen)
            waiting.discard(chosen)
            waiting -= {i for i in waiting if by_pair(i, chosen) or any(by_group(rule, i, chosen) for rule in range(2))}
    assert np.flatnonzero(states == TAKEN).tolist() == sorted(back)
