"""Keys to rows and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.detect.identity import Identity
from refute.errors import DataError, SchemaError
from refute.relation import Relation
from refute.relation.keys.key_index import NO_ROW, KeyIndex

ORDERS = pa.table(
    {
        "shop": pa.array(["a", "a", "b", "b"]).dictionary_encode(),
        "number": pa.array([1, 2, 1, 2], pa.int32()),
        "code": ["x", "y", "z", ""],
        "note": [None, 1, 2, 3],
    }
)


@pytest.mark.parametrize("key", [[], ["code"], ["shop", "number"]])
def test_rows_and_their_ids_are_each_others_way_back(key: list[str]) -> None:
    identity = Identity(Relation.of(ORDERS), key)
    for rows in ([], [2], [3, 0, 1]):
        wanted = np.array(rows, dtype=np.int64)
        assert identity.rows(identity.many(wanted)).tolist() == rows
        assert identity.rows([identity.one(row) for row in rows]).tolist() == rows
    assert identity.rows(identity.many(np.arange(4))).tolist() == [0, 1, 2, 3]


def test_keys_are_taken_from_a_table_by_name() -> None:
    identity = Identity(Relation.of(ORDERS), ["shop", "number"])
    asked = pa.table({"more": [0, 0], "number": pa.array([2, 1], pa.int64()), "shop": ["b", "a"]})
    assert identity.rows(asked).tolist() == [3, 0]
    with pytest.raises(SchemaError, match=r"lack the column 'shop'. The key is shop, number"):
        identity.rows(asked.select(["number"]))
    with pytest.raises(SchemaError, match="do not fit"):
        identity.rows([3])


@pytest.mark.parametrize(
    ("key", "ids", "message"),
    [
        (["code"], ["x", "q", "p"], r"The key code = 'q' has no row. The same is true of 1 other key"),
        (["code"], ["x", "y", "x"], r"The key code = 'x' is listed more than once"),
        (["code"], ["x", None], "The key column 'code' is null in 1 row"),
        (["shop", "number"], [{"shop": "b", "number": 3}], r"The key shop = 'b', number = 3 has no row"),
        (["shop", "number"], [{"shop": "c", "number": 1}], r"The key shop = 'c', number = 1 has no row"),
        (["shop", "number"], [{"shop": "b"}], "The key column 'number' is null"),
        ([], [4], "There is no row 4; the table has 4 rows"),
        ([], [-1], "There is no row -1"),
        ([], [1, 1], "Row 1 is listed more than once"),
        ([], [None], "A position is null"),
    ],
)
def test_ids_that_no_row_has_are_told_by_value(key: list[str], ids: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Identity(Relation.of(ORDERS), key).rows(ids)


def keys(values: list[Any]) -> dict[str, pa.Array]:
    return {"k": pa.array([f"{n % 3}" for n in values]), "n": pa.array(values, pa.int64())}


@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "find"]), st.lists(st.integers(0, 9), max_size=4))))
def test_an_index_is_a_mapping_from_keys_to_rows(steps: list[tuple[str, list[int]]]) -> None:
    index = KeyIndex({"k": pa.string(), "n": pa.int64()})
    twin: dict[int, int] = {}
    for step, (action, values) in enumerate(steps):
        rows = [100 * step + place for place in range(len(values))]
        repeated = len(set(values)) < len(values)
        if action == "find":
            assert index.find(keys(values)).tolist() == [twin.get(value, NO_ROW) for value in values]
        elif action == "add":
            if repeated or not twin.keys().isdisjoint(values):
                with pytest.raises(DataError, match=r"listed more than once|already has a row"):
                    index.add(keys(values), np.array(rows, dtype=np.int64))
            else:
                index.add(keys(values), np.array(rows, dtype=np.int64))
                twin |= dict(zip(values, rows, strict=True))
        elif repeated or not twin.keys() >= set(values):
            with pytest.raises(DataError, match=r"listed more than once|has no row"):
                index.remove(keys(values))
        else:
            assert index.remove(keys(values)).tolist() == [twin.pop(value) for value in values]
    everything = list(range(10))
    assert index.find(keys(everything)).tolist() == [twin.get(value, NO_ROW) for value in everything]
