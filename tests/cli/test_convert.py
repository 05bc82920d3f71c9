"""`refute convert` from the shell."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from refute.cli.app import run
from refute.language.rulebook.reading.load import load_rules

HOLOCLEAN = "t1&t2&EQ(t1.zip,t2.zip)&IQ(t1.city,t2.city)\n"
RULES = "rules:\n  - {name: zips, fd: zip -> city, severity: warn, tags: x}\n"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def test_rules_go_from_one_format_to_another(rules: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(rules), "--to", "holoclean"]) == 0
    said = capsys.readouterr()
    assert said.out == HOLOCLEAN
    assert said.err == "refute: HoloClean does not keep severity, tags.\n"


def test_stdin_is_read_and_a_file_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(HOLOCLEAN))
    out = tmp_path / "out.yaml"
    assert run(["convert", "-", "--to", "yaml", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == f"{out}: 1 rule, HoloClean to YAML\n"
    assert load_rules(out).names == ("zip_fixes_city",)


def test_a_header_names_the_columns_of_weever(rules: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "table.csv"
    table.write_text('id,city,"zip"\n1,x,2\n')
    assert run(["convert", str(rules), "--to", "weever", "--header", str(table), "-q"]) == 0
    written = capsys.readouterr().out
    assert json.loads(written)["constraints"][0][0] == {"colIdx1": 2, "colIdx2": 2, "op": "EQUAL"}
    config = tmp_path / "config.json"
    config.write_text(written)
    assert run(["convert", str(config), "--to", "text", "--header", "a,b,c:FLOAT"]) == 0
    assert capsys.readouterr().out == "c -> b\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "hololean"], "Did you mean 'holoclean'?"),
        (["--to", "yaml", "--from", "holoclean"], "rules.yaml:1: This is not HoloClean: "),
        (["--to", "weever", "--header", "missing.csv"], "There is no file or folder 'missing.csv'"),
        (["--to", "weever", "--header", "a,,b"], "must name every column"),
        (["--to", "yaml", "--out", "no/such/folder.yaml"], "Cannot write to 'no/such/folder.yaml'"),
    ],
)
def test_what_cannot_be_done_is_one_message(
    rules: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["convert", str(rules), *arguments]) == 3
    said = capsys.readouterr()
    assert message in said.err
    assert "Traceback" not in said.err


def test_numbers_of_columns_become_names_by_the_header_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data.csv").write_text("id,zip,city\n1,2,3\n", encoding="utf-8")
    (tmp_path / "mined.txt").write_text("¬{ s.1 == t.1 ∧ s.2 != t.2 }\n", encoding="utf-8")
    given = [str(tmp_path / "mined.txt"), "--header", str(tmp_path / "data.csv")]
    assert run(["convert", *given, "--to", "text"]) == 0
    assert capsys.readouterr().out == "zip -> city\n"
    assert run(["lint", *given]) == 0
    assert run(["lint", str(tmp_path / "mined.txt"), "--header", "a,b"]) == 3
    assert "There is no column 2: the header has 2" in capsys.readouterr().err
