"""Rule files are written without a YAML library where a text is simple; what is written is read as what it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from refute.language.formats import read_rules
from refute.language.parser import RuleKind
from refute.language.rulebook import Entry, RuleBook
from refute.language.rulebook.dumping import yaml_text
from refute.language.rulebook.nodes import read_yaml
from refute.language.rulebook.plain_lines import read_lines
from refute.language.rulebook.problems import ProblemLog

ODD = [
    *("a: b", "# x", "a #b", "a#b", "a:", "true", "No", "~", "null", "'q'", '"', "it's: so", "- a", "? a", "1", "1.5"),
    *("0x1f", "2020-01-01", "1_000", "0o7", "e1", ".inf", "=", "<<", "*a", "&a", "!t", "%d", "@x", "`x y`", "_1"),
    *("", " ", " x", "x ", "a\tb", "a\nb", "a\r\nb", "\x85", "\u2028", "\ufeff", "😀: '", "ünïc", "[a]", "(a)", "\\"),
]
TEXTS = st.one_of(
    st.text(),
    st.lists(st.sampled_from(ODD), min_size=1, max_size=3).map("".join),
    st.text("ab:# ()'\",-_1é.\n?[]{}!&*|>%@`~=<\\", max_size=12),
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.integers(), st.booleans()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def loaded(text: str) -> Any:
    """What YAML readers make of a text."""
    return YAML(typ="safe", pure=True).load(text)


@given(st.lists(VALUES, min_size=1, max_size=3) | st.dictionaries(TEXTS, VALUES, min_size=1, max_size=3))
def test_what_is_written_is_read_as_what_it_was(plain: object) -> None:
    assert loaded(yaml_text(plain)) == plain


@pytest.mark.parametrize("text", ODD)
def test_texts_are_texts_wherever_they_stand(text: str) -> None:
    plain = [{"name": text, "tolerance": {text: text}, "tags": [text, "a"]}]
    assert loaded(yaml_text(plain)) == plain


def test_a_text_longer_than_a_line_stays_one() -> None:
    plain = [{"description": "word " * 3000 + "end"}]
    assert loaded(yaml_text(plain)) == plain


@given(
    st.lists(TEXTS.filter(lambda name: name.strip() == name and name.isprintable() and name), min_size=1, max_size=3)
)
def test_rules_about_odd_names_are_read_as_what_they_were(names: list[str]) -> None:
    listed = ", ".join("`" + name.replace("`", "``") + "`" for name in names)
    entry = Entry(name=names[0], kind=RuleKind.UNIQUE, source=listed, description=names[-1], tags=tuple(names))
    book = RuleBook(entry.rules(), (entry,))
    again = read_rules(book.to_yaml(), format="yaml")
    assert (again.rules, again.entries) == (book.rules, book.entries)


LINES = st.tuples(
    st.sampled_from(["", "- ", "  ", "    ", "  - ", "      ", "   ", " "]),
    st.sampled_from(["version:", "rules:", "dataset:", "name:", "unique:", "tags:", "rows:", "true:", ""]),
    st.sampled_from([" 1", " a, b", " x: y", " #x", "", " ", " 0.5%", " 01", " 'a'", ' "b"', " |", " true", " []"])
    | st.sampled_from(ODD).map(lambda text: f" {text}"),
).map("".join)


@given(st.lists(LINES, max_size=9))
def test_lines_are_read_as_yaml_reads_them_or_are_left_to_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    quickly = read_lines(text)
    if quickly is not None:
        log = ProblemLog()
        assert quickly == read_yaml(text, log)
        assert not log


RULES = st.dictionaries(st.sampled_from(["name", "unique", "description", "a b"]), TEXTS, min_size=1)


@given(st.lists(RULES, min_size=1))
def test_what_is_written_is_read_alike_by_both_ways(rules: list[dict[str, str]]) -> None:
    options = {"tags": ["a", "b"], "tolerance": {"rows": "1%"}}
    text = yaml_text({"version": 1, "rules": [rule | options for rule in rules]})
    quickly = read_lines(text)
    assert quickly is None or quickly == read_yaml(text, ProblemLog())


def test_what_this_package_writes_is_read_line_by_line() -> None:
    text = yaml_text(
        {
            "version": 1,
            "dataset": {"nulls": "equal"},
            "rules": [
                {"name": "one", "dc": "not (s.a = t.a and s.b < t.b)", "tolerance": {"rows": "0.25%"}, "tags": ["x"]},
                {"name": "two", "row": "a >= 0", "description": "In every row: it's so.", "status": "proposed"},
            ],
        }
    )
    read = read_lines(f"# A remark.\n{text}")
    assert read is not None
    assert read == read_yaml(f"# A remark.\n{text}", ProblemLog())
