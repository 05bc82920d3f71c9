"""Sorting, grouping and ranking kernels against NumPy and plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.kernels.sort.distinct import KeyTally, sum_of_squared_counts
from refute.kernels.sort.grouping import common_values, matching_keys, number_by_table, number_groups
from refute.kernels.sort.ranking import dense_ranks
from refute.kernels.sort.sorting import segment_bounds, segment_order, segment_sizes, segment_starts, sorted_positions

SIZES = [1, 2, 11, 2000, 2**15, 2**20, 2**31, 2**45, 2**62]


def random_keys(seed: int, n: int, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    random = np.random.default_rng(seed)
    few = random.integers(0, size, max(1, n // 3))
    return random.choice(few, n) if seed % 2 else random.integers(0, size, n)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_sorted_positions_are_those_of_a_stable_sort(size: int, n: int) -> None:
    for seed in range(2):
        keys = random_keys(seed, n, size)
        typed = keys.astype(np.int32) if size <= 2**31 and seed else keys
        assert (sorted_positions(typed, size) == np.argsort(keys, kind="stable")).all()


@pytest.mark.parametrize("size", [1, 7, 2**15, 2**17])
def test_segments_hold_the_positions_of_each_key(size: int) -> None:
    keys = random_keys(0, 3000, size).astype(np.int32)
    starts = segment_starts(keys, size)
    order = segment_order(keys, starts)
    assert (order == np.argsort(keys, kind="stable")).all()
    assert (np.diff(starts) == np.bincount(keys, minlength=size)).all()
    assert (segment_sizes(keys, size) == np.diff(starts)).all()
    first, last = segment_bounds(keys, np.arange(3000, dtype=np.int32), size)
    for key in range(min(size, 50)):
        inside = np.flatnonzero(keys == key)
        assert (first[key] > last[key]) if not len(inside) else (first[key], last[key]) == (inside[0], inside[-1])


@pytest.mark.parametrize("size", SIZES)
def test_dense_ranks_keep_the_order_of_both_sides(size: int) -> None:
    for seed in range(2):
        s, t = random_keys(seed, 700, size), random_keys(seed + 2, 400, size)
        s_ranks, t_ranks, total = dense_ranks(s, t, size)
        values, inverse = np.unique(np.concatenate((s, t)), return_inverse=True)
        assert total == len(values)
        assert (np.concatenate((s_ranks, t_ranks)) == inverse).all()
        ranks, same, total = dense_ranks(s, s, size)
        assert ranks is same
        assert (ranks == np.unique(s, return_inverse=True)[1]).all()


@given(st.lists(st.integers(0, 2**62 - 1) | st.integers(0, 9)), st.lists(st.integers(0, 2**62 - 1) | st.integers(0, 9)))
def test_groups_are_numbered_densely_and_equal_for_equal_keys(s_keys: list[int], t_keys: list[int]) -> None:
    s, t = np.array(s_keys, np.int64), np.array(t_keys, np.int64)
    s_groups, t_groups, total = number_groups(s, t)
    keys, groups = s_keys + t_keys, [*s_groups.tolist(), *t_groups.tolist()]
    assert total == len(set(keys)) == len(set(groups)) == len(set(zip(keys, groups, strict=True)))
    assert set(groups) == set(range(total))
    small = [number_by_table(s % 50, t % 50, 50), number_groups(s % 50, t % 50)]
    assert [[*s.tolist(), *t.tolist(), total] for s, t, total in small[:1]] == [
        [*s.tolist(), *t.tolist(), total] for s, t, total in small[1:]
    ]


@given(st.lists(st.integers(0, 300)), st.lists(st.integers(0, 300)))
def test_filters_keep_every_key_that_has_a_match(s_keys: list[int], t_keys: list[int]) -> None:
    s, t = np.array(s_keys, np.int64), np.array(t_keys, np.int64)
    s_kept, t_kept = matching_keys(s, t)
    assert all(kept for key, kept in zip(s_keys, s_kept, strict=True) if key in t_keys)
    assert all(kept for key, kept in zip(t_keys, t_kept, strict=True) if key in s_keys)
    s_exact, t_exact = common_values([(s, t, 301)])
    assert s_exact.tolist() == [i for i, key in enumerate(s_keys) if key in t_keys]
    assert t_exact.tolist() == [i for i, key in enumerate(t_keys) if key in s_keys]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9))))
def test_values_of_several_pairs_are_common_where_all_are(rows: list[tuple[int, int]]) -> None:
    a, b = (np.array([row[i] for row in rows], np.int64) for i in range(2))
    exchanged = [i for i, (x, y) in enumerate(rows) if x in b and y in a]
    s, t = common_values([(a, b, 10), (b, a, 10)])
    assert s is t
    assert s.tolist() == exchanged
    s, t = common_values([(a, b, 10), (b, b, 10)])
    assert s.tolist() == [i for i, (x, _) in enumerate(rows) if x in b]
    assert t.tolist() == [i for i, (_, y) in enumerate(rows) if y in a]


def test_filters_drop_nearly_every_key_without_a_match() -> None:
    keys = np.random.default_rng(0).permutation(200_000) * 7919
    s_kept, t_kept = matching_keys(keys[:100_000], keys[100_000:])
    assert s_kept.mean() < 0.15
    assert t_kept.mean() < 0.15


@pytest.mark.parametrize("size", [1, 4, 50, 1 << 20, 1 << 60])
@pytest.mark.parametrize("n", [1, 7, 300, 30_000])
def test_sorts_from_the_top_are_stable_and_pairs_that_share_a_key_are_counted(size: int, n: int) -> None:
    keys = np.random.default_rng(n).choice(np.random.default_rng(1).integers(0, size, 1 + n // 3), n)
    assert (sorted_positions(keys, size, turned=True) == np.argsort(-keys, kind="stable")).all()
    assert sum_of_squared_counts(keys, size) == (np.unique(keys, return_counts=True)[1].astype(np.int64) ** 2).sum()


def test_keys_read_in_blocks_are_tallied_as_far_as_there_is_room() -> None:
    keys = np.random.default_rng(3).integers(0, 40, 1000) * 10**12
    tally, tight = KeyTally(40), KeyTally(39)
    assert all(tally.add(keys[start : start + 64]) for start in range(0, 1000, 64))
    values, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    order = np.argsort(firsts)
    assert len(values) == 40
    assert (tally.firsts == firsts[order]).all()
    assert (tally.counts == counts[order]).all()
    assert not all(tight.add(keys[start : start + 500]) for start in (0, 500))
