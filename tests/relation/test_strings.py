"""The three ways from strings to integers agree with the order and equality of the strings."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.relation import Relation
from refute.relation.encode.strings import SAMPLE

LETTERS = st.characters(min_codepoint=0, max_codepoint=127)


@given(st.integers(1, 2).flatmap(lambda width: st.lists(st.text(LETTERS, min_size=width, max_size=width))))
def test_short_strings_of_one_length_keep_order_and_equality(values: list[str]) -> None:
    found = Relation.of(pa.table({"a": pa.array(values, pa.string())})).encode("a", ordered=True)
    ranks = {value: code for code, value in enumerate(sorted(set(values)))}
    _, dense = np.unique(found.values, return_inverse=True)
    assert dense.tolist() == [ranks[value] for value in values]
    assert all(0 <= code < max(found.size, 1) for code in found.values)


def test_two_columns_of_short_strings_share_their_codes() -> None:
    table = pa.table({"a": ["NY", "TX", "CA"], "b": ["TX", "TX", "WY"]})
    a, b = Relation.of(table).encode_joint(("a", "b"), ordered=True)
    assert (a.values < b.values).tolist() == [True, False, True]
    assert (a.values == b.values).tolist() == [False, True, False]
    mixed = pa.table({"a": ["N", "Y"], "b": ["NO", "N"]})
    a, b = Relation.of(mixed).encode_joint(("a", "b"), ordered=True)
    assert (a.values < b.values).tolist() == [True, False]


def test_a_slice_of_short_strings_starts_where_it_starts() -> None:
    table = pa.table({"a": ["AB", "CD", "EF", "CD"]}).slice(1)
    values = Relation.of(table).encode("a", ordered=True).values
    assert values[0] == values[2] < values[1]


@pytest.mark.parametrize("distinct", [100, 40_000])
@pytest.mark.parametrize("rows", [SAMPLE // 2, 80_000])
@pytest.mark.parametrize("nulls", [False, True])
def test_long_strings_are_told_apart_whether_they_repeat_or_not(rows: int, distinct: int, nulls: bool) -> None:
    rng = np.random.default_rng(rows + distinct)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 19)) for _ in range(distinct)]
    picked = rng.integers(0, distinct, rows)
    values = [None if nulls and i % 7 == 0 else words[place] for i, place in enumerate(picked)]
    found = Relation.of(pa.table({"a": values})).encode("a", ordered=False)
    assert [code < 0 for code in found.values] == [value is None for value in values]
    pairs = {(value, code) for value, code in zip(values, found.values.tolist(), strict=True) if value is not None}
    assert len(pairs) == len({value for value, _ in pairs}) == len({code for _, code in pairs})
