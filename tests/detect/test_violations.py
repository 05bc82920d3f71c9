"""Listed violations: their columns, their ids, and how little of them is held at a time."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import OptionError, SchemaError

TABLE = pa.table({"id": ["x", "y", "z"], "part": [1, 1, 2], "a": [1, 1, 1], "b": [1, 2, 2]})
RULE = "a -> b"


def test_without_a_key_ids_are_positions() -> None:
    listed = rf.violations(TABLE, RULE)
    names = ("s", "t", "s_a", "s_b", "t_a", "t_b")
    assert listed.schema == pa.schema([(name, pa.int64()) for name in names])
    for row in listed.to_arrow().to_pylist():
        assert [row[name] for name in names[2:]] == [TABLE[name][row[side]].as_py() for side in "st" for name in "ab"]
    assert sorted(listed) == [(0, 1), (0, 2), (1, 0), (2, 0)]
    assert rf.violations(TABLE, "row(b < 2)").schema.names == ["s", "s_b"]
    assert list(rf.violations(TABLE, "row(b < 2)")) == [(1,), (2,)]


def test_columns_are_those_that_are_asked_for() -> None:
    assert rf.violations(TABLE, RULE, columns=[]).schema.names == ["s", "t"]
    assert rf.violations(TABLE, RULE, columns=["part", "part"]).schema.names == ["s", "t", "s_part", "t_part"]
    assert list(rf.violations(TABLE, RULE, columns=["id"])) == list(rf.violations(TABLE, RULE))
    with pytest.raises(SchemaError, match="Did you mean 'part'"):
        rf.violations(TABLE, RULE, columns=["parts"])
    with pytest.raises(OptionError, match="columns must be a list of names"):
        rf.violations(TABLE, RULE, columns="part")


def test_a_key_of_one_column_is_the_id() -> None:
    listed = rf.violations(TABLE, RULE, key="id")
    assert listed.schema.names == ["s", "t", "s_id", "s_a", "s_b", "t_id", "t_a", "t_b"]
    assert sorted(listed) == [("x", "y"), ("x", "z"), ("y", "x"), ("z", "x")]
    found = listed.to_arrow()
    assert found.column("s") == found.column("s_id")
    verdict = rf.verify(TABLE, RULE, key="id")
    assert verdict.witness in set(listed)


def test_a_key_of_several_columns_is_a_record() -> None:
    listed = rf.violations(TABLE, RULE, key=["id", "part"])
    assert listed.schema.names == ["s", "t", "s_id", "s_part", "s_a", "s_b", "t_id", "t_part", "t_a", "t_b"]
    first = listed.to_arrow().to_pylist()[0]
    assert first["s"] == {"id": first["s_id"], "part": first["s_part"]}
    verdict = rf.verify(TABLE, RULE, key=["id", "part"])
    assert verdict.witness is not None
    assert set(verdict.witness.s) == {"id", "part"}


def test_every_form_holds_the_same_rows() -> None:
    listed = rf.violations(TABLE, RULE, key="id")
    table = listed.to_arrow()
    assert table.schema == listed.schema
    assert listed.to_reader().read_all() == table
    assert listed.to_pandas().to_dict("list") == table.to_pydict()
    assert listed.to_polars().to_dict(as_series=False) == table.to_pydict()
    assert pa.Table.from_batches(listed.batches()) == table


def test_a_rule_that_holds_gives_empty_tables_with_the_same_columns() -> None:
    listed = rf.violations(TABLE, "unique(id)", key="id")
    assert list(listed) == []
    assert listed.to_arrow().schema == listed.schema
    assert listed.to_pandas().shape == (0, 4)


def test_a_limit_is_kept_and_shown() -> None:
    listed = rf.violations(TABLE, RULE, 3)
    assert len(list(listed)) == 3
    assert repr(listed) == "Violations(a_fixes_b, limit=3)"
    assert len(list(listed)) == 3, "it can be read again"


@pytest.mark.parametrize(
    "rule",
    [
        "not (s.g = t.g)",
        "not (s.g = t.g and s.a != t.a)",
        "not (s.a <= t.a)",
        "not (s.a < t.a and s.b > t.b)",
        "not (s.a != t.a and s.b != t.b)",
        "not (s.a < t.a and s.b < t.b and s.c < t.c)",
    ],
)
def test_billions_of_pairs_are_streamed_in_bounded_memory(rule: str) -> None:
    n = 100_000
    rng = np.random.default_rng(0)
    table = pa.table(
        {"g": np.zeros(n, np.int64), "a": rng.permutation(n), "b": rng.permutation(n), "c": rng.permutation(n)}
    )
    assert rf.count(table, rule) > 10**9
    tracemalloc.start()
    batches = rf.violations(table, rule).batches()
    seen = 0
    for _ in range(8):
        batch = next(batches)
        assert 0 < batch.num_rows <= 1_000_000
        seen += batch.num_rows
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * n * 8 + 16 * seen
    assert rf.violations(table, rule, limit=10).to_arrow().num_rows == 10


def test_nothing_runs_until_it_is_read() -> None:
    n = 300_000
    table = pa.table({"a": np.arange(n)})
    listed = rf.violations(table, "not (s.a < t.a)")
    assert "s" in listed.schema.names
    assert next(iter(listed))[0] < n
