"""`refute track` from the shell: the first call discovers, later ones say what changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

import refute as rf
from refute.cli.app import run

FIRST = "id,zip,city\n1,01011,A\n2,01011,A\n3,94612,O\n4,x,B\n"
SECOND = "id,zip,city\n1,01011,A\n2,01011,D\n3,94612,O\n5,94704,B\n"
Call = Callable[..., int]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    """Writes a text to a file, and calls the command with it in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def called(text: str | None, *arguments: str, name: str = "data.csv") -> int:
        if text is not None:
            Path(name).write_text(text)
        return run(["track", *([] if text is None else [name]), "--state", "state", *arguments])

    return called


def start(call: Call, *arguments: str) -> int:
    return call(FIRST, "--key", "id", "--columns", "zip,city", *arguments)


def test_versions_of_a_table_are_compared_by_key(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(call) == 0
    assert capsys.readouterr().out.splitlines() == [
        "state: 4 rows, 2 rules, 1 batch",
        "  zip -> city (for 1 batch)",
        "  city -> zip (for 1 batch)",
        "Note: The predicates were chosen from the rows at the start, and stay as they are until refit().",
    ]
    assert call(FIRST, "--fail-on-loss") == 0
    assert capsys.readouterr().out.splitlines() == [
        "state: 4 rows, 2 rules, 2 batches",
        "rows: none changed",
        "No rule changed.",
    ]
    assert call(SECOND, "--fail-on-loss") == 1
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines() == [
        "state: 4 rows, 1 rule, 3 batches",
        "rows: 1 inserted, 1 deleted, 1 updated",
        "zip -> city held for 2 batches, broken by rows 2 and 1",
        "city -> zip held for 2 batches, now follows from unique(city)",
        "now holds: unique(city), which covers city -> zip",
    ]
    assert call(SECOND, "--fail-on-loss", "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert call(None) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "state: 4 rows, 1 rule, 4 batches",
        "  unique(city) (for 2 batches)",
    ]


def test_lists_of_changes_and_new_rows_are_taken_too(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(call, "--quiet") == 0
    assert call("id,zip,city\n7,94612,P\n", "--append") == 0
    assert "zip -> city held for 1 batch, broken by rows 7 and 3" in capsys.readouterr().out
    assert call("what,id,zip,city\ndelete,7,,\nupdate,4,94704,B\n", "--changes", "--op", "what") == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["rows: 1 deleted, 1 updated", "now holds: zip -> city"]


def test_without_a_key_whole_rows_are_compared(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "zip,city\na,A\na,A\nb,B\nb,B\nb,B\n,C\n"
    assert call(rows) == 0
    assert call("zip,city\n,C\nb,B\na,A\na,D\na,A\n") == 0
    said = capsys.readouterr().out.splitlines()
    assert "rows: 1 inserted, 2 deleted" in said
    assert "state: 5 rows, 1 rule, 2 batches" in said
    with rf.Tracker.open("state") as tracker:
        assert sorted(map(str, tracker.table().to_pylist())) == sorted(
            str({"zip": zip_code, "city": city})
            for zip_code, city in (("a", "A"), ("a", "A"), ("a", "D"), ("b", "B"), (None, "C"))
        )
    assert call("op,zip,city\ninsert,a,A\n", "--changes") == 3
    assert "A feed of changes needs a key to identify rows" in capsys.readouterr().err


def test_rules_are_written_for_review_in_an_order_that_stays(call: Call) -> None:
    wide = "id,a,b,c\n" + "".join(f"{n},{n % 3},{n % 5},{n * n % 7}\n" for n in range(30))
    assert call(wide, "--key", "id", "--columns", "a,b,c", "--out", "rules.yaml", "--quiet") == 0
    before = Path("rules.yaml").read_text().split("\n- name: ")
    assert rf.load_rules("rules.yaml").key == ("id",)
    assert call(wide + "30,0,0,6\n", "--out", "rules.yaml", "--json", "told.json", "--quiet") == 0
    after = Path("rules.yaml").read_text().split("\n- name: ")
    told = json.loads(Path("told.json").read_text())
    kept = [rule for rule in before if rule in set(after)]
    assert kept == [rule for rule in after if rule in set(before)]  # what stays, stays as and where it is
    names = [{rule.split("\n")[0] for rule in rules} for rules in (before, after, kept)]
    assert len(kept) == len(names[0] & names[1])
    assert 10 < len(kept) < len(before)
    assert {rule["constraint"] for rule in told["removed"] if rule["lost"]}
    assert len(told["rules"]) == len(rf.load_rules("rules.yaml"))
    assert rf.check(pa.csv.read_csv("data.csv"), "rules.yaml").ok


def test_json_says_all_of_a_change(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(call, "--json", "-") == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["rows"], first["batches"], first["key"], "removed" in first) == (4, 1, ["id"], False)
    assert call(SECOND, "--json", "-") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["changed_rows"] == {"inserted": 1, "deleted": 1, "updated": 1}
    assert told["removed"][1] == {
        "constraint": "not (s.zip = t.zip and s.city != t.city)",
        "sentence": "Two rows with the same zip have the same city.",
        "batches": 1,
        "lost": True,
        "why": "broken",
        "rows": [2, 1],
        "follows": None,
    }
    assert told["added"][0]["generalises"] == ["not (s.city = t.city and s.zip != t.zip)"]
    assert told["rules"] == [{"constraint": "not (s.city = t.city)", "batches": 1}]


def test_files_are_read_with_the_types_of_the_first(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    """A column that looks like numbers in one version is text all the same, and empty cells are null."""
    assert start(call, "--quiet") == 0
    assert call("id,zip,city\n1,01011,A\n2,01011,\n3,94612,O\n") == 0
    assert "rows: 1 deleted, 1 updated" in capsys.readouterr().out
    with rf.Tracker.open("state") as tracker:
        assert tracker.table().column("zip").to_pylist() == ["01011", "94612", "01011"]
        assert tracker.table().column("city").to_pylist() == ["A", "O", None]
        pq.write_table(tracker.table(), "data.parquet")
    assert run(["track", "data.parquet", "--state", "state"]) == 0
    assert "rows: none changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "arguments", "told"),
    [
        ("id,zip,city\n1,a,A\n1,b,B\n", (), "The table has these keys more than once"),
        ("id,zip,city\n,a,A\n1,b,B\n", (), "null"),
        ("id,zip\n1,a\n", (), "The rows lack the column 'city'"),
        ("id,zip,city,more\n1,a,A,1\n", (), "There is no column 'more' here"),
        ("id,zip,city\nx,a,A\n", (), "'x'"),
        (SECOND, ("--key", "zip"), "has the key id. Leave --key out."),
        (SECOND, ("--error", "0.5"), "was started with --error 0.0. Leave --error out."),
        (SECOND, ("--columns", "zip"), "was started with --columns zip,city. Leave --columns out."),
        (SECOND, ("--max-predicates", "2"), "was started without --max-predicates. Leave --max-predicates out."),
        (SECOND, ("--one-row",), "was started without --one-row. Leave --one-row out."),
        (SECOND, ("--no-cross-columns",), "was started with --cross-columns. Leave --cross-columns out."),
        (SECOND, ("--nulls", "equal"), "was started with --nulls sql. Leave --nulls out."),
        (SECOND, ("--kinds", "key"), "reports rules of all kinds. Leave --kinds out."),
        (SECOND, ("--changes",), "The feed has no column 'op' with its operations. Name that column with --op."),
        (SECOND, ("--append",), "Rows with these keys already exist"),
        (SECOND, ("--append", "--changes"), "cannot be used together"),
        (SECOND, ("--master", "local[1]"), "reads DATA in this process"),
        (SECOND, ("--out", "no/such/rules.yaml"), "There is no folder no/such"),
        (None, ("--append",), "--append needs DATA"),
    ],
)
def test_what_cannot_be_done_is_refused_and_changes_nothing(
    call: Call, capsys: pytest.CaptureFixture[str], text: str | None, arguments: tuple[str, ...], told: str
) -> None:
    assert start(call, "--quiet") == 0
    assert call(text, *arguments) == 3
    said = capsys.readouterr()
    assert told in said.err
    assert len(said.err.splitlines()) == 1
    assert call(FIRST) == 0
    assert capsys.readouterr().out.splitlines()[0] == "state: 4 rows, 2 rules, 2 batches"


def test_there_must_be_a_state_to_show_or_to_change(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(None) == 3
    assert "'state' does not hold a tracker" in capsys.readouterr().err
    assert call("op,id\ndelete,1\n", "--changes") == 3
    assert "The first call needs a whole table" in capsys.readouterr().err
    assert not Path("state").exists()


def test_an_approximate_rule_is_lost_once_too_many_pairs_break_it(
    call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{n},{n % 4},{n % 4}\n" for n in range(40)]
    head = "id,a,b\n"
    assert call(head + "".join(rows), "--key", "id", "--columns", "a,b", "--error", "0.05", "--no-cross-columns") == 0
    assert "a -> b" in capsys.readouterr().out
    worse = [f"{n},{n % 4},{n % 3}\n" for n in range(40)]
    assert call(head + "".join(worse), "--fail-on-loss", "--json", "told.json") == 1
    told = json.loads(Path("told.json").read_text())
    assert any(rule["lost"] for rule in told["removed"])


@pytest.mark.parametrize("error", ["0", "0.1"])
def test_a_table_that_loses_its_rows_breaks_no_rule(call: Call, capsys: pytest.CaptureFixture[str], error: str) -> None:
    assert start(call, "--error", error) == 0
    capsys.readouterr()
    assert call("id,zip,city\n", "--fail-on-loss") == 0
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["state: 0 rows, 0 rules, 2 batches", "rows: 4 deleted"]
    assert said[2] == "city -> zip held for 1 batch, no longer a rule, as there are fewer than two rows"


def test_csv_is_read_as_the_flags_say_it_is_written(call: Call, capsys: pytest.CaptureFixture[str]) -> None:
    written = ["--delimiter", ";", "--encoding", "cp1252", "--null-values", "NA"]
    Path("data.csv").write_bytes("id;ort;plz\n1;Köln;07\n2;Köln;NA\n".encode("cp1252"))
    assert run(["track", "data.csv", "--state", "state", "--key", "id", *written]) == 0
    Path("data.csv").write_bytes("id;ort;plz\n1;Köln;7\n2;NA;8\n".encode("cp1252"))
    assert run(["track", "data.csv", "--state", "state", *written]) == 0
    Path("feed.csv").write_bytes("op;id;ort;plz\ninsert;3;Düren;NA\ndelete;1;;\n".encode("cp1252"))
    assert run(["track", "feed.csv", "--changes", "--state", "state", *written]) == 0
    with rf.Tracker.open("state") as tracker:
        assert tracker.table().to_pylist() == [
            {"id": 2, "ort": None, "plz": "8"},
            {"id": 3, "ort": "Düren", "plz": None},
        ]
    capsys.readouterr()
    assert run(["track", "feed.csv", "--changes", "--state", "state"]) == 3
    assert "--encoding" in capsys.readouterr().err
