"""The kernels of proposals against plain Python that tries everything."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from refute.kernels.proposing.chance import dealt_blame, pool_blame
from refute.kernels.proposing.groups import UNIT, blamed_by, refine
from refute.kernels.proposing.orders import by_rank, most_by_chance, order_blame, sketched, sorted_groups
from refute.kernels.proposing.spans import overlap_blame
from refute.kernels.proposing.sure import clashing_pairs, sure_blame

NEVER = np.iinfo(np.int64).max
SEED = np.uint64(7)
GO_ON = np.zeros(1, np.int64)
CODES = st.lists(st.integers(-1, 3), min_size=2, max_size=12)


def grouped(codes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """The grouping of rows by a column, by the kernel itself; the whole is one group."""
    whole = np.arange(len(codes), dtype=np.int32), np.array([0, len(codes)], np.int64)
    return refine(*whole, np.array(codes, np.int32), np.zeros(8, np.int64))


def groups_of(keys: Sequence[tuple[int, ...]]) -> list[list[int]]:
    """The rows of each key without a null, of groups with at least two rows."""
    found: dict[tuple[int, ...], list[int]] = {}
    for row, key in enumerate(keys):
        if min(key) >= 0:
            found.setdefault(key, []).append(row)
    return [rows for rows in found.values() if len(rows) > 1]


def split(order: np.ndarray, starts: np.ndarray) -> list[list[int]]:
    """A grouping as lists of rows."""
    return [sorted(order[a:b].tolist()) for a, b in itertools.pairwise(starts.tolist())]


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3)), min_size=2, max_size=14))
def test_a_refined_grouping_has_the_rows_that_agree_on_both_columns(rows: list[tuple[int, int]]) -> None:
    first, second = zip(*rows, strict=True)
    order, starts = grouped(first)
    assert sorted(split(order, starts)) == sorted(groups_of([(code,) for code in first]))
    both = refine(order, starts, np.array(second, np.int32), np.zeros(8, np.int64))
    assert sorted(split(*both)) == sorted(groups_of(rows))


@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 3)), min_size=2, max_size=14))
def test_rows_to_blame_are_those_beside_the_most_common_value(rows: list[tuple[int, int]]) -> None:
    left, right = zip(*rows, strict=True)
    order, starts = grouped(left)
    codes, counts = np.array(right, np.int32), np.zeros(8, np.int64)
    valued = [[right[row] for row in group if right[row] >= 0] for group in groups_of([(code,) for code in left])]
    valued = [values for values in valued if len(values) > 1]
    blamed = [len(values) - max(Counter(values).values()) for values in valued]
    every = [value for values in valued for value in values]
    rest = len(every) - max(Counter(every).values(), default=0)
    clustered = sum(b * (b - 1) * UNIT // (len(values) - 1) for b, values in zip(blamed, valued, strict=True))
    both = np.stack([codes, codes])
    unlimited, common = np.full(2, NEVER), np.array([-1, 0], np.int32)
    together = blamed_by(order, starts, both, np.arange(2), unlimited, common, counts, GO_ON)
    assert together.tolist() == [
        [len(every), sum(blamed), rest, clustered],
        [len(every), sum(blamed), len(every) - every.count(0), clustered],
    ]
    assert not counts.any()
    if sum(blamed):
        least = np.full(2, sum(blamed) - 1)
        early = blamed_by(order, starts, both, np.arange(2), least, common, counts, GO_ON)
        assert (early[:, 1] > least).all(), "it may stop early"
    assert not counts.any()


def dealt_exactly(sizes: Sequence[int], values: Sequence[int]) -> float:
    """The mean blame over all ways to deal values to groups."""
    deck = [value for value, often in enumerate(values) for _ in range(often)]
    ways = list(itertools.permutations(deck))
    bounds = list(itertools.accumulate(sizes, initial=0))
    blamed = [sum(b - a - max(Counter(way[a:b]).values()) for a, b in itertools.pairwise(bounds)) for way in ways]
    return sum(blamed) / len(ways)


@given(st.lists(st.integers(2, 4), min_size=1, max_size=3).filter(lambda sizes: sum(sizes) <= 7), st.data())
def test_chance_is_the_mean_over_all_deals(sizes: list[int], data: st.DataObject) -> None:
    deck = data.draw(st.lists(st.integers(0, 2), min_size=sum(sizes), max_size=sum(sizes)))
    values = np.array(sorted(Counter(deck).values()), np.int32)
    seen, room = np.zeros(8, np.int64), np.zeros(16, np.int32)
    found = pool_blame(np.array(sorted(sizes), np.int32), values, sum(sizes), SEED, room, seen) / UNIT
    exact = dealt_exactly(sizes, values.tolist())
    assert not seen.any()
    drawn = any(size > 3 and size < sum(sizes) for size in sizes)  # the others are settled by formula
    assert math.isclose(found, exact, abs_tol=0.3 if drawn else 0.01)


def test_many_deals_come_close_to_the_mean() -> None:
    sizes, values = np.full(640, 5, np.int32), np.array([1000, 2200], np.int32)
    found = pool_blame(sizes, values, 3200, SEED, np.zeros(3200, np.int32), np.zeros(2, np.int64)) / UNIT
    rng = np.random.default_rng(1)
    deck = np.repeat([0, 1], values)
    means = []
    for _ in range(50):
        ones = rng.permutation(deck).reshape(640, 5).sum(axis=1)
        means.append(np.minimum(ones, 5 - ones).sum())
    assert abs(found - np.mean(means)) < 0.05 * np.mean(means)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(-1, 2)), min_size=2, max_size=16), st.randoms()
)
def test_chance_does_not_depend_on_the_order_of_rows(rows: list[tuple[int, int, int]], random: object) -> None:
    def expected(table: list[tuple[int, int, int]]) -> int:
        first, second, right = zip(*table, strict=True)
        order, starts = refine(*grouped(first), np.array(second, np.int32), np.zeros(8, np.int64))
        parents = np.array(first, np.int32)[order[starts[:-1]]]
        groups = np.argsort(parents, kind="stable")
        pools = np.append(0, np.flatnonzero(np.diff(parents[groups])) + 1) if len(groups) else np.zeros(1, np.int64)
        pools = np.append(pools, len(groups)).astype(np.int64)
        counts, codes = np.zeros(8, np.int64), np.array(right, np.int32)
        unlimited, common = np.full(1, NEVER), np.array([-1], np.int32)
        total = blamed_by(order, starts, codes[None], np.arange(1), unlimited, common, counts, GO_ON)[0, 0]
        return dealt_blame(order, starts, codes, groups, pools, total, SEED, counts)

    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert expected(rows) == expected(shuffled)


def fewest(n: int, clash: object) -> int:
    """The fewest of n rows to remove so that no two clash, by trying all sets."""
    for size in range(n, -1, -1):
        for kept in itertools.combinations(range(n), size):
            if not any(clash(a, b) for a, b in itertools.permutations(kept, 2)):  # type: ignore[operator]
                return n - size
    return n


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(-1, 4), st.integers(-1, 4)), min_size=3, max_size=9),
    st.sampled_from([1, -1]),
)
@example([(0, 0, 1), (0, 0, -1), (0, 1, 0)], 1)  # a group of two
def test_the_fewest_rows_out_of_order_are_blamed(rows: list[tuple[int, int, int]], sign: int) -> None:
    by, x, y = (np.array(column, np.int32) for column in zip(*rows, strict=True))
    order, starts = grouped(by.tolist())
    sorted_rows, ends = sorted_groups(order, starts, x, by_rank(x, 5))
    total, blame, chance, groups = order_blame(sorted_rows, ends, x, y, sign, SEED, 3, NEVER)
    again = order_blame(sorted_rows, ends, x, y, sign, SEED, 3, NEVER)
    assert (total, blame, chance, groups) == again
    expected, rows_left = 0, 0
    for group in groups_of([(int(code),) for code in by]):
        kept = [row for row in group if x[row] >= 0 and y[row] >= 0]
        if len({int(x[row]) for row in kept}) < 2 or len({int(y[row]) for row in kept}) < 2:
            continue
        rows_left += len(kept)
        expected += fewest(
            len(kept),
            lambda a, b: x[kept[a]] < x[kept[b]] and sign * y[kept[a]] > sign * y[kept[b]],  # noqa: B023
        )
    assert (total, blame) == (rows_left, expected)
    assert 0 <= chance <= 3 * total
    in_pairs = clashing_pairs(sorted_rows, ends, x, y, sign, NEVER)
    assert in_pairs <= blame
    if in_pairs:
        assert clashing_pairs(sorted_rows, ends, x, y, sign, in_pairs - 1) == in_pairs
    sketches = np.empty((len(rows), 1), np.int8)
    sketched(y, 5, sketches[:, 0])
    for limit in (NEVER, 0):
        at_least = sure_blame(sorted_rows, ends, x, y[None], np.zeros(1, np.int64), sketches, limit, GO_ON)
        found = at_least[0 if sign == 1 else 1, 0]
        assert found <= blame, "no order is rejected that keeps the limit"
        assert found >= in_pairs or found > limit
    counts = np.zeros(5, np.int64)
    n_rows, most = most_by_chance(sorted_rows, ends, x, y, counts)
    assert n_rows == total
    assert max(blame, chance / 3) <= most
    assert not counts.any()
    if blame:
        assert order_blame(sorted_rows, ends, x, y, sign, SEED, 3, blame - 1)[1] == blame, "it may stop early"


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=9))
def test_the_fewest_spans_that_overlap_are_blamed(rows: list[tuple[int, int, int]]) -> None:
    rows = sorted(((by, start, start + length) for by, start, length in rows), key=lambda row: row[0])
    starts, ends = (np.array(column, np.int64) for column in list(zip(*rows, strict=True))[1:])
    bounds = np.searchsorted([by for by, _, _ in rows], [0, 1, 2]).astype(np.int64)
    expected = 0
    for by in (0, 1):
        spans = [(start, end) for group, start, end in rows if group == by]
        expected += fewest(
            len(spans),
            lambda a, b: spans[a][0] < spans[b][1] and spans[b][0] < spans[a][1],  # noqa: B023
        )
    assert overlap_blame(ends, starts, bounds, NEVER) == expected
