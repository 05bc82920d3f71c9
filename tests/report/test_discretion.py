"""Values that a report keeps to itself, in whatever form it leaves the process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from refute.cli.app import run
from refute.errors import SchemaError
from refute.faults import in_references, ragged_row, repeated_key, unreadable
from refute.report.baseline import Baseline

ROWS = 'id,zip,city,qty\nKEY-1,ZIP-9,Berlin,1\nKEY-2,ZIP-9,Berlin,2\nKEY-3,ZIP-9,Bernau,3\nKEY-4,ZIP-8,Leipzig,"-4"\n'
RULES = """version: 1
dataset: {key: [id]}
rules:
  - {name: zip_city, fd: "zip -> city"}
  - {name: order, dc: "not (s.zip = t.zip and s.city < t.city and s.qty > t.qty)"}
  - {name: positive, row: "qty >= 0"}
"""
SECRETS = {"id": ["KEY-1", "KEY-2", "KEY-3", "KEY-4"], "zip": ["ZIP-9", "ZIP-8"], "city": ["Berlin", "Bernau"]}


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    (tmp_path / "rules.yaml").write_text(RULES, encoding="utf-8")
    return ["check", str(tmp_path / "rows.csv"), str(tmp_path / "rules.yaml"), "--engine", "local", "--list", "5"]


@pytest.mark.parametrize(
    ("flags", "hidden"),
    [
        (["--mask", "city"], ["city"]),
        (["--mask", "city, zip"], ["city", "zip"]),
        (["--mask", "id"], ["id"]),
        (["--no-values"], ["id", "zip", "city"]),
    ],
    ids=" ".join,
)
def test_what_is_hidden_is_in_no_output(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], hidden: list[str]
) -> None:
    kinds = {"--json": "r.json", "--html": "r.html", "--junit": "r.xml", "--suspects": "s.csv"}
    outputs = [part for flag, name in kinds.items() for part in (flag, str(tmp_path / name))]
    assert run([*arguments, *flags, *outputs]) == 1
    told = {"terminal": capsys.readouterr().out}
    told |= {name: (tmp_path / name).read_text(encoding="utf-8") for name in kinds.values()}
    for name, text in told.items():
        for column, secrets in SECRETS.items():
            shown = [secret for secret in secrets if secret in text]
            assert not (column in hidden and shown), (name, column, shown)
        assert "***" in text, name
        shows = [column for column, secrets in SECRETS.items() if any(secret in text for secret in secrets)]
        assert set(shows) == set(SECRETS) - set(hidden) or name == "s.csv", "and all else is"


@pytest.mark.parametrize(
    ("rows", "more", "shown"),
    [
        ("1,A-1,x\n1,A-2,y\n", ["--key", "id"], "2 rows have id = {}. Choose"),
        ("1,A-1,x\n1,A-1,y\n", ["--key", "id,ssn"], "2 rows have id = {}, ssn = {}. Choose"),
        ("1,A-1,x\n1,A-2,y,z\n", [], "4 cells instead of 3: {}"),
        ("1,A-1,x\n1,A-2,y\n", ["--schema", "id bigint, ssn bigint, city string"], "has a cell {}, which is not"),
    ],
    ids=["a repeated key", "a repeated key of two columns", "a ragged row", "a wrong type"],
)
def test_errors_hide_what_the_report_would_hide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, more: list[str], shown: str
) -> None:
    (tmp_path / "rows.csv").write_text(f"id,ssn,city\n{rows}", encoding="utf-8")
    arguments = ["check", str(tmp_path / "rows.csv"), "ssn -> city", "--engine", "local", *more]
    assert run(arguments) == 3
    plain = capsys.readouterr().err
    assert run([*arguments, "--no-values"]) == 3
    assert shown.format("***", "***") in capsys.readouterr().err
    assert run([*arguments, "--mask", "city"]) == 3
    assert (capsys.readouterr().err == plain) == ("instead" not in shown), "cells of unknown columns may be hidden ones"
    assert run([*arguments, "--mask", "ssn,id"]) == 3
    assert "A-" not in capsys.readouterr().err


def test_an_error_without_hidden_values_has_none_among_its_facts_either() -> None:
    known = repeated_key({"id": 2, "ssn": "A-2"}, 2)
    hidden = known.hiding(lambda name: name == "ssn", "***")
    assert str(hidden).startswith("The key id, ssn is not unique: 2 rows have id = 2, ssn = ***. Choose columns")
    assert hidden.facts == {"key": ("id", "ssn"), "count": 2}
    assert known.hiding(lambda name: name == "city", "***") is known
    cut = type(known)("x" * 9, quoted=((None, "gone"),)).hiding(lambda name: True, "***")
    assert str(cut) == "DataError: ***.", "what cannot be found is not shown in part"
    other = in_references(ragged_row("zips.csv", "A-2,b"), ["zip"])
    assert str(other.hiding(lambda name: name is None, "***")).endswith("too few cells: ***.")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.orc", "rows.feather"])
@pytest.mark.parametrize("content", ["", "SECRET, and not such a file\n"])
def test_what_is_wrong_with_a_file_is_said_where_no_cell_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    arguments = ["check", str(tmp_path / name), "ssn -> city", "--engine", "local"]
    assert run(arguments) == 3
    plain = capsys.readouterr().err
    assert "SECRET" not in plain
    assert run([*arguments, "--no-values"]) == 3
    assert capsys.readouterr().err == plain
    assert run([*arguments, "--mask", "ssn"]) == 3
    assert capsys.readouterr().err == plain


def test_a_quoted_text_that_ends_a_message_with_a_full_stop_is_hidden_alone() -> None:
    known = unreadable("rows.json", "it holds A-2.", quoted=["it holds A-2."])
    assert str(known) == "Cannot read 'rows.json': it holds A-2."
    assert str(known.hiding(lambda name: True, "***")) == "Cannot read 'rows.json': ***"


@pytest.mark.parametrize("hiding", [["--no-values"], ["--mask", "id,zip,city"], []])
def test_data_and_rules_that_are_swapped_show_no_values(
    arguments: list[str], capsys: pytest.CaptureFixture[str], hiding: list[str]
) -> None:
    data, rules = arguments[1:3]
    assert run(["check", rules, data, *hiding]) == 3
    told = capsys.readouterr()
    assert told.err == f"refute: {data!r} is a table, not a file of rules. Are data and rules swapped?\n"
    assert told.out == ""


def test_listed_violations_and_baselines_hide_too() -> None:
    table = pa.table({"id": [1, 2, 3], "zip": ["z", "z", "z"], "city": ["secret a", "secret a", "secret b"]})
    before = Baseline.of(rf.check(pa.concat_tables([table, table.slice(2)]), "zip -> city"))
    report = rf.check(table, "zip -> city").hiding("city")
    clash = report.violations("zip_fixes_city").rows()[0]
    assert [row.values for row in clash] == [{"zip": "z", "city": "***"}] * 2
    assert report.violations("zip_fixes_city").to_arrow().column_names == ["s", "t", "s_zip", "t_zip"]
    since = report.against(before)
    compared = since["zip_fixes_city"].compared
    assert compared is not None
    assert (compared.known, len(compared.new), len(compared.healed)) == (2, 0, 2)
    assert "secret" not in str(since) + since.to_html() + since.to_json() + repr(compared)


def test_a_baseline_does_not_hold_hidden_values(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    known = str(Path(arguments[1]).with_name("known.json"))
    rule = [*arguments[:2], "zip -> city", *arguments[3:], "--write-baseline", known]
    for hiding, told in (
        (["--no-values"], "names rows by their values, and --no-values hides 'zip'. Give a --key"),
        (["--mask", "city"], "names rows by their values, and --mask hides 'city'. Give a --key"),
        (["--mask", "id", "--key", "id"], "names rows by their key, and --mask hides 'id'. Leave one of the two out"),
    ):
        assert run([*rule, *hiding]) == 3
        assert told in capsys.readouterr().err
        assert not Path(known).exists()
    assert run([*rule, "--no-values", "--key", "id"]) == 1
    assert run([*rule, "--mask", "qty"]) == 1


def test_listed_violations_leave_hidden_columns_out_and_need_the_key(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "clashes"
    assert run([*arguments, "--mask", "city", "-q", "--violations", str(folder)]) == 1
    assert pq.read_schema(folder / "zip_city.parquet").names == ["s", "t", "s_id", "s_zip", "t_id", "t_zip"]
    assert run([*arguments, "--no-values", "-q", "--violations", str(folder)]) == 1
    assert pq.read_schema(folder / "zip_city.parquet").names == ["s", "t", "s_id", "t_id"]
    assert run([*arguments, "--mask", "id", "--violations", str(folder)]) == 3
    assert "--mask hides 'id'" in capsys.readouterr().err


def test_a_column_that_is_not_there_cannot_be_hidden() -> None:
    report = rf.check(pa.table({"zip": [1, 1], "city": ["a", "b"]}), "zip -> city")
    with pytest.raises(SchemaError, match="Did you mean 'city'"):
        report.hiding("citty")
    hidden = report.hiding("city")
    assert hidden["zip_fixes_city"].values == {"s": {"zip": 1, "city": "***"}, "t": {"zip": 1, "city": "***"}}
    assert "***" not in str(report["zip_fixes_city"].values)
    assert hidden.suspects.rows == report.suspects.rows, "which rows they are is the answer itself"
