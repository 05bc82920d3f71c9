"""Shards in the memory of a task's process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from refute.errors import DataError
from refute.language.rulebook import RuleBook
from refute.watching.shards.files import KeyedChange, ShardFiles
from refute.watching.shards.state import OpenedShards, ShardState

SCHEMA = pa.schema([("id", pa.string()), ("zip", pa.string()), ("city", pa.string())])


def test_shards_stay_in_memory_from_batch_to_batch_as_far_as_there_is_room(tmp_path: Path) -> None:
    shards, files = OpenedShards(), ShardFiles("start", changes=1, token="last")
    state = ShardState((), ("id",), SCHEMA)
    room = 2 * state.nbytes
    for _ in range(3):
        for shard in range(5):
            ready = shards.readiness(tmp_path, shard, files)
            shards.give(tmp_path, shard, files, state, room)
    assert ready == 0
    assert [shards.readiness(tmp_path, shard, files) for shard in range(5)] == [2, 2, 0, 0, 0]
    for shard in (7, 8, 7, 8):  # of another layout; nobody asks for the others any more
        shards.give(tmp_path, shard, files, state, room)
    assert [shards.readiness(tmp_path, shard, files) for shard in (0, 1, 7, 8)] == [0, 0, 2, 2]


def test_rows_are_known_by_key_once_some_go() -> None:
    state = ShardState(tuple(RuleBook.of(["zip -> city"])), ("id",), SCHEMA)
    rows = [{"id": f"key {key}", "zip": "ab"[key % 2], "city": "abc"[key % 3]} for key in range(600)]
    before, after = (pa.Table.from_pylist(part, SCHEMA) for part in (rows[:400], rows[400:]))
    state.repeat(KeyedChange("a", before.slice(0, 0).select(["id"]), before))
    unknown = state.nbytes
    state.repeat(KeyedChange("b", before.select(["id"]).slice(1, 1), after))
    assert state.nbytes - unknown > 599 * 16
    state.repeat(KeyedChange("c", after.select(["id"]).slice(7), before.slice(1, 1)))
    _, left = state.living()
    assert left.column("id").to_pylist() == [f"key {key}" for key in [0, *range(2, 407), 1]]
    with pytest.raises(DataError, match="There are no rows with these keys"):
        state.repeat(KeyedChange("d", after.select(["id"]).slice(7), before.slice(0, 0)))
