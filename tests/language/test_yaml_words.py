"""Mistakes in YAML are explained in words of Refute, never in those of the library that reads it."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.errors import OptionError, RuleError
from refute.language.formats import named

RULES = """\
version: 1
rules:
  - {name: a, fd: "zip -> city", tags: [x, y]}
  - name: b
    matches: {zip: '[0-9]{5}'}
    description: "One \\"zip\\" &a *a"
"""
FOREIGN = re.compile(
    r"while (parsing|scanning)|<block|<unicode|scalar|token|flow|simple key|did not find|found character"
    r"|ruamel|composer|yaml\.org|constructor|node content|could not|%YAML",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('rules:\n  - {name: z, matches: {zip: "\\d+"}}', "Line 2: This is not valid YAML: 'd' cannot follow \\"),
        ("rules:\n\t- name: a", "Line 2: This is not valid YAML: A tab cannot stand here: indent with blanks"),
        ("rules:\n  - name: a: b", "Line 2: This is not valid YAML: A colon and a blank start a new key here"),
        ("rules: [{name: a", "Line 1: This is not valid YAML: The brackets that are opened on line 1 lack a comma"),
        ('rules:\n  - name: "a', "Line 2: This is not valid YAML: A quote is opened on line 2 and never closed"),
        (
            "rules:\n  - name: a\n   fd: x",
            "Line 3: This is not valid YAML: This line is indented unlike those before it",
        ),
        ("rules: [a]]", "Line 1: This is not valid YAML: The value before this has ended: remove what follows it"),
        ("rules:\n  - {name: a}\n}", "Line 3: This is not valid YAML: The value before this has ended"),
        ("rules:\n  - name: 'a' b", "Line 2: This is not valid YAML: The value before this has ended"),
        ("rules: *nope", "Line 1: This is not valid YAML: The alias 'nope' is not defined"),
        ("version: 1\nrules: \0", "Line 2: This is not valid YAML: This line has a character that text cannot have"),
    ],
)
def test_the_usual_mistakes_are_named(text: str, said: str) -> None:
    with pytest.raises(RuleError) as caught:
        rf.load_rules(text, format="yaml")
    assert str(caught.value).startswith(said)


@given(st.integers(0, len(RULES)), st.integers(0, 3), st.text("\t\n :-{}[]\"'&*!|>%@`,?\\#abc\x00", max_size=4))
def test_no_text_of_the_library_is_shown(place: int, gone: int, put: str) -> None:
    text = RULES[:place] + put + RULES[place + gone :]
    said = ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            rf.load_rules(text, format="yaml")
        except RuleError as error:
            said = str(error)
    assert not [line for line in said.splitlines() if "not valid YAML" in line and FOREIGN.search(line)]


def test_formats_have_the_names_of_tools_that_write_them() -> None:
    assert {named(name).name for name in ("hydra", "dcfinder", "incdc")} == {"metanome"}
    with pytest.raises(OptionError, match="Did you mean 'hydra'"):
        named("hydraa")
