"""Feeds whose rows go to all shards at once: each knows by their keys which of its rows go."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refute as rf
from refute.errors import DataError
from refute.language.rulebook import RuleBook
from refute.watching.shards import tasks
from refute.watching.shards.kept import KeptShards
from refute.watching.shards.shard_layout import ShardTuning
from refute.watching.shards.state import OpenedShards
from refute.watching.watcher import Watcher, WatchOptions
from spreading import TasksHere

RULES = (
    "zip -> city",
    "not(s.city == t.city and s.pay < t.pay and s.tax > t.tax)",
    "zip -> pay",
    "row(pay >= 0)",
)
SCHEMA = pa.schema(
    [("id", pa.string()), ("zip", pa.string()), ("city", pa.string()), ("pay", pa.float64()), ("tax", pa.int64())]
)
Row = dict[str, Any]


class Direct(TasksHere):
    """Tasks that are never asked to wait for keepers."""

    def run(self, step: tasks.BatchStep, rows: Any) -> list[str]:
        """The files of reports of a step."""
        assert step.direct
        return super().run(step, rows)


def opened(folder: Path, order: str | None = None) -> Watcher:
    """A watch of rules none of which needs a row in several shards."""
    options = WatchOptions(
        tuple(RuleBook.of(list(RULES))),
        ("id",),
        op="op",
        order=order,
        driver_bytes=0,
        shards=ShardTuning(rows=1 << 20, least=8),
    )
    return Watcher.open(folder, options, Direct() if order is None else TasksHere())


def some(key: int, seed: random.Random) -> Row:
    """A row."""
    pay = seed.choice([-1.0, 0.0, -0.0, 2.0, float("nan"), None])
    own = {"zip": seed.choice(["a", "b", "c", None]), "city": seed.choice("ab"), "tax": seed.choice([0, 1, 2])}
    return {"id": f"key {key}", "pay": pay, **own}


def fed(changes: list[tuple[str, Row]]) -> pa.Table:
    """Rows, each with an operation."""
    words = pa.array([op for op, _ in changes], pa.string())
    return pa.Table.from_pylist([row for _, row in changes], SCHEMA).append_column("op", words)


def step_of(rows: dict[int, Row], first: int, seed: random.Random) -> list[tuple[str, Row]]:
    """Changes of all kinds, which are made to the rows."""
    changes: list[tuple[str, Row]] = []
    for key in seed.sample(sorted(rows), len(rows) // 2):
        fresh = some(key, seed)
        part = seed.sample(sorted(fresh.keys() - {"id"}), seed.choice([0, 1, 4]))
        after = {**rows[key], **{name: fresh[name] for name in part}}
        before = ("update_preimage", rows[key])
        kind = seed.choice(["update", "images", "upsert", "delete", "gone"])
        if kind in ("delete", "gone"):
            none = {"id": rows.pop(key)["id"]}
            changes.append(("delete", none) if kind == "delete" else ("update_preimage", none))
            continue
        rows[key] = after
        changes += {
            "update": [("UPDATE", after)],
            "images": seed.sample([before, ("update_postimage", after)], 2),
            "upsert": [("update_postimage", after)],
        }[kind]
    for key in range(first, first + 12):
        rows[key] = some(key, seed)
        changes.append((seed.choice(["insert", "update_postimage"]), rows[key]))
    seed.shuffle(changes)
    return changes


def check(watcher: Watcher, rows: dict[int, Row]) -> None:
    """Holds violations that are counted and listed against a check of all rows."""
    table = pa.Table.from_pylist(list(rows.values()), SCHEMA)
    folder = watcher.places.folder
    for rule in RuleBook.of(list(RULES)):
        wanted = sorted(rf.violations(table, rule, key="id"))
        assert rf.Watch(folder).counts[rule.name] == len(wanted)
        assert sorted(rf.Watch(folder).violations(rule)) == wanted
    assert sorted(rf.Watch(folder).table().column("id").to_pylist()) == sorted(row["id"] for row in rows.values())


@pytest.mark.parametrize("number", range(3))
def test_rows_that_go_are_found_by_those_who_have_them(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed, rows = random.Random(number), dict[int, Row]()
    watcher = opened(tmp_path)
    for batch in range(7):
        if seed.random() < 0.3:  # tasks run where no shard is open
            monkeypatch.setattr(tasks, "_opened", OpenedShards())
        watcher.take(batch, None, fed(step_of(rows, 12 * batch, seed)))
        check(watcher, rows)
    watcher.take(7, None, fed([("delete", row) for row in rows.values()]))
    check(watcher, {})
    watcher.close()


def test_a_row_that_comes_as_it_went_is_not_written_again(tmp_path: Path) -> None:
    seed = random.Random(5)
    rows = {key: some(key, seed) for key in range(30)}
    watcher = opened(tmp_path)
    watcher.take(0, None, fed([("insert", row) for row in rows.values()]))
    kept = watcher._held.kept
    assert isinstance(kept, KeptShards)
    before = list(kept.files)
    watcher.take(1, None, fed([("update", row) for row in rows.values() if row["pay"] == row["pay"]]))
    assert kept.files[kept.layout.keepers :] == before[kept.layout.keepers :]
    assert kept.files[: kept.layout.keepers] != before[: kept.layout.keepers]
    check(watcher, rows)
    watcher.close()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("insert", 3)], "The feed inserts keys that already exist: id = 'key 3'"),
        ([("delete", 40)], "updates or deletes keys that do not exist: id = 'key 40'"),
        ([("update", 40)], "updates or deletes keys that do not exist: id = 'key 40'"),
        ([("update", 3), ("update", 3)], "Several changes of one key arrived together"),
        ([("delete", 3), ("insert", 3)], "Several changes of one key arrived together"),
        ([("remove", 3)], "has the operation 'remove'"),
    ],
)
def test_what_cannot_be_taken_changes_nothing(tmp_path: Path, changes: list[tuple[str, int]], said: str) -> None:
    seed = random.Random(6)
    rows = {key: some(key, seed) for key in range(20)}
    opened(tmp_path).take(0, None, fed([("insert", row) for row in rows.values()]))
    with pytest.raises(DataError, match=said):
        opened(tmp_path).take(1, None, fed([("update", rows[5]), *((op, some(key, seed)) for op, key in changes)]))
    watcher = opened(tmp_path)
    check(watcher, rows)
    rows[3] = some(3, seed)
    watcher.take(1, None, fed([("update", rows[3])]))
    check(watcher, rows)
    watcher.close()


def test_changes_of_one_key_in_an_order_go_by_keepers(tmp_path: Path) -> None:
    seed = random.Random(7)
    rows = {key: some(key, seed) for key in range(10)}
    watcher = opened(tmp_path, order="tax")
    watcher.take(0, None, fed([("insert", row) for row in rows.values()]))
    first, last = {**some(4, seed), "tax": 1}, {**some(4, seed), "tax": 2}
    watcher.take(1, None, fed([("update", last), ("update", first)]))
    rows[4] = last
    check(watcher, rows)
    watcher.close()
