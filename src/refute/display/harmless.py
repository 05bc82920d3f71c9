"""Text that a terminal only shows: names, cells and messages come from data, and data can hold commands for terminals.

Such are the control characters (escape sequences, bells, carriage returns, those of 8 bits among them), the characters
that turn the direction of text around, and halves of characters, which cannot be written at all.
"""

from __future__ import annotations

import re

_TURNING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSEEN = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_TURNING}\ud800-\udfff]")
_UNSEEN_OR_BREAK = re.compile(f"[\t\n]|{_UNSEEN.pattern}")
_MARK = "\ufffd"


def visible(text: str) -> str:
    """The text with a mark in place of every character that acts on a terminal; its lines and tabs stay."""
    return _UNSEEN.sub(_MARK, text)


def in_one_line(text: str) -> str:
    """The same for a text that is one line, as names and cells are: line breaks and tabs are marks as well."""
    return _UNSEEN_OR_BREAK.sub(_MARK, text)


def in_json(text: str) -> str:
    """JSON that means the same, with such characters escaped."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def in_xml(text: str) -> str:
    """XML that means the same, with such characters written as numbers; the few that XML cannot carry are marks."""
    return _UNSEEN.sub(lambda found: f"&#x{ord(found[0]):x};" if _in_xml(found[0]) else _MARK, text)


def in_html(text: str) -> str:
    """HTML with such characters as marks; those that turn the direction stay, as numbers."""
    return _UNSEEN.sub(lambda found: f"&#x{ord(found[0]):x};" if ord(found[0]) in _TURNERS else _MARK, text)


_TURNERS = frozenset(number for number in range(0x600, 0x2100) if re.match(f"[{_TURNING}]", chr(number)))


def _in_xml(character: str) -> bool:
    return character >= "\x7f" and not "\ud800" <= character <= "\udfff"
