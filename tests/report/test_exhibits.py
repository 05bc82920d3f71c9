"""What reports show beside numbers: values in groups, clashes that differ from each other, texts that are marked."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import refute as rf
from refute.detect.local import LocalEngine
from refute.display.contrast import columns_of, marked_pair, padded
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.report.forms.as_json import shipped_schema

CELLS = st.one_of(st.none(), st.integers(0, 2))
SCHEMA = json.loads(shipped_schema())


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=12), nulls=st.sampled_from(["sql", "equal"]))
def test_the_values_of_groups_are_counted_exactly(rows: list[tuple[Any, ...]], nulls: str) -> None:
    table = pa.table({name: pa.array([row[at] for row in rows], pa.int64()) for at, name in enumerate("abc")})
    for text, left, right in (("a, b -> c", 2, 3), ("unique(a, b)", 2, 2), ("unique(c)", 0, 0)):
        names = ("c",) if text == "unique(c)" else ("a", "b")
        read = [row if right == 3 else row[:2] if names == ("a", "b") else row[2:] for row in rows]
        read = [row for row in read if nulls == "equal" or None not in row]
        groups: dict[Any, Counter[Any]] = {}
        for row in read:
            key = row[:left] if left else row
            groups.setdefault(key, Counter())[row[left:right]] += 1
        broken = {
            key: values for key, values in groups.items() if (len(values) > 1 if right == 3 else values.total() > 1)
        }
        (rule,) = rf.RuleBook.of(text).with_nulls(Nulls.of(nulls))
        found = LocalEngine(table).tally(rule, 100)
        assert found is not None
        assert found.n_groups == len(broken)
        assert {one.key: Counter({v.values: v.rows for v in one.values}) for one in found.groups} == broken
        assert all(one.rows == broken[one.key].total() and one.distinct == len(one.values) for one in found.groups)
        for group in found.groups:
            assert [value.rows for value in group.values] == sorted((v.rows for v in group.values), reverse=True)


def test_rules_of_other_shapes_have_no_groups() -> None:
    engine = LocalEngine(pa.table({"a": [1, 1], "b": [1, 2]}))
    for text in ("row(a > 1)", "not (s.a < t.b)", "not (s.a = t.b)", "not (s.a != t.a and s.b != t.b)"):
        assert engine.tally(Rule.of(text), 5) is None


def test_listed_clashes_show_other_rows_before_the_same_again() -> None:
    table = pa.table({"a": [1] * 12 + [2, 2], "b": [*range(12), 5, 6]})
    clashes = rf.check(table, "a -> b").exhibits(8).clashes("a_fixes_b")
    assert len(clashes) == 8
    pairs = [frozenset(row.row_id for row in clash) for clash in clashes]
    assert len(set(pairs)) == 8, "a clash and its mirror image are one"


@given(first=st.text(max_size=60), second=st.text(max_size=60), width=st.integers(28, 40))
@example(first="a", second="ab", width=28)
@example(first="a\u200b", second="a<U+200B>", width=28)
def test_texts_are_shortened_such_that_their_first_difference_shows(first: str, second: str, width: int) -> None:
    turned = marked_pair(second, first, width)[::-1]
    for mine, other, text in zip(marked_pair(first, second, width), turned, (first, second), strict=True):
        assert mine == other, "the order of the two does not matter"
        assert len(mine.text) <= width
        assert 0 <= mine.start <= mine.end <= len(mine.text)
        assert mine.differs is (first != second)
        if all(one.isascii() and one.isalnum() for one in (first, second)):
            assert mine.text.strip("…") in text
            if len(first) <= width and len(second) <= width:
                assert mine.text == text
    left, right = marked_pair(first, second, width)
    if first != second:
        assert left.text[: left.start] == right.text[: right.start]
        assert left.text != right.text, "what differs is shown"
        assert left.parts[1] != right.parts[1]


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        ("Paris", "Paris ", ("Paris", "Paris␣")),
        ("Paris", " Paris", ("Paris", "␣Paris")),
        ("New York", "New  York", ("New York", "New ␣York")),
        ("Berlin", "Berlin Mitte", ("Berlin", "Berlin Mitte")),
        ("Rome", "Rome\u200b", ("Rome", "Rome<U+200B>")),
        ("a b", "a\u00a0b", ("a␣b", "a<U+00A0>b")),
        ("a\tb", "a b", ("a<U+0009>b", "a␣b")),
        ("A\r", "A\n", ("A<U+000D>", "A<U+000A>")),
        ("caf\u00e9", "cafe\u0301", ("café<U+00E9>", "cafe<U+0301>")),
        ("Alpha", "\u0410lpha", ("Alpha", "\u0410<U+0410>lpha")),
        ("O'Neil", "O\u2019Neil", ("O'Neil", "O\u2019<U+2019>Neil")),
        ("Zürich", "Zurich", ("Zürich", "Zurich")),
        ("paris", "Paris", ("paris", "Paris")),
        ("Москва", "Москве", ("Москва", "Москве")),
        (
            "\U0001f468\u200d\U0001f469",
            "\U0001f468\U0001f469",
            ("\U0001f468<U+200D>\U0001f469", "\U0001f468\U0001f469"),
        ),
        ("\u2764\ufe0f", "\u2764", ("\u2764<U+FE0F>", "\u2764")),
        ("\U0001f468\u200d\U0001f469", "x", ("\U0001f468\u200d\U0001f469", "x")),
        ("a\u202eb", "ab", ("a<U+202E>b", "ab")),
        ("\ud83d", "x", ("<U+D83D>", "x")),
        ("", "x", ("", "x")),
    ],
)
def test_differences_that_cannot_be_seen_are_spelled(first: str, second: str, shown: tuple[str, str]) -> None:
    found = marked_pair(first, second, 32)
    assert tuple(one.text for one in found) == shown
    assert all(one.differs for one in found)


def test_values_of_a_group_are_shortened_around_what_differs() -> None:
    same = "x" * 100
    table = pa.table({"a": [1] * 6, "b": [f"{same}A", f"{same}A", f"{same}A", f"{same}B{same}", f"{same} ", same]})
    report = rf.check(table, "a -> b")
    (line,) = (line for line in str(report).splitlines() if "3 rows, " in line)
    values = [part.rsplit(" ", 2)[0] for part in line.split(": ", 1)[1].split(", ")]
    cut = "…" + "x" * 10
    assert sorted(values) == sorted([f"{cut}A", f"{cut}B{'x' * 19}…", f"{cut}␣", cut])
    assert "xxx<mark>␣</mark></td>" in report.to_html()
    short = rf.check(pa.table({"a": [1, 1], "b": ["Berlin Mitte", "Berlin"]}), "a -> b")
    assert any(line.strip() == "^^^^^^" for line in str(short).splitlines())
    turned = rf.check(pa.table({"a": [1, 1], "b": ["Berlin", "Berlin Mitte"]}), "a -> b")
    assert any(line.strip() == "^" for line in str(turned).splitlines()), "a sign where something is missing"


def test_a_value_of_a_group_that_differs_further_on_is_cut_there() -> None:
    same = "x" * 100
    table = pa.table({"a": [1] * 4, "b": [f"{same}A{same}", f"{same}A{same}", f"{same}B{same}", f"{same}A{same} "]})
    (line,) = (line for line in str(rf.check(table, "a -> b")).splitlines() if "2 rows, " in line)
    values = [part.rsplit(" ", 2)[0] for part in line.split(": ", 1)[1].split(", ")]
    cut = "…" + "x" * 10
    assert values == [f"{cut}A{'x' * 19}…", f"{cut}B{'x' * 19}…", f"{cut}␣"]


def test_suggestions_are_shortened_around_what_differs() -> None:
    same = "x" * 300
    table = pa.table({"a": [1] * 9 + [2, 2], "b": [f"{same}GGGG{same}"] * 8 + [f"{same}BBB{same}", "y", "y"]})
    report = rf.check(table, "a -> b")
    (line,) = (line for line in str(report).splitlines() if "should be" in line)
    value, suggestion = line.partition("; b is ")[2].partition(" (")[0].split(", should be ")
    assert (value[28:31], suggestion[28:32]) == ("BBB", "GGGG")
    assert max(len(value), len(suggestion)) <= 82
    assert "<mark>BBB</mark>" in report.to_html()


def test_letters_that_take_two_columns_are_aligned() -> None:
    assert [columns_of(text) for text in ("abc", "日本", "é", "e\u0301")] == [3, 4, 1, 1]
    assert padded("日本", 6) == "日本  "


@pytest.mark.parametrize("clashes", [None, 3])
def test_the_json_fits_the_schema_that_ships(clashes: int | None) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    table = pa.table({"id": [1, 2, 3], "a": [1, 1, None], "b": [1.5, float("nan"), 2.5], "c": ["x", "y", "z"]})
    rules = [
        {"name": "fd", "fd": "a -> c", "tags": ["t"], "tolerance": {"rows": "1%"}, "description": "One a, one c."},
        {"name": "row", "row": "b < 2", "severity": "warn", "where": "c != 'q'", "status": "proposed"},
        {"name": "full", "not_null": "a"},
        {"name": "key", "unique": "id"},
    ]
    book = rf.RuleBook.of({"version": 1, "rules": rules})
    for report in (rf.check(table, book, key="id"), rf.check(table, book, counts=False)):
        assert report.suspects.count
        found = json.loads(report.to_json(clashes=clashes))
        jsonschema.validate(found, SCHEMA, jsonschema.Draft202012Validator)
        assert found["rules"][0]["tolerance"] == {"rows": "1%"}
        assert (found["exit_code"], found["engine"], found["tool"]["version"]) == (1, "local", rf.__version__)
        assert ("clashes" in found["rules"][0]) is (clashes is not None)
        assert (found["rules"][2]["constraint"], found["rules"][2]["where"]) == ("not (s.a is null)", None)
        assert "s.a = s.a" not in f"{found}{report.to_junit()}{report.to_html()}{book.to_arrow()}"
        assert "warn  row (proposed): " in str(report)
        assert "1 rule is only proposed" in str(report)
        found["rules"][0]["state"] = "odd"
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(found, SCHEMA, jsonschema.Draft202012Validator)


def test_suspects_of_many_broken_rules_are_not_looked_for_unasked() -> None:
    names = [f"c{i}" for i in range(22)]
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.integers(0, 2, 20) for name in names})
    rules = [f"{left} -> {right}" for left in names for right in names if left != right]
    report = rf.check(table, rules)
    assert sum(not one.passed for one in report) > 400
    assert report.first_suspects is None
    assert rf.check(table, rules[:60]).first_suspects is not None


def test_a_page_of_hundreds_of_broken_rules_is_not_larger() -> None:
    table = pa.table({f"c{i}": [0, 0, i] for i in range(1, 21)})
    rules = [f"c{i} -> c{j}" for i in range(1, 21) for j in range(1, 21) if i != j]
    rules += [f"unique(c{i}, c{j})" for i in range(1, 21) for j in range(i) if j]
    page = rf.check(table, rules).to_html(clashes=100)
    assert page.count('<section class="rule') == len(rules) > 500
    assert len(page.encode()) < 2_000_000


def test_a_page_of_thousands_of_rules_lists_the_last_in_a_table_and_stays_small() -> None:
    table = pa.table({f"{'c' * 40}{i}": [0, 0, i] for i in range(1, 41)})
    rules = [f"{a} -> {b}" for a in table.column_names for b in table.column_names if a != b]
    report = rf.check(table, rules)
    page = report.to_html()
    assert len(page.encode()) < 2_000_000
    cards = page.count('<section class="rule')
    assert 500 < cards < len(rules)
    listed = json.loads(page.partition('id="rest">')[2].partition("</script>")[0])
    assert [line[0] for line in listed] == [one.name for one in report.failing_first[cards:]][: len(listed)]
    left = len(report) - cards - len(listed)
    assert (f"{left:,} more rules are not shown here" in page) is (left > 0)
    assert len(report._repr_html_()) < 200_000
    assert f"And {len(report) - cards:,} more rules" in page


def test_values_that_need_escapes_leave_a_page_small() -> None:
    table = pa.table({"id": range(4000), "a": [1] * 4000, "b": [f"{'<&>' * 200}{k % 40}" for k in range(4000)]})
    report = rf.check(table, "a -> b", key="id")
    page = report.to_html(clashes=10_000)
    assert len(page.encode()) < 2_000_000
    assert " pairs of 7,800,000; more would make the page too large" in page
    assert "too large" not in report.to_html(clashes=10)
