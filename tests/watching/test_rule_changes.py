"""Other rules bring violations and take others away: in the feed, the history and the table, each of them once."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import committing_rules
import committing_shard_rules
import refute as rf
from committing_rules import Changing, check_whole
from committing_shard_rules import ChangingApart
from killing import Committers
from refute.cli.watch import words
from refute.watching.records import read_history
from thorough import THOROUGH
from watching.test_watcher import QUERY, folded, opened, read_feed, rows

UNIQUE = {"name": "one", "unique": "id, zip"}
FIXES = {"name": "two", "fd": "zip -> city"}


def book(*rules: dict[str, Any]) -> dict[str, Any]:
    """These rules."""
    return {"rules": list(rules)}


def feed_of(folder: Path) -> list[tuple[Any, ...]]:
    """All that the feed says, in order."""
    lines = read_feed(folder / "feed" / "pairs")
    return sorted((one["batch"], one["change"], one["rule"], one["s"], one["t"]) for one in lines)


@pytest.mark.parametrize("where", [None, 0])
def test_rules_that_are_added_and_dropped_are_in_the_feed_at_once(tmp_path: Path, where: int | None) -> None:
    watcher = opened(tmp_path, book(UNIQUE), op="op", driver_bytes=where)
    watcher.take(0, QUERY, rows(op=["insert", "insert"]))
    watcher.close()
    assert watcher.rule_change is None  # as these are the first
    watcher = opened(tmp_path, book(UNIQUE, FIXES), op="op", driver_bytes=where)
    added = [(0, "added", "two", 1, 2), (0, "added", "two", 2, 1)]
    assert feed_of(tmp_path) == added
    assert watcher.rule_change is not None
    assert watcher.before == (0, 0)
    assert words.line(watcher.rule_change).startswith("rules changed after batch 0, in 0.")
    assert words.line(watcher.rule_change).endswith("one: holds; two: 2 new, 0 resolved, 2 open")
    watcher.take(1, QUERY, pa.table({"op": ["delete"], "id": [1]}))
    watcher.take(2, QUERY, rows(id=[3, 4], op=["insert", "insert"]))
    watcher.close()
    known = folded(tmp_path)
    assert len(known) == 4
    opened(tmp_path, book(UNIQUE), op="op", driver_bytes=where).close()
    assert folded(tmp_path) == set()
    assert {one["id"]: (one["added"], one["resolved"]) for one in last_rows(tmp_path)} == {
        2: (0, 2),
        3: (0, 4),
        4: (0, 2),
    }
    told = read_history(tmp_path / "batches.jsonl")
    assert [one.instant for one in told] == [(0, 0), (0, 1), (1, 0), (2, 0), (2, 2)]
    assert [(one.name, one.added, one.resolved, one.open) for one in told[-1].rules] == [
        ("one", 0, 0, 0),
        ("two", 0, 4, 0),
    ]
    assert rf.Watch(tmp_path).record(2) == told[-2]


def last_rows(folder: Path) -> list[dict[str, Any]]:
    """The newest file of the feed by row."""
    *_, last = sorted((folder / "feed" / "rows").iterdir())
    found: list[dict[str, Any]] = parquet.read_table(last).to_pylist()
    return found


@pytest.mark.parametrize("where", [None, 0])
def test_a_rule_that_is_changed_keeps_what_it_still_says(tmp_path: Path, where: int | None) -> None:
    watcher = opened(tmp_path, book(FIXES), driver_bytes=where)
    watcher.bootstrap(rows(id=[1, 2, 3], zip=["a", "a", "a"], city=["x", "y", "y"], note=[1, 1, 2]))
    watcher.close()
    assert len(folded(tmp_path)) == 4
    narrower = {**FIXES, "fd": "zip, note -> city"}
    opened(tmp_path, book(narrower), driver_bytes=where).close()
    assert feed_of(tmp_path)[4:] == [(-1, "resolved", "two", *pair) for pair in ((1, 3), (3, 1))]
    severe = {**narrower, "severity": "warn"}
    opened(tmp_path, book(severe), driver_bytes=where).close()
    assert len(feed_of(tmp_path)) == 6
    single = {"name": "two", "row": "note < 2"}
    opened(tmp_path, book(single), driver_bytes=where).close()
    assert folded(tmp_path) == {("two", (3,))}
    opened(tmp_path, book(FIXES, single | {"name": "one"}), driver_bytes=where).close()
    assert folded(tmp_path) == {("one", (3,)), *(("two", pair) for pair in ((1, 2), (2, 1), (1, 3), (3, 1)))}
    lines = parquet.read_table(tmp_path / "violations").to_pylist()
    assert {(one["rule"], one["s"]) for one in lines} == {(rule, pair[0]) for rule, pair in folded(tmp_path)}


@pytest.mark.parametrize("where", [None, 0])
def test_a_rule_with_too_many_violations_leaves_the_feed_as_it_leaves_the_table(
    tmp_path: Path, where: int | None
) -> None:
    watcher = opened(tmp_path, most_pairs=3, driver_bytes=where)
    watcher.take(0, QUERY, rows())
    assert len(folded(tmp_path)) == 2
    watcher.take(1, QUERY, rows(id=[3, 4]))
    assert folded(tmp_path) == set()
    assert [one["resolved"] for one in last_rows(tmp_path)] == [2, 2]
    watcher.take(2, QUERY, rows(id=[5, 6]))
    watcher.close()
    assert len(feed_of(tmp_path)) == 4


@pytest.mark.parametrize(
    ("script", "subject"), [(committing_rules, Changing()), (committing_shard_rules, ChangingApart())]
)
def test_a_kill_inside_a_change_of_rules_feeds_every_pair_once(tmp_path: Path, script: Any, subject: Changing) -> None:
    changers, begun = Committers(script.__file__), tmp_path / "begun"
    assert changers.run(begun, batches=3) == (3, False)
    step, killed = 0, True
    while killed:
        step += 1 if THOROUGH else 7
        folder = tmp_path / f"{step}"
        shutil.copytree(begun, folder, symlinks=True)
        _, killed = changers.run(folder, batches=0, step=step, half=step % 2 == 0)
        for _ in range(1 + step % 2):  # which goes on with the same rules, or with others again
            check_whole(folder, subject)
        changers.run(folder, batches=1)
        check_whole(folder, subject)
        shutil.rmtree(folder)
    changers.close()
    assert step > 30
