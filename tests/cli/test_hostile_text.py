"""Data and rules that hold commands for a terminal: none reaches it, through a pipe as little as directly."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import os
import pty
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import refute.cli
from refute.cli.app import run
from refute.display import in_html, in_json, in_one_line, in_xml, visible

BAD = "\x1b]0;owned\x07\x9b31m\x7f\u202e\r\x08\u2028"
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A table whose column names and cells are hostile; line breaks in them imitate our own lines."""
    file = tmp_path / "rows.csv"
    head = f'"id","zip{BAD}","city\nok    all: holds"'
    rows = [f'"a{BAD}","1{BAD}","x{BAD}\nok"', f'"b{BAD}","1{BAD}","y{BAD}"']
    file.write_text("\n".join((head, *rows)) + "\n", encoding="utf-8", newline="")
    return str(file)


@pytest.fixture
def rules(tmp_path: Path) -> str:
    """Rules over it, with a hostile name and description."""
    left, right = f"zip{BAD}", "city\nok    all: holds"
    rule = {"name": f"first{BAD}\nok    faked: holds", "fd": f"`{left}` -> `{right}`"}
    twin = {"name": f"second{BAD}", "fd": f"`{left}` -> `{right}`", "description": f"hidden {BAD}\nok   x: holds"}
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rules": [rule, twin]}), encoding="utf-8")
    return str(file)


def assert_harmless(told: str) -> None:
    assert told
    assert not ACTS.findall(told)
    assert not re.search(r"^\s*ok", told, re.MULTILINE)  # nothing here holds


@pytest.mark.parametrize("more", [[], ["--list", "2", "--key", "id"], ["--verify"]])
def test_check_shows_no_commands(data: str, rules: str, capsys: pytest.CaptureFixture[str], more: list[str]) -> None:
    assert run(["check", data, rules, "--engine", "local", "--schema", _schema(data), *more]) == 1
    assert_harmless("".join(capsys.readouterr()))


def _schema(data: str) -> str:
    names = ["id", f"zip{BAD}", "city\nok    all: holds"]
    return ", ".join(f"`{name}` string" for name in names)


def test_explain_discover_and_lint_show_no_commands(data: str, rules: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", data, rules, "--engine", "local"]) == 0
    assert_harmless("".join(capsys.readouterr()))
    assert run(["discover", data, "--engine", "local", "--complete", "--max-predicates", "2"]) == 0
    assert_harmless("".join(capsys.readouterr()))
    assert run(["lint", rules]) == 0
    told = "".join(capsys.readouterr())
    assert_harmless(told)
    assert "says the same as rule" in told


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", f"a,b\n1,2\n{BAD},x{BAD},3\n"),
        ("rows.csv", f"a{BAD},a{BAD}\n1,2\n"),
        (f"rows{BAD}.csv", "a,b\n1,2\n1,3\n"),
        ("rows\udcff.csv", "a,b\n1,2\n1,3\n"),
    ],
    ids=["a bad line", "a name twice", "a file name", "a file name that is no UTF-8"],
)
def test_errors_and_file_names_show_no_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert run(["check", str(tmp_path / name), "a -> b", "--engine", "local"]) in (1, 3)
    assert_harmless("".join(capsys.readouterr()))


@pytest.mark.parametrize(
    "rule", [f"not (s.{BAD} = 1)", f"not (s.`x{BAD}` = t.a)", f"unique({BAD})"], ids=["syntax", "column", "short form"]
)
def test_errors_in_rules_show_no_commands(data: str, capsys: pytest.CaptureFixture[str], rule: str) -> None:
    assert run(["check", data, rule, "--engine", "local"]) == 3
    assert_harmless("".join(capsys.readouterr()))


def test_reports_carry_the_text_and_no_commands(
    data: str, rules: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["check", data, rules, "--engine", "local", "-q", "--schema", _schema(data)]
    for kind in ("json", "html", "junit"):
        assert run([*command, f"--{kind}", "-"]) == 1
        told = capsys.readouterr().out
        assert not ACTS.findall(told), kind
        if kind == "json":
            assert json.loads(told)["rules"][0]["witness"]["s"][f"zip{BAD}"] == f"1{BAD}"
        if kind == "junit":
            assert "\u202e" in ElementTree.fromstring(told)[0][0].attrib["name"]


def test_a_terminal_shows_converted_rules_harmlessly_and_a_pipe_gets_them_exactly(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "rules.txt"
    file.write_text("not (s.a = 'x\x1b[31m')\n", encoding="utf-8")
    assert run(["convert", str(file), "--from", "text", "--to", "text"]) == 0
    assert "\x1b[31m" in capfd.readouterr().out
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patched:
        patched.setattr("sys.stdout", terminal)
        assert run(["convert", str(file), "--from", "text", "--to", "text"]) == 0
        terminal.flush()
        shown = os.read(ours, 4096).decode()
    os.close(ours)
    assert "x\ufffd[31m" in shown


def test_a_stream_that_takes_ascii_only_gets_question_marks(
    data: str, rules: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "told").open("w", encoding="ascii") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert run(["check", data, rules, "--engine", "local"]) == 1
    assert "first?" in (tmp_path / "told").read_text(encoding="ascii")


def test_only_one_module_writes_to_the_terminal() -> None:
    for file in sorted(Path(refute.cli.__file__).parent.rglob("*.py")):
        if file.name == "terminal.py":
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        wrong = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write", "traceback.print_exc"}
        assert not called & wrong, file.name


def test_text_keeps_all_that_a_terminal_only_shows() -> None:
    text = "naïve — 漢字 😀\tשלום\n"
    assert visible(text) == text
    assert in_one_line(text) == text.replace("\t", "\ufffd").replace("\n", "\ufffd")
    assert in_json(text) == in_xml(text) == in_html(text) == text
    assert visible(BAD) == "\ufffd]0;owned\ufffd\ufffd31m" + "\ufffd" * 5
    assert json.loads(in_json(json.dumps(BAD, ensure_ascii=False))) == BAD
    assert in_html("\u202e\x9b") == "&#x202e;\ufffd"


def test_the_page_runs_its_own_script_alone_and_fetches_nothing(data: str, tmp_path: Path) -> None:
    assert run(["check", data, "unique(id)", "--engine", "local", "-q", "--html", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'unsafe-inline'")
    scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert re.findall(r"script-src ([^;]*);", policy[1]) == [f"'sha256-{digest}'" for digest in digests]
    assert page.index("Content-Security-Policy") < page.index("<style>")
