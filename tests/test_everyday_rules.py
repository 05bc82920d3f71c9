"""Patterns, allowed values, references and missing values in one rule file, beside denial constraints."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.errors import DataError, OptionError, RuleError, SchemaError
from refute.language.rulebook.reading.schema import rules_schema
from refute.language.short_forms.patterns import check_pattern, matched

ROWS = pa.table(
    {
        "zip": ["12345", "1234", None, "12345\n", "12345"],
        "status": ["open", "x", None, "closed", "closed"],
        "n": [1, 2, 3, None, 2],
    }
)
FILE = """\
version: 1
rules:
  - {name: zip, matches: {zip: '[0-9]{5}'}}
  - {name: status, one_of: {status: [open, closed]}}
  - {name: there, not_null: [zip, status]}
  - {name: known, references: n -> cities.csv(id), where: "zip matches '1.*'"}
  - {name: pairs, dc: "not (s.zip = t.zip and s.n = t.n)"}
"""


@pytest.fixture
def book(tmp_path: Path) -> rf.RuleBook:
    """The rules of a file, beside which the table lies that one of them refers to."""
    (tmp_path / "cities.csv").write_text("id,name\n1,Ulm\n3,Bonn\n")
    (tmp_path / "rules.yaml").write_text(FILE)
    return rf.load_rules(tmp_path / "rules.yaml")


def rule(**kind: Any) -> dict[str, Any]:
    """A book of one rule."""
    return {"rules": [{"name": "r", **kind}]}


def broken(table: Any, rules: Any) -> list[int]:
    """The rows that break a rule about one row."""
    return list(rf.violations(table, rules).to_arrow().column("s").to_pylist())


def test_one_file_holds_all_kinds(book: rf.RuleBook) -> None:
    report = rf.check(ROWS, book)
    found = {one.name: (one.finding.violations, one.finding.skipped_nulls) for one in report.results}
    assert found == {
        "zip": (2, 1),
        "status": (1, 1),
        "there[zip]": (1, 0),
        "there[status]": (1, 0),
        "known": (2, 0),  # the text with a line break is not `1.*`
        "pairs": (0, 2),
    }
    assert broken(ROWS, book["zip"]) == [1, 3]
    assert broken(ROWS, book["known"]) == [1, 4]
    assert {line["row"] for line in rf.suspects(ROWS, book).to_arrow().to_pylist()} == {1, 2, 3, 4}


def test_rules_are_said_in_words(book: rf.RuleBook) -> None:
    assert book["zip"].sentence == "In every row, zip matches [0-9]{5}, or is null."
    assert book["status"].sentence == "In every row, status is 'open' or 'closed'."
    known = book["known"].sentence
    assert known.startswith("In every row, n is found as id in ")
    assert known.endswith("cities.csv, or is null. Only rows where zip matches '1.*' count.")


def test_files_are_written_as_they_are_read(book: rf.RuleBook) -> None:
    again = rf.load_rules(book.to_yaml())
    assert again.to_yaml() == book.to_yaml()
    assert "matches:\n    zip: '[0-9]{5}'\n" in book.to_yaml()
    jsonschema.validate(json.loads(json.dumps(book.to_plain())), rules_schema())
    for name in ("there[zip]", "known", "zip"):
        one = rf.RuleBook.of([book[name]])
        assert rf.load_rules(one.to_plain())[0].where == book[name].where


def test_not_null_is_a_rule_in_words_too() -> None:
    assert rf.count(ROWS, "not_null(zip)") == 1
    report = rf.check(ROWS, ["not_null(zip, n)", "unique(n)"])
    assert [(one.name, one.finding.violations) for one in report] == [
        ("zip_n_not_null[zip]", 1),
        ("zip_n_not_null[n]", 1),
        ("unique_n", 2),
    ]
    with pytest.raises(RuleError, match="not_null cannot be written as a denial constraint"):
        rf.parse("not_null(zip)")
    assert str(rf.parse("unique(not_null)")) == "not (s.not_null = t.not_null)"


def test_null_mode_of_the_caller_leaves_rules_about_null_as_they_are(book: rf.RuleBook) -> None:
    for nulls in ("sql", "equal"):
        counts = {one.name: one.finding.violations for one in rf.check(ROWS, book, nulls=nulls).results}
        assert counts["there[zip]"] == counts["there[status]"] == 1
        assert counts["zip"] == counts["known"] == 2
        assert counts["status"] == (2 if nulls == "equal" else 1)  # where null is a value, it is none of these


def test_a_monitor_watches_rows_and_refuses_what_refers_elsewhere(book: rf.RuleBook) -> None:
    rules = [one for one in book if one.name != "known"]
    monitor = rf.Monitor(rules)
    monitor.insert(ROWS)
    assert monitor.counts == {"zip": 2, "status": 1, "there[zip]": 1, "there[status]": 1, "pairs": 0}
    assert monitor.delete([1]).n_removed["zip"] == 1
    with pytest.raises(OptionError, match="'known' refers to another table, which may change unnoticed"):
        rf.Monitor(book)
    with pytest.raises(OptionError, match="refers to another table"):
        monitor.add([book["known"]])


@pytest.mark.parametrize("format", ["sql", "holoclean", "metanome", "nadeef", "weever", "desbordante", "text", "dbt"])
def test_formats_that_cannot_express_a_kind_say_so(book: rf.RuleBook, format: str) -> None:
    from refute.language.formats import TableFacts, write_rules

    for name in ("zip", "known"):
        with pytest.raises(RuleError, match=f"Rule '{name}' cannot be written as") as caught:
            write_rules(rf.RuleBook.of([book[name]]), format, table=TableFacts(tuple(ROWS.column_names)))
        assert "`where`" not in str(caught.value)  # which its author never wrote


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ({"matches": {"zip": "a(?=b)"}}, "looks ahead or behind"),
        ({"matches": {"zip": r"(a)\1"}}, r"\1 refers back to a group"),
        ({"matches": {"zip": "(a"}}, "A ( is never closed."),
        ({"matches": {"zip": "a**"}}, "** repeats what is repeated already."),
        ({"matches": {"zip": "a{2,1001}"}}, "{2,1001} is too much, or has the larger number first"),
        ({"matches": {"zip": "[z-a]"}}, "z-a is not a range or class of characters."),
        ({"matches": {"zip": r"a\Z"}}, r"This dialect (RE2) does not know \Z."),
        ({"row": "zip matches 5"}, "Expected a text in quotes; found '5'."),
        ({"references": {}}, "Expected columns, each with a column of another table"),
        ({"matches": {"zip": "a)|(b"}}, "is not a regular expression that rules can use"),
        ({"matches": {"zip": 5}}, "Expected a regular expression for 'zip', not 5. Put it in quotes"),
        ({"matches": ["zip"]}, "Expected columns, each with a regular expression"),
        ({"matches": {}}, "not an empty mapping"),
        ({"one_of": {"status": []}}, "not an empty list"),
        ({"fd": dt.date(2026, 1, 2)}, "Expected text, not the date 2026-01-02"),
        ({"one_of": {"status": "open"}}, "Expected a list of values for 'status'"),
        ({"one_of": {"status": [None]}}, "Null cannot be a value of 'status'"),
        ({"one_of": {"n": list(range(2000))}}, "a rule may list at most 1,000. Put them into a file"),
        ({"references": "n"}, "'n' is not a reference. Write customer_id -> customers.csv(id)"),
        ({"references": "n, m -> cities.csv(id)"}, "compares 2 columns with 1"),
        ({"row": "zip matches 'a'"}, "Put the pattern of 'zip' into another rule"),
    ],
)
def test_mistakes_are_explained(kind: dict[str, Any], problem: str) -> None:
    with pytest.raises(RuleError, match=re.escape(problem)):
        rf.load_rules(rule(**kind))


def test_types_that_do_not_fit_are_errors(book: rf.RuleBook) -> None:
    with pytest.raises(SchemaError, match=r"Column 'n' .* is not text"):
        rf.check(ROWS, rule(matches={"n": "1"}))
    folder = Path(book["known"].added.path).parent  # type: ignore[union-attr]
    with pytest.raises(SchemaError, match=r"Cannot compare 'status' \(string\) with 'id' \(int64\) of .*cities.csv"):
        rf.check(ROWS, rule(references=f"status -> {folder}/cities.csv(id)"))
    with pytest.raises(SchemaError, match=r"There is no column 'idd' of .*Did you mean 'id'"):
        rf.check(ROWS, rule(references=f"n -> {folder}/cities.csv(idd)"))


@given(
    st.lists(st.none() | st.text("ab\n1é\U0001f600 ", max_size=6), max_size=8),
    st.sampled_from(("a+", "[^a]*", ".", "(?s).*", "(?i)A|b1")),
)
def test_a_pattern_is_held_against_the_whole_text(values: list[str | None], pattern: str) -> None:
    known = re.compile(pattern)
    wanted = [i for i, value in enumerate(values) if value is not None and not known.fullmatch(value)]
    table = pa.table({"a": pa.array(values, pa.string())})
    assert broken(table, rule(matches={"a": pattern})) == wanted
    assert broken(pa.table({"a": table.column("a").dictionary_encode()}), rule(matches={"a": pattern})) == wanted
    assert all(matched(pattern, value) == (known.fullmatch(value) is not None) for value in values if value is not None)


def test_a_pattern_that_would_hang_elsewhere_takes_no_time() -> None:
    check_pattern("(a+)+b")
    assert broken(pa.table({"a": ["a" * 50_000]}), rule(matches={"a": "(a+)+b"})) == [0]


def test_references_compare_by_value_and_by_several_columns(tmp_path: Path) -> None:
    path = tmp_path / "other.parquet"
    import pyarrow.parquet as pq

    other = pa.table({"x": pa.array([1, 2, None, 2**60 + 1]), "y": ["a", "b", "c", "d"]})
    pq.write_table(other, path)
    table = pa.table(
        {"m": pa.array([1.0, 2.5, float("nan"), float(2**60)]), "k": [1, 2, 2, 2**60 + 1], "y": ["a", "a", None, "d"]}
    )
    assert broken(table, rule(references={"m": f"{path}(x)"})) == [1, 3]
    assert broken(table, rule(references=f"k, y -> {path}(x, y)")) == [1]
    assert broken(pa.table({"y": pa.nulls(2)}), rule(references=f"{path}(y)")) == []


def test_a_missing_table_is_named_with_the_rule_and_the_columns_that_refer_to_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^Rule 'r': References of n: There is no file or folder") as caught:
        rf.count(ROWS, rule(references=f"n -> {tmp_path}/none.csv(id)"))
    assert caught.value.facts["columns"] == ("n",)
    assert caught.value.facts["rule"] == "r"


@pytest.mark.parametrize("column", ["idd", "name"])
def test_a_wrong_column_of_another_table_is_named_with_the_rule(tmp_path: Path, column: str) -> None:
    (tmp_path / "other.csv").write_text("id,name\n1,Ulm\n")
    with pytest.raises(SchemaError, match=rf"^Rule 'r': .*'{column}'.* of .*other\.csv") as caught:
        rf.check(ROWS, rule(references=f"n -> {tmp_path}/other.csv({column})"))
    assert caught.value.facts["rule"] == "r"


def test_a_quote_in_another_table_is_not_mended_by_options_for_the_one_that_is_checked(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text('id,name\n"1,Ulm\n')
    with pytest.raises(DataError, match=r"never closed, so all that follows would be one cell\. Close it\.$"):
        rf.count(ROWS, rule(references=f"n -> {tmp_path}/other.csv(id)"))


def test_mistakes_of_a_rule_and_of_its_condition_are_reported_at_once() -> None:
    text = "rules:\n- name: r\n  row: a >\n  where: b <\n- name: q\n  references: x\n  where: c =\n"
    with pytest.raises(RuleError) as caught:
        rf.load_rules(text)
    found = [line for line in str(caught.value).splitlines() if line.startswith("Line")]
    begin = [
        "Line 3: Rule 'r': row: ",
        "Line 4: Rule 'r': where: ",
        "Line 6: Rule 'q': 'x' ",
        "Line 7: Rule 'q': where: ",
    ]
    assert [line[: len(known)] for line, known in zip(found, begin, strict=True)] == begin


@pytest.mark.parametrize(
    ("written", "found"),
    [(b"id;name\n1;Ulm\n", "seem to be separated by ';', not by ','"), (b"id,name\n1,K\xf6ln\n", "It may be cp1252")],
)
def test_advice_about_another_table_is_not_about_the_one_that_is_checked(
    written: bytes, found: str, tmp_path: Path
) -> None:
    (tmp_path / "other.csv").write_bytes(written)
    with pytest.raises(DataError) as caught:
        rf.count(ROWS, rule(references=f"n -> {tmp_path}/other.csv(id)"))
    assert found in str(caught.value)
    assert "Save it with commas and as UTF-8, or as Parquet" in str(caught.value)
    assert "pass csv=" not in str(caught.value)
