"""Parts of the table of violations: how they are written, and looked through."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from refute.watching.publishing.table_parts import (
    GoingRows,
    MarkSet,
    PairMarks,
    lines_of,
    lines_schema,
    repeated_text,
    write_parquet,
)

KINDS = {
    "long": pa.int64(),
    "byte": pa.int8(),
    "unsigned": pa.uint64(),
    "text": pa.string(),
    "long_text": pa.large_string(),
    "day": pa.date32(),
    "moment": pa.timestamp("us"),
    "utc": pa.timestamp("us", "UTC"),
    "rome": pa.timestamp("us", "Europe/Rome"),
    "time": pa.time64("us"),
    "span": pa.duration("us"),
    "price": pa.decimal128(15, 2),
    "float": pa.float64(),
    "flag": pa.bool_(),
}
Numbers = tuple[int, int, int]


@pytest.mark.parametrize("names", [[name] for name in KINDS] + [["long", "text"], ["rome", "long"]], ids="-".join)
def test_readers_see_names_of_rules_as_texts_and_keys_in_their_types(tmp_path: Path, names: list[str]) -> None:
    schema = lines_schema({name: KINDS[name] for name in names})
    values = {name: pa.array([0, 1, None]).cast(pa.int32()).cast(_through(KINDS[name])) for name in names}
    keys = {name: column.cast(KINDS[name]) for name, column in values.items()}
    row = pa.StructArray.from_arrays(list(keys.values()), list(keys)) if len(keys) > 1 else keys[names[0]]
    sides = {f"{side}_{name}": column for side in "st" for name, column in keys.items()}
    clashes = pa.table({"s": row, "t": row, **sides})
    both = pa.concat_tables([lines_of(rule, clashes, schema, 7) for rule in ("one", "ü")])
    write_parquet(tmp_path / "lines.parquet", both)
    found = parquet.read_table(tmp_path / "lines.parquet")
    assert found.schema.equals(schema)
    assert found.to_pylist() == both.to_pylist()
    assert found.column("rule").to_pylist() == ["one"] * 3 + ["ü"] * 3


def _through(kind: pa.DataType) -> pa.DataType:
    """What whole numbers are first, to become values of a type."""
    return pa.int64() if pa.types.is_temporal(kind) and not pa.types.is_date32(kind) else pa.int32()


def test_a_text_that_is_repeated_is_held_once() -> None:
    assert repeated_text("a", 2).to_pylist() == ["a", "a"]
    assert repeated_text("a", 0).to_pylist() == []


@given(st.data(), st.sampled_from([3, 1 << 20, 1 << 40]))
def test_a_violation_is_found_among_others_by_all_its_numbers(data: st.DataObject, most: int) -> None:
    numbers = st.sampled_from([0, 1, 2, most - 1, most])
    lines = st.lists(st.tuples(st.integers(0, 3), numbers, numbers), max_size=12)
    known, asked = data.draw(lines.map(lambda some: list(dict.fromkeys(some)))), data.draw(lines)
    assert MarkSet(_marks(known)).has(_marks(asked)).tolist() == [one in known for one in asked]


ROW = st.integers(0, 99) | st.sampled_from([63, 64, 1 << 20, 1 << 40])


@given(st.lists(st.tuples(st.integers(0, 3), ROW, ROW)), st.sets(st.integers(0, 99)))
def test_violations_of_rows_that_go_are_those_with_such_a_row(lines: list[Numbers], gone: set[int]) -> None:
    found = GoingRows(np.array(sorted(gone), np.int64)).places(_marks(lines))
    assert found.tolist() == [place for place, (_, s, t) in enumerate(lines) if {s, t} & gone]


def _marks(lines: list[Numbers]) -> PairMarks:
    columns = np.array(lines, np.int64).reshape(-1, 3).T
    return PairMarks(*(np.ascontiguousarray(column) for column in columns))
