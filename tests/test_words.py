"""What errors say, and what they carry: facts by stable names, and one style of message."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import refute
from refute.errors import RefuteError

ROOT = Path(refute.__file__).parent
TREES = {
    file.relative_to(ROOT).as_posix(): ast.parse(file.read_text(encoding="utf-8"))
    for file in sorted(ROOT.rglob("*.py"))
}

PROPER = ("Spark", "NaN")  # names that begin a message in upper case

# Classes that make their facts out of other arguments.
OWN_FACTS = {"RuleBookError", "FormatError", "RuleSyntaxError"}

# Messages that speak of nothing that varies, by the words they begin with.
WITHOUT_FACTS = {
    "the monitor has no rows yet",
    "the rows of this discovery are on Spark",
    "this discovery was stopped before all rules were found",
    "the saved encoding is damaged",
    "the saved encoding is incomplete",
    "a number is out of range",
    "strings of the table share hash values",
    "the Spark jobs were cancelled",
    "the text is empty",
    "the list is empty",
    "there are no rules",
    "it sets no limit",
    "it has no predicate",
    "it has a `where`",
    "it has a predicate about one row",
    "a column has no name",
    "a name or constant has a line break",
    "expected a list of predicates",
    "expected an object with type and value",
}

NAMES = {  # that the docstring of RefuteError promises
    name
    for line in (RefuteError.__doc__ or "").splitlines()
    for name in re.findall(r"`(\w+)`", line)
    if name not in ("facts", "refute", "RuleMistake")
}


# Turns of phrase that a native reader stumbles over, and what to say instead.
STILTED = {
    r"(?<![Tt]here) is no (?!longer)": "is not a",
    r"\btold\b|\btells\b": "inferred, shown, says",
    r"\b(is|are) there already\b": "already exists",
    r"\basked for\b|\basked of\b": "given, needed",
    r"\bpass(es|ed|ing)? over\b": "scan, skip",
    r"\btake(n|s)? off\b": "subtract",
    r"\blest\b|\banew\b|\bof its own\b": "so ... does not, again, its own",
    r"\bof this machine\b": "on this machine",
}


def error_names() -> set[str]:
    """Our classes of errors, by name."""
    names = {"RefuteError"}
    for _ in range(3):  # as deep as the tree is
        for tree in TREES.values():
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") in names for base in node.bases):
                    names.add(node.name)
    return names


ERRORS = error_names()


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Every place that makes one of our errors."""
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS:
                yield f"{name}:{node.lineno}", node


def text_of(node: ast.AST) -> str:
    """The letters of a message, with {} for what varies."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return "{}"


def shown_texts() -> Iterator[tuple[str, str]]:
    """Every text of three words or more that is not a docstring: messages, help, plans."""
    for name, tree in TREES.items():
        if name.startswith("kernels/"):
            continue
        hidden = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        hidden |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if id(node) not in hidden and isinstance(node, ast.Constant | ast.JoinedStr):
                text = text_of(node)
                if len(text.split()) >= 3:
                    yield f"{name}:{node.lineno}", text


CALLS = list(raised())


def test_every_error_carries_its_facts() -> None:
    bare = {}
    for place, call in CALLS:
        if call.keywords or getattr(call.func, "id", "") in OWN_FACTS:
            continue
        text = text_of(call.args[0]) if call.args else ""
        if not any(text.startswith(words) for words in WITHOUT_FACTS):
            bare[place] = text
    assert not bare


def test_exceptions_from_that_are_needed() -> None:
    texts = [text_of(call.args[0]) for _, call in CALLS if call.args and not call.keywords]
    assert not {words for words in WITHOUT_FACTS if not any(text.startswith(words) for text in texts)}


def test_facts_have_the_names_that_the_documentation_promises() -> None:
    names = {
        keyword.arg: place
        for place, call in CALLS
        if getattr(call.func, "id", "") not in OWN_FACTS
        for keyword in call.keywords
    }
    assert not {name: place for name, place in names.items() if name not in NAMES}


def test_messages_begin_in_lower_case_and_end_without_a_full_stop() -> None:
    texts = {place: text_of(call.args[0]) for place, call in CALLS if call.args}
    assert not {place: text for place, text in texts.items() if text.endswith(".")}
    assert not {place: text for place, text in texts.items() if text[:1].isupper() and not text.startswith(PROPER)}


def test_no_text_has_a_stilted_turn_of_phrase() -> None:
    found = {
        place: f"{text!r}: rather {better}"
        for place, text in shown_texts()
        for phrase, better in STILTED.items()
        if re.search(phrase, text)
    }
    assert not found


def test_no_docstring_or_comment_says_that_something_is_told() -> None:
    places = []
    for file in sorted(ROOT.rglob("*.py")):
        if "told" not in file.read_text(encoding="utf-8"):
            continue
        with tokenize.open(file) as stream:
            for token in tokenize.generate_tokens(stream.readline):
                if token.type in (tokenize.COMMENT, tokenize.STRING) and re.search(r"\btold\b", token.string):
                    places.append(f"{file.relative_to(ROOT)}:{token.start[0]}")
    assert not places
