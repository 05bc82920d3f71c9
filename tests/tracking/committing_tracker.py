"""A tracker on disk to which batch after batch is committed, by processes that are killed (`killing.py`)."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import refute as rf
from committing import COLUMNS, deleted_by, rows_after, rows_of, updated_by
from killing import serve
from refute.discovery.search import search
from refute.discovery.table import LocalTable
from refute.relation import Relation

OPTIONS: dict[str, Any] = {"columns": COLUMNS[1:], "threads": 1}
CHANGES = 3  # that a batch makes
TYPES = (pa.int64(), pa.int64(), pa.string(), pa.int64(), pa.int64())


def table_of(rows: list[Any]) -> pa.Table:
    """Rows as a table; those of every fifth batch have no city."""
    cells = [[row[n] for row in rows] for n in range(len(COLUMNS))]
    cells[2] = [None if key % 50 == 4 else cell for key, cell in zip(cells[0], cells[2], strict=True)]
    return pa.table([pa.array(part, kind) for part, kind in zip(cells, TYPES, strict=True)], list(COLUMNS))


def begun(folder: str | Path | None, log_rows: int = 12) -> rf.Tracker:
    """A tracker with the rows of the first batch, in a folder if one is given."""
    first = table_of([*rows_of(1), *updated_by(1)])
    if folder is None:
        return rf.Tracker(first, key="id", **OPTIONS)
    return rf.Tracker.open(folder, first, key="id", log_rows=log_rows, **OPTIONS)


def carry_out(tracker: rf.Tracker, batch: int) -> None:
    """Changes a tracker as a batch says, in several steps; the first one is there from the start."""
    if batch == 1:
        return
    tracker.insert(table_of(rows_of(batch)))
    tracker.update(table_of(updated_by(batch)))
    tracker.delete(deleted_by(batch))
    if batch % 8 == 4:
        tracker.refit()


def batches_in(tracker: rf.Tracker) -> int:
    """How many batches a tracker says that it has."""
    return next(int(row["pay"]) for row in tracker.table().to_pylist() if row["id"] == 0)


@cache
def _in_memory() -> tuple[rf.Tracker, list[dict[str, int]]]:
    return begun(None), []


def held_after(batches: int) -> dict[str, int]:
    """For how long rules have held after so many batches, as a tracker that was never closed says."""
    tracker, known = _in_memory()
    while len(known) < batches:
        carry_out(tracker, len(known) + 1)
        known.append(tracker.held)
    return known[batches - 1]


def check_whole(folder: Path, acknowledged: int) -> int:
    """Opens a tracker and holds it against a search over the rows of its batches; how many these are.

    All that were acknowledged are there. So may be one more, but only whole, as for a monitor.
    """
    if not (folder / "manifest.json").exists():
        assert acknowledged == 0
        return 0
    with rf.Tracker.open(folder) as tracker:
        batches = batches_in(tracker)
        assert batches in ({1} if acknowledged == 0 else {acknowledged, acknowledged + 1})
        assert tracker.batches == CHANGES * (batches - 1) + 1
        expected = table_of(list(rows_after(batches).values())).to_pylist()
        assert sorted(tracker.table().to_pylist(), key=lambda row: row["id"]) == sorted(
            expected, key=lambda row: row["id"]
        )
        found = search(LocalTable(Relation.of(tracker.table())), tracker._options, space=tracker.space)
        assert sorted(rule.text for rule in tracker.rules) == sorted(rule.text for rule in found.rules)
        assert tracker.held == held_after(batches)
    return batches


class Subject:
    """A tracker, for processes that are killed while they commit to it. Opening it commits its first batch."""

    def open(self, folder: str) -> rf.Tracker:
        """The tracker of a folder, or a new one."""
        return begun(folder)

    def batches_in(self, tracker: rf.Tracker) -> int:
        """How many batches it says that it has; those of a new one are still to be acknowledged."""
        return 0 if tracker.batches == 1 else batches_in(tracker)

    carry_out = staticmethod(carry_out)

    def warm_up(self) -> None:
        """Loads what is loaded when it is first used, for all processes to come."""
        with tempfile.TemporaryDirectory() as folder:
            for first in (1, 7):
                with begun(f"{folder}/tracker") as tracker:
                    for batch in range(first, first + 6):
                        carry_out(tracker, batch)
                        tracker.commit()


if __name__ == "__main__":
    serve(Subject())
