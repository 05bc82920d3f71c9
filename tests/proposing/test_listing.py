"""The list of proposals: every rule stands under one head, and is said and written as it is."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.language.operators import Operator
from refute.proposing.candidates import Candidate, RuleShape, comparison
from refute.proposing.scores import Figures
from refute.proposing.short_list import listed
from speaking_tables import people

WHOLE = Figures(1000, 1000, 0, None)


def texts(found: rf.Discovery) -> set[str]:
    """The rules without what stands under them."""
    return {one.text for one in found.rules}


def dependency(left: str, right: str, blame: int) -> Candidate:
    """A dependency that so many of 1,000 rows break; names of one letter each."""
    return Candidate(RuleShape.DEPENDENCY, tuple(left), (right,), Figures(1000, 50, blame, 900.0))


def order(first: str, second: str, blame: int, form: str = "rises", by: str = "") -> Candidate:
    """An order that so many of 1,000 rows break."""
    return Candidate(RuleShape.ORDER, tuple(by), (first, second), Figures(1000, 1, blame, 900.0), form)


def compared(first: str, op: Operator, second: str, blame: int, rows: int = 1000) -> Candidate:
    """A comparison that so many of 1,000 rows break."""
    figures = Figures(rows, rows, blame, 0.45 * rows)
    return Candidate(RuleShape.COMPARISON, (), (first, second), figures, op.symbol, comparison(first, op, second))


def outline(found: Iterable[Candidate]) -> dict[str, set[str]]:
    """What stands under each head."""
    return {str(head.candidate): set(map(str, head.members)) for head in listed([*found], 1000)}


@pytest.mark.parametrize("blamed", [(5, 5, 5), (20, 10, 5), (5, 10, 20), (10, 20, 5)], ids=str)
def test_every_rule_stands_under_one_head_that_is_no_weaker(blamed: tuple[int, ...]) -> None:
    circle = [dependency(left, right, 5) for left, right in ("ab", "bc", "ca")]
    found = [*circle, *(dependency(left, "d", blame) for left, blame in zip("abc", blamed, strict=True))]
    heads = listed(found, 1000)
    assert sorted(map(str, found)) == sorted(str(one) for head in heads for one in (head.candidate, *head.members))
    for head in heads:
        assert all(one.figures.score <= head.candidate.figures.score for one in head.members), head.candidate


@pytest.mark.parametrize("blamed", [(1, 2, 3), (2, 1, 2), (3, 1, 2)], ids=str)
def test_a_comparison_that_follows_from_two_others_that_are_no_weaker_stands_under_one(
    blamed: tuple[int, int, int],
) -> None:
    low, high, both = blamed
    found = [compared("a", Operator.LE, "b", low), compared("c", Operator.GE, "b", high)]
    follows = compared("a", Operator.LE, "c", both)
    alone: dict[str, set[str]] = {str(one): set() for one in found}
    if both < max(low, high):
        assert outline([*found, follows]) == alone | {str(follows): set()}
    else:
        assert sum(members == {str(follows)} for members in outline([*found, follows]).values()) == 1
        assert outline([*found, follows]).keys() == alone.keys()


def test_a_comparison_stands_alone_where_what_lies_between_is_turned_equal_or_mostly_missing() -> None:
    first, other = compared("a", Operator.LE, "b", 0), compared("b", Operator.LE, "c", 0)
    alone = [
        [first, compared("b", Operator.GE, "c", 0), compared("a", Operator.LE, "c", 1)],
        [first, other, compared("a", Operator.LT, "c", 1)],
        [first, compared("b", Operator.LE, "c", 0, rows=800), compared("a", Operator.LE, "c", 2)],
    ]
    for found in alone:
        assert outline(found) == {str(one): set() for one in found}
    strict = [first, compared("b", Operator.LT, "c", 0), compared("a", Operator.LT, "c", 1)]
    assert len(outline(strict)) == 2


def test_an_order_follows_from_two_others_where_rows_that_agree_between_agree_on_one_side() -> None:
    halves, both = [order("a", "m", 1), order("m", "z", 1, "falls")], order("a", "z", 2, "falls")
    assert len(outline([*halves, both])) == 3
    assert len(outline([*halves, order("a", "z", 2), dependency("m", "z", 3)])) == 4
    for settling in (dependency("m", "z", 3), dependency("m", "a", 3), Candidate(RuleShape.KEY, ("m",), (), WHOLE)):
        assert outline([*halves, both, settling]).keys() == {*map(str, halves), str(settling)}
    within = [order("a", "m", 1, by="g"), halves[1], order("a", "z", 2, "falls", by="g"), dependency("m", "z", 3)]
    assert outline(within)[str(within[0])] == {str(within[2])}
    elsewhere = [order("a", "m", 1, by="h"), *within[1:]]
    assert len(outline(elsewhere)) == 4


def test_what_several_columns_fix_fixes_what_follows_from_it() -> None:
    found = [dependency("qp", "t", 2), dependency("t", "x", 1), dependency("qp", "x", 3)]
    assert outline(found) == {str(found[0]): set(), str(found[1]): {str(found[2])}}


def test_no_two_dependencies_vanish_as_each_follows_by_the_other() -> None:
    found = [dependency("p", "a", 110), dependency("p", "h", 105), dependency("a", "h", 5), dependency("h", "a", 100)]
    assert outline(found) == {"a -> h": {"p -> h"}, "h -> a": set(), "p -> a": set()}


def test_a_calendar_is_said_by_what_follows_from_the_day() -> None:
    days = [place * 37 % 720 for place in range(1000)]
    parts = {"day": days} | {name: [day // size for day in days] for name, size in (("month", 30), ("year", 90))}
    found = rf.propose(pa.table(parts), kinds="order rule")
    assert texts(found) == {"order(day asc, month asc)", "order(day asc, year asc)"}
    assert [str(one) for head in found.rules for one in head.members] == ["order(month asc, year asc)"]


def test_keys_that_are_equal_are_one_and_each_equality_that_is_written_says_something_new() -> None:
    names = [f"k{place}" for place in range(3)]
    table = pa.table({name: range(50) for name in names} | {"part": [place % 3 for place in range(50)]})
    found = rf.propose(table)
    assert [(one.text, len(one.members)) for one in found.rules if one.kind == "key"] == [("unique(k0)", 2)]
    equal = [(one.text, len(one.members)) for one in found.rules if one.kind == "comparison" and " = " in one.text]
    assert equal == [("row(k0 = k1)", 1), ("row(k0 = k2)", 0)]


def test_what_follows_from_an_equality_stands_under_it() -> None:
    first = [place * 7 % 60 for place in range(600)]
    other = [value if place % 40 else (value * 31 + 17) % 60 for place, value in enumerate(first)]
    table = pa.table({"a": first, "b": other})
    (equal,) = (one for one in rf.propose(table).rules if one.kind not in ("not null", "domain"))
    assert equal.text == "row(a = b)"
    assert {one.text for one in equal.members} == {"a -> b", "b -> a", "order(a asc, b asc)"}
    assert all(one.score <= equal.score for one in equal.members)
    for kinds, said in ((["comparison", "key"], {"row(a = b)"}), (["functional dependency", "no overlap"], {"b -> a"})):
        found = rf.propose(table, kinds=kinds)
        assert texts(found) == said
        assert {one.kind for head in found.rules for one in (head, *head.members)} <= set(kinds)


def test_a_column_that_is_named_twice_is_one() -> None:
    table = people(200)
    once, twice = (rf.propose(table, columns=names) for names in (["zip", "city"], ["zip", "city", "zip"]))
    assert twice.to_arrow().equals(once.to_arrow())


def test_both_bounds_of_a_column_have_their_own_tolerance() -> None:
    share = [*range(1, 101)] * 10
    share[:7] = [-1, -2, 200, 201, 202, 203, 204]
    table = pa.table({"share": share})
    book = rf.propose(table, kinds="domain").book()
    report = rf.check(table, book)
    assert [str(rule.tolerance.suspects) for rule in book] == ["0.2%", "0.5%"]
    assert [rule.description for rule in book] == [
        f"In every row, share is {bound}." for bound in ("at least 0", "at most 100")
    ]
    assert report.ok


def test_a_rare_short_code_is_a_code_and_not_a_slip() -> None:
    codes = pa.table({"code": ["m"] * 400 + ["f"] * 300 + ["x"] * 12 + ["M"] * 6})
    longer = pa.table({"code": ["mark"] * 400 + ["folk"] * 300 + ["marz"] * 12})
    words = pa.table({"word": ["single"] * 400 + ["married"] * 300 + ["singel"] * 5 + ["maried"] * 6})
    assert texts(rf.propose(codes, kinds="domain")) == {"row(code in ('f', 'm', 'x'))"}
    assert texts(rf.propose(longer, kinds="domain")) == {"row(code in ('folk', 'mark'))"}  # four letters are a word
    assert "maried" not in str(texts(rf.propose(words, kinds="domain")))


def test_nothing_is_written_where_nothing_is_proposed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, file = tmp_path / "rows.csv", tmp_path / "rules.yaml"
    data.write_text("a,b\n1,2\n")
    assert run(["discover", str(data), "--out", str(file), "--engine", "local"]) == Exit.PARTIAL
    assert "No rule was found, so" in capsys.readouterr().err
    assert not file.exists()
    assert run(["init", str(data), "--out", str(file), "--engine", "local"]) == Exit.PARTIAL
    assert "add a rule before you check" in capsys.readouterr().err
    assert run(["init", str(data), "--out", "-", "--nulls", "equal", "--engine", "local"]) == Exit.FAILED
    assert "--nulls equal cannot be used" in capsys.readouterr().err
