"""Arithmetic in comparisons: exact, or refused in plain words; the same in a check, a monitor and as SQL."""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from arithmetic_cases import arithmetic_case
from refute.errors import DataError, RuleError, SchemaError
from refute.language import RuleSyntaxError, parse
from refute.language.arithmetic import formula_of, sources_of
from refute.language.formats import write_rules
from refute.language.render import Dialect, SqlWriter
from refute.language.rulebook import Rule, RuleBook
from thorough import examples

ROWS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "price": [Decimal("1.50"), Decimal("2.00"), Decimal("3.25"), None],
        "qty": [1, 2, 3, 4],
        "total": [Decimal("1.50"), Decimal("4.00"), Decimal("9.70"), Decimal("1.00")],
        "begun": [dt.date(2024, 1, 1), dt.date(2024, 1, 3), dt.date(2024, 2, 1), None],
        "ended": [dt.date(2024, 1, 2), dt.date(2024, 1, 31), dt.date(2024, 2, 2), None],
    }
)


def pairs(table: Any, rule: Any, **options: Any) -> list[tuple[int, int]]:
    """The violations of a rule about two rows."""
    found = rf.violations(table, rule, **options).to_arrow()
    return sorted(zip(found["s"].to_pylist(), found["t"].to_pylist(), strict=True))


@examples(150, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_answers_are_those_of_exact_python(seed: int) -> None:
    case = arithmetic_case(seed)
    truth = case.truth
    assert rf.count(case.table, case.rule) == len(truth)
    assert rf.verify(case.table, case.rule).holds == (not truth)
    assert pairs(case.table, case.rule) == truth


@examples(60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_rules_are_read_back_as_they_are_written(seed: int) -> None:
    rule = parse(arithmetic_case(seed, rows=1).rule)
    assert parse(str(rule)) == rule
    assert rule.canonical().fingerprint == parse(str(rule.canonical())).fingerprint
    for name in rule.compared:
        assert formula_of(name) is None or set(sources_of(name)) <= set(rule.columns)


@examples(25, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.integers(1, 13))
def test_a_monitor_keeps_what_a_check_finds(seed: int, cut: int) -> None:
    case = arithmetic_case(seed)
    monitor = rf.Monitor(case.rule, key="id")
    monitor.insert(case.table.slice(cut))
    monitor.insert(case.table.slice(0, cut))
    assert pairs(monitor, monitor.rules[0]) == case.truth
    monitor.delete(list(range(0, 14, 3)))
    assert pairs(monitor, monitor.rules[0]) == [one for one in case.truth if one[0] % 3 and one[1] % 3]


@examples(8, deadline=None)
@given(seed=st.integers(0, 2**32), logged=st.sampled_from([0, 100]))
def test_a_monitor_on_disk_goes_on_with_it(seed: int, logged: int) -> None:
    case = arithmetic_case(seed)
    with tempfile.TemporaryDirectory() as folder:
        with rf.Monitor.open(Path(folder) / "kept", case.rule, key="id", log_rows=logged) as monitor:
            monitor.insert(case.table.slice(7))
        with rf.Monitor.open(Path(folder) / "kept", log_rows=logged) as monitor:
            monitor.insert(case.table.slice(0, 7))
            assert pairs(monitor, monitor.rules[0]) == case.truth


def test_rows_rules_conditions_and_short_forms() -> None:
    def broken(rules: Any) -> list[int]:
        return list(rf.violations(ROWS, rules, key="id").to_arrow()["s"].to_pylist())

    assert broken("row(total = price * qty)") == [3]
    assert broken("row(ended <= begun + 1 week)") == [2]
    assert broken("row(price * 2 in (3, 4) or qty - 3 = 0)") == []
    assert broken({"rules": [{"name": "r", "row": "qty > 5", "where": "price + qty > 2.5"}]}) == [2, 3]
    assert broken({"rules": [{"name": "r", "row": "qty > 5", "where": "price + qty is null"}]}) == [4]
    assert pairs(ROWS, "no_overlap(begun, ended + 1 day)", key="id") == []
    assert pairs(ROWS, "no_overlap(begun, ended + 2 days)", key="id") == [(1, 2), (2, 1), (2, 3), (3, 2)]
    assert pairs(ROWS, "order(qty, 0 - total)", key="id") == [(1, 2), (1, 3), (2, 3)]
    assert broken("row(begun < date '2024-01-31' + 1 day)") == [3]


def test_results_show_the_columns_behind_it() -> None:
    report = rf.check(ROWS, ["not (s.qty * 2 < t.price)", "row(total = price * qty)"], key="id")
    first, second = report.results
    assert first.columns == ("qty", "price")
    assert list((second.values or {})["s"] or {}) == ["id", "price", "qty", "total"]
    assert rf.violations(ROWS, "not (s.qty * 2 < t.price)", key="id").schema.names == [
        *("s", "t", "s_id", "s_qty", "s_price", "t_id", "t_qty", "t_price")
    ]
    cells = {(one["id"], one["column"], one["value"]) for one in report.suspects.to_arrow().to_pylist()}
    assert (3, "total", "9.70") in cells
    assert "encode qty * 2, price as integers" in str(rf.explain(ROWS, "not (s.qty * 2 < t.price)"))
    assert "s.qty * 2 is less than the price of t" in report.to_json()


def test_numbers_beyond_64_bits_are_exact() -> None:
    table = pa.table({"a": [2**63 - 1, 2**63 - 1, -(2**63)], "b": [2**63 - 1, 2**63 - 2, -(2**63)]})
    assert rf.count(table, f"row(a * b != {(2**63 - 1) ** 2})") == 1
    assert rf.count(table, f"row(a + 1 <= {2**63 - 1})") == 2
    assert rf.count(table, "not (s.a * s.b = t.b * t.a)") == 0
    assert rf.count(pa.table({"a": [1, 2]}), f"row(a * {10**19} < {2 * 10**19})") == 1


def test_floats_follow_ieee_and_what_is_not_a_number_is_null() -> None:
    table = pa.table({"a": [0.1, 1.0, float("inf"), None], "b": [0.2, float("nan"), float("inf"), 1.0]})
    assert rf.count(table, "row(a + b = 0.3e0)") == 2
    assert rf.count(table, "row(a + b = 3e-1 or a - b < 0)") == 0
    assert rf.count(table, {"rules": [{"name": "r", "row": "a > 100", "where": "a - b is null"}]}) == 1


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("row(total = word + 1)", "Cannot compute word + 1: Column 'word' (string) is not a number"),
        ("row(big * big * big > 1)", "big * big * big may need more than 38 digits"),
        ("row(real + exact > 1)", "Decimals are exact and floats are not"),
        ("row(day + 1 > day)", "Dates and timestamps are moved by a length of time and nothing else"),
        ("row(day + 3 hours > day)", "which day + 3 hours would move by less than a day"),
        ("row(day - day > 1)", "Dates and timestamps are moved by a length of time and nothing else"),
        ("row(big + 1 day > 1)", "A length of time is added to dates and timestamps"),
        ("row(bg + 1 > 1)", "There is no column 'bg' (in bg). Did you mean 'big'?"),
        ("row(day + 1 day > 1)", "Cannot compare 'day + 1 day' (date32[day]) with the integer 1"),
        ("row(big + 1 > word)", "Cannot compare 'big + 1' (decimal128(19, 0)) with 'word' (string)"),
    ],
)
def test_what_is_not_exact_is_refused(rule: str, reason: str) -> None:
    table = pa.table(
        {
            "total": [1],
            "word": ["x"],
            "big": [1],
            "real": [1.0],
            "exact": [Decimal("1.5")],
            "day": [dt.date(2024, 1, 1)],
        }
    )
    with pytest.raises(SchemaError) as caught:
        rf.count(table, rule)
    assert reason in str(caught.value)
    with pytest.raises(SchemaError):
        rf.count(table.slice(0, 0), rule)


@pytest.mark.parametrize(
    ("rule", "reason", "place"),
    [
        ("not (s.a - t.b > 5)", "Each side of a comparison is about one row", 11),
        ("not (s.a / 2 > t.b)", "Rules do not divide", 9),
        ("not (s.a > 3 days)", "A length of time is added to a date or a timestamp", 11),
        ("not (s.a + 'x' > 3)", "Arithmetic is for numbers", 11),
        ("not (s.a + date '2024-01-01' > 3)", "Arithmetic is for numbers", 11),
        ("not (1 + 1 > 2)", "This compares two constants", 5),
        ("not (s.a > date '9999-12-31' + 1 day)", "beyond the years 1 to 9999", 31),
        ("not (s.a > date '2024-12-31' + 1 hour)", "A date is moved by whole days", 31),
        ("not (s.a > s.`=a + 1`)", "would be taken for arithmetic", 13),
        ("order(s.a, b)", "a short form has no row variables", 6),
        ("not (s.a + > 3)", "Expected a column such as s.zip or a constant", 11),
    ],
)
def test_mistakes_are_shown_where_they_are(rule: str, reason: str, place: int) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse(rule)
    assert reason in str(caught.value)
    assert caught.value.position == place


def test_constants_are_computed_when_a_rule_is_read() -> None:
    assert parse("not (s.a > 2 * 3 + 1.50)") == parse("not (s.a > 7.50)")
    assert parse("not (s.a > -(2 - 3))") == parse("not (s.a > 1)")
    assert parse("not (s.d > date '2024-02-28' + 2 days)") == parse("not (s.d > date '2024-03-01')")
    assert parse("not (s.a * (1 + 1) > -s.b)") == parse("not (s.a * 2 > 0 - s.b)")


def test_a_moment_beyond_its_type_is_refused() -> None:
    table = pa.table({"d": pa.array([2**31 - 1], pa.int32()).cast(pa.date32())})
    with pytest.raises(DataError, match="gives a moment that 'd'"):
        rf.count(table, "row(d + 1 day > d)")


def test_a_table_may_not_have_a_column_named_like_arithmetic() -> None:
    table = pa.table({"a": [1], "=a + 1": [5]})
    with pytest.raises(SchemaError, match=r"stands for arithmetic in rules\. Rename it"):
        rf.count(table, "row(a + 1 > 3)")
    with pytest.raises(SchemaError, match=r"stands for arithmetic in rules\. Rename it"):
        rf.Monitor("row(a + 1 > 3)").insert(table)
    assert rf.count(pa.table({"=a": [5], "a +": [3]}), "row(`=a` > `a +`)") == 0


def test_other_formats_say_that_they_have_no_arithmetic() -> None:
    book = RuleBook.of(["not (s.a + 1 > t.b)"])
    for name in ("holoclean", "desbordante", "metanome", "nadeef"):
        with pytest.raises(RuleError, match="It has arithmetic"):
            write_rules(book, name)
    query = SqlWriter(table="t").count_query(Rule.of("not (s.a - -1 > t.b and s.d + 2 weeks < t.d)"))
    assert '(s."a" - (-1)) > t."b"' in query
    assert '(s."d" + INTERVAL \'14\' DAY) < t."d"' in query


@examples(30, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_duckdb_counts_the_same_by_the_sql_of_a_rule(seed: int) -> None:
    duckdb = pytest.importorskip("duckdb")
    case = arithmetic_case(seed)
    rule = Rule.of(case.rule)
    if set(rule.columns) & {"i", "k", "f", "h", "w", "z"}:  # its own integers overflow, and its NaN is a number
        return
    with duckdb.connect() as database:
        database.register("held", case.table)
        query = SqlWriter(table="held", dialect=Dialect.ANSI).count_query(rule)
        assert database.execute(query).fetchall() == [(len(case.truth),)]


@pytest.mark.parametrize(
    "rule",
    [
        "not (s.a + s.b = t.a + t.b and s.c != t.c)",
        "not (s.a * 2 = t.a * 2)",
        "not (s.a + 1 = t.a + 1 and s.b < t.b and s.c > t.c)",
        "order(a + 1 asc, b desc) by c",
        "no_overlap(a, b + 1 day) by c",
        "row(a + 1 > b)",
    ],
)
def test_rules_are_written_in_forms_that_can_be_read(rule: str) -> None:
    book = RuleBook.of([parse(rule)])
    for text in (book.to_yaml(), write_rules(book, "text")):
        assert [one.constraint for one in rf.load_rules(text)] == [one.constraint for one in book]


def test_a_rule_file_holds_arithmetic(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text('version: 1\nrules:\n  - {name: total, row: "total = price * qty", where: "qty - 1 < 3"}\n')
    book = rf.load_rules(path)
    assert rf.load_rules(book.to_yaml()) == book
    assert rf.count(ROWS, book) == 1
