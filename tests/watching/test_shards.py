"""Rows in shards: a watch finds what it finds with rows in one process, whatever happens to the tasks."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import refute as rf
from refute.errors import DataError, EngineError, OptionError, SchemaError
from refute.language.rulebook import RuleBook
from refute.report.violations import Violations
from refute.watching import reading
from refute.watching.records import DRIVER, EXECUTORS
from refute.watching.shards.exchange import Exchange
from refute.watching.shards.hashing import hashes
from refute.watching.shards.shard_layout import GONE, RowsInMotion, ShardTuning
from refute.watching.shards.tasks import BatchStep
from refute.watching.watcher import Watcher, WatchOptions
from spreading import TasksHere

NAN = float("nan")
QUERY = "a stream"
RULES = (
    "zip -> city",
    "not(s.zip == t.zip and s.pay < t.pay and s.tax > t.tax)",
    "not(s.pay < t.pay and s.tax > t.tax)",
    "not(s.zip == t.city and s.tax > t.tax)",
    "row(pay >= 0)",
)
SCHEMA = pa.schema(
    [("id", pa.int64()), ("zip", pa.string()), ("city", pa.string()), ("pay", pa.float64()), ("tax", pa.int64())]
)
Row = dict[str, Any]


def opened(folder: Path, limit: int | None = 0, runner: Any = None, **options: Any) -> Watcher:
    """A watch whose rows are in shards, unless there is a limit below which they are not."""
    tuning = options.pop("shards", ShardTuning(rows=8, least=4))
    book = tuple(RuleBook.of(options.pop("rules", list(RULES))))
    given = WatchOptions(book, ("id",), op="op", driver_bytes=limit, shards=tuning, **options)
    found = Watcher.open(folder, given, runner or TasksHere())
    (folder / "checkpoint").mkdir(exist_ok=True)
    (folder / "checkpoint" / "metadata").write_text(f'{{"id": "{QUERY}"}}')
    return found


def some(key: int, seed: random.Random, zips: str = "ab") -> Row:
    """A row with nulls, two zeros and no number here and there."""
    pay = seed.choice([-1.0, 0.0, -0.0, 2.0, NAN, None])
    return {
        "id": key,
        "zip": seed.choice([*zips, None]),
        "city": seed.choice("ab"),
        "pay": pay,
        "tax": seed.choice([0, 1, 2]),
    }


def fed(rows: list[Row], op: str = "insert") -> pa.Table:
    """Rows with one operation."""
    return pa.Table.from_pylist(rows, SCHEMA).append_column("op", pa.array([op] * len(rows), pa.string()))


def check(folder: Path, rows: list[Row], rules: tuple[str, ...] = RULES) -> None:
    """Holds what readers see against a check of all rows."""
    table = pa.Table.from_pylist(rows, SCHEMA)
    lines = [line for line in parquet.read_table(folder / "violations").to_pylist() if line["until"] is None]
    for rule in RuleBook.of(list(rules)):
        wanted = sorted(rf.violations(table, rule, key="id"))
        found = [(one["s"],) if one["t"] is None else (one["s"], one["t"]) for one in lines if one["rule"] == rule.name]
        assert sorted(found) == wanted
        assert rf.Watch(folder).counts[rule.name] == len(wanted)
        assert sorted(rf.Watch(folder).violations(rule)) == wanted


def test_a_group_that_is_too_large_for_a_shard_is_in_parts(tmp_path: Path) -> None:
    seed, rows = random.Random(1), list[Row]()
    watcher = opened(tmp_path)
    for batch, count in enumerate((20, 20, 20, 20, 1, 1)):
        new = [some(20 * batch + n, seed, zips="a") for n in range(count)]
        assert watcher.take(batch, QUERY, fed(new)) is not None
        rows += new
        check(tmp_path, rows)
    layout = watcher._held.kept.layout  # type: ignore[union-attr]
    assert layout.keepers > 2
    assert max(max(group.parts) for group in layout.groups if group.columns) > 1
    changed = [{**row, "city": "b", "tax": 0} for row in rows[::3]]
    gone = rows[1::3]
    both = pa.concat_tables([fed(changed, "update"), fed(gone, "delete")])
    watcher.take(6, QUERY, both)
    check(tmp_path, [*changed, *rows[2::3]])
    watcher.close()


def test_an_update_concerns_the_rules_that_read_what_it_changes(tmp_path: Path) -> None:
    seed = random.Random(11)
    rows = {n: some(n, seed) for n in range(40)}
    watcher = opened(tmp_path, shards=ShardTuning(rows=16, least=64))
    watcher.take(0, QUERY, fed([*rows.values()]))
    for batch in range(1, 6):
        changed = seed.sample(sorted(rows), 12)
        for key in changed:
            fresh = some(key, seed)
            rows[key] = {**rows[key], **{name: fresh[name] for name in seed.sample(["zip", "city", "pay", "tax"], 1)}}
        gone = seed.sample(sorted(rows.keys() - set(changed)), 2)
        both = [fed([rows[key] for key in changed], "update"), fed([rows.pop(key) for key in gone], "delete")]
        watcher.take(batch, QUERY, pa.concat_tables(both))
        check(tmp_path, [*rows.values()])
    watcher.close()


def test_only_rows_that_change_in_some_column_move() -> None:
    names = ["id", "x", "y"]
    before = pa.table({"id": [1, 2, 3, 4, 5], "x": [0.0, None, NAN, 1.0, 2.0], "y": ["a", None, "b", "c", "d"]})
    after = pa.table({"id": [4, 3, 2, 1], "x": [1.0, NAN, None, -0.0], "y": ["c", "b", None, "a"]})
    moved = RowsInMotion(before, after, np.array([3, 2, 1, 0]))
    assert moved.read(["id", "y"]).to_pylist() == [{"id": 5, "y": "d", GONE: True}]
    assert [(one["id"], one[GONE]) for one in moved.read(names).to_pylist()] == [
        (1, True),  # whose zero has another sign
        (3, True),  # as no number is like no other
        (5, True),
        (3, False),
        (1, False),
    ]


def test_each_task_has_a_place_of_its_own_and_the_same_one_again(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path)
    assert [exchange.place("take", task, [1, 0, 2]) for task in (0, 1, 0, 2, 1)] == [1, 0, 1, 2, 0]
    assert exchange.place("meet", 0, [2, 0, 1]) == 2
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: exchange.place("keep", number % 8, range(8)), range(32)))
    assert sorted(found[:8]) == list(range(8))
    assert found == 4 * found[:8]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


class Swapped(TasksHere):
    """Tasks that Spark runs in other processes than before."""

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """The files of reports of a step, whose last tasks ask for shards in another order."""
        sent = self.sent(step, rows)
        return [step.take(task, sent) for task in reversed(range(self.tasks))]


def test_a_batch_is_the_same_whichever_tasks_take_which_shards(tmp_path: Path) -> None:
    seed, rows = random.Random(12), list[Row]()
    watcher = opened(tmp_path, runner=Swapped(), shards=ShardTuning())
    for batch in range(3):
        new = [some(20 * batch + n, seed) for n in range(15)]
        watcher.take(batch, QUERY, fed(new))
        rows += new
        check(tmp_path, rows)
    assert not [path for path in (tmp_path / "shards").iterdir() if path.is_dir()]
    watcher.close()


class Counted(TasksHere):
    """Tasks that note which way rows came to them."""

    ways: list[str]

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """The reports of a step."""
        self.ways.append("direct" if step.direct else "by keepers")
        return super().run(step, rows)


def test_rows_go_to_all_shards_at_once_as_long_as_none_changes(tmp_path: Path) -> None:
    seed, runner = random.Random(9), Counted()
    runner.ways = []
    watcher = opened(tmp_path, runner=runner, shards=ShardTuning())
    rows = [some(n, seed) for n in range(20)]
    changed = [{**row, "tax": 1} for row in rows[8:16]]
    late = [some(n, seed) for n in range(20, 30)]
    batches = (
        (fed(rows[:10]), ["direct"]),
        (fed(rows[10:]), ["direct"]),
        (pa.concat_tables([fed(late[:4]), fed(changed, "update"), fed(rows[:8], "delete")]), ["direct", "by keepers"]),
        (fed(late[4:8]), ["by keepers"]),
        (fed(late[8:]), ["direct"]),
    )
    for batch, (table, ways) in enumerate(batches):
        runner.ways.clear()
        watcher.take(batch, QUERY, table)
        assert runner.ways == ways
    check(tmp_path, [*changed, *rows[16:], *late])
    watcher.close()


def test_what_cannot_be_taken_changes_nothing(tmp_path: Path) -> None:
    seed = random.Random(2)
    rows = [some(n, seed) for n in range(12)]
    opened(tmp_path).take(0, QUERY, fed(rows))
    refused = (
        (fed([some(99, seed), rows[3]]), "The feed inserts keys that already exist: id = 3"),
        (fed([rows[0], some(77, seed)], "delete"), "updates or deletes keys that do not exist: id = 77"),
        (fed([some(50, seed), some(50, seed)]), "Several changes of one key arrived together"),
        (fed([{**some(51, seed), "id": None}]), "null"),
    )
    for table, said in refused:
        with pytest.raises(DataError, match=said):
            opened(tmp_path).take(1, QUERY, table)
        check(tmp_path, rows)
    wrong = fed([some(60, seed)]).set_column(1, "zip", pa.array([1]))
    with pytest.raises(SchemaError, match="Batch 1 has a different type than before in a column that rule"):
        opened(tmp_path).take(1, QUERY, wrong)
    watcher = opened(tmp_path)
    watcher.take(1, QUERY, fed(rows[:2], "delete"))
    again = [{**row, "city": "a"} for row in rows[:1]]
    watcher.take(2, QUERY, fed(again))  # a key that was used before
    check(tmp_path, [*again, *rows[2:]])
    assert watcher.take(2, QUERY, fed(rows)) is None
    watcher.close()


class Killed(TasksHere):
    """Tasks that end, and a process that is killed before it hears of it."""

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """Nothing comes back."""
        super().run(step, rows)
        raise KeyboardInterrupt


def test_tasks_of_a_batch_that_was_not_committed_leave_nothing_behind(tmp_path: Path) -> None:
    seed, rows = random.Random(3), list[Row]()
    for batch in range(12):
        new = [some(10 * batch + n, seed) for n in range(6)]
        with pytest.raises(KeyboardInterrupt):
            opened(tmp_path, runner=Killed()).take(batch, QUERY, fed([some(10 * batch + n, seed) for n in range(9)]))
        watcher = opened(tmp_path)  # with what the tasks have opened, which are of this process
        watcher.take(batch, QUERY, fed(new))
        watcher.close()
        rows += new
    check(tmp_path, rows)
    watcher = opened(tmp_path, shards=ShardTuning(rows=1000, least=4))
    for batch in range(12, 30):
        watcher.take(batch, QUERY, fed([some(10 * batch, seed)]).slice(0, 0))
    kept = watcher._held.kept
    named = {region.file for files in kept.files for region in files.regions}  # type: ignore[union-attr]
    assert {path.name for path in (tmp_path / "shards").iterdir()} == named
    watcher.close()


class Repeated(TasksHere):
    """Tasks of keepers, or those that send rows to all, that run again for some of those that wait for them."""

    def run(self, step: BatchStep, rows: Any) -> list[str]:
        """The files of reports of a step."""
        one, two = (self.sent(step, rows) for _ in range(2))
        if step.direct:
            return [step.take(0, one), step.take(1, two)]
        one, two = ([step.keep(task, one) for task in range(2)] for _ in range(2))
        return [step.meet(0, one), step.meet(1, two)]


@pytest.mark.parametrize("sent_rows", [0, 100])
def test_two_attempts_of_one_task_are_not_mixed(tmp_path: Path, sent_rows: int) -> None:
    rows = [some(n, random.Random(7)) for n in range(20)]
    tuning = ShardTuning(rows=8, least=4, sent_rows=sent_rows)
    with pytest.raises(EngineError, match="Some tasks of the batch ran again after others had used their results"):
        opened(tmp_path, runner=Repeated(), shards=tuning).take(0, QUERY, fed(rows))
    opened(tmp_path).take(0, QUERY, fed(rows))
    check(tmp_path, rows)


def test_rows_move_to_shards_and_back_without_loss(tmp_path: Path) -> None:
    seed, rows = random.Random(4), list[Row]()
    for batch, limit in enumerate((1 << 30, 0, 1 << 30, 0, 0)):
        watcher = opened(tmp_path, limit)
        new = [some(10 * batch + n, seed) for n in range(8)]
        record = watcher.take(batch, QUERY, fed(new))
        assert record is not None
        assert record.where == (DRIVER if limit else EXECUTORS)
        watcher.close()
        rows += new
        check(tmp_path, rows)
    assert {one["id"] for one in rf.Watch(tmp_path).table().to_pylist()} == {row["id"] for row in rows}
    fewer = (RULES[0], "city -> tax", RULES[4])
    opened(tmp_path, rules=list(fewer)).close()
    check(tmp_path, rows, fewer)


def test_rows_move_once_they_are_more_than_the_limit(tmp_path: Path) -> None:
    seed, rows = random.Random(5), list[Row]()
    watcher = opened(tmp_path, 200_000, shards=ShardTuning())
    wheres = []
    for batch in range(3):
        new = [some(1000 * batch + n, seed, zips="abcdefghijk") for n in range(600)]
        record = watcher.take(batch, QUERY, fed(new).append_column("note", pa.array(["x" * 90] * len(new))))
        assert record is not None
        wheres.append(record.where)
        rows += new
    assert wheres[0] == DRIVER
    assert wheres[-1] == EXECUTORS
    assert rf.Watch(tmp_path).counts == {
        one.name: one.finding.violations for one in rf.check(pa.Table.from_pylist(rows, SCHEMA), list(RULES)).results
    }
    watcher.close()


def test_a_watch_without_rows_stays_where_it_is(tmp_path: Path) -> None:
    opened(tmp_path).close()
    watcher = opened(tmp_path)
    record = watcher.take(0, QUERY, fed([some(1, random.Random(8))]))
    assert record is not None
    assert record.where == EXECUTORS
    watcher.close()


def test_rows_stay_here_where_tasks_cannot_have_them(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"does not see .*: rows on the executors need a folder that all machines"):
        opened(tmp_path / "one", 0, TasksHere(shared=False))
    with pytest.raises(OptionError, match="Rows on the executors need a key"):
        Watcher.open(tmp_path / "two", WatchOptions(tuple(RuleBook.of("zip -> city")), driver_bytes=0), TasksHere())
    opened(tmp_path / "three", None, TasksHere(shared=False)).close()


def test_a_rule_with_too_many_violations_is_counted_in_shards_too(tmp_path: Path) -> None:
    rows = [{"id": n, "zip": "a", "city": "ab"[n % 2], "pay": 0.0, "tax": 0} for n in range(6)]
    watcher = opened(tmp_path, rules="zip -> city", most_pairs=8)
    watcher.take(0, QUERY, fed(rows[:4]))
    assert parquet.read_table(tmp_path / "violations").num_rows == 8
    record = watcher.take(1, QUERY, fed(rows[4:]))
    assert record is not None
    assert (record.open, record.added) == (18, 10)
    assert parquet.read_table(tmp_path / "violations").num_rows == 0
    watcher.take(2, QUERY, fed(rows[:4], "delete"))
    assert rf.Watch(tmp_path).counts == {"zip_fixes_city": 2}
    watcher.close()


def test_tolerances_are_those_of_all_rows(tmp_path: Path) -> None:
    rows = [{"id": n, "zip": "a", "city": "b" if n < 2 else "a", "pay": 0.0, "tax": 0} for n in range(9)]
    book = [
        {"name": name, "fd": "zip -> city", "tolerance": tolerance}
        for name, tolerance in (("one", {"rows": 4}), ("two", {"suspects": 2}), ("three", {"suspects": 1}))
    ]
    watcher = opened(tmp_path, rules={"rules": book})
    for batch, held in enumerate((rows[:1], rows[1:3], rows[3:4], rows[4:])):
        record = watcher.take(batch, QUERY, fed(held))
        assert record is not None
        assert [one.broken for one in record.rules] == [batch == 3, False, batch >= 2]
    watcher.close()


def test_a_file_of_a_shard_that_is_damaged_is_refused(tmp_path: Path) -> None:
    watcher = opened(tmp_path)
    watcher.take(0, QUERY, fed([some(n, random.Random(6)) for n in range(30)]))
    watcher.close()
    for path in (tmp_path / "shards").iterdir():
        path.write_bytes(bytes(255 - one for one in path.read_bytes()))
    with pytest.raises(DataError, match="its checksum does not match"):
        rf.Watch(tmp_path).table()


def test_a_column_without_values_gets_a_type_where_the_first_one_comes(tmp_path: Path) -> None:
    watcher = opened(tmp_path, rules={"rules": [{"name": "one", "fd": "zip -> city", "nulls": "equal"}]})
    rows: list[Row] = [{"id": n, "zip": "a", "city": None, "pay": 0.0, "tax": 0} for n in range(8)]
    untyped = fed(rows).set_column(2, "city", pa.nulls(8))
    assert watcher.take(0, QUERY, untyped) is not None
    record = watcher.take(1, QUERY, fed([{**rows[0], "id": 8, "city": "b"}]))
    assert record is not None
    assert record.open == 16
    last = watcher.take(2, QUERY, fed(rows, "delete"))  # of keepers that have seen the type, and of others
    assert last is not None
    assert last.open == 0
    watcher.close()


@pytest.mark.parametrize("limit", [0, None])
def test_a_table_that_was_there_first_need_not_have_the_order_of_changes(tmp_path: Path, limit: int | None) -> None:
    seed = random.Random(5)
    rows = [some(key, seed) for key in range(40)]
    watcher = opened(tmp_path, limit, order="seq")
    watcher.bootstrap(pa.Table.from_pylist(rows, SCHEMA))
    changed = [some(key, seed) for key in (3, 3, 41, 41, 7)]
    feed = fed(changed, "update").drop_columns(["op"])
    feed = feed.append_column("op", pa.array(["update", "update", "update", "insert", "delete"]))
    with pytest.raises(SchemaError, match="lacks the column 'seq', which the order of changes reads"):
        watcher.take(0, QUERY, feed)
    for batch in (0, 1):
        watcher = opened(tmp_path, limit, order="seq")
        turns = pa.array([2, 1, 9, 5, 5], pa.int64())
        watcher.take(batch, QUERY, feed.append_column("seq", turns) if batch == 0 else feed.slice(0, 0))
        rows = [row for row in rows if row["id"] not in (3, 7)] + [changed[0], changed[2]] if batch == 0 else rows
        check(tmp_path, rows)
        assert watcher.schema is not None
        assert watcher.schema.names == SCHEMA.names
        watcher.close()


def test_only_rows_in_violations_come_where_these_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed = random.Random(8)
    rows = [some(n, seed, "abcdefgh") for n in range(60)]
    watcher = opened(tmp_path)
    watcher.take(0, QUERY, fed(rows))
    table = pa.Table.from_pylist(rows, SCHEMA)
    monkeypatch.setattr(reading, "assembled", None)  # which brings all rows
    for rule in RuleBook.of(list(RULES)):
        wanted = sorted_lines(rf.violations(table, rule, key="id"))
        assert sorted_lines(Violations(watcher.listing(rule, None), rule)) == wanted
        assert sorted_lines(rf.Watch(tmp_path).violations(rule)) == wanted
        rows_listed = {one for pair in wanted for one in (pair["s"], pair.get("t", pair["s"]))}
        assert watcher.listing(rule, None).n_rows == len(rows_listed)
        assert watcher.listing(rule, 1).n_rows == (1 if rule.constraint.is_single_row else 2)
        (first,) = rf.Watch(tmp_path).violations(rule, 1).to_arrow().to_pylist()
        assert first in wanted
    with pytest.raises(OptionError, match="at least 1"):
        rf.Watch(tmp_path).violations(rule, 0)
    watcher.close()


def sorted_lines(found: Violations) -> list[Row]:
    return sorted(found.to_arrow().to_pylist(), key=str)


def test_a_row_without_a_number_meets_one_that_is_null(tmp_path: Path) -> None:
    watcher = opened(
        tmp_path, runner=TasksHere(64), rules={"rules": [{"name": "one", "unique": "pay", "nulls": "equal"}]}
    )
    rows = [{"id": n, "zip": "a", "city": "b", "pay": pay, "tax": 0} for n, pay in enumerate([None, NAN, 1.0, NAN])]
    record = watcher.take(0, QUERY, fed(rows))
    assert record is not None
    assert record.open == 6
    watcher.close()


def test_equal_values_belong_together_however_they_are_stored() -> None:
    values = pa.chunked_array([pa.array([0.0, None, NAN]), pa.array([-0.0, float("-nan"), None, 5.0])])
    table = pa.table({"x": values, "y": ["a"] * 7, "z": pa.array([1, 2, 3, 4, 5, 6, 7], pa.int32())})
    found = hashes(table, ["x"])
    assert found[0] == found[3]
    assert len({found[place] for place in (1, 2, 4, 5)}) == 1  # no number is null, to all rules
    assert len(set(found.tolist())) == 3
    assert (hashes(table.slice(2, 3), ["x", "y"]) == hashes(table, ["x", "y"])[2:5]).all()
    assert len(np.unique(hashes(table, ["y", "z"]))) == 7
