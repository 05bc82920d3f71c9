"""The list of proposals: every rule stands under one head, and is said and written as it is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import refute as rf
from refute.cli.app import run
from refute.cli.exits import Exit
from refute.proposing.candidates import Candidate, RuleShape
from refute.proposing.scores import Figures
from refute.proposing.short_list import listed
from speaking_tables import people


def texts(found: rf.Discovery) -> set[str]:
    """The rules without what stands under them."""
    return {one.text for one in found.rules}


def dependency(left: str, right: str, blame: int) -> Candidate:
    """A dependency that so many of 1,000 rows break."""
    return Candidate(RuleShape.DEPENDENCY, (left,), (right,), Figures(1000, 50, blame, 900.0))


@pytest.mark.parametrize("blamed", [(5, 5, 5), (20, 10, 5), (5, 10, 20), (10, 20, 5)], ids=str)
def test_every_rule_stands_under_one_head_that_is_no_weaker(blamed: tuple[int, ...]) -> None:
    circle = [dependency(left, right, 5) for left, right in ("ab", "bc", "ca")]
    found = [*circle, *(dependency(left, "d", blame) for left, blame in zip("abc", blamed, strict=True))]
    heads = listed(found, 1000)
    assert sorted(map(str, found)) == sorted(str(one) for head in heads for one in (head.candidate, *head.members))
    for head in heads:
        assert all(one.figures.score <= head.candidate.figures.score for one in head.members), head.candidate


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
    assert run(["discover", str(data), "--out", str(file), "--engine", "local"]) == Exit.HOLDS
    assert "no rule was found, so" in capsys.readouterr().err
    assert not file.exists()
    assert run(["init", str(data), "--out", str(file), "--engine", "local"]) == Exit.HOLDS
    assert "add a rule before you check" in capsys.readouterr().err
    assert run(["init", str(data), "--out", "-", "--nulls", "equal", "--engine", "local"]) == Exit.FAILED
    assert "--nulls equal cannot be used" in capsys.readouterr().err
