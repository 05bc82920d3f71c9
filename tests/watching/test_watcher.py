"""What readers see of a watch is after every batch what a check of all rows so far would find."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition
from hypothesis.stateful import rule as step
from pyarrow import parquet

import refute as rf
from refute.cli.exits import Exit
from refute.cli.watch.calling import exit_of
from refute.errors import DataError, EngineError, OptionError, SchemaError
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.watching.publishing.ledger import LedgerTuning
from refute.watching.records import BatchRecord, read_history
from refute.watching.shards.shard_layout import ShardTuning
from refute.watching.watcher import Watcher, WatchOptions
from spreading import TasksHere
from strategies import rules, tables
from thorough import examples

TINY = ShardTuning(rows=2, least=4)  # so that shards are many, with several parts, and are often written anew
SMALL = LedgerTuning(piece=4, closed_piece=6, most_closed=1 << 30, states=2, seconds=0)
QUERY = "a stream"
Pair = tuple[Any, ...]


class Streaming(RuleBasedStateMachine):
    """A stream of changes, and the watcher that takes its batches."""

    wheres: tuple[int, ...] = (1 << 30,)  # limits for rows in this process

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
        where = data.draw(st.sampled_from(self.wheres))
        shards = replace(TINY, opened_bytes=data.draw(st.sampled_from([None, 1 << 15])) if where == 0 else None)
        options = WatchOptions(
            self.in_force, ("id",), op="op", order="turn", driver_bytes=where, log_rows=9, tuning=SMALL, shards=shards
        )
        try:
            self.watcher = Watcher.open(self.folder, options, TasksHere(data.draw(st.integers(1, 3))))
        except DataError as error:  # of a rule that is new, for the one number that stands for null
            if "2^63" not in str(error):
                raise
            reject()

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
        before = set(self.open)
        self.settle(self.batch)
        told = [line for line in read_feed(self.folder / "feed" / "pairs") if line["batch"] == self.batch]
        changes = {(line["change"], line["rule"], pair_of(line)) for line in told}
        assert len(changes) == len(told)
        assert changes == {
            *(("added", *one) for one in set(self.open) - before),
            *(("resolved", *one) for one in before - set(self.open)),
        }
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
        records = read_history(self.folder / "batches.jsonl")
        assert [one.batch for one in records if not one.rule_change] == list(range(self.batch + 1))
        changed = [one.instant for one in records if one.rule_change]
        assert [one.rule_change for one in changed] == list(range(1, len(changed) + 1))
        deltas = [(rule.name, rule.added - rule.resolved) for one in records for rule in one.rules]
        assert {name: sum(more for own, more in deltas if own == name) for name, _ in deltas} == {
            name: sum(rule == name for rule, _ in self.open) for name, _ in deltas
        }
        self.feeds_add_up()

    def feeds_add_up(self) -> None:
        held = folded(self.folder)
        assert held == set(self.open)
        rows = list(read_feed(self.folder / "feed" / "rows"))
        for change in ("added", "resolved"):
            sides = sum(
                len(pair_of(line)) for line in read_feed(self.folder / "feed" / "pairs") if line["change"] == change
            )
            assert sum(line[change] for line in rows) == sides
        named = [parquet.read_table(path).to_pylist() for path in (self.folder / "feed" / "rows").iterdir()]
        assert all(len({(line["rule"], line["id"]) for line in lines}) == len(lines) for lines in named)


def pair_of(line: dict[str, Any]) -> Pair:
    return (line["s"],) if line["t"] is None else (line["s"], line["t"])


def folded(folder: Path) -> set[tuple[str, Pair]]:
    """The violations that the feed says to be open, each of which has come before it went."""
    held: set[tuple[str, Pair]] = set()
    for line in read_feed(folder / "feed" / "pairs"):
        one = line["rule"], pair_of(line)
        assert (one in held) == (line["change"] == "resolved")
        held ^= {one}
    return held


def read_feed(folder: Path) -> Iterator[dict[str, Any]]:
    for path in sorted(folder.iterdir()):
        yield from parquet.read_table(path).to_pylist()


TestStreaming = Streaming.TestCase
TestStreaming.settings = examples(20, stateful_step_count=12)


class Moving(Streaming):
    """The same, where rows are in shards, or move there and back whenever the watch is opened again."""

    wheres = (0, 0, 1 << 30)


TestMoving = Moving.TestCase
TestMoving.settings = examples(8, stateful_step_count=10)


ROWS = {"id": [1, 2], "zip": ["a", "a"], "city": ["x", "y"], "note": [1, 2]}


def opened(folder: Path, rules: Any = "zip -> city", **options: Any) -> Watcher:
    """A watch of one rule by key, whose checkpoint is there; in shards, if no rows are to be here."""
    book = None if rules is None else tuple(RuleBook.of(rules))
    runner = TasksHere() if options.get("driver_bytes") == 0 else None
    found = Watcher.open(folder, WatchOptions(book, ("id",), **options), runner)
    (folder / "checkpoint").mkdir(exist_ok=True)
    (folder / "checkpoint" / "metadata").write_text(f'{{"id": "{QUERY}"}}')
    return found


def rows(**changed: Any) -> pa.Table:
    """Rows with other keys than those before."""
    return pa.table({**ROWS, **changed})


def test_only_the_batch_that_comes_next_is_taken(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    assert watcher.take(0, QUERY, rows()) is not None
    assert watcher.take(0, QUERY, rows()) is None
    with pytest.raises(DataError, match=r"Batch 2 of the stream has come, but .* stopped after batch 0"):
        watcher.take(2, QUERY, rows(id=[3, 4]))
    with pytest.raises(OptionError, match="is closed"):
        watcher.take(1, QUERY, rows(id=[3, 4]))
    again = opened(tmp_path)
    assert again.take(1, QUERY, rows(id=[3, 4])) is not None
    with pytest.raises(DataError, match="Batch 0 of the stream has come"):
        again.take(0, QUERY, rows())
    with pytest.raises(DataError, match="is that of another stream"):
        opened(tmp_path).take(2, "another", rows(id=[5, 6]))


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("where", [None, 0])
def test_a_full_disk_is_said_and_takes_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, where: int | None
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    watcher = opened(tmp_path, driver_bytes=where)
    watcher.take(0, QUERY, rows())
    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        with pytest.raises(EngineError, match=f"{tmp_path.name}.*: No space left"):
            watcher.take(1, QUERY, rows(id=[3, 4]))
    again = opened(tmp_path, driver_bytes=where)
    again.take(1, QUERY, rows(id=[3, 4]))  # which is passed over if it has been taken
    assert sorted(rf.Watch(tmp_path).table().column("id").to_pylist()) == [1, 2, 3, 4]
    assert rf.Watch(tmp_path).counts == {"zip_fixes_city": 8}


def test_a_checkpoint_that_is_gone_or_new_is_refused(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    watcher.take(0, QUERY, rows())
    with pytest.raises(EngineError, match="already open"):
        opened(tmp_path)
    watcher.close()
    metadata = tmp_path / "checkpoint" / "metadata"
    metadata.write_text('{"id": "another"}')
    with pytest.raises(DataError, match="is that of another stream"):
        opened(tmp_path)
    shutil.rmtree(metadata.parent)
    with pytest.raises(DataError, match=r"checkpoint is gone, so it is not known which rows"):
        opened(tmp_path)
    metadata.parent.mkdir()
    metadata.write_text(f'{{"id": "{QUERY}"}}')
    shutil.rmtree(tmp_path / "state")
    with pytest.raises(DataError, match=r"state is gone: the rows that the stream has brought so far are lost"):
        opened(tmp_path)


def test_several_changes_of_one_key_need_an_order(tmp_path: Path) -> None:
    watcher = opened(tmp_path, op="op")
    watcher.take(0, QUERY, rows(op=["insert", "insert"]))
    images = rows(id=[1, 1], city=["x", "y"], op=["update_postimage", "update_preimage"])
    record = watcher.take(1, QUERY, images)
    assert record is not None
    assert (record.added, record.resolved, record.open) == (0, 0, 2)  # which come in any order
    moved = rows(id=[3, 2], city=["z", "y"], op=["update_postimage", "update_preimage"])
    assert watcher.take(2, QUERY, moved) is not None  # another key
    assert watcher.live_engine().relation.arrow.column("id").to_pylist() == [1, 3]
    with pytest.raises(DataError, match=r"Several changes of one key arrived together, and order= names .*: id = 1"):
        watcher.take(3, QUERY, rows(id=[1, 1], op=["update", "delete"]))
    watcher = opened(tmp_path, op="op", order="note")
    with pytest.raises(DataError, match=r"and 'note', their order, has the same value in them: id = 1"):
        watcher.take(3, QUERY, rows(id=[1, 1], note=[5, 5], op=["update", "delete"]))
    watcher = opened(tmp_path, op="op", order="note")
    with pytest.raises(DataError, match="Row 1 of the feed has no value in 'note', its order"):
        watcher.take(3, QUERY, rows(id=[1, 1], note=[5, None], op=["delete", "update"]))
    watcher = opened(tmp_path, op="op", order="note")
    assert watcher.take(3, QUERY, rows(id=[1, 1], note=[5, 4], op=["delete", "update"])) is not None
    assert watcher.live_engine().relation.arrow.column("id").to_pylist() == [3]
    watcher.close()


def test_a_column_that_nothing_reads_may_change_or_go(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    watcher.take(0, QUERY, rows())
    assert watcher.take(1, QUERY, rows(id=[3, 4], note=["p", "q"], more=[1, 2])) is not None
    assert watcher.take(2, QUERY, rows(id=[5, 6]).drop_columns(["note"])) is not None
    assert watcher.live_engine().relation.arrow.column("note").to_pylist() == [1, 2, None, None, None, None]
    with pytest.raises(
        SchemaError, match="Batch 3 has a different type than before in a column that rule 'zip_fixes_city'"
    ):
        watcher.take(3, QUERY, rows(id=[7, 8], city=[1, 2]))
    with pytest.raises(SchemaError, match="Batch 3 lacks the column 'zip', which rule 'zip_fixes_city' reads"):
        opened(tmp_path).take(3, QUERY, rows(id=[7, 8]).drop_columns(["zip"]))
    with pytest.raises(SchemaError, match=r"column 'note', which .* reads, is missing in the rows since batch 1"):
        opened(tmp_path, ["zip -> city", "zip -> note"])
    again = opened(tmp_path, "city -> zip")
    assert again.state.stores[0].count == 0
    assert again.take(3, QUERY, rows(id=[7, 8])) is not None
    again.close()


def test_a_table_comes_first_once(tmp_path: Path) -> None:
    watcher = opened(tmp_path / "one")
    assert watcher.bootstrap(rows()) is not None
    assert watcher.bootstrap(rows(id=[3, 4])) is None
    assert watcher.take(0, QUERY, rows(id=[3, 4])) is not None
    assert watcher.bootstrap(rows(id=[5, 6])) is None
    assert [one.batch for one in read_history(tmp_path / "one" / "batches.jsonl")] == [-1, 0]
    watcher.close()
    other = opened(tmp_path / "two")
    other.take(0, QUERY, rows())
    with pytest.raises(OptionError, match="already has rows from its stream"):
        other.bootstrap(rows(id=[3, 4]))
    other.close()


def test_a_rule_with_too_many_violations_leaves_the_table_and_is_counted(tmp_path: Path) -> None:
    watcher = opened(tmp_path, most_pairs=3)
    watcher.take(0, QUERY, rows())
    assert parquet.read_table(tmp_path / "violations").num_rows == 2
    record = watcher.take(1, QUERY, rows(id=[3, 4]))
    assert record is not None
    assert record.open == 8
    assert parquet.read_table(tmp_path / "violations").num_rows == 0
    watcher.close()
    assert rf.Watch(tmp_path).counts == {"zip_fixes_city": 8}
    assert len(list(rf.Watch(tmp_path).violations("zip -> city"))) == 8
    with pytest.raises(DataError, match=r"holds a watch, not a monitor. Open it with refute.watch"):
        rf.Monitor.open(tmp_path / "state")


def test_rows_without_a_key_are_numbered(tmp_path: Path) -> None:
    watcher = Watcher.open(tmp_path, WatchOptions(tuple(RuleBook.of(["zip -> city", "row(note < 2)"]))))
    watcher.take(0, None, rows())
    watcher.take(1, None, rows(city=["x", "x"]))
    lines = parquet.read_table(tmp_path / "violations").to_pylist()
    assert sorted((one["s"], one["t"], one["since"]) for one in lines if one["rule"] == "zip_fixes_city") == [
        (0, 1, 0),
        (1, 0, 0),
        (1, 2, 1),
        (1, 3, 1),
        (2, 1, 1),
        (3, 1, 1),
    ]
    assert [(one["s"], one["t"]) for one in lines if one["rule"] == "note"] == [(1, None), (3, None)]
    watcher.close()


def test_readers_of_an_older_state_still_find_it(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    watcher.take(0, QUERY, rows())
    seen = (tmp_path / "violations").resolve()
    for batch in range(1, 6):
        watcher.take(batch, QUERY, rows(id=[10 * batch, 10 * batch + 1]))
    assert parquet.read_table(seen).num_rows == 2
    assert parquet.read_table(tmp_path / "violations").num_rows == 2 * 6 * 6
    watcher.close()


def test_batches_without_columns_before_the_first_rows_are_passed_over(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    with pytest.raises(SchemaError, match="The table has no columns"):
        watcher.bootstrap(pa.table({}))
    watcher = opened(tmp_path)
    assert watcher.take(0, QUERY, pa.table({})) is None
    assert watcher.take(1, QUERY, pa.table({})) is None
    watcher.close()
    assert rf.Watch(tmp_path).batches == []
    again = opened(tmp_path)
    assert again.batch == 1
    record = again.take(2, QUERY, rows())
    assert record is not None
    assert (record.batch, record.open) == (2, 2)
    assert again.take(3, QUERY, pa.table({"id": [3], "zip": ["a"], "city": ["z"], "note": [1]})) is not None
    again.close()
    assert rf.Watch(tmp_path).counts == {"zip_fixes_city": 6}


def test_a_feed_of_changes_is_not_read_as_rows_later(tmp_path: Path) -> None:
    watcher = opened(tmp_path, op="op")
    watcher.take(0, QUERY, rows(op=["insert", "insert"]))
    watcher.close()
    with pytest.raises(OptionError, match=r"has taken changes whose column 'op' says what each does. Give op='op'"):
        opened(tmp_path)
    opened(tmp_path, op="what").close()


def test_a_checkpoint_of_another_moment_is_refused(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    plan = tmp_path / "checkpoint" / "offsets" / "0"
    plan.parent.mkdir()
    plan.write_text("rows 0 to 2")
    watcher.take(0, QUERY, rows())
    watcher.close()
    opened(tmp_path).close()
    plan.write_text("rows 0 to 4")  # planned again, with rows that came meanwhile
    with pytest.raises(DataError, match=r"does not have batch 0 as .* took it"):
        opened(tmp_path)
    plan.unlink()
    with pytest.raises(DataError, match="they are from different moments"):
        opened(tmp_path)


def test_rows_that_go_need_only_their_keys(tmp_path: Path) -> None:
    watcher = opened(tmp_path, op="op", order="turn")
    watcher.take(0, QUERY, rows(op=["insert", "insert"], turn=[1, 2]))
    record = watcher.take(1, QUERY, pa.table({"op": ["DELETE"], "id": pa.array([2], pa.int32()), "turn": [3]}))
    assert record is not None
    assert (record.rows, record.n_rows, record.resolved, record.open) == (1, 1, 2, 0)
    assert watcher.take(2, QUERY, rows(id=[3, 4], op=["insert", "insert"], turn=[4, 5])) is not None
    watcher.close()
    opened(tmp_path, "city -> note", op="op").close()  # a column that this batch did not need is not lost
    with pytest.raises(DataError, match="do not exist: id = 9"):
        opened(tmp_path, op="op", order="turn").take(3, QUERY, pa.table({"op": ["delete"], "id": [9], "turn": [6]}))
    with pytest.raises(SchemaError, match="'id'"):
        opened(tmp_path, op="op", order="turn").take(3, QUERY, pa.table({"op": ["delete"], "turn": [6]}))
    with pytest.raises(SchemaError, match="'turn'"):
        opened(tmp_path, op="op", order="turn").take(3, QUERY, pa.table({"op": ["delete"], "id": [3]}))


@pytest.mark.parametrize("where", [None, 0])
def test_a_feed_need_not_have_what_no_row_comes_with(tmp_path: Path, where: int | None) -> None:
    watcher = opened(tmp_path, op="op", order="turn", driver_bytes=where)
    watcher.take(0, QUERY, rows(op=["insert", "insert"], turn=[1, 2]))
    gone = watcher.take(1, QUERY, pa.table({"op": ["DELETE"], "id": pa.array([2], pa.int32()), "turn": [3]}))
    assert gone is not None
    assert (gone.rows, gone.n_rows, gone.resolved, gone.open) == (1, 1, 2, 0)
    empty = rows().schema.empty_table()
    for batch, nothing in enumerate((empty, pa.table({"id": pa.array([], pa.int64())})), 2):
        record = watcher.take(batch, QUERY, nothing)  # as of files without a row
        assert record is not None
        assert (record.rows, record.n_rows) == (0, 1)
    more = watcher.take(4, QUERY, rows(id=[2, 3], op=["insert", "insert"], turn=[4, 5]))
    assert more is not None
    assert more.open == 4
    with pytest.raises(SchemaError, match="has no column 'op'"):
        watcher.take(5, QUERY, rows(id=[4, 5]))
    with pytest.raises(SchemaError, match="'turn'"):
        opened(tmp_path, op="op", order="turn", driver_bytes=where).take(
            5, QUERY, pa.table({"op": ["delete"], "id": [3]})
        )


def test_a_feed_says_of_which_batch_it_is_whatever_the_key_is_called(tmp_path: Path) -> None:
    book = tuple(RuleBook.of("zip -> city"))
    watcher = Watcher.open(tmp_path, WatchOptions(book, ("batch", "rule", "added")))
    watcher.take(0, None, rows(batch=[7, 7], rule=["one", "two"], added=[5, 6]))
    watcher.close()
    (path,) = (tmp_path / "feed" / "rows").iterdir()
    line = parquet.read_table(path).to_pylist()[0]
    key = {"batch": 7, "rule": "one", "added": 5}
    assert line == {
        "batch": 0,
        "rule": "zip_fixes_city",
        "id": key,
        **{f"key_{name}": value for name, value in key.items()},
        "added": 2,
        "resolved": 0,
    }


BROKEN = {"fd": "zip -> city"}  # by 2 of 6 pairs, which are about 2 of 3 rows


@pytest.mark.parametrize(
    "rules",
    [
        [BROKEN],
        [{**BROKEN, "severity": "warn"}],
        [{**BROKEN, "severity": "warn"}, {"row": "note < 2"}],
        [{"row": "note < 9"}],
        [{**BROKEN, "tolerance": {"violations": 2}}],
        [{**BROKEN, "tolerance": {"violations": "33.4%"}}],
        [{**BROKEN, "tolerance": {"violations": "33.3%"}}],
        [{**BROKEN, "tolerance": {"rows": 2}}],
        [{**BROKEN, "tolerance": {"rows": 1}}, {"row": "note < 9"}],
        [{**BROKEN, "tolerance": {"suspects": 1, "violations": 1}}],
    ],
    ids=str,
)
def test_a_command_ends_as_a_check_of_all_rows_would(tmp_path: Path, rules: list[dict[str, Any]]) -> None:
    named = [{"name": f"rule {number}", **one} for number, one in enumerate(rules)]
    watcher = opened(tmp_path, {"rules": named})
    assert exit_of(rf.Watch(tmp_path)) == Exit.HOLDS
    watcher.take(0, QUERY, rows(id=[1, 2, 3], zip=["a", "a", "b"], city=["x", "y", "y"], note=[1, 2, 3]))
    watcher.close()
    assert exit_of(rf.Watch(tmp_path)) == rf.Watch(tmp_path).report().exit_code


def test_a_wrong_key_can_be_corrected_until_rows_have_come(tmp_path: Path) -> None:
    wrong = Watcher.open(tmp_path, WatchOptions(tuple(RuleBook.of("zip -> city")), ("idd",)))
    with pytest.raises(SchemaError, match="There is no key column 'idd'"):
        wrong.take(0, None, rows())
    watcher = opened(tmp_path)
    assert watcher.take(0, QUERY, rows()) is not None
    watcher.close()
    assert rf.Watch(tmp_path).key == ("id",)
    with pytest.raises(OptionError, match=r"has the key id\. Leave key= out"):
        Watcher.open(tmp_path, WatchOptions(None, ("zip",)))
    opened(tmp_path, None).close()
