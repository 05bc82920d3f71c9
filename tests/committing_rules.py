"""A watch that has other rules each time it is opened, in processes that are killed (`killing.py`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyarrow import parquet

import refute as rf
from committing_watch import Taking, batches_in, opened
from killing import serve
from refute.watching.records import read_history


class Changing(Taking):
    """A watch whose rules change."""

    def open(self, folder: str | Path) -> Any:
        """The watch of a folder, with other rules than it had."""
        rules = self.options.rules or ()
        is_known = (Path(folder) / "state" / "manifest.json").exists()
        known = len(rf.Watch(folder).rules) if is_known else len(rules)
        options = replace(self.options, rules=rules[1:] if known == len(rules) else rules)
        watcher = opened(folder, options, self.runner)
        watcher.commit = lambda: None  # type: ignore[attr-defined]
        return watcher


def check_whole(folder: Path, subject: Changing) -> None:
    """Opens a watch with other rules, and holds the feed, the history and the table against each other."""
    watcher = subject.open(folder)
    counts = {rule.name: rf.count(watcher.live_engine().relation.arrow, rule) for rule in watcher.rules}
    assert batches_in(watcher) in (3, 4)
    watcher.close()
    held: set[tuple[Any, ...]] = set()
    for path in sorted((folder / "feed" / "pairs").iterdir()):
        for line in parquet.read_table(path).to_pylist():
            one = line["rule"], line["s"], line["t"]
            assert (one in held) == (line["change"] == "resolved")
            held ^= {one}
    lines = parquet.read_table(folder / "violations").to_pylist()
    assert held == {(one["rule"], one["s"], one["t"]) for one in lines if one["until"] is None}
    assert {name: sum(rule == name for rule, *_ in held) for name in counts} == counts
    assert {rule for rule, *_ in held} <= counts.keys()
    records = read_history(folder / "batches.jsonl")
    assert [one.instant for one in records] == sorted({one.instant for one in records})
    for name in {rule.name for record in records for rule in record.rules}:
        more = sum(rule.added - rule.resolved for record in records for rule in record.rules if rule.name == name)
        assert more == counts.get(name, 0)


if __name__ == "__main__":
    serve(Changing())
