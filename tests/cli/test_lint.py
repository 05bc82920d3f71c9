"""`refute lint` from the shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.cli.app import run

FIVE_MISTAKES = """\
version: 1
rules:
  - {name: zip_fixes_city, fd: "zip -> city", severty: error}
  - name: pay
    dc: "not (s.state = t.state and s.salary > )"
  - name: pay
    fd: "a -> b"
    tolerance: {rows: lots}
  - name: both
    fd: "a -> b"
    unique: a
"""


def test_the_help_has_no_options_about_data(capsys: pytest.CaptureFixture[str]) -> None:
    run(["lint", "--help"])
    said = capsys.readouterr().out
    assert "--header" in said
    assert not {"--master", "--remote", "--conf", "--py-files"} & set(said.split())


def test_five_mistakes_show_five_messages_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(FIVE_MISTAKES)
    assert run(["lint", str(path)]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    places = [line.split(": ")[0] for line in said.err.splitlines() if line.startswith(f"{path}:")]
    assert places == [f"{path}:{line}" for line in (3, 5, 6, 8, 11)] + [str(path)]
    assert said.err.splitlines()[-1] == f"{path}: 5 mistakes"
    assert "Traceback" not in said.err


def test_a_clean_file_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text("rules:\n  - {name: a, fd: 'x -> y, z'}\n")
    assert run(["lint", str(path)]) == 0
    assert capsys.readouterr().out == f"{path}: 2 rules, 0 warnings\n"
    assert run(["lint", "--quiet", str(path)]) == 0
    assert capsys.readouterr().out == ""


def test_rules_of_no_use_are_warnings_with_their_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rules.txt"
    path.write_text("t1&t2&EQ(t1.a,t2.a)&IQ(t1.b,t2.b)\n\nt1&t2&EQ(t1.c,t2.c)&EQ(t1.a,t2.a)&IQ(t1.b,t2.b)\n")
    assert run(["lint", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"{path}:3: warning: Rule 'c_a_fixes_b' follows from rule 'a_fixes_b'.\n{path}: 2 rules, 1 warning\n"
    )


def test_several_files_are_all_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("rules: [{name: a, unique: x}]")
    bad.write_text("rules: []")
    assert run(["lint", str(bad), str(good)]) == 3
    said = capsys.readouterr()
    assert said.err == f"{bad}:1: There are no rules: list them under `rules`.\n{bad}: 1 mistake\n"
    assert said.out == f"{good}: 1 rule, 0 warnings\n"


def test_a_missing_file_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "nowhere.yaml"]) == 3
    assert capsys.readouterr().err == "refute: There is no file or folder 'nowhere.yaml'.\n"
