"""Rule files are written without a YAML library where a text is simple; what is written is read as what it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from refute.language.formats import read_rules
from refute.language.parsing.parser import RuleKind
from refute.language.rulebook import Entry, RuleBook
from refute.language.rulebook.dumping import yaml_text

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


@pytest.mark.parametrize("text", [*ODD, "yes", "On", "OFF", "n", "1:30", "-1:30:45", "190:20:30.15", "٣:10"])
def test_readers_of_yaml_1_1_find_texts_too(text: str) -> None:
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 1)
    plain = [{"one_of": {text: [text, "a"]}}]
    assert reader.load(yaml_text(plain)) == plain


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
