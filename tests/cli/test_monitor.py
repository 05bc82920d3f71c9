"""`refute monitor` from the shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import refute as rf
from refute.cli.app import run

ROWS = pa.table({"id": [1, 2, 3], "zip": ["a", "a", "b"], "city": ["x", "y", "z"], "rate": [1, 2, 3]})
RULES = """\
rules:
  - {name: one_city, fd: "zip -> city", severity: warn, where: "rate > 0"}
  - {name: rates, row: "rate < 100", description: A rate is below a hundred.}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A monitor with two commits that stays open."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    place = tmp_path / "kept"
    with rf.Monitor.open(place, rules, key="id") as monitor:
        monitor.insert(ROWS)
        monitor.commit()
        monitor.delete([3])
        monitor.commit()
        yield place


def test_a_monitor_that_is_in_use_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())
    assert run(["monitor", str(folder)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert said.out.splitlines()[:6] == [
        f"{folder}: 2 rows, 2 rules, 2 violations",
        "warn  one_city: 2 violations",
        "      Two rows with the same zip have the same city. Only rows where rate > 0 count.",
        "ok    rates: holds",
        "      A rate is below a hundred.",
        "key id, method auto",
    ]
    assert said.out.splitlines()[6].startswith("2 commits, of which 2 in the log (")
    assert said.out.splitlines()[7].endswith(" files, format 1")
    assert sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir()) == before
    assert run(["monitor", "--quiet", "--verify", str(folder)]) == 0
    assert capsys.readouterr() == ("", "")


def test_json_goes_to_a_file_or_to_stdout(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["monitor", str(folder), "--json", "-"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rules"][0] == {
        "name": "one_city",
        "constraint": "not (s.zip = t.zip and s.city != t.city)",
        "where": "rate > 0",
        "sentence": "Two rows with the same zip have the same city. Only rows where rate > 0 count.",
        "severity": "warn",
        "nulls": "sql",
        "violations": 2,
    }
    assert (told["key"], told["rows"], told["commits"], told["commits_in_log"]) == (["id"], 2, 2, 2)
    assert 0 < told["log_bytes"] < told["bytes"]
    file = folder.parent / "told.json"
    assert run(["monitor", str(folder), "--json", str(file), "-q"]) == 0
    assert json.loads(file.read_text()) == told
    for place in (str(folder), str(folder / "no" / "file"), "s3://bucket/file"):
        assert run(["monitor", str(folder), "--json", place]) == 3
        assert capsys.readouterr().err.count("\n") == 1


def test_rules_that_were_added_and_rows_that_were_written_are_seen(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "other"
    with rf.Monitor.open(place, "zip -> city") as monitor:
        monitor.insert(ROWS)
        monitor.add("city -> zip")
    assert run(["monitor", str(place)]) == 0
    said = capsys.readouterr().out
    assert "3 rows, 2 rules, 2 violations" in said
    assert "ok    city_fixes_zip: holds" in said
    assert "key none: rows are numbered, method auto" in said


@pytest.mark.parametrize("name", ["manifest.json", "rules-*.yaml", "alive-*.arrow", "log-*.frames"])
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_damage_is_one_line(folder: Path, name: str, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = next(folder.glob(name))
    held = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(held[:10] if damage == "cut" else held[:-5] + bytes([held[-5] ^ 1]) + held[-4:])
    assert run(["monitor", str(folder), "--verify"]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("refute: ")
    assert said.err.count("\n") == 1
    assert str(folder) in said.err
    assert "Internal error" not in said.err


def test_a_folder_without_a_monitor_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        assert run(["monitor", str(place)]) == 3
        assert capsys.readouterr().err == f"refute: {str(place)!r} does not hold a monitor: it has no manifest.json.\n"
    assert run(["monitor", "s3://bucket/folder"]) == 3
    assert "A monitor needs a folder on this machine" in capsys.readouterr().err
    assert run(["monitor"]) == 3
    assert "DIR" in capsys.readouterr().err
