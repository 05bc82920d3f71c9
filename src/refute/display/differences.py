"""Where two texts differ, and both shortened such that it shows."""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_CUT = "…"
_BEFORE = 3  # one part in so many of a shortened text stands before the difference


class Marked(NamedTuple):
    """A text with the part of it that differs from another; nothing differs where `start` is `end`."""

    text: str
    start: int = 0
    end: int = 0

    @property
    def parts(self) -> tuple[str, str, str]:
        """What comes before the difference, the difference, and the rest."""
        return self.text[: self.start], self.text[self.start : self.end], self.text[self.end :]


def marked_pair(first: str, second: str, width: int) -> tuple[Marked, Marked]:
    """Both texts with their difference marked, each of at most `width` characters around where it begins."""
    if first == second:
        return (Marked(shortened(first, width)),) * 2
    prefix = _alike(first, second)
    suffix = _alike(first[prefix:][::-1], second[prefix:][::-1])
    begin = 0 if max(len(first), len(second)) <= width else max(prefix - width // _BEFORE, 0)
    return (
        _window(first, begin, prefix, len(first) - suffix, width),
        _window(second, begin, prefix, len(second) - suffix, width),
    )


def shortened(text: str, width: int) -> str:
    """The text, cut at its end where it is longer than `width` characters."""
    return text if len(text) <= width else text[: width - 1] + _CUT


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: letters of East Asia take two, accents that follow a letter none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def padded(text: str, width: int) -> str:
    """The text with spaces after it, up to `width` columns of a terminal."""
    return text + " " * (width - columns_of(text))


def _alike(first: str, second: str) -> int:
    """How many characters both begin with."""
    return next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _window(text: str, begin: int, start: int, end: int, width: int) -> Marked:
    """The text from `begin` on, with dots where something is left out."""
    head = _CUT if begin else ""
    room = width - len(head)
    shown = shortened(text[begin:], room)
    last = len(shown) - (len(text) - begin > room)  # before the dots
    at = len(head) - begin
    return Marked(head + shown, min(start + at, len(head) + last), min(max(end, start) + at, len(head) + last))
