"""The parser reads every spelling in the wild, reads back what is rendered, and tells what is wrong where."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import pytest
from hypothesis import given

from language.rules import conditions, constraints, short_form
from refute.errors import RuleError
from refute.language.constraint import DenialConstraint
from refute.language.parsing.parser import RuleKind, parse, parse_condition, parse_kind, parse_rule, parse_statement
from refute.language.parsing.syntax import RuleSyntaxError
from refute.language.predicate import Constant, Row
from refute.language.render import render_condition, render_logic, render_sugar, render_text
from refute.language.short_forms.sugar import (
    FunctionalDependency,
    Key,
    NoOverlap,
    OrderItem,
    OrderRule,
    RowRule,
    recognise,
)

ZIP_CITY = parse("not (s.zip = t.zip and s.city != t.city)")


@given(constraints)
def test_reading_the_text_of_a_constraint_gives_it_back(rule: DenialConstraint) -> None:
    assert parse(render_text(rule)) == rule


@given(constraints)
def test_reading_the_logic_notation_of_a_constraint_gives_it_back(rule: DenialConstraint) -> None:
    assert parse(render_logic(rule)) == rule


@given(constraints)
def test_reading_the_short_form_of_a_constraint_gives_the_same_rule(rule: DenialConstraint) -> None:
    assert parse(short_form(rule)).fingerprint == rule.fingerprint


@given(conditions)
def test_reading_the_text_of_a_condition_gives_it_back(condition: object) -> None:
    text = render_condition(condition)  # type: ignore[arg-type]
    assert render_condition(parse_condition(text)) == text
    assert parse_condition(text) == condition


@pytest.mark.parametrize(
    "text",
    [
        "not (s.zip = t.zip and s.city <> t.city)",
        "NOT(s.zip == t.zip AND s.city≠t.city)",
        "!(t.zip = t'.zip & t.city != t'.city)",
        "¬(t0.zip == t1.zip ^ t0.city <> t1.city)",
        "¬{t1.zip = t2.zip ∧ t1.city ≠ t2.city}",
        "not (t.zip = t′.zip && t.city != t’.city)",
        "∀ t, t' ∈ R: ¬(t.zip = t'.zip ∧ t.city ≠ t'.city)",
        "forall s,t not(s.zip = t.zip, s.city != t.city)",
        "not ((s.zip = t.zip) and (s.city != t.city))",
        "not (s . `zip` = t.\n\t`zip` and t.city != s.city)",
        "zip -> city",
        "`zip` → city",
    ],
)
def test_every_spelling_of_a_constraint_is_read(text: str) -> None:
    assert parse(text) == ZIP_CITY


@pytest.mark.parametrize(
    ("spelled", "meant"), [("<", "<"), ("<=", "<="), ("≤", "<="), (">", ">"), (">=", ">="), ("≥", ">=")]
)
def test_every_spelling_of_an_order_is_read(spelled: str, meant: str) -> None:
    assert render_text(parse(f"not (s.a{spelled}t.b)")) == f"not (s.a {meant} t.b)"


@pytest.mark.parametrize("row", ["s", "t", "t'", "t0", "t1", "t2", "T1"])
def test_a_rule_about_one_row_may_call_it_by_any_name(row: str) -> None:
    assert parse(f"not ({row}.a < 0)") == parse("not (s.a < 0)")
    assert parse(f"not ({row}.a < 0)").rows == {Row.S}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("18446744073709551616", 2**64),
        ("1.50", Decimal("1.50")),
        (".5", Decimal("0.5")),
        ("5.", Decimal(5)),
        ("1e3", 1000.0),
        ("-1.5E-3", -0.0015),
        ("float 'inf'", float("inf")),
        ("'it''s'", "it's"),
        ('"say ""hi"""', 'say "hi"'),
        ("''", ""),
        ("'a\\n'", "a\\n"),
        ("TRUE", True),
        ("false", False),
        ("date '2020-01-31'", dt.date(2020, 1, 31)),
        ("DATE'2020-01-31'", dt.date(2020, 1, 31)),
        ("timestamp '2020-01-31 12:30:00.5'", dt.datetime(2020, 1, 31, 12, 30, 0, 500000)),
        ("timestamp '2020-01-31T12:30:00+02:00'", dt.datetime(2020, 1, 31, 10, 30, tzinfo=dt.UTC)),
    ],
)
def test_constants_have_the_type_they_are_written_in(text: str, value: object) -> None:
    (predicate,) = parse(f"not (s.a = {text})").predicates
    assert predicate.right == Constant(value)  # type: ignore[arg-type]
    (mirrored,) = parse(f"not ({text} = s.a)").predicates
    assert mirrored == predicate


@pytest.mark.parametrize("name", ["and", "not", "in", "date", "order", "by", "null", "unique", "s", "größe", "列"])
def test_words_of_the_language_are_fine_column_names_after_a_row(name: str) -> None:
    assert parse(f"not (s.{name} = t.{name})").columns == (name,)


def test_words_of_sugar_are_fine_column_names_without_a_row() -> None:
    assert parse_statement("order, by -> row") == FunctionalDependency(("order", "by"), ("row",))
    assert parse_statement("unique(unique, asc)") == Key(("unique", "asc"))
    assert parse_statement("order(asc desc, desc asc) by by") == OrderRule(
        OrderItem("asc", descending=True), OrderItem("desc"), ("by",)
    )
    assert render_condition(parse_condition("date >= date '2020-01-01'")) == "`date` >= date '2020-01-01'"


@pytest.mark.parametrize(
    ("kind", "text", "sugar"),
    [
        (RuleKind.UNIQUE, "a, b", Key(("a", "b"))),
        (RuleKind.UNIQUE, "(a, b)", Key(("a", "b"))),
        (RuleKind.UNIQUE, "unique(a)", Key(("a",))),
        (RuleKind.FD, "a, b -> c, d", FunctionalDependency(("a", "b"), ("c", "d"))),
        (RuleKind.FD, "() -> c", FunctionalDependency((), ("c",))),
        (RuleKind.ORDER, "a, b desc by g", OrderRule(OrderItem("a"), OrderItem("b", descending=True), ("g",))),
        (RuleKind.ORDER, "(a asc, b) by g, h", OrderRule(OrderItem("a"), OrderItem("b"), ("g", "h"))),
        (RuleKind.ORDER, "order(a, b)", OrderRule(OrderItem("a"), OrderItem("b"))),
        (RuleKind.NO_OVERLAP, "a, b", NoOverlap("a", "b")),
        (RuleKind.NO_OVERLAP, "(a, b) by g", NoOverlap("a", "b", ("g",))),
        (RuleKind.NO_OVERLAP, "no_overlap(a, b) by g", NoOverlap("a", "b", ("g",))),
        (RuleKind.ROW, "qty >= 0", RowRule(parse_condition("qty >= 0"))),
    ],
)
def test_the_value_of_a_key_needs_no_call_around_it(kind: RuleKind, text: str, sugar: object) -> None:
    found = parse_kind(kind, text)
    assert found == sugar
    assert not isinstance(found, DenialConstraint)
    assert parse_statement(render_sugar(found)) == sugar


def test_a_text_that_stands_for_several_constraints_is_no_single_one() -> None:
    assert len(parse_rule("a -> b, c")) == 2
    with pytest.raises(RuleSyntaxError, match="Expected one rule, but this stands for 2"):
        parse("a -> b, c")


def error_of(text: str, **options: list[str]) -> RuleSyntaxError:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rule(text, **options)
    return caught.value


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("", 1, "The rule is empty"),
        ("not (s.zip = t.zip and s.city t.city)", 31, "Expected a comparison (= != < <= > >=); found 't.'"),
        ("not (s.zip = t.zip", 19, "Expected ')', ',' or 'and'; the text ends here"),
        ("not (s.zip = )", 14, "Expected a column such as s.zip or a constant; found ')'"),
        ("not (s.zip # 5)", 12, "Expected a comparison (= != < <= > >=); found '#'"),
        ("not (s.zip = t.zip) and", 21, "Expected the end of the rule; found 'and'"),
        ("s.zip = t.zip", 1, "put the comparisons into not (...)"),
        ("(s.zip = t.zip)", 1, "put the comparisons into not (...)"),
        ("not s.zip = t.zip", 5, "Expected '('; found 's.'"),
        ("not (s.a = t.a or s.b = t.b)", 16, "has no 'or': write one rule for each"),
        ("not (s.a = null)", 12, "never true"),
        ("not (zip = t.zip)", 6, "Expected a column such as s.zip"),
        ("not (s.a = x.a)", 12, "No row is called 'x'"),
        ("not (s.a = t1.a)", 12, "do not go together"),
        ("not (t0.a = t1.a and t1.b = t2.b)", 29, "a third row"),
        ("not (1 = 2)", 6, "two constants"),
        ("not (s.a = date '2020-02-30')", 12, "'2020-02-30' is not a date: write it like date '2020-01-31'"),
        ("not (s.a = 'x)", 12, 'Expected a column such as s.zip or a constant; found "\'"'),
        ("unique()", 8, "Expected a column name"),
        ("zip city", 5, "Expected ',' or '->'; found 'city'"),
        ("zip => city", 5, "Expected ',' or '->'; found '='"),
        ("salary > 0", 8, "about the values of one row is written row(...), as in row(salary >= 0)"),
        ("city in ('Rome')", 6, "is written row(...)"),
        ('unique("zip code")', 8, "Quotes are for values; a name with blanks goes into back quotes, as in `zip code`"),
        ("'zip' -> city", 1, "goes into back quotes"),
        ("unqiue(zip)", 1, "There is no short form 'unqiue'. Did you mean 'unique'?"),
        (" key(zip)", 2, "The short forms are unique(...), order(...), no_overlap(...), row(...) or not_null(...)"),
        ("order(a) by g", 8, "Expected ','"),
        ("row(a > 1 and t.b > s.c)", 21, "about one row"),
    ],
)
def test_an_error_tells_the_place_and_what_was_expected(text: str, column: int, problem: str) -> None:
    error = error_of(text)
    assert problem in str(error)
    assert (error.text, error.line, error.column) == (text, 1, column)
    assert str(error).splitlines()[1:] == [f"  {text}", " " * (column + 1) + "^"]
    assert isinstance(error, RuleError)


def test_the_caret_stands_under_the_right_line_of_a_long_text() -> None:
    error = error_of("not (s.a = t.a\n  and s.b ! t.b)")
    assert (error.line, error.column) == (2, 11)
    assert error.excerpt == "    and s.b ! t.b)\n            ^"
    wide = error_of("not (" + " and ".join(f"s.column{i} = t.column{i}" for i in range(40)) + " and s.a ! t.b)")
    shown, caret = wide.excerpt.splitlines()
    assert shown[len(caret) - 1] == "!"
    assert len(shown) < 120


def test_absurd_texts_are_errors_too() -> None:
    assert "nested too deeply" in str(error_of("not (" + "(" * 5000 + "s.a = t.a" + ")" * 5001))
    assert "nested too deeply" in str(error_of("row(" + "not " * 5000 + "a = 1)"))
    assert "more than 1000 digits" in str(error_of("not (s.a = " + "9" * 5000 + ")"))


def test_an_unknown_column_is_an_error_that_names_the_nearest() -> None:
    error = error_of("not (s.zip = t.zip and s.ctiy != t.city)", columns=["zip", "city"])
    assert error.column == 26
    assert "There is no column 'ctiy'. Did you mean 'city'?" in str(error)
    assert error.expected == ("zip", "city")
    assert parse("zip -> city", ["zip", "city"]) == ZIP_CITY


def test_errors_travel_between_processes() -> None:
    error = error_of("not (s.a")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert (copy.line, copy.column, copy.expected) == (error.line, error.column, error.expected)


def test_what_cannot_be_compared_is_no_constant() -> None:
    for value in (None, float("nan"), Decimal("NaN"), b"x", dt.time()):
        with pytest.raises(RuleError, match="cannot be a constant"):
            Constant(value)  # type: ignore[arg-type]


def test_recognised_rules_are_found_again_from_their_text() -> None:
    for text in (
        "unique(a, b)",
        "a -> b",
        "() -> b",
        "order(a asc, b desc) by g",
        "no_overlap(a, b) by g",
        "row(a > 1)",
    ):
        sugar = recognise(parse(text))
        assert sugar is not None
        assert render_sugar(sugar) == text
