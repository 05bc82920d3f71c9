"""Columns in many chunks, encoded on many threads, get the codes that one chunk and one thread give."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from refute.relation import Relation
from refute.relation.encode.columns import encode_columns
from refute.relation.encode.pieces import Cutting, Pieces
from refute.relation.encode.string_table import StringTable
from refute.runtime.arrays import empty, full

ROWS = 3_000


def _columns() -> dict[str, pa.Array]:
    draw = np.random.default_rng(7)
    names = np.array(["", "a", "b" * 9, "b" * 8 + "c", "é" * 12, "x" * 40, "word of some length"], dtype=object)
    holes = draw.random(ROWS) < 0.1
    return {
        "small": pa.array(draw.integers(-5, 5, ROWS)),
        "wide": pa.array(draw.integers(-(2**63), 2**63, ROWS), mask=holes),
        "decimal": pa.array(np.round(draw.random(ROWS), 2), mask=holes),
        "float": pa.array(np.where(holes, np.nan, draw.standard_normal(ROWS))),
        "state": pa.array([f"{i % 40:02d}" for i in range(ROWS)]),
        "name": pa.array(names[draw.integers(0, len(names), ROWS)], pa.string(), mask=holes),
        "many": pa.array([f"some long name {i}" for i in draw.integers(0, 10**6, ROWS)]),
        "nul": pa.array([f"some long name {i % 7}\0" for i in range(ROWS)]),
    }


def _chunked(array: pa.Array, ends: list[int]) -> pa.ChunkedArray:
    starts = [0, *ends]
    return pa.chunked_array(
        [array.slice(start, end - start) for start, end in zip(starts, [*ends, len(array)], strict=True)]
    )


def _same_partition(left: np.ndarray, right: np.ndarray) -> bool:
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


TINY = Cutting(worth=10, small_chunk=1)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("ends", [[], [1], [7, 7, 2_000], [1_000, 2_000, 2_999]])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("column", list(_columns()))
def test_codes_do_not_depend_on_chunks_or_threads(column: str, ordered: bool, ends: list[int], threads: int) -> None:
    array = _columns()[column]
    (found,) = encode_columns([_chunked(array, ends)], ordered=ordered, dense=False, threads=threads, cutting=TINY)
    plain = Relation.of(pa.table({"x": array})).encode("x", ordered=True, dense=True)
    nulls = plain.values < 0
    assert np.array_equal(found.values < 0, nulls)
    assert found.nulls == int(nulls.sum())
    assert int(found.values.max()) < found.size
    if ordered:
        ranks = np.unique(found.values[~nulls], return_inverse=True)[1]
        assert np.array_equal(ranks, plain.values[~nulls])
    else:
        assert _same_partition(found.values, plain.values)


def test_columns_compared_with_each_other_share_codes_over_their_pieces() -> None:
    array = _columns()["name"]
    columns = [_chunked(array, [500, 1_700]), _chunked(array, [40])]
    x, y = encode_columns(columns, ordered=False, dense=False, threads=3, cutting=TINY)
    assert np.array_equal(x.values, y.values)


def test_shares_cover_all_pieces_once() -> None:
    column = _chunked(_columns()["small"], [10, 20, 2_000])
    for threads in (1, 2, 3, 7):
        cut = Pieces.of([column], threads, TINY)
        covered = [index for share in cut.shares() for index in range(share.start, share.stop)]
        assert covered == list(range(len(cut.arrays)))


def test_a_full_string_table_says_so() -> None:
    array = pa.array(["one", "two", "three"])
    data = np.frombuffer(array.buffers()[2], np.uint8)
    offsets = np.frombuffer(array.buffers()[1], np.int32)[:4]
    table = StringTable(1, 2)
    assert not table.number(data, offsets, np.zeros(0, np.uint8), np.empty(3, np.int32))


def test_memory_is_writable_and_of_the_asked_size() -> None:
    for rows in (0, 3, 1_000_000):
        assert len(empty(rows, np.int32)) == rows
        found = full(rows, 7, np.int64)
        assert found.flags.writeable
        assert (found == 7).all()
