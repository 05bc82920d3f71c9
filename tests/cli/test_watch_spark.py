"""`refute watch`: files as they arrive, a line per batch, exit codes, and who is told of broken rules."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.cli.watch.webhook import TRIES, Webhook

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RULE = "zip -> city"


def arrive(folder: Path, name: str, text: str) -> None:
    """A file that arrives whole."""
    folder.mkdir(exist_ok=True)
    draft = folder / f".{name}"
    draft.write_text(text)
    draft.rename(folder / name)


def watch(*arguments: object) -> int:
    """What a call gives."""
    return run(["watch", *map(str, arguments), "--once"])


@pytest.mark.spark
def test_files_are_taken_as_they_arrive(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source, state = tmp_path / "in", tmp_path / "kept"
    before = tmp_path / "before.csv"
    before.write_text("id,zip,city,note\n1,10115,Berlin,7\n")
    arrive(source, "a.csv", "op,id,zip,city,note\ninsert,2,10115,Bernau,8\ninsert,3,04109,Leipzig,9\n")
    common = [source, RULE, "--state", state, "--key", "id", "--op", "op", "--order", "at"]
    assert run(["watch", *map(str, common), "--once"]) == Exit.FAILED  # no column `at`
    assert "'at'" in capfd.readouterr().err
    common = common[:-2]
    assert watch(*common, "--bootstrap", before) == Exit.ERROR
    told = capfd.readouterr()
    assert "bootstrap: 1 row in " in told.out
    assert "batch 0: 2 rows in " in told.out
    assert "zip_fixes_city: 2 new, 0 resolved, 2 open" in told.out
    # cells that look like numbers, a note that is none, a column that nobody knows: only what rules read matters
    arrive(source, "b.csv", "op,id,zip,city,note,more\nupdate,2,10115,Berlin,none,x\ninsert,4,10117,0,12,y\n")
    assert watch(*common, "--bootstrap", before, "--json") == Exit.HOLDS
    told = capfd.readouterr()
    (line,) = map(json.loads, told.out.splitlines())
    assert (line["batch"], line["rows"], line["n_rows"]) == (1, 2, 4)
    assert line["rules"] == [{"name": "zip_fixes_city", "added": 0, "resolved": 2, "open": 0, "broken": False}]
    lines = parquet.read_table(state / "violations").to_pylist()
    assert sorted((one["s"], one["t"], one["since"], one["until"]) for one in lines) == [(1, 2, 0, 1), (2, 1, 0, 1)]
    arrive(source, "c.csv", "op,id,zip,town\ninsert,5,10115,Berlin\n")
    assert watch(*common) == Exit.FAILED
    assert "Batch 2 lacks the column 'city', which rule 'zip_fixes_city' reads" in capfd.readouterr().err
    with pytest.raises(rf.errors.DataError, match="does not hold a watch"):
        rf.Watch(tmp_path / "nowhere")


@pytest.mark.spark
def test_files_are_read_as_they_are_written(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source, state, before = tmp_path / "in", tmp_path / "kept", tmp_path / "before.csv"
    before.write_text("id;zip;city\n1;010;Berlin\n")
    arrive(source / "", "a.csv", "id;op;zip;city\n2;insert;010;Bernau\n3;insert;NA;Leipzig\n")
    written = ["--schema", "id bigint, op string, zip string, city string", "--delimiter", ";", "--null-values", "NA"]
    common = [f"{source}/*.csv", RULE, "--state", state, "--key", "id", "--op", "op", *written, "--bootstrap", before]
    assert watch(*common, "--fail-on", "error") == Exit.ERROR
    assert "batch 0: 2 rows in" in capfd.readouterr().out
    assert rf.Watch(state).table().column("zip").to_pylist() == ["010", "010", None]
    for wrong, why in (
        ([f"{source}/a.csv"], "is a file. Name its folder"),
        ([tmp_path / "no"], "There is no file or folder"),
        ([tmp_path], "is inside SOURCE"),
        ([source, "--order", "id"], "--order needs --op"),
    ):
        assert run(["watch", str(wrong[0]), RULE, "--state", str(state), *map(str, wrong[1:])]) == Exit.FAILED
        assert why in capfd.readouterr().err


@pytest.mark.spark
def test_files_that_say_nothing_or_are_wrong_do_not_hold_a_watch_up(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], listeners: list[Listener]
) -> None:
    source, state = tmp_path / "in", tmp_path / "kept"
    common = [source, RULE, "--state", state, "--key", "id"]
    arrive(source, "a.csv", "")
    arrive(source, "a.txt", "no table")
    assert watch(*common) == Exit.HOLDS
    assert capfd.readouterr().out == "No rows have arrived yet.\n"
    arrive(source, "b.csv", "id,zip,city\n1,10115,Berlin\n,10115,Bernau\n")
    assert watch(*common) == Exit.FAILED
    told = capfd.readouterr()
    assert told.out == ""
    assert "The key column 'id' is null in 1 row" in told.err
    assert "Batch 1 is b.csv" in told.err
    arrive(source, "b.csv", "id,zip,city\n1,10115,Berlin\n2,10115,Bernau\n")  # which is read again
    assert watch(*common) == Exit.ERROR
    arrive(source, "c.csv", "id,zip,city\n1,10115,Berlin\n")
    assert watch(*common) == Exit.FAILED
    (source / "c.csv").unlink()
    arrive(source, "d.csv", "id,zip,city\n3,10115,Berlin\n")
    os.utime(source / "d.csv", (0, 0))  # much older than files that have come
    assert watch(*common) == Exit.ERROR
    assert rf.Watch(state).table().column("id").to_pylist() == [1, 2, 3]
    assert rf.Watch(state).counts == {"zip_fixes_city": 4}
    listeners.append(Listener(refusals=0))
    for _ in range(2):  # what nobody has posted is, once, although no batch comes
        assert watch(*common, "--webhook", listeners[0].url) == Exit.ERROR
    posts = [(one["rule"], one["batch"], one["state"], one["open"]) for one in listeners[0].posts]
    assert posts == [("zip_fixes_city", rf.Watch(state).batches[-1].batch, "broken", 4)]


@pytest.mark.spark
def test_a_rule_that_is_broken_when_it_is_added_is_told_and_ends_the_command_at_once(
    spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str], listeners: list[Listener]
) -> None:
    source, state, before = tmp_path / "in", tmp_path / "kept", tmp_path / "before.csv"
    arrive(source, "a.csv", "id,zip,city\n1,10115,Berlin\n2,10115,Bernau\n")
    common = ["--state", str(state), "--key", "id"]
    assert watch(source, "unique(id, zip)", *common) == Exit.HOLDS
    capfd.readouterr()
    listeners.append(Listener(refusals=0))
    hook = ["--webhook", listeners[0].url, "--fail-on", "error"]
    assert run(["watch", str(source), RULE, *common, *hook]) == Exit.ERROR  # although no file comes any more
    told = capfd.readouterr().out
    assert told.startswith("rules changed after batch 0, in ")
    assert "zip_fixes_city: 2 new, 0 resolved, 2 open\n" in told
    assert [(one["rule"], one["batch"], one["state"], one["open"]) for one in listeners[0].posts] == [
        ("zip_fixes_city", 0, "broken", 2)
    ]
    assert watch(source, RULE, *common, *hook) == Exit.ERROR
    assert capfd.readouterr().out == "nothing new; zip_fixes_city: 2 open\n"
    assert len(listeners[0].posts) == 1
    more = ["--webhook", listeners[0].url, "--fail-on", "error", "--json"]
    arrive(source, "b.csv", "id,zip,city\n3,10115,Berlin\n")
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "version: 1\nrules: [{name: zip_fixes_city, fd: zip -> city}, {name: one_zip, unique: zip, severity: warn}]\n"
    )
    assert watch(source, rules, *common, *more) == Exit.ERROR  # as the batch leaves a rule broken, not as rules changed
    assert [json.loads(line)["batch"] for line in capfd.readouterr().out.splitlines()] == [0, 1]
    assert watch(source, "unique(id, zip)", *common, *more) == Exit.HOLDS
    assert [
        tuple(one[name] for name in ("rule", "batch", "state", "severity", "open")) for one in listeners[0].posts[1:]
    ] == [
        ("one_zip", 0, "broken", "warn", 2),
        ("zip_fixes_city", 1, "dropped", "error", 0),
        ("one_zip", 1, "dropped", "warn", 0),
    ]
    capfd.readouterr()
    before.write_text("id,zip,city\n8,10115,Berlin\n9,10115,Bernau\n")
    other = ["--state", str(tmp_path / "other"), "--key", "id", "--bootstrap", str(before), "--fail-on", "error"]
    assert run(["watch", str(source), RULE, *other, "--json"]) == Exit.ERROR
    (line,) = map(json.loads, capfd.readouterr().out.splitlines())
    assert (line["batch"], line["rule_change"], line["rules"][0]["open"]) == (-1, 0, 2)


class Listener:
    """A server on this machine that keeps what is posted to it, and refuses the first posts."""

    def __init__(self, refusals: int) -> None:
        self.posts: list[dict[str, Any]] = []
        left = [refusals]
        posts = self.posts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                refused = left[0] > 0
                left[0] -= 1
                self.send_response(503 if refused else 204)
                self.end_headers()
                if not refused:
                    posts.append(json.loads(body))

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def listeners() -> Iterator[list[Listener]]:
    found: list[Listener] = []
    yield found
    for one in found:
        one.server.shutdown()
        one.server.server_close()


def states(**words: str) -> dict[str, dict[str, Any]]:
    return {name: {"state": word, "severity": "error", "open": 1} for name, word in words.items()}


def test_a_webhook_is_told_of_changes_alone(listeners: list[Listener], tmp_path: Path) -> None:
    listeners.append(Listener(refusals=TRIES - 1))
    warned: list[str] = []
    hook = Webhook(listeners[0].url, tmp_path / "posted.json", warned.append, pause=0.01)
    for batch, word in enumerate(["ok", "broken", "broken", "ok", "ok"]):
        hook.tell(batch, "now", states(a=word, b="broken"))
    hook.close()
    assert [(one["rule"], one["batch"], one["state"]) for one in listeners[0].posts] == [
        ("b", 0, "broken"),
        ("a", 1, "broken"),
        ("a", 3, "ok"),
    ]
    again = Webhook(listeners[0].url, tmp_path / "posted.json", warned.append)
    again.tell(5, "now", states(a="ok", b="ok"))
    again.close()
    assert [(one["rule"], one["batch"], one["state"]) for one in listeners[0].posts[3:]] == [("b", 5, "ok")]
    assert not warned


def test_a_webhook_is_told_once_of_a_rule_that_is_dropped_while_it_is_broken(
    listeners: list[Listener], tmp_path: Path
) -> None:
    listeners.append(Listener(refusals=0))
    told: list[list[tuple[str, str, int]]] = []
    for given in (
        states(a="broken", b="broken", c="ok"),
        states(b="broken"),
        states(b="broken"),
        states(b="broken", a="ok"),
        states(b="broken", a="broken"),
    ):
        hook = Webhook(listeners[0].url, tmp_path / "posted.json", pytest.fail)
        for batch in range(2):
            hook.tell(batch, "now", given)
        hook.close()
        told.append([(one["rule"], one["state"], one["open"]) for one in listeners[0].posts])
        listeners[0].posts.clear()
    assert told == [[("a", "broken", 1), ("b", "broken", 1)], [("a", "dropped", 0)], [], [], [("a", "broken", 1)]]


def test_a_webhook_that_nobody_hears_is_given_up_and_keeps_nobody_waiting(
    listeners: list[Listener], tmp_path: Path
) -> None:
    listeners.append(Listener(refusals=TRIES))
    warned: list[str] = []
    hook = Webhook(listeners[0].url, tmp_path / "posted.json", warned.append, pause=0.01)
    hook.tell(0, "now", states(a="broken"))
    hook.tell(1, "now", states(a="ok"))
    hook.close()
    assert warned == [f"--webhook {listeners[0].url}: The server answered 503 ({TRIES} tries). Gave up on 'a'."]
    assert [one["state"] for one in listeners[0].posts] == ["ok"]
    with pytest.raises(rf.errors.OptionError, match="Give an address such as"):
        Webhook("ftp://x", tmp_path / "posted.json", warned.append)


def test_a_webhook_that_leads_elsewhere_has_not_heard(tmp_path: Path) -> None:
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(self.path)
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self) -> None:  # what a client that follows would ask, without what it has to say
            heard.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    warned: list[str] = []
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        hook = Webhook(f"http://127.0.0.1:{server.server_port}/", tmp_path / "posted.json", warned.append)
        hook.tell(0, "now", states(a="broken"))
        hook.close()
        server.shutdown()
    assert heard == ["/"]
    assert ["The server answered 302, which leads to /elsewhere" in text for text in warned] == [True]
    assert not (tmp_path / "posted.json").exists()


@pytest.mark.parametrize("answer", [b"", b"no HTTP at all\r\n\r\n", None])
def test_a_webhook_that_breaks_off_talks_nonsense_or_hangs_is_given_up(tmp_path: Path, answer: bytes | None) -> None:
    held: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                came, _ = server.accept()
            except OSError:
                return
            held.append(came)  # and open
            if answer is not None:
                came.recv(10_000)
                came.sendall(answer)
                came.close()

    warned: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        hook = Webhook(url, tmp_path / "no" / "posted.json", warned.append, pause=0.01, patience=0.2)
        hook.tell(0, "now", states(a="broken"))
        hook.tell(1, "now", states(a="ok"))
        hook.close()
        server.shutdown(socket.SHUT_RDWR)
    thread.join()
    for one in held:
        one.close()
    assert len(held) == 2 * TRIES
    assert [text.endswith(f"({TRIES} tries). Gave up on 'a'.") for text in warned] == [True, True]


def test_a_command_that_ends_says_what_was_not_posted(tmp_path: Path) -> None:
    warned: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:  # which answers nobody
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        hook = Webhook(url, tmp_path / "posted.json", warned.append, patience=0.3)
        hook.tell(0, "now", states(a="broken"))
        hook.close(patience=0.1)
    assert warned == [f"--webhook {url}: timed out (1 try). Gave up on 'a'."]
