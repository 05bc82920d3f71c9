"""`refute watch` that is interrupted or killed: each committed batch is told of, and nothing unchecked holds."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.cli.watch.printed import Printed
from refute.errors import EngineError
from refute.watching.records import BatchRecord, Instant

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULE = "zip -> city"


def record(batch: int) -> BatchRecord:
    return BatchRecord(batch, "", 1, 1, 0.0, ())


def test_a_batch_is_told_of_by_the_command_that_took_it_or_by_the_next_one(tmp_path: Path) -> None:
    told: list[int] = []

    def begun(last: Instant | None) -> Printed:
        found = Printed(tmp_path / "printed.json", lambda one: told.append(one.batch))
        found.begin(last)
        return found

    begun(None)  # and killed before anything was told
    second = begun(Instant(1))
    second.tell(map(record, (-1, 0, 1)))
    second.tell(map(record, (0, 1, 2)))
    assert told == [-1, 0, 1, 2]
    assert begun(Instant(2)).begin(Instant(2)) == Instant(2)
    assert begun(Instant(1)).begin(Instant(1)) == Instant(1)  # of a copy that is older
    (tmp_path / "printed.json").write_text("")
    assert begun(Instant(7)).begin(Instant(7)) == Instant(7)  # as it is not known


@pytest.mark.spark
def test_an_interrupted_command_tells_what_was_committed(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, state = tmp_path / "in", tmp_path / "kept"
    source.mkdir()
    common = ["watch", str(source), RULE, "--state", str(state), "--key", "id"]

    def interrupted(watch: rf.Watch) -> Iterator[BatchRecord]:
        while not watch.batches and any(source.iterdir()):
            time.sleep(0.05)
        yield from ()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rf.Watch, "follow", interrupted)
        assert run(common) == Exit.FAILED  # as nothing has been checked
        assert capfd.readouterr().err == "refute: Interrupted.\n"
        (source / "a.csv").write_text("id,zip,city\n1,10115,Berlin\n2,10115,Bernau\n")
        assert run(common) == Exit.ERROR
        assert "zip_fixes_city: 2 new, 0 resolved, 2 open" in capfd.readouterr().out
    assert run([*common, "--once"]) == Exit.ERROR
    assert capfd.readouterr().out == "nothing new; zip_fixes_city: 2 open\n"
    (state / "printed.json").write_text('{"last": null}')  # killed after the commit
    assert run([*common, "--once", "--json"]) == Exit.ERROR
    assert json.loads(capfd.readouterr().out)["batch"] == 0
    assert run([*common, "--once", "--json"]) == Exit.ERROR
    assert capfd.readouterr().out == ""


@pytest.mark.spark
def test_what_java_gets_of_an_error_is_short(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from refute.spark.watch import batches
    from refute.watching.watcher import WatchOptions

    def failing(*_: Any) -> None:
        try:
            raise ValueError(
                "py4j.protocol.Py4JJavaError: An error occurred while calling o1.collect" + "\n\tat x" * 9999
            )
        except ValueError as error:
            raise EngineError("Spark failed", reason="x") from error

    monkeypatch.setattr(batches, "watcher_in", failing)
    taker = batches.BatchTaker(str(tmp_path), WatchOptions(None), batches.ColumnReader())
    with pytest.raises(EngineError, match=r"^Spark failed$") as raised:
        taker(spark.range(1), 0)
    assert len("".join(traceback.format_exception(raised.value))) < 4000
    assert raised.value.facts == {"reason": "x"}
    assert taker.error is not None
    assert taker.error.__cause__ is not None


@pytest.mark.spark
def test_files_that_arrive_together_may_differ_and_a_first_table_has_no_order(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, state, before = tmp_path / "in", tmp_path / "kept", tmp_path / "before.csv"
    source.mkdir()
    before.write_text("id,zip,city\n1,z,A\n")
    (source / "a.csv").write_text("op,at,id,zip,city\ninsert,1,2,z,B\n")
    (source / "b.csv").write_text("at,op,id\n2,delete,2\n")
    (source / "c.json").write_text('{"op": "insert", "at": 3, "id": 2, "zip": "z", "city": "C", "more": 1}')
    common = ["--state", state, "--key", "id", "--op", "op", "--order", "at", "--once"]
    assert run(["watch", *map(str, [source, RULE, *common, "--bootstrap", before])]) == Exit.ERROR
    assert "batch 0: 3 rows in" in capfd.readouterr().out
    assert rf.Watch(state).table().sort_by("id").to_pylist() == [
        {"id": 1, "zip": "z", "city": "A"},
        {"id": 2, "zip": "z", "city": "C"},
    ]


@pytest.mark.spark
def test_messages_speak_of_the_command_that_was_given(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, state = tmp_path / "in", tmp_path / "kept"
    source.mkdir()

    def said(*arguments: object) -> str:
        assert run(["watch", *map(str, arguments)]) == Exit.FAILED
        return capfd.readouterr().err

    common = [source, RULE, "--state", state, "--once"]
    assert "See `refute watch --help`" in said(source, RULE, "--state")
    assert "is a folder, not RULES, which come after SOURCE" in said(RULE, source, "--state", state)
    (source / "a.csv").write_text("id,zip,citi,op\n1,z,A,insert\n")
    assert "Did you mean 'citi'? Batch 0 is a.csv" in said(*common, "--key", "id", "--op", "op")
    (source / "a.csv").write_text("id,zip,city,op\n1,z,A,insert\n")
    assert run(["watch", *map(str, common), "--key", "id", "--op", "op"]) == Exit.HOLDS
    assert "has the key id. Leave --key out" in said(*common, "--key", "zip", "--op", "op")
    assert "says what each does. Give --op op.\n" in said(*common)
    (source / "b.csv").write_text("id,zip,city,do\n2,z,A,insert\n")
    assert "Name that column with --op" in said(*common, "--op", "op")
