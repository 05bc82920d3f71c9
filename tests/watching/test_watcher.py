"""What readers see of a watch is after every batch what a check of all rows so far would find."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition
from hypothesis.stateful import rule as step
from pyarrow import parquet

import refute as rf
from refute.errors import DataError
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.watching.ledger import LedgerTuning
from refute.watching.records import BatchRecord, read_history
from refute.watching.watcher import Watcher, WatchOptions
from strategies import rules, tables
from thorough import examples

SMALL = LedgerTuning(piece=4, closed_piece=6, most_closed=1 << 30, states=2, seconds=0)
QUERY = "a stream"
Pair = tuple[Any, ...]


class Streaming(RuleBasedStateMachine):
    """A stream of changes, and the watcher that takes its batches."""

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """A pool of rows with all types, and rules over them."""
        self.pool, kinds = data.draw(tables(max_rows=20).filter(lambda drawn: len(drawn[0]) > 0))
        self.folder = Path(tempfile.mkdtemp()) / "kept"
        self.watched = tuple(
            Rule(
                name=f"rule {number}",
                constraint=data.draw(rules(kinds)),
                nulls=data.draw(st.sampled_from(list(Nulls))),
            )
            for number in range(3)
        )
        self.in_force = self.watched[:2]
        self.model: dict[int, int] = {}
        self.open: dict[tuple[str, Pair], int] = {}
        self.closed: list[tuple[str, Pair, int, int]] = []
        self.batch = -1
        self.begin_again(data)

    def teardown(self) -> None:
        if hasattr(self, "watcher"):
            self.watcher.close()
            shutil.rmtree(self.folder.parent)

    def begin_again(self, data: st.DataObject) -> None:
        options = WatchOptions(self.in_force, ("id",), op="op", order="turn", log_rows=9, tuning=SMALL)
        self.watcher = Watcher.open(self.folder, options)

    def feed(self, steps: list[tuple[str, int, int]]) -> pa.Table:
        """Operations, keys and rows of the pool as a feed, shuffled."""
        held = self.pool.take(pa.array([row for _, _, row in steps], pa.int64()))
        held = held.append_column("id", pa.array([key for _, key, _ in steps], pa.int64()))
        held = held.append_column("turn", pa.array(range(len(steps)), pa.int64()))
        held = held.append_column("op", pa.array([op for op, _, _ in steps], pa.string()))
        return held.take(pa.array(range(len(steps) - 1, -1, -1), pa.int64()))

    @step(data=st.data())
    def take(self, data: st.DataObject) -> None:
        """A batch of changes, of a key often several."""
        after, steps = dict(self.model), []
        for _ in range(data.draw(st.integers(1, 6))):
            key, row = data.draw(st.integers(0, 7)), data.draw(st.integers(0, len(self.pool) - 1))
            if key not in after:
                steps.append(("insert", key, row))
                after[key] = row
            elif data.draw(st.booleans()):
                steps.append(("DELETE", key, row))
                del after[key]
            else:
                images = data.draw(st.booleans())
                steps += [("update_preimage", key, after[key])] if images else []
                steps.append(("update_postimage" if images else "update", key, row))
                after[key] = row
        table = self.feed(steps)
        record = self.taken(table)
        if record is None:
            self.begin_again_with_checkpoint(data)
            return
        self.batch += 1
        self.model = after
        self.settle(self.batch)
        assert record.rows == len(steps)
        assert record.n_rows == len(after)
        assert {one.name: one.open for one in record.rules} == {
            rule.name: sum(name == rule.name for name, _ in self.open) for rule in self.in_force
        }

    def taken(self, table: pa.Table) -> BatchRecord | None:
        """What a batch did; None where it is refused for the one number that stands for null."""
        try:
            record = self.watcher.take(self.batch + 1, QUERY, table)
        except DataError as error:
            if "2^63" not in str(error):
                raise
            return None
        assert record is not None
        return record

    def settle(self, batch: int) -> None:
        """Holds the model of open violations against all pairs."""
        now = {(rule.name, pair) for rule in self.in_force for pair in self.violations(rule)}
        for one in [one for one in self.open if one not in now]:
            self.closed.append((*one, self.open.pop(one), batch))
        self.open |= {one: batch for one in now if one not in self.open}

    def violations(self, rule: Rule) -> list[Pair]:
        if not self.model:
            return []
        table = self.pool.take(pa.array(list(self.model.values()), pa.int64()))
        return list(rf.violations(table.append_column("id", pa.array(list(self.model), pa.int64())), rule, key="id"))

    @precondition(lambda self: self.batch >= 0)
    @step(data=st.data())
    def repeat(self, data: st.DataObject) -> None:
        """Spark repeats the last batch, whatever it holds now."""
        assert self.watcher.take(self.batch, QUERY, self.feed([("insert", 0, 0)])) is None

    @step(data=st.data(), more=st.integers(0, 2))
    def reopen(self, data: st.DataObject, more: int) -> None:
        """Another process goes on, at times with other rules."""
        self.watcher.close()
        dropped = {rule.name for rule in self.in_force}
        self.in_force = (self.watched[:2], self.watched, self.watched[1:])[more]
        dropped -= {rule.name for rule in self.in_force}
        self.open = {one: since for one, since in self.open.items() if one[0] not in dropped}
        self.begin_again_with_checkpoint(data)
        if self.batch >= 0:
            self.settle(self.batch)

    def begin_again_with_checkpoint(self, data: st.DataObject) -> None:
        if self.batch >= 0:
            checkpoint = self.folder / "checkpoint"
            checkpoint.mkdir(exist_ok=True)
            (checkpoint / "metadata").write_text(f'{{"id": "{QUERY}"}}')
        self.begin_again(data)

    @invariant()
    def readers_see_what_is_true(self) -> None:
        """The table, as any reader of Parquet reads it."""
        if getattr(self, "batch", -1) < 0:
            return
        lines = parquet.read_table(self.folder / "violations").to_pylist()
        found = [(one["rule"], pair_of(one), one["since"], one["until"]) for one in lines]
        still = [(*one, since, None) for one, since in self.open.items()]
        assert sorted(found, key=str) == sorted([*still, *self.closed], key=str)
        assert all((one["s_id"], one["t_id"]) == (one["s"], one["t"]) for one in lines)
        assert [one.batch for one in read_history(self.folder / "batches.jsonl")] == list(range(self.batch + 1))
        self.feeds_add_up()

    def feeds_add_up(self) -> None:
        pairs: dict[tuple[str, Pair], int] = {}
        for line in read_feed(self.folder / "feed" / "pairs"):
            one = line["rule"], pair_of(line)
            pairs[one] = pairs.get(one, 0) + (1 if line["change"] == "added" else -1)
        if len(self.in_force) == 2 and self.in_force == self.watched[:2] and set(pairs.values()) <= {0, 1}:
            told = {one for one, count in pairs.items() if count}
            assert told <= {*self.open, *((name, pair) for name, pair, _, _ in self.closed)}
        rows = list(read_feed(self.folder / "feed" / "rows"))
        for change in ("added", "resolved"):
            sides = sum(
                len(pair_of(line)) for line in read_feed(self.folder / "feed" / "pairs") if line["change"] == change
            )
            assert sum(line[change] for line in rows) == sides
        assert len({(line["batch"], line["rule"], line["id"]) for line in rows}) == len(rows)


def pair_of(line: dict[str, Any]) -> Pair:
    return (line["s"],) if line["t"] is None else (line["s"], line["t"])


def read_feed(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.iterdir()):
        yield from parquet.read_table(path).to_pylist()


TestStreaming = Streaming.TestCase
TestStreaming.settings = examples(20, stateful_step_count=12)
