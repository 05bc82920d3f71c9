"""Reports: verdicts, tolerance, exit codes, and every form in which they leave the process."""

from __future__ import annotations

import datetime as dt
import json
import re
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import RefuteError

TABLE = pa.table({"id": [10, 20, 30, 40], "zip": [1, 1, 2, None], "city": ["a", "b", "c", "d"]})
HOSTILE = "</td><script src='https://evil.example/x.js'>alert(1)</script>&\x00\x1b[31m\ufffe"

RULES = """
version: 1
dataset: {key: [id]}
rules:
  - {name: zip_fixes_city, fd: "zip -> city", severity: error}
  - {name: ids, unique: [id], severity: error}
  - {name: low, row: "zip < 2", severity: warn}
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES, encoding="utf-8")
    return path


def test_a_report_has_one_result_per_rule_in_their_order(rules: Path) -> None:
    report = rf.check(TABLE, rf.load_rules(rules))
    assert [result.name for result in report] == ["zip_fixes_city", "ids", "low"]
    assert len(report) == 3
    assert not report.ok
    assert report["ids"].passed
    assert report["zip_fixes_city"].finding.violations == 2
    assert report["zip_fixes_city"].finding.rows == 2
    assert report["zip_fixes_city"].finding.skipped_nulls == 1
    assert report["low"].finding.violations == 1
    with pytest.raises(KeyError):
        report["none"]


@pytest.mark.parametrize(
    ("severities", "code"), [(("error", "warn"), 1), (("warn", "warn"), 2), (("error", "error"), 1)]
)
def test_the_exit_code_tells_the_worst_failure(severities: tuple[str, str], code: int) -> None:
    first, second = severities
    book = rf.RuleBook.of(
        {
            "version": 1,
            "rules": [
                {"name": "one", "fd": "zip -> city", "severity": first},
                {"name": "two", "row": "zip < 2", "severity": second},
            ],
        }
    )
    report = rf.check(TABLE, book)
    assert report.exit_code == code
    assert rf.check(TABLE.slice(2, 1), "zip -> city").exit_code == 0


@pytest.mark.parametrize(
    ("tolerance", "passes"),
    [({"rows": 2}, True), ({"rows": 1}, False), ({"rows": "50%"}, True), ({"rows": "49%"}, False)],
)
def test_a_rule_within_its_tolerance_passes_though_it_does_not_hold(tolerance: dict[str, Any], passes: bool) -> None:
    book = rf.RuleBook.of({"version": 1, "rules": [{"name": "r", "fd": "zip -> city", "tolerance": tolerance}]})
    report = rf.check(TABLE, book)
    assert report.ok is passes
    assert report.exit_code == (0 if passes else 1)
    assert not report["r"].finding.holds
    assert rf.check(TABLE, book, counts=False).ok is passes


def test_without_counts_rules_are_only_verified() -> None:
    (result,) = rf.check(TABLE, "zip -> city", counts=False)
    assert not result.finding.holds
    assert result.finding.violations is None
    assert "violated" in str(rf.check(TABLE, "zip -> city", counts=False))


def test_the_json_is_the_contract(rules: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    text = rf.check(TABLE, rf.load_rules(rules), name="people").to_json(path)
    assert path.read_text(encoding="utf-8") == text
    found = json.loads(text)
    assert {"data", "rules", "ok"} <= set(found)
    assert found["data"]["rows"] == 4
    assert found["data"]["name"] == "people"
    assert found["ok"] is False
    first = found["rules"][0]
    wanted = {
        "name", "constraint", "severity", "holds", "violations", "rows", "skipped_nulls", "witness", "seconds",
        "method",
    }  # fmt: skip
    assert wanted <= set(first)
    assert rf.parse(first["constraint"]) == rf.parse("not (s.zip = t.zip and s.city != t.city)")
    assert {first["witness"]["s"]["id"], first["witness"]["t"]["id"]} == {10, 20}
    assert set(first["witness"]["s"]) == {"id", "zip", "city"}
    assert found["rules"][1]["witness"] is None
    assert found["rules"][1]["violations"] == 0
    assert found["rules"][2]["witness"]["t"] is None


def test_values_that_json_lacks_become_texts_or_null() -> None:
    table = pa.table(
        {
            "a": [1, 1],
            "day": [dt.date(2020, 1, 31)] * 2,
            "price": [Decimal("1.50")] * 2,
            "x": [float("nan"), float("inf")],
        }
    )
    rule = "not (s.a = t.a and s.day = t.day and s.price = t.price and s.x != t.x)"
    found = json.loads(rf.check(table, rule, nulls="equal").to_json())
    witness = found["rules"][0]["witness"]
    assert {witness["s"]["x"], witness["t"]["x"]} == {None, "inf"}
    assert witness["s"]["day"] == "2020-01-31"
    assert witness["s"]["price"] == "1.50"


class _Links(HTMLParser):
    """Collects tags, and attributes that could fetch something."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.fetched += [name for name, _ in attrs if name in ("src", "href", "srcset", "data", "action")]


def test_the_page_escapes_hostile_values_and_fetches_nothing(tmp_path: Path) -> None:
    table = pa.table({HOSTILE: [1, 1], "b": [HOSTILE, "x"]})
    path = tmp_path / "report.html"
    name = HOSTILE.replace("`", "``")
    report = rf.check(table, f"not (s.`{name}` = t.`{name}` and s.b != t.b)", name=HOSTILE)
    text = report.to_html(path)
    assert path.read_text(encoding="utf-8") == text
    links = _Links()
    links.feed(text)
    assert "link" not in links.tags
    assert links.fetched == []
    assert "&lt;script" in text
    assert not re.search(r"@import|url\(", text)
    assert "<script src" not in text
    part = report._repr_html_()
    assert "<script" not in part
    assert "&lt;script" in part


def test_the_page_shows_both_counts_and_the_clashing_rows(rules: Path) -> None:
    text = rf.check(TABLE, rf.load_rules(rules)).to_html()
    assert "2 violations in 2 rows" in text
    assert "1 row skipped because of nulls" in text
    assert "<td><mark>b</mark></td>" in text


def test_junit_is_xml_that_counts_failures_and_survives_hostile_values(rules: Path, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    root = ElementTree.fromstring(rf.check(TABLE, rf.load_rules(rules)).to_junit(path))
    assert path.exists()
    (suite,) = root
    assert suite.get("tests") == "3"
    assert suite.get("failures") == "1"
    failures = {case.get("name"): case.find("failure") for case in suite}
    assert failures["zip_fixes_city"] is not None
    assert failures["ids"] is None
    assert failures["low"] is None  # a warning does not fail the build
    hostile = pa.table({"a": [1, 1], "b": [HOSTILE, "x"]})
    ElementTree.fromstring(rf.check(hostile, "a -> b", name=HOSTILE).to_junit())


def test_a_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    report = rf.check(TABLE, "zip -> city")
    with pytest.raises(RefuteError, match="Cannot write"):
        report.to_json(tmp_path / "no" / "such" / "folder.json")


@pytest.mark.parametrize(
    "make", [lambda t: t, lambda t: t.to_pandas(), pl.from_arrow], ids=["arrow", "pandas", "polars"]
)
def test_rows_and_split_are_tables_of_the_kind_that_came_in(make: Any) -> None:
    table = make(TABLE.drop_columns(["id"]))
    report = rf.check(table, ["zip -> city", "row(zip < 2)"])
    rows = report.rows
    assert type(rows) is type(table)
    clean, broken = report.split(blame="all")
    assert type(clean) is type(broken) is type(table)
    names = clean.column_names if isinstance(clean, pa.Table) else list(clean.columns)
    assert names == ["zip", "city"]
    assert (len(clean), len(broken)) == (1, 3)
    cities = [
        list(part["city"].to_pylist() if isinstance(part, pa.Table) else part["city"]) for part in (clean, broken)
    ]
    assert cities == [["d"], ["a", "b", "c"]]


def test_rows_tell_rule_role_and_partners() -> None:
    (first, *_, third, last) = rf.check(TABLE, ["zip -> city", "row(zip < 2)"]).rows.column("refute").to_pylist()
    assert first == [
        {"rule": "zip_fixes_city", "role": "s", "partners": 1},
        {"rule": "zip_fixes_city", "role": "t", "partners": 1},
    ]
    assert [breach["rule"] for breach in third] == ["zip"]
    assert last == []


def test_a_pandas_frame_keeps_its_index_and_types() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2], "when": pd.to_datetime(["2020-01-01"] * 3)}, index=["x", "y", "z"])
    clean, broken = rf.check(frame, "unique(a)").split(blame="all")
    assert list(broken.index) == ["x", "y"]
    assert list(clean.index) == ["z"]
    assert clean.dtypes.to_dict() == frame.dtypes.to_dict()


def test_a_column_named_like_ours_is_left_alone() -> None:
    table = pa.table({"refute": [1, 1, 2]})
    report = rf.check(table, "unique(refute)")
    assert report.rows.column_names == ["refute", "refute_"]
    clean, broken = report.split(blame="all")
    assert clean.column("refute").to_pylist() == [2]
    assert broken.column("refute").to_pylist() == [1, 1]


def test_the_text_shows_the_clash(rules: Path) -> None:
    text = str(rf.check(TABLE, rf.load_rules(rules), name="people"))
    assert text.startswith("people: 4 rows, 3 rules")
    assert "zip_fixes_city: 2 violations in 2 rows" in text
    assert "ids: holds" in text
    assert repr(rf.check(TABLE, "zip -> city")) == "Report(1 rule, 1 failed, 4 rows)"


def test_the_names_of_rules_stand_below_each_other_and_one_is_not_many() -> None:
    table = pa.table({"a": [1, 1], "b": [1, None]})
    book = {"version": 1, "rules": [{"name": "x", "unique": "a"}, {"name": "y", "unique": "b"}]}
    lines = str(rf.check(table, rf.RuleBook.of(book), name="two")).splitlines()
    assert lines[0] == "two: 2 rows, 2 rules, checked in this process"
    assert lines[1] == "Suspects: 1 row; no fewer will do", "what to look at comes first"
    assert lines.index("error x: 2 violations in 2 rows") > 1
    assert lines[-3:-1] == ["ok    y: holds", "      1 row skipped because of nulls"]
    assert lines[-1] == "1 rule failed, 1 passed; exit code 1"
    alone = str(rf.check(table.slice(0, 1), "unique(a)", name="one"))
    assert alone.startswith("one: 1 row, 1 rule, checked in this process\n")
    assert alone.endswith("\n1 rule passed; exit code 0")


def test_a_result_tells_its_condition_and_its_tolerance() -> None:
    rule = {"name": "x", "fd": "a -> b", "where": "b >= 1", "tolerance": {"rows": "100%"}}
    report = rf.check(pa.table({"a": [1, 1], "b": [1, 2]}), rf.RuleBook.of({"version": 1, "rules": [rule]}))
    assert "tolerated x: 2 violations in 2 rows (tolerated: 100% rows)" in str(report)
    assert "Two rows with the same a have the same b. Only rows where b >= 1 count." in str(report)
    assert json.loads(report.to_json())["rules"][0]["where"] == "b >= 1"


def test_progress_is_told_once_per_rule(rules: Path) -> None:
    seen: list[str] = []
    rf.check(TABLE, rf.load_rules(rules), progress=lambda rule: seen.append(rule.name))
    assert sorted(seen) == ["ids", "low", "zip_fixes_city"]
