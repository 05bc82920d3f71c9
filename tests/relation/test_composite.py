"""Keys of several columns are the same exactly where rows agree on all, however many values there could be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.relation.keys.composite import WIDEST, composite


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=12), st.integers(3, 2**30))
def test_keys_agree_exactly_where_rows_do(rows: list[tuple[int, int, int]], size: int) -> None:
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)] or [np.zeros(0, np.int64)] * 3
    keys, span = composite([(column * (size // 3), size) for column in columns], len(rows))
    assert span <= WIDEST
    assert all(0 <= key < span for key in keys.tolist())
    for one, key in zip(rows, keys.tolist(), strict=True):
        for other, its in zip(rows, keys.tolist(), strict=True):
            assert (key == its) == (one == other)


@pytest.mark.parametrize("n", [0, 3])
def test_without_a_column_all_rows_agree(n: int) -> None:
    assert composite([], n)[0].tolist() == [0] * n
