"""What is wrong with a text that is not YAML, in words for people who write rules, not parsers."""

from __future__ import annotations

import re

from ruamel.yaml.error import MarkedYAMLError, YAMLError

_TAB = "A tab cannot stand here: indent with blanks."
_MEANT = (
    (r"character '\\t' that cannot start", _TAB),
    (r"found a tab", _TAB),
    (r"character (?P<what>'.+') that cannot start", "A text cannot begin with {what}: put it in quotes."),
    (
        r"unknown escape character (?P<what>.+)",
        r"{what} cannot follow \ between double quotes: use single quotes, between which \ stands for itself.",
    ),
    (r"escape sequence of", r"A \ between double quotes begins an escape that is incomplete: use single quotes."),
    (r"unexpected end of stream", "A quote is opened{begin} and never closed."),
    (r"unexpected document separator", "A quote is opened{begin} and not closed before '---'."),
    (r"mapping values are not allowed", "A colon and a blank start a new key here: put the text in quotes."),
    (
        r"expected ',' or '(?P<what>[}\]])'",
        "The brackets that are opened{begin} lack a comma before this, or the closing {what}.",
    ),
    (r"could not find expected ':'", "A colon is missing after a key, or a text of several lines needs quotes."),
    (r"expected <block end>", "This line is indented unlike those before it."),
    (r"expected the node content", "A value is missing here."),
    (r"sequence entries are not allowed", "A list cannot start here: begin a new line for each '-'."),
    (r"block sequence entries|expected alphabetic", "This is not written as YAML asks: put the text in quotes."),
    (r"undefined alias (?P<what>.+)", "The alias {what} is not defined before it is used."),
    (r"duplicate anchor", "An anchor of this name was defined before."),
    (r"undefined tag handle|constructor for the tag|while scanning a tag", "Rule files have no tags such as '!name'."),
    (r"another document|single document", "A rule file is one document: remove the line '---'."),
    (r"duplicate key", "A key is written twice."),
    (r"special characters are not allowed", "This line has a character that text cannot have, such as a zero byte."),
    (r"directive|%YAML|version", "Rule files have no lines that begin with '%'."),
)
_DEEPER = (
    "This line is indented deeper than the key before it: indent keys by the same number of blanks, with a blank after "
    "each '-'."
)
_BEHIND = "The value before this has ended: remove what follows it, or put all of it in quotes."
_KEY = re.compile(r"\s*(?:-\s+)*[\w-]+")
_OTHERWISE = "It cannot be read from here on: check quotes, colons, brackets and indentation."


def explained(error: YAMLError, text: str) -> str:
    """What is wrong with a text, in our words; what we found wrong ourselves as it is."""
    if not isinstance(error, MarkedYAMLError):
        return _said(str(error), "")
    if _is_key_too_deep(error, text):
        return _DEEPER
    if _is_behind_a_value(error, text):
        return _BEHIND
    if error.context is None and error.problem is not None and error.problem.startswith(("This ", "The aliases")):
        return str(error.problem)
    begin = error.context_mark
    return _said(f"{error.context or ''} {error.problem or ''}", "" if begin is None else f" on line {begin.line + 1}")


def _is_key_too_deep(error: MarkedYAMLError, text: str) -> bool:
    """Whether a line is a key that is indented as if it went on with the text of the key before."""
    mark = error.problem_mark
    if mark is None or "mapping values are not allowed" not in str(error.problem):
        return False
    return _KEY.fullmatch(text[: mark.index].rpartition("\n")[2]) is not None


def _is_behind_a_value(error: MarkedYAMLError, text: str) -> bool:
    """Whether something follows in a line, or closes no bracket, where the value before it has ended."""
    mark = error.problem_mark
    if mark is None or "expected <block end>" not in str(error.problem):
        return False
    before = text[: mark.index].rpartition("\n")[2]
    return text[mark.index : mark.index + 1] in "}]" or before.strip(" -") != ""


def _said(text: str, begin: str) -> str:
    for pattern, words in _MEANT:
        found = re.search(pattern, text)
        if found is not None:
            return words.format(begin=begin, **found.groupdict())
    return _OTHERWISE
