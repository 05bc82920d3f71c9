"""Repeated keys are found wherever they lie, and few others are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from refute.kernels.sort.repeats import repeated_positions


def _repeated(keys: NDArray[np.int64]) -> set[int]:
    values, counts = np.unique(keys, return_counts=True)
    return set(np.flatnonzero(np.isin(keys, values[counts > 1])).tolist())


@given(st.lists(st.integers(0, 300) | st.integers(0, 2**62 - 1)))
def test_every_repeated_key_is_found(drawn: list[int]) -> None:
    keys = np.array(drawn, np.int64)
    found = repeated_positions(keys.__getitem__, len(keys))
    assert found.tolist() == sorted(found.tolist())
    assert _repeated(keys) <= set(found.tolist())


@pytest.mark.parametrize("rows", [3_000, 150_000])
@pytest.mark.parametrize("copies", [0, 1, 50, 1_000, 2_900])
def test_few_other_keys_are_found_however_many_repeat(rows: int, copies: int) -> None:
    draw = np.random.default_rng(rows + copies)
    keys = draw.permutation(rows).astype(np.int64) * 7919
    keys[draw.permutation(rows)[:copies]] = keys[draw.integers(0, rows, copies)]
    expected = _repeated(keys)
    found = set(repeated_positions(keys.__getitem__, rows).tolist())
    assert expected <= found
    assert len(found) - len(expected) <= 0.15 * rows
    if not copies:
        assert not found


def test_a_key_that_most_rows_have_fills_no_bucket_beyond_its_room() -> None:
    keys = np.arange(200_000, dtype=np.int64) << 20
    keys[5_000:150_000] = 77
    found = repeated_positions(keys.__getitem__, len(keys))
    assert set(range(5_000, 150_000)) <= set(found.tolist())


def test_keys_with_a_hash_of_zero_are_counted() -> None:
    keys = np.array([0, 5 << 40, 0, 7 << 41], np.int64)
    assert {0, 2} <= set(repeated_positions(keys.__getitem__, 4).tolist())
    keys[2] = 9 << 42
    assert not len(repeated_positions(keys.__getitem__, 4))
