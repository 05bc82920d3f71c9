"""The command that is suggested next."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from refute.cli.app import run

ROWS = "id;zip;city\n1;10115;Berlin\n2;10115;Bernau\n3;NA;Bonn\n4;;Ulm\n"
CSV = ("--engine", "local", "--delimiter", ";")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with tables of odd forms, in which commands run."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text(ROWS, encoding="utf-8")
    Path("-odd name.csv").write_text(ROWS, encoding="utf-8")
    Path("bare.csv").write_text(ROWS.partition("\n")[2], encoding="utf-8")


@pytest.mark.parametrize(
    "arguments",
    [
        ("rows.csv", "zip -> city", *CSV, "--key", "id", "--no-values"),
        ("rows.csv", "zip -> city", *CSV, "--mask=city", "--null-values", "NA", "--list", "2"),
        ("--verify", *CSV, "--nulls", "equal", "rows.csv", "unique(zip)", "--rule", "unique_zip"),
        ("bare.csv", "c2 -> c3", *CSV, "--no-header", "--schema", "c1 string, c2 string, c3 string"),
        (*CSV, "--html", "r.html", "--key", "id", "--", "-odd name.csv", "zip -> city"),
        ("rows.csv", "zip -> city", *CSV, "--write-baseline", "known.json", "--history", "runs"),
    ],
    ids=["key, no values", "mask, nulls", "verify", "no header", "an odd file", "what is written once"],
)
def test_the_command_to_run_next_says_the_same_and_more(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == 1
    *said, last = capsys.readouterr().out.splitlines()
    then, _, why = last.removeprefix("Next: ").partition("   (")
    assert why
    program, *words = shlex.split(then)
    assert program == "refute"
    history = sorted(Path().glob("runs/*"))
    assert run(words) == 1
    assert capsys.readouterr().out.splitlines()[: len(said)] == said
    assert Path("suspects.csv" if "r.html" in arguments else "report.html").exists()
    assert sorted(Path().glob("runs/*")) == history, "and the results are not kept twice"


def test_init_suggests_to_read_the_table_as_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    Path("many.csv").write_text("a;b\n" + "".join(f"{k % 5};{k % 5}\n" for k in range(40)), encoding="utf-8")
    assert run(["init", "many.csv", *CSV, "--columns", "a,b", "--out", "my rules.yaml"]) == 0
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "Next: edit it, then run: refute check many.csv 'my rules.yaml' --engine local --delimiter ';'"
    assert run(shlex.split(said.partition("refute ")[2])) == 0
