"""Rule books: what a file says, every mistake in it at once, and the same again when written back."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.errors import RuleError
from refute.language.nulls import Nulls
from refute.language.parsing.parser import RuleKind, parse
from refute.language.rulebook import Limit, Rule, RuleBook, RuleBookError, Severity, Status, Tolerance, suggest_name
from refute.language.rulebook.advice import advise
from refute.language.rulebook.reading.load import load_rules
from refute.language.rulebook.reading.schema import rules_schema, schema_text, shipped_schema
from strategies import KINDS, NAMES, rules

CONSTRAINTS = rules(dict(zip(NAMES, (KINDS[i] for i in (0, 3, 5, 7, 8, 9, 10, 11, 13, 8)), strict=True)))
FROM_THE_DESIGN = """\
version: 1
dataset: {key: [id]}
rules:
  - {name: zip_fixes_city, fd: "zip -> city", severity: error, tolerance: {rows: 0.1%}, description: One zip, one city.}
  - {name: pay_and_tax, dc: "not (s.state = t.state and s.salary > t.salary and s.rate < t.rate)", severity: warn}
"""
EVERYTHING = """\
version: 1
dataset: {key: [id, day], nulls: equal}
rules:
  - name: address
    fd: zip -> city, `State Name`
    tolerance: {rows: 0.25%, violations: 12}
    description: One zip, one city.
    tags: [address, nightly]
  - {name: id, unique: [id, "Tax Year"], where: "country = 'DE'", nulls: sql}
  - {name: pay, order: "(salary asc, rate asc) by state", severity: warn}
  - {name: rooms, no_overlap: "(start, end) by room", status: proposed}
  - {name: sane, row: "qty >= 0 and price > 0"}
  - {name: plain, dc: "not (s.a = t.b and s.c < 5)"}
"""
FIVE_MISTAKES = """\
version: 1
rules:
  - {name: zip_fixes_city, fd: "zip -> city", severty: error}
  - name: pay
    dc: "not (s.state = t.state and s.salary > )"
  - name: pay
    fd: "a -> b"
    severity: fatal
  - name: both
    fd: "a -> b"
    unique: a
"""


def problems_of(text: str | dict[str, object]) -> list[tuple[int | None, str]]:
    with pytest.raises(RuleBookError) as caught:
        load_rules(text)
    return [(problem.line, problem.message) for problem in caught.value.problems]


def test_the_file_of_the_design_loads() -> None:
    book = load_rules(FROM_THE_DESIGN)
    assert book.names == ("zip_fixes_city", "pay_and_tax")
    assert book.dataset.key == ("id",)
    first, second = book
    assert first.constraint == parse("not (s.zip = t.zip and s.city != t.city)")
    assert first.severity is Severity.ERROR
    assert first.tolerance == Tolerance(rows=Limit(Fraction("0.1"), percent=True))
    assert first.description == "One zip, one city."
    assert (second.severity, second.kind, second.nulls) == (Severity.WARN, RuleKind.DC, Nulls.SQL)


def test_entries_that_say_several_things_become_several_rules() -> None:
    book = load_rules(EVERYTHING)
    expected = ("address[city]", "address[State Name]", "id", "pay", "rooms", "sane[1]", "sane[2]", "plain")
    assert book.names == expected
    assert len(book) == 8
    assert book["sane[2]"].constraint == parse("not (s.price <= 0)")
    assert "pay" in book
    assert book["rooms"].status is Status.PROPOSED
    assert book["address[city]"].tags == ("address", "nightly")
    assert book["address[city]"].source == "zip -> city, `State Name`"


def test_the_null_mode_of_the_data_set_is_the_default_of_its_rules() -> None:
    book = load_rules(EVERYTHING)
    assert book["id"].nulls is Nulls.SQL
    assert book["plain"].nulls is Nulls.EQUAL
    assert {rule.nulls for rule in book.with_nulls(Nulls.SQL)} == {Nulls.SQL}


@pytest.mark.parametrize("text", [FROM_THE_DESIGN, EVERYTHING])
def test_writing_a_book_and_reading_it_gives_the_same_book(text: str, tmp_path: Path) -> None:
    book = load_rules(text)
    assert load_rules(book.to_yaml()) == book
    assert load_rules(book.to_plain()) == book
    path = tmp_path / "rules.yaml"
    book.to_yaml(path)
    assert load_rules(path) == book == load_rules(str(path)) == RuleBook.of(str(path))
    assert tuple(RuleBook.of(list(book))) == book.rules


@given(st.lists(CONSTRAINTS, min_size=1, max_size=4))
def test_any_constraint_survives_yaml(found: list[Any]) -> None:
    book = RuleBook.of(found)
    again = load_rules(book.to_yaml())
    assert again.names == book.names
    assert [set(rule.constraint.predicates) for rule in again] == [set(one.predicates) for one in found]
    assert load_rules(again.to_yaml()) == again


def test_a_constraint_that_is_a_dependency_is_written_as_one() -> None:
    book = RuleBook.of(parse("not (s.city != t.city and s.zip = t.zip)"))
    assert book.to_plain()["rules"] == [{"name": "zip_fixes_city", "fd": "zip -> city"}]


def test_five_mistakes_give_five_messages_each_with_its_line() -> None:
    found = problems_of(FIVE_MISTAKES)
    assert [line for line, _ in found] == [3, 5, 6, 8, 11]
    severty, syntax, twice, fatal, both = (message for _, message in found)
    assert severty == "Rule 'zip_fixes_city' has an unknown key 'severty'. Did you mean 'severity'?"
    assert syntax.startswith("Rule 'pay': dc: Expected a column such as s.zip or a constant; found ')'")
    assert syntax.endswith("not (s.state = t.state and s.salary > )\n" + " " * 40 + "^")
    assert twice == "The name 'pay' is used twice, first on line 4."
    assert fatal == "Rule 'pay': severity: Expected error or warn, not 'fatal'."
    assert both.endswith("row, not_null, matches, one_of, references. It has fd and unique.")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "The file is empty"),
        ("a: [", 1, "not valid YAML"),
        ('{"rules": [', 1, "not valid JSON or YAML"),
        (
            "rules:\n  - name: a\n     unique: a",
            3,
            "This is not valid YAML: This line is indented deeper than the key before",
        ),
        (
            "rules:\n  -name: a\n   unique: a",
            3,
            "indent keys by the same number of blanks, with a blank after each '-'",
        ),
        ("rules:\n  - name: a\n    row: a: b", 3, "A colon and a blank start a new key here: put the text in quotes"),
        ("rules:\n  - {name: a, one_of: {zip: [05401]}}", 2, "05401 would lose its leading zero as a number"),
        ("rules:\n  - {name: a, one_of: {n: [1e400]}}", 2, "1e400 is larger than any float"),
        ("rules:\n  - {name: 2024-01-01, unique: a}", 2, "the date 2024-01-01. Put it in quotes"),
        ("rules: []", 1, "There are no rules"),
        ("version: 1", 1, "There are no rules"),
        ("- x", 1, "The rule file must be a mapping of keys to values, not a list"),
        ("rules: 5", 1, "Expected a list of rules, not 5"),
        ("version: 2\nrules: [{name: a, unique: a}]", 1, "This version of Refute reads format version 1, not 2"),
        ("rules:\n  - 5", 2, "Rule number 1 must be a mapping of keys to values, not 5"),
        ("rules:\n  - unique: a", 2, "Rule number 1 has no name"),
        ("rules:\n  - name: a", 2, "It has none"),
        ("rules:\n  - name: 5\n    unique: a", 2, "Expected text, not 5. Put it in quotes"),
        ("rules:\n  - {name: ' ', unique: a}", 2, "The text is empty"),
        ("rules:\n  - name: a\n    unique: []", 3, "The list is empty"),
        ("rules:\n  - name: a\n    unique: a\n    unique: b", 4, "The key 'unique' is written twice, first on line 3"),
        ("rules:\n  - name: a\n    unique: a\n    tolerance: 5%", 4, "Expected rows, suspects or violations"),
        ("rules:\n  - name: a\n    unique: a\n    tolerance: {}", 4, "It sets no limit"),
        ("rules:\n  - name: a\n    unique: a\n    tolerance: {rows: 0.5}", 4, "0.5 is not a limit"),
        ("rules:\n  - name: a\n    unique: a\n    tolerance:\n      rows: -1", 5, "-1 is not a limit"),
        (
            "rules:\n  - name: a\n    unique: a\n    tolerance: {rows: 101%}",
            4,
            "Rule 'a': tolerance: rows: A limit of 101%",
        ),
        (
            "rules:\n  - name: a\n    unique: a\n    tolerance: {row: 1}",
            4,
            "Rule 'a': tolerance has an unknown key 'row'.",
        ),
        ("rules:\n  - name: a\n    unique: a\n    nulls: never", 4, "Expected sql or equal, not 'never'"),
        ("rules:\n  - name: a\n    unique: a\n    where: x = = 3", 4, "Rule 'a': where: Expected"),
        ("rules:\n  - name: a\n    unique: a\n    tags: [1]", 4, "Expected text, not 1"),
        ("dataset: {keys: [a]}\nrules: [{name: a, unique: a}]", 1, "Did you mean 'key'?"),
        ("rules: &x\n  - {name: a, dc: *x}", 1, "This alias contains itself"),
        ("rules:\n  - {name: 'a[b]', unique: a}\n  - {name: a, fd: 'x -> b, c'}", 3, "'a[b]'"),
    ],
)
def test_each_mistake_is_named_with_its_line(text: str, line: int | None, message: str) -> None:
    assert any(found == line and message in said for found, said in problems_of(text)), problems_of(text)


def test_mistakes_in_plain_data_have_no_line_but_name_the_rule() -> None:
    data: dict[str, object] = {"rules": [{"name": "a", "uniqe": "x"}]}
    found = problems_of(data)
    assert [line for line, _ in found] == [None, None]
    assert found[0][1] == "Rule 'a' has an unknown key 'uniqe'. Did you mean 'unique'?"


def test_the_message_of_an_error_has_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(FIVE_MISTAKES)
    with pytest.raises(RuleBookError) as caught:
        load_rules(path)
    assert str(caught.value).startswith(f"{path}:3: Rule 'zip_fixes_city' has an unknown key")
    assert f"\n{path}:6: The name 'pay'" in str(caught.value)


def test_a_missing_file_is_one_clear_sentence() -> None:
    with pytest.raises(RuleError, match=r"There is no file or folder 'nowhere/rules\.yaml'"):
        load_rules("nowhere/rules.yaml")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("people.csv", "id,zip\nK1,SECRET\n"),
        ("people.csv", "rules: SECRET\n"),
        ("people.CSV.gz", "SECRET"),
        ("people.parquet", "SECRET, damaged"),
        ("people.json", '[{"zip": "SECRET"}]'),
        ("people.json", '{"zip": "SECRET"}\n{"zip": "SECRET"}\n'),
        ("people.jsonl", '{"zip": "SECRET"}\n'),
        ("people.txt", "id,zip\nK1,SECRET\n"),
        ("people", "SECRET"),
    ],
)
def test_of_a_table_in_place_of_rules_nothing_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    for path in (name, Path(name)):
        with pytest.raises(RuleError, match=r"not a file of rules") as caught:
            load_rules(path)
        assert "SECRET" not in f"{caught.value} {caught.value.facts}"


def test_a_glob_or_folder_in_place_of_rules_is_told_from_a_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sales").mkdir()
    for path in ("sales", "sales/*.csv", "missing.csv", "s3://sales/a.parquet"):
        with pytest.raises(RuleError, match=r"Are data and rules swapped\?") as caught:
            RuleBook.of(path)
        assert caught.value.facts["path"] == path
    Path("rules.csv").write_text("zip -> city")
    assert load_rules("rules.csv", format="text").names == ("zip_fixes_city",)


def test_books_are_made_of_texts_constraints_and_rules() -> None:
    constraint = parse("not (s.a = t.a and s.b != t.b)")
    rule = Rule(name="mine", constraint=constraint, severity=Severity.WARN)
    book = RuleBook.of(["zip -> city, state", constraint, constraint, rule, "unique(id)"])
    assert book.names == ("zip_fixes_city", "zip_fixes_state", "a_fixes_b", "a_fixes_b_2", "mine", "unique_id")
    assert book["mine"] is rule
    assert RuleBook.of(book) is book
    assert Rule.of("not (s.a > 5)").kind is RuleKind.DC
    assert Rule.of(rule) is rule
    with pytest.raises(RuleError, match=r"this stands for 2 \(zip_fixes_city, zip_fixes_state\)"):
        Rule.of("zip -> city, state")
    with pytest.raises(RuleError, match="Two rules have the same name: 'mine'"):
        RuleBook.of([rule, rule])
    with pytest.raises(RuleError, match="Expected a rule, its text or a rule file, not int"):
        RuleBook.of([5])
    with pytest.raises(RuleError, match="There are no rules"):
        RuleBook.of([])
    with pytest.raises(KeyError, match="Did you mean 'mine'"):
        book["mines"]


@given(CONSTRAINTS)
def test_a_suggested_name_depends_on_the_constraint_alone(constraint: Any) -> None:
    name = suggest_name(constraint)
    assert name == suggest_name(constraint)
    assert name
    assert len(name) <= 60


def test_a_tolerance_counts_rows_pairs_and_shares_exactly() -> None:
    assert Tolerance().allows(0, 0, 10)
    assert not Tolerance().allows(1, 1, 10)
    assert Tolerance.of(rows=2).allows(90, 2, 10)
    assert not Tolerance.of(rows=2, violations=5).allows(6, 2, 10)
    assert Tolerance.of(rows="20%").allows(90, 2, 10)
    assert not Tolerance.of(rows="19.99%").allows(90, 2, 10)
    assert Tolerance.of(violations="10%").allows(9, 9, 10)
    assert not Tolerance.of(violations="10%").allows(10, 9, 10)
    assert Tolerance.of(violations="10%").allows(1, 1, 10, single_row=True)
    assert not Tolerance.of(violations="10%").allows(2, 2, 10, single_row=True)
    assert Rule(name="r", constraint=parse("not (s.a > 5)"), tolerance=Tolerance.of(violations="10%")).allows(1, 1, 10)
    huge = 10**12
    assert Tolerance.of(violations="50%").allows(huge * (huge - 1) // 2, 0, huge)
    assert not Tolerance.of(violations="50%").allows(huge * (huge - 1) // 2 + 1, 0, huge)
    assert str(Tolerance.of(rows="0.10%", violations=3)) == "0.1% rows, 3 violations"


@given(st.integers(0, 10**6), st.booleans())
def test_a_limit_reads_what_it_writes(amount: int, percent: bool) -> None:
    limit = Limit(Fraction(amount, 10**4), percent=True) if percent else Limit(Fraction(amount))
    assert Limit.of(limit.plain()) == limit
    assert Limit.of(str(limit)) == limit


def test_the_shipped_schema_is_the_generated_one() -> None:
    assert shipped_schema() == schema_text()
    assert json.loads(shipped_schema()) == rules_schema()


def test_the_schema_accepts_what_loads_and_refuses_what_does_not() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(rules_schema())
    validator.check_schema(rules_schema())
    for text in (FROM_THE_DESIGN, EVERYTHING):
        assert list(validator.iter_errors(load_rules(text).to_plain())) == []
    rule = {"name": "a", "unique": "x"}
    mistakes: tuple[dict[str, object], ...] = (
        {"rules": []},
        {},
        {"rules": [rule], "verison": 1},
        {"rules": [rule], "version": 2},
        {"rules": [{**rule, "fd": "a -> b"}]},
        {"rules": [{"name": "a"}]},
        {"rules": [{"unique": "x"}]},
        {"rules": [{**rule, "severity": "fatal"}]},
        {"rules": [{**rule, "tolerance": {"rows": "lots"}}]},
        {"rules": [{**rule, "tolerance": {}}]},
        {"rules": [{**rule, "tags": [1]}]},
        {"rules": [rule], "dataset": {"keys": "a"}},
    )
    for wrong in mistakes:
        assert list(validator.iter_errors(wrong)), wrong
        with pytest.raises(RuleBookError):
            load_rules(wrong)


def test_advice_finds_rules_that_are_of_no_use() -> None:
    book = load_rules(
        {
            "rules": [
                {"name": "never", "dc": "not (s.a < t.a and s.a > t.a)"},
                {"name": "base", "fd": "a -> b"},
                {"name": "same", "dc": "not (t.b != s.b and t.a = s.a)"},
                {"name": "longer", "fd": "a, c -> b"},
                {"name": "spare", "dc": "not (s.x < t.x and s.x <= t.x and s.y = t.y)"},
                {"name": "elsewhere", "fd": "a -> b", "where": "c > 5"},
                {"name": "fine", "fd": "b -> c"},
            ]
        }
    )
    assert [str(item) for item in advise(book)] == [
        "Rule 'never' can never be broken: its comparisons contradict each other.",
        "Rule 'same' says the same as rule 'base'.",
        "Rule 'longer' follows from rule 'base'.",
        "Rule 'spare' does not need s.x <= t.x: the rest of the rule implies it.",
        "Rule 'elsewhere' follows from rule 'base'.",
    ]


@pytest.mark.parametrize("name", ["t.yaml", "t.yml", "t.json", "t.rules", "t"])
def test_nothing_is_shown_of_a_table_under_the_name_of_a_rule_file(tmp_path: Path, name: str) -> None:
    content = '{"a": "b,c", "SECRET77": "1,2"}' if name == "t.json" else "a: b,c\nSECRET77: 1,2\n"
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(RuleError, match="This is not a file of rules") as caught:
        load_rules(tmp_path / name)
    assert "SECRET" not in str(caught.value)
