"""A monitor blames, after every change, the rows that are blamed in a table of its rows."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import refute as rf
from thorough import THOROUGH

HISTORIES = 400 if THOROUGH else 12
STEPS = 8
RULES: list[dict[str, Any]] = [
    {"name": "city", "fd": "zip -> city"},
    {"name": "state", "fd": "zip, city -> state", "where": "pay > 1"},
    {"name": "key", "unique": ["code"], "nulls": "equal"},
    {"name": "pay", "dc": "not (s.state = t.state and s.pay > t.pay and s.rate < t.rate)"},
    {"name": "any", "dc": "not (s.city = t.city and s.pay < t.rate and s.code != t.code)", "severity": "warn"},
    {"name": "alone", "row": "rate <= 5", "tolerance": {"rows": 2}},
    {"name": "few", "fd": "state -> city", "tolerance": {"rows": 6}},
]
CELLS = {"zip": 3, "city": 3, "state": 2, "code": 30, "pay": 6, "rate": 7}
TYPES = pa.schema([("id", pa.int64()), *((name, pa.int64()) for name in CELLS)])


def rows_of(random: Random, ids: list[int]) -> pa.Table:
    """Rows with these ids and few values, some of them null."""
    made: list[dict[str, int | None]] = []
    for one in ids:
        cells = {name: None if random.random() < 0.05 else random.randrange(most) for name, most in CELLS.items()}
        made.append({"id": one, **cells})
    return pa.Table.from_pylist(made, schema=TYPES)


def assert_same(monitor: rf.Monitor, rules: Any, *, ids: list[int] | None = None) -> None:
    """The monitor and a table of its rows blame the same, in the same words; `ids` are those of rows without a key."""
    found, again = monitor.suspects, rf.suspects(monitor.table(), rules, key=monitor.key or None)
    lines = list(again) if ids is None else [line._replace(row=ids[line.row]) for line in again]
    assert list(found) == lines
    assert (found.count, found.lower_bound, found.shares) == (again.count, again.lower_bound, again.shares)
    assert list(monitor.report().suspects) == lines


@pytest.mark.parametrize("store", ["auto", "counts"])
def test_suspects_follow_random_changes(store: str, tmp_path: Path) -> None:
    for seed in range(HISTORIES):
        random = Random(seed)
        rules = {"version": 1, "rules": random.sample(RULES, random.randint(1, 4))}
        durable = seed % 3 == 0
        folder = tmp_path / f"monitor {seed}"
        options: dict[str, Any] = {"rules": rules, "key": "id", "store": store}
        monitor = rf.Monitor.open(folder, **options) if durable else rf.Monitor(**options)
        living: list[int] = []
        for step in range(STEPS):
            new = [step * 100 + one for one in range(random.randrange(12))]
            gone = random.sample(living, random.randint(0, len(living) // 3))
            if new:
                monitor.insert(rows_of(random, new))
            if gone and random.random() < 0.5:
                monitor.update(rows_of(random, gone))
            elif gone:
                monitor.delete(gone)
                living = [one for one in living if one not in gone]
            living += new
            if monitor.schema is not None and random.random() < 0.7:
                assert_same(monitor, rules)
            if durable and random.random() < 0.3:
                monitor.commit()
                monitor.close()
                monitor = rf.Monitor.open(folder)
                if monitor.schema is not None:
                    assert_same(monitor, rules)
        monitor.close()


def test_rows_without_a_key_are_blamed_by_their_numbers() -> None:
    random = Random(7)
    monitor = rf.Monitor(["zip -> city", "unique(code)"])
    monitor.insert(rows_of(random, list(range(30))))
    monitor.delete([0, 3, 4, 11])
    assert_same(monitor, ["zip -> city", "unique(code)"], ids=[one for one in range(30) if one not in (0, 3, 4, 11)])


def test_suspects_are_kept_until_the_next_change_and_those_of_a_moment_stay() -> None:
    table = pa.table({"id": [1, 2, 3], "a": [1, 1, 1], "b": [5, 5, 6]})
    monitor = rf.Monitor("a -> b", key="id")
    monitor.insert(table)
    before, report = monitor.suspects, monitor.report()
    rules = list(monitor.rules)
    assert monitor.live_engine().suspects(rules) is monitor.live_engine().suspects(rules)
    monitor.delete([3])
    assert monitor.suspects.count == 0
    assert report.suspects.rows == before.rows == [3]
    assert list(report.violations("a_fixes_b"))  # of the moment of the report
    monitor.add("unique(b)")
    assert [line.row for line in monitor.suspects] == [1, 2]
