"""`refute watch` that is interrupted or killed: each committed batch is told of, and nothing unchecked holds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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
from refute.errors import DataError, EngineError
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
@pytest.mark.parametrize("interruption", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_command_tells_what_was_committed(
    spark: SparkSession,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    interruption: signal.Signals,
) -> None:
    source, state = tmp_path / "in", tmp_path / "kept"
    source.mkdir()
    common = ["watch", str(source), RULE, "--state", str(state), "--key", "id"]

    def interrupted(watch: rf.Watch, timeout: float) -> Iterator[BatchRecord]:
        while not watch.batches and any(source.iterdir()):
            time.sleep(0.05)
        yield from ()
        os.kill(os.getpid(), interruption)

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


def test_a_second_ctrl_c_does_not_wait_for_the_batch_at_work() -> None:
    script = """
import os, signal, time
from refute.cli.watch.interruption import interruption
with interruption([]) as found:
    found.note()
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        print(found.is_asked, flush=True)
        os.kill(os.getpid(), sign)
    time.sleep(60)
"""
    assert ran(script) == (
        Exit.FAILED,
        "False\nTrue\nTrue\n",
        "refute: Interrupted. The next call takes the batch that was at work.\n",
    )


def ran(script: str, *arguments: str) -> tuple[int, str, str]:
    """The exit code of a script and what it says."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(rf.__file__).parents[1])},
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
def test_a_second_signal_while_the_first_ends_a_command_that_has_not_begun_does_not_kill_it(sign: str) -> None:
    script = """
import os, signal, sys, time
from refute.cli.watch.interruption import interruption
try:
    with interruption(sys.argv[1:]):
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
except KeyboardInterrupt:
    sys.exit(3)
"""
    assert ran(script, sign) == (Exit.FAILED, "", "refute: Interrupted.\n" if sign == "SIGINT" else "")


@pytest.mark.parametrize("sign", ["SIGINT", "SIGTERM"])
def test_signals_do_not_change_the_exit_code_of_a_command_that_has_ended(sign: str) -> None:
    script = """
import os, signal, sys
from refute.cli import app
from refute.cli.watch.interruption import interruption

class Late:
    def __del__(self, kill=os.kill, me=os.getpid(), sign=getattr(signal, sys.argv[1])):
        kill(me, sign)

def watched():
    with interruption(sys.argv[1:]):
        pass
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return 1

late = Late()  # goes when Python takes itself down, after all that is called at the end
app.run = watched
app.main()
"""
    assert ran(script, sign) == (Exit.ERROR, "", "")


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
@pytest.mark.parametrize(("place", "is_told"), [("kept/shards/x", False), ("in/a.csv", True)])
def test_the_files_of_a_batch_are_named_where_they_may_be_what_is_wrong(
    tmp_path: Path, place: str, is_told: bool
) -> None:
    from refute.spark.watch.batches import BatchTaker
    from refute.spark.watch.files import FileReader
    from refute.watching.watcher import Watcher, WatchOptions

    class Failing(Watcher):
        def __init__(self) -> None:
            """Nothing is opened."""

        def take(self, batch: int, query: str | None, table: Any) -> None:
            raise DataError("It is damaged.", path=str(tmp_path / place))

    (tmp_path / "in").mkdir()
    reader = FileReader(str(tmp_path / "in"), files=[tmp_path / "in" / "a.csv"])
    with pytest.raises(DataError) as raised:
        BatchTaker(str(tmp_path / "kept"), WatchOptions(None), reader)._take(Failing(), 0, None, None)
    assert str(raised.value) == "It is damaged." + (" Batch 0 is a.csv." if is_told else "")


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


@pytest.mark.spark
@pytest.mark.parametrize("where", [[], ["--driver-bytes", "0"]], ids=["driver", "executors"])
def test_a_signal_that_java_gets_too_ends_the_command_as_any_other(tmp_path: Path, where: list[str]) -> None:
    source, state = tmp_path / "in", tmp_path / "kept"
    source.mkdir()
    (source / "a.csv").write_text("id,zip,city\n1,10115,Berlin\n2,10115,Bernau\n")
    asked = ["watch", str(source), RULE, "--state", str(state), "--key", "id", "--json", "--every", "0", *where]
    command = "import sys; from refute.cli.app import main; sys.argv[1:] = sys.argv[2:]; main()"
    running = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", command, "refute", *asked, "--conf", "spark.driver.memory=512m"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(Path(rf.__file__).parents[1])},
    )
    try:
        assert running.stdout is not None
        told = [json.loads(running.stdout.readline())]
        for number in range(3, 6):
            (source / f"{number}.csv").write_text(f"id,zip,city\n{number},10115,Bonn\n")
        os.killpg(running.pid, signal.SIGTERM)  # to all its processes, as systemd does
        out, err = running.communicate(timeout=60)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    told += map(json.loads, out.splitlines())
    assert running.returncode == Exit.ERROR
    assert "refute: " not in err  # whatever Java says of its own end
    assert [one["batch"] for one in told] == [one.batch for one in rf.Watch(state).batches]


@pytest.mark.parametrize("rule", ["row(op='a' and)", "row(key='a' and)", "not (s.id = t.id and (order='b')"])
def test_a_rule_that_is_refused_is_quoted_as_it_was_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], rule: str
) -> None:
    (tmp_path / "in").mkdir()
    assert run(["watch", str(tmp_path / "in"), rule, "--state", str(tmp_path / "kept"), "--once"]) == Exit.FAILED
    said = capfd.readouterr().err
    assert said.startswith("refute: Line 1, column ")
    assert f"\n  {rule}\n" in said
