"""A monitor on disk to which batch after batch is committed, by processes that are killed (`killing.py`)."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa

import refute as rf
from killing import serve

COLUMNS = ("id", "zip", "city", "pay", "tax")
RULES = ("zip -> city", "not(s.zip == t.zip and s.pay < t.pay and s.tax > t.tax)")
MORE = "city -> zip"
Row = tuple[Any, ...]


def rows_of(batch: int) -> list[Row]:
    """The rows that a batch inserts."""
    return [(10 * batch + n, (batch + n) % 4, f"city {(batch * n) % 7}", (7 * batch + n) % 11, n) for n in range(1, 6)]


def rows_after(batches: int) -> dict[int, Row]:
    """All rows by key after so many batches. The one with key 0 tells their number."""
    rows: dict[int, Row] = {}
    for batch in range(1, batches + 1):
        rows |= {row[0]: row for row in rows_of(batch)}
        rows |= {row[0]: row for row in updated_by(batch)}
        rows = {key: row for key, row in rows.items() if key not in deleted_by(batch)}
    return rows


def updated_by(batch: int) -> list[Row]:
    """The rows that a batch puts in the place of others."""
    counter = [(0, -1, "", batch, 0)]
    return counter if batch == 1 else [*counter, (10 * batch - 9, 1, f"moved {batch % 3}", batch % 5, 3)]


def deleted_by(batch: int) -> list[int]:
    """The keys that a batch deletes."""
    return [] if batch < 3 else [10 * batch - 20 + 2, 10 * batch - 20 + 3]


def rules_after(batches: int) -> list[str]:
    """The rules after so many batches: one comes and goes."""
    return [*RULES, MORE] if batches % 8 >= 4 else list(RULES)


def table_of(rows: list[Row]) -> pa.Table:
    """Rows as a table."""
    return pa.table({name: [row[n] for row in rows] for n, name in enumerate(COLUMNS)})


def carry_out(monitor: rf.Monitor, batch: int) -> None:
    """Changes a monitor as a batch says, in several steps."""
    first = updated_by(batch) if batch == 1 else []
    monitor.insert(table_of([*rows_of(batch), *first]))
    if batch > 1:
        monitor.update(table_of(updated_by(batch)))
        monitor.delete(deleted_by(batch))
    if batch % 8 == 4:
        monitor.add(MORE)
    elif batch % 8 == 0:
        monitor.drop("city_fixes_zip")


def batches_in(monitor: rf.Monitor) -> int:
    """How many batches a monitor says that it has."""
    if monitor.schema is None:
        return 0
    return next((row["pay"] for row in monitor.table().to_pylist() if row["id"] == 0), 0)


def check_whole(folder: Path, acknowledged: int) -> int:
    """Opens a monitor and holds it against a check of the rows of its batches; how many these are.

    All that were acknowledged are there. So may be one more, but only whole: a process can be killed when a batch is on
    the disk and it could not say so yet. Nobody could tell that from a kill just after it said so.
    """
    if not (folder / "manifest.json").exists():
        assert acknowledged == 0
        return 0
    with rf.Monitor.open(folder) as monitor:
        batches = batches_in(monitor)
        assert batches in (acknowledged, acknowledged + 1)
        rows = rows_after(batches)
        found = [] if monitor.schema is None else monitor.table().to_pylist()
        assert {row["id"]: tuple(row.values()) for row in found} == rows
        table = table_of(list(rows.values()))
        assert len(monitor.rules) == len(rules_after(batches))
        for rule in monitor.rules if rows else ():
            clashes = sorted(rf.violations(table, rule, key="id"))
            assert monitor.count(rule) == len(clashes)
            assert sorted(monitor.violations(rule)) == clashes
    return batches


class Subject:
    """A monitor, for processes that are killed while they commit to it."""

    def open(self, folder: str) -> rf.Monitor:
        """The monitor of a folder, or a new one."""
        exists = (Path(folder) / "manifest.json").exists()
        return rf.Monitor.open(folder, None if exists else list(RULES), key="id", log_rows=12)

    batches_in = staticmethod(batches_in)
    carry_out = staticmethod(carry_out)

    def warm_up(self) -> None:
        """Loads what is loaded when it is first used, for all processes to come."""
        with tempfile.TemporaryDirectory() as folder:
            for first in (1, 7):
                with rf.Monitor.open(folder, list(RULES) if first == 1 else None, key="id") as monitor:
                    for batch in range(first, first + 6):
                        carry_out(monitor, batch)
                        monitor.commit()


if __name__ == "__main__":
    serve(Subject())
