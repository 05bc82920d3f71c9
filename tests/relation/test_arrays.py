"""Arrow's numbers and truths as NumPy, as Arrow itself would give them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from refute.relation.arrays import numbers, row_numbers, truths

CELLS = [True, None, False, True, True, None, False, True, True, False, None, True, False]


@pytest.mark.parametrize("start", [0, 3, 8, 11, 13])
def test_truths_are_those_of_any_slice_with_null_as_false(start: int) -> None:
    array = pa.array(CELLS)[start:]
    assert truths(array).tolist() == [bool(cell) for cell in CELLS[start:]]
    chunked = pa.chunked_array([array, pa.array(CELLS), pa.array([], pa.bool_())])
    assert truths(chunked).tolist() == [bool(cell) for cell in [*CELLS[start:], *CELLS]]
    assert truths(pa.chunked_array([], pa.bool_())).tolist() == []


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint32(), pa.int64()])
def test_numbers_have_what_stands_for_null_even_where_the_type_cannot_hold_it(kind: pa.DataType) -> None:
    array = pa.array([5, None, 7, 0, None], kind)
    assert numbers(array[1:], null=1000).tolist() == [1000, 7, 0, 1000]
    assert array.to_pylist() == [5, None, 7, 0, None]


@pytest.mark.parametrize("kind", ["int8", "int32", "int64"])
def test_row_numbers_are_arrow_numbers_of_the_same_type(kind: str) -> None:
    rows = np.arange(10).astype(kind)[::3]
    assert row_numbers(rows).equals(pa.array(rows))
