"""A watch that takes batch after batch, in processes that are killed (`killing.py`)."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import refute as rf
from committing import RULES, Row, deleted_by, rows_after, rows_of, table_of, updated_by
from killing import serve
from refute.language.rulebook import RuleBook
from refute.watching.publishing.ledger import LedgerTuning
from refute.watching.records import read_history
from refute.watching.shards.runner import Runner
from refute.watching.watcher import Watcher, WatchOptions

QUERY = "a stream"
OPTIONS = WatchOptions(
    tuple(RuleBook.of(list(RULES))),
    ("id",),
    op="op",
    order="turn",
    log_rows=12,
    tuning=LedgerTuning(piece=8, closed_piece=8, states=2, seconds=0),
)


def feed_of(batch: int) -> pa.Table:
    """The changes of a batch, as one feed: what comes, what changes, what goes."""
    known = batch > 1
    steps: list[tuple[str, Row]] = [("insert", row) for row in rows_of(batch)]
    steps += [("update" if known else "insert", row) for row in updated_by(batch)]
    steps += [("delete", (key, 0, "", 0, 0)) for key in deleted_by(batch)]
    table = table_of([row for _, row in steps])
    table = table.append_column("op", pa.array([op for op, _ in steps]))
    return table.append_column("turn", pa.array(range(len(steps))))


@functools.lru_cache
def lines_after(batches: int) -> list[tuple[Any, ...]]:
    """The table of violations after so many batches, whose numbers begin with 0."""
    closed, still = [], dict[tuple[str, int, int], int]()
    for batch in range(1, batches + 1):
        table = table_of(list(rows_after(batch).values()))
        rules = list(OPTIONS.rules or ())
        now = {(rule.name, *pair) for rule in rules for pair in rf.violations(table, rule, key="id")}
        closed += [(*one, still.pop(one), batch - 1) for one in [*still] if one not in now]
        still |= {one: batch - 1 for one in sorted(now) if one not in still}
    return sorted([*closed, *((*one, since, None) for one, since in still.items())], key=str)


def check_whole(folder: Path, acknowledged: int) -> int:
    """Opens a watch and holds all that it shows against the rows of its batches; how many these are.

    All that were acknowledged are there, and perhaps one more, but only whole.
    """
    if not (folder / "state" / "manifest.json").exists():
        assert acknowledged == 0
        return 0
    watcher = opened(folder)
    batches = batches_in(watcher)
    assert batches in (acknowledged, acknowledged + 1)
    assert watcher.take(batches - 1, QUERY, feed_of(1)) is None if batches else True
    watcher.close()
    if not batches:
        return 0
    lines = parquet.read_table(folder / "violations").to_pylist()
    found = [(one["rule"], one["s"], one["t"], one["since"], one["until"]) for one in lines]
    assert sorted(found, key=str) == lines_after(batches)
    assert {row["id"]: tuple(row.values())[:5] for row in rf.Watch(folder).table().to_pylist()} == rows_after(batches)
    assert [one.batch for one in read_history(folder / "batches.jsonl")] == list(range(batches))
    for kind in ("pairs", "rows"):
        names = [path.name for path in (folder / "feed" / kind).iterdir()]
        assert not [name for name in names if name.startswith(".")]
        assert set(names) <= {f"batch-{number:012}.parquet" for number in range(batches)}
    came = sum(change_of(line) for line in parquet.read_table(folder / "feed" / "pairs").to_pylist())
    assert came == sum(until is None for *_, until in lines_after(batches))
    return batches


def change_of(line: dict[str, Any]) -> int:
    """One more, or one less."""
    return 1 if line["change"] == "added" else -1


def opened(folder: str | Path, options: WatchOptions = OPTIONS, runner: Runner | None = None) -> Watcher:
    """The watch of a folder, which Spark remembers."""
    checkpoint = Path(folder) / "checkpoint"
    if (Path(folder) / "state" / "manifest.json").exists():
        checkpoint.mkdir(exist_ok=True)
        (checkpoint / "metadata").write_text(f'{{"id": "{QUERY}"}}')
    return Watcher.open(Path(folder), options, runner)


def batches_in(watcher: Watcher) -> int:
    """How many batches a watch says that it has."""
    return 0 if watcher.batch is None else watcher.batch + 1


class Taking:
    """A watch, for processes that are killed while batches come to it."""

    options = OPTIONS
    runner: Runner | None = None

    def open(self, folder: str) -> Any:
        """The watch of a folder, or a new one, whose commits are its own."""
        watcher = opened(folder, self.options, self.runner)
        watcher.commit = lambda: None  # type: ignore[attr-defined]
        return watcher

    batches_in = staticmethod(batches_in)

    def carry_out(self, watcher: Watcher, batch: int) -> None:
        """Takes a batch, and once more, as Spark repeats what it does not know to be taken."""
        watcher.take(batch - 1, QUERY, feed_of(batch))
        assert watcher.take(batch - 1, QUERY, feed_of(batch)) is None

    def warm_up(self) -> None:
        """Loads what is loaded when it is first used, for all processes to come."""
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                watcher = self.open(folder)
                first = batches_in(watcher) + 1
                for batch in range(first, first + 6):
                    self.carry_out(watcher, batch)
                watcher.close()


if __name__ == "__main__":
    serve(Taking())
