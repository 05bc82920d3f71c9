"""`refute check`, `explain` and `demo` from the shell, on files read in this process."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq
import pytest

from refute.cli.app import run
from refute.data import RULES, TABLE

ROWS = """id,zip,city,qty
1,10115,Berlin,3
2,10115,Berlin,4
3,10115,Bernau,5
4,04109,Leipzig,
"""
HOLDS = "rules: [{name: key, unique: id}]\nversion: 1\n"
BROKEN = """version: 1
dataset: {key: [id]}
rules:
  - {name: zip_city, fd: "zip -> city", severity: SEVERITY}
  - {name: key, unique: id}
"""


@pytest.fixture
def data(tmp_path: Path) -> str:
    """A table whose third row clashes with the first two."""
    file = tmp_path / "rows.csv"
    file.write_text(ROWS, encoding="utf-8")
    return str(file)


def rules(folder: Path, text: str) -> str:
    """The path of a rule file with this text."""
    file = folder / "rules.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def check(*arguments: str) -> int:
    """The exit code of `refute check` in this process."""
    return run(["check", *arguments, "--engine", "local"])


def test_rules_that_hold_exit_with_zero(data: str, tmp_path: Path) -> None:
    assert check(data, rules(tmp_path, HOLDS)) == 0


def test_a_file_of_one_column_is_read_where_that_is_insisted_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "codes.csv").write_text("key:value\na:b\na:b\n", encoding="utf-8")
    asked = str(tmp_path / "codes.csv"), "unique(`key:value`)"
    assert check(*asked, "--delimiter", ",") == 3
    assert "--csv-as-given" in capsys.readouterr().err
    assert check(*asked, "--csv-as-given") == 1


@pytest.mark.parametrize(("severity", "code"), [("error", 1), ("warn", 2)])
def test_a_broken_rule_exits_with_its_severity_and_shows_the_clash(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], severity: str, code: int
) -> None:
    assert check(data, rules(tmp_path, BROKEN.replace("SEVERITY", severity))) == code
    told = capsys.readouterr()
    assert "4 violations in 3 rows" in told.out
    assert "Bernau" in told.out
    assert told.err == ""


def test_a_rule_may_be_given_as_text(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, "not (s.zip = t.zip and s.city != t.city)") == 1
    assert "4 violations in 3 rows" in capsys.readouterr().out


def test_verify_says_violated_without_counts(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, "zip -> city", "--verify") == 1
    told = capsys.readouterr().out
    assert "violated" in told
    assert "violations in" not in told


def test_list_shows_some_clashes_by_key(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, "zip -> city", "--list", "3", "--key", "id") == 1
    told = capsys.readouterr().out
    assert "t = 3  10115  Bernau" in told
    assert "10115: Berlin 2 rows, Bernau 1 row" in told, "clashes are grouped by what their rows say"
    assert check(data, "not (s.zip = t.zip and s.qty < t.qty)", "--list", "2", "--key", "id") == 1
    told = capsys.readouterr().out
    assert "2 of 3 pairs" in told


def test_quiet_says_nothing_but_the_exit_code(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, "zip -> city", "--quiet") == 1
    assert capsys.readouterr() == ("", "")


def test_the_report_is_written_in_every_format(data: str, tmp_path: Path) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("json", "html", "junit")}
    flags = [part for name, file in files.items() for part in (f"--{name}", str(file))]
    assert check(data, rules(tmp_path, BROKEN.replace("SEVERITY", "error")), "--quiet", *flags) == 1
    report = json.loads(files["json"].read_text(encoding="utf-8"))
    assert report["ok"] is False
    assert report["data"]["rows"] == 4
    (broken, held) = report["rules"]
    assert (broken["name"], broken["violations"], broken["rows"], broken["holds"]) == ("zip_city", 4, 3, False)
    assert {broken["witness"]["s"]["city"], broken["witness"]["t"]["city"]} == {"Berlin", "Bernau"}
    assert (held["holds"], held["witness"]) == (True, None)
    assert "Bernau" in files["html"].read_text(encoding="utf-8")
    assert len(ElementTree.parse(files["junit"]).findall(".//failure")) == 1


def test_json_on_stdout_stands_alone(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check(data, "zip -> city", "--json", "-") == 1
    assert json.loads(capsys.readouterr().out)["rules"][0]["rows"] == 3


def test_rules_whose_names_are_alike_as_files_do_not_overwrite_each_other(data: str, tmp_path: Path) -> None:
    text = "version: 1\nrules: [{name: a b, unique: zip}, {name: a/b, unique: city}, {name: .., row: qty > 3}]\n"
    folder = tmp_path / "clashes"
    assert check(data, rules(tmp_path, text), "--violations", str(folder)) == 1
    found = {file.name: pq.read_table(file).num_rows for file in folder.glob("*.parquet")}
    assert found == {"a_b.parquet": 6, "a_b_2.parquet": 2, "rule.parquet": 1}


@pytest.mark.parametrize("letter", ["n", "ü", "/"])
def test_rules_with_names_too_long_for_a_file_have_files_of_their_own(data: str, tmp_path: Path, letter: str) -> None:
    names = [letter * 300, letter * 300 + "b", "_SUCCESS"]
    book = {"rules": [{"name": name, "fd": "zip -> city"} for name in names]}
    (tmp_path / "rules.json").write_text(json.dumps(book), encoding="utf-8")
    folder = tmp_path / "clashes"
    assert check(data, str(tmp_path / "rules.json"), "--violations", str(folder)) == 1
    assert [pq.read_table(file).num_rows for file in folder.glob("*.parquet")] == [4, 4, 4]
    assert (folder / "_SUCCESS").read_bytes() == b""


def test_violations_of_an_earlier_run_do_not_stay(data: str, tmp_path: Path) -> None:
    folder, both = tmp_path / "clashes", rules(tmp_path, BROKEN.replace("SEVERITY", "error"))
    assert check(data, both, "--violations", str(folder)) == 1
    (folder / "notes.csv").write_text("mine", encoding="utf-8")
    assert check(data, both, "--violations", str(folder), "--violations-format", "csv") == 1
    assert sorted(file.name for file in folder.iterdir()) == ["_SUCCESS", "notes.csv", "zip_city.csv"]
    Path(data).write_text(Path(data).read_text(encoding="utf-8").replace("Bernau", "Berlin"), encoding="utf-8")
    assert check(data, both, "--violations", str(folder)) == 0
    assert sorted(file.name for file in folder.iterdir()) == ["_SUCCESS", "notes.csv"]


def test_all_violations_are_written_as_parquet(data: str, tmp_path: Path) -> None:
    folder = tmp_path / "clashes"
    assert check(data, rules(tmp_path, BROKEN.replace("SEVERITY", "error")), "--violations", str(folder)) == 1
    (file,) = folder.glob("*.parquet")
    pairs = pq.read_table(file)
    assert file.name == "zip_city.parquet"
    assert sorted(zip(pairs["s"].to_pylist(), pairs["t"].to_pylist(), strict=True)) == [(1, 3), (2, 3), (3, 1), (3, 2)]
    assert {(row["s_city"], row["t_city"]) for row in pairs.to_pylist()} == {("Berlin", "Bernau"), ("Bernau", "Berlin")}
    assert check(data, "zip -> city", "--violations", str(folder), "--violations-format", "csv", "--key", "id,zip") == 1
    lines = (folder / "zip_fixes_city.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"s","t","s_id","s_zip","s_city","t_id","t_zip","t_city"'
    assert '"1/10115","3/10115",1,"10115","Berlin",3,"10115","Bernau"' in lines


def test_nulls_can_be_made_equal(data: str, tmp_path: Path) -> None:
    Path(data).write_text("a,b\n,1\n,2\n", encoding="utf-8")
    assert check(data, "a -> b") == 0
    assert check(data, "a -> b", "--nulls", "equal") == 1


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("missing.csv", "a -> b"), "missing.csv"),
        (("DATA", "missing.yaml"), "missing.yaml"),
        (("DATA", "zip -> citty"), "Did you mean 'city'?"),
        (("DATA", "not (s.qty = t.city)"), "qty"),
        (("DATA", "not (s.zip = "), "^"),
        (("DATA", "zip -> city", "--method", "swep"), "Did you mean 'sweep'?"),
        (("DATA", "zip -> city", "--list", "0"), "--list"),
        (("DATA", "zip -> city", "--key", "nope"), "nope"),
        (("DATA", "zip -> city", "--json", "/nowhere/at/all.json"), "/nowhere/at/all.json"),
        (("DATA", "zip -> city", "--master", "local[1]"), "--engine local"),
    ],
)
def test_what_cannot_run_is_one_message_and_exit_code_three(
    data: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    assert check(*(data if argument == "DATA" else argument for argument in arguments)) == 3
    told = capsys.readouterr()
    assert told.err.startswith("refute: ")
    assert "Internal error" not in told.err
    assert expected in told.err


def test_explain_names_each_rule_and_its_method(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", data, "zip -> city", "--engine", "local"]) == 0
    told = capsys.readouterr().out
    assert "method" in told
    assert "worst" in told


def test_the_demo_shows_the_clashes_of_the_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--engine", "local"]) == 0
    told = capsys.readouterr().out
    assert "one_phone_one_person: 2 violations in 2 rows" in told
    assert "849-0140" in told


def test_the_sample_breaks_the_rules_that_it_is_meant_to_break(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    assert check(str(TABLE), str(RULES), "--quiet", "--json", str(file)) == 1
    found = {rule["name"]: (rule["violations"], rule["rows"]) for rule in json.loads(file.read_text())["rules"]}
    assert found == {
        "id_is_key": (0, 0),
        "one_phone_one_person": (2, 2),
        "zip_fixes_city": (12, 8),
        "zip_fixes_state": (0, 0),
        "more_pay_no_lower_rate": (3, 4),
        "state_and_child_fix_exemption": (28, 15),
        "rate_is_a_percentage[1]": (0, 0),
        "rate_is_a_percentage[2]": (0, 0),
    }
