"""`discover -> edit -> check` closes: what is written passes on the same rows, and warns until it is accepted."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.language.rulebook import Rule, Severity, Status
from refute.language.rulebook.reading.load import load_rules
from refute.language.rulebook.reading.loader import book_from_yaml
from refute.language.rulebook.reading.schema import shipped_schema
from thorough import examples

ROWS = "id,zip,city,qty\n" + "".join(
    f"{i},z{i % 20:02},{'?' if i % 97 == 5 else f'c{i % 20 // 2}'},{i * 7 % 11}\n" for i in range(400)
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Rows whose zip tells the city, but for five."""
    file = tmp_path / "rows.csv"
    file.write_text(ROWS, encoding="utf-8")
    return file


def local(*arguments: object) -> int:
    """The exit code of a command in this process."""
    return run([*map(str, arguments), "--engine", "local", "--quiet"])


def test_a_first_rule_file_passes_and_says_what_to_do_with_it(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = data.parent / "rules.yaml"
    assert run(["init", str(data), "--out", str(file), "--engine", "local"]) == Exit.HOLDS
    assert f"refute check {data} {file}" in capsys.readouterr().err
    text = file.read_text()
    head, _, _ = text.partition("version: 1\n")
    address = head.splitlines()[0].removeprefix("# yaml-language-server: $schema=file://")
    assert Path(address).read_text(encoding="utf-8") == shipped_schema()
    assert "`status: proposed` only warns" in head
    assert local("check", data, file) == Exit.HOLDS
    before = file.read_text()
    assert local("init", data, "--out", file) == Exit.FAILED
    assert "Add --force" in capsys.readouterr().err
    assert local("init", data, "--out", file, "--force") == Exit.HOLDS
    assert file.read_text() == before
    assert local("init", data, "--out", "-") == Exit.HOLDS
    assert capsys.readouterr().out == before


def test_a_proposed_rule_warns_until_it_is_accepted(data: Path) -> None:
    file = data.parent / "rules.yaml"
    assert local("init", data, "--out", file) == Exit.HOLDS
    data.write_text(ROWS + "".join(f"{i},z01,elsewhere,1\n" for i in range(400, 440)))
    assert local("check", data, file) == Exit.WARN
    assert {(rule.status, rule.severity) for rule in load_rules(file)} == {(Status.PROPOSED, Severity.WARN)}
    text = file.read_text()
    file.write_text(text.replace("  status: proposed\n", ""))
    assert local("check", data, file) == Exit.ERROR
    assert "severity" not in text


def test_a_table_that_speaks_for_nothing_gets_examples_and_an_exit_code_that_stops_a_pipeline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "empty.parquet")
    file = tmp_path / "rules.yaml"
    for out in ("-", file):
        assert run(["init", str(tmp_path / "empty.parquet"), "--out", str(out), "--engine", "local"]) == Exit.PARTIAL
    assert "add a rule before you check" in capsys.readouterr().err
    assert "# No rule is proposed" in file.read_text()
    unwritten = tmp_path / "none.yaml"
    assert local("discover", tmp_path / "empty.parquet", "--out", unwritten) == Exit.PARTIAL
    assert f"{unwritten} was not written" in capsys.readouterr().err
    assert not unwritten.exists()
    assert local("discover", tmp_path / "empty.parquet") == Exit.HOLDS, "where no file was asked for"


@pytest.mark.parametrize(
    "options",
    [
        ("--almost", "30"),
        ("--error", "0.02"),
        ("--error", "0.1", "--measure", "g2"),
        ("--error", "0.02", "--measure", "g3", "--almost", "5"),
        ("--error", "0.02", "--where", "qty > 3", "--one-row", "--constants", "2"),
        ("--almost", "3", "--where", "zip != 'z05'"),
    ],
)
def test_complete_discoveries_pass_on_the_same_rows(data: Path, options: tuple[str, ...]) -> None:
    file = data.parent / "rules.yaml"
    longest = ("--max-predicates", "3", "--no-cross-columns")
    assert local("discover", data, "--complete", *longest, *options, "--out", file) == Exit.HOLDS
    assert any(rule.tolerance for rule in load_rules(file))
    assert local("check", data, file) == Exit.HOLDS
    assert local("check", data, file, "--verify") == Exit.HOLDS
    assert run(["lint", str(file), "--quiet"]) == Exit.HOLDS


def test_no_more_is_tolerated_than_there_is(data: Path) -> None:
    found = rf.discover(str(data), almost=100, columns=["zip", "city"], cross_columns=False, engine="local")
    rules = {rule.name: rule for rule in found.book()}
    count = rf.check(str(data), "zip -> city", engine="local").results[0].finding
    assert count.rows is not None
    rule = rules["zip_fixes_city"]
    assert rule.allows(count.violations or 0, count.rows, 400)
    assert not rule.allows(count.violations or 0, count.rows + 1, 400)


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == Exit.HOLDS
    assert json.loads(capsys.readouterr().out) == json.loads(shipped_schema())
    assert run(["schema", "report"]) == Exit.HOLDS
    assert json.loads(capsys.readouterr().out)["title"] == "Report of refute check"
    assert run(["schema", "sales"]) == Exit.FAILED


NAMES = (
    "zip", "a b", "a`b", 'q"uote', "it's", "ünï", "列", "no", "null", "1e3", "~", "s.x", "- x", "# c", "a: b", "x,y",
    "line\nbreak", "tab\tbed", "next\x85line", "sep\u2028arator", "\u202eturned", "{a}", "[b]", "%", "@", "*", "&x",
    "!t", "|", ">", "?", "true", "0x1f", "2020-01-01", " lead", "trail ", "back\\slash", "not", "and", "unique",
    "s", "t",
)  # fmt: skip
VALUES = (
    "no",
    "1e3",
    "null",
    "",
    "~",
    "'",
    '"',
    "`",
    "a\nb",
    "- x",
    "# c",
    "ß",
    "\u202e",
    "0",
    "true",
    " x ",
    "\\",
    "x: y",
)


@given(
    st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True),
    st.lists(st.sampled_from(VALUES), min_size=2, max_size=4, unique=True),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@examples(12)
def test_files_about_odd_tables_pass_on_them(names: list[str], values: list[str], seed: int, nulls: bool) -> None:
    random = np.random.default_rng(seed)
    size = 80
    first = random.integers(0, len(values), size)
    columns = {}
    for place, name in enumerate(names):
        cells = [values[k] for k in (first if place < 2 else random.integers(0, len(values), size))]
        cells[place] = values[0]
        kept: list[str | None] = [None if nulls and random.random() < 0.1 else cell for cell in cells]
        columns[name] = pa.array(kept, pa.string())
    columns["n°"] = pa.array(np.arange(size) + (random.random(size) < 0.02), pa.int64())
    table = pa.table(columns)
    found = (
        rf.propose(table),
        rf.discover(table, cross_columns=False, error=0.05, max_predicates=2, constants=2, one_row=True),
        rf.discover(table, almost=20, max_predicates=2, nulls="equal"),
        rf.discover(table, cross_columns=False, max_predicates=2, almost=10, where="`n°` > 3"),
    )
    for one in found:
        text = one.to_yaml()
        if not one.book().rules:
            continue
        book = book_from_yaml(text)
        assert [_told(rule) for rule in book] == [_told(rule) for rule in one.book()]
        report = rf.check(table, book)
        assert report.exit_code == 0, report


def _told(rule: Rule) -> tuple[object, ...]:
    return rule.name, rule.constraint.fingerprint, rule.tolerance, rule.nulls, rule.where, rule.status, rule.description
