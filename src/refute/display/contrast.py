"""Where two texts differ, and both shortened such that it shows."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from refute.display.harmless import in_one_line
from refute.display.spelling import alike, spelled

_CUT = "…"
_BEFORE = 3  # one part in so many of a shortened text stands before the difference


class Marked(NamedTuple):
    """A text with the part of it that differs from another: `start` is `end` where it lacks what the other has."""

    text: str
    start: int = 0
    end: int = 0
    differs: bool = False

    @property
    def parts(self) -> tuple[str, str, str]:
        """What comes before the difference, the difference, and the rest."""
        return self.text[: self.start], self.text[self.start : self.end], self.text[self.end :]


class _Parts(NamedTuple):
    """A text in three parts, of which the middle one differs from another text."""

    before: str
    differing: str
    after: str

    def __len__(self) -> int:
        return sum(map(len, self[:]))


def marked_pair(first: str, second: str, width: int) -> tuple[Marked, Marked]:
    """Both texts in one line with their difference marked, each of at most `width` characters around where it begins.

    Within the difference, what cannot be seen or mistaken for something else is spelled out.
    """
    one, (other,) = marked_among(first, [second], width)
    return one, other


def marked_among(first: str, others: Sequence[str], width: int) -> tuple[Marked, list[Marked]]:
    """A text and others that differ from it, likewise; all are cut at the same place, before the first difference,
    but for those whose own difference would be out of sight there."""
    pairs = [_parted(first, other) for other in others if other != first]
    if not pairs:
        same = Marked(shortened(in_one_line(first), width))
        return same, [same] * len(others)
    forms = [pairs[0][0], *(its for _, its in pairs)]
    begin = 0
    if max(map(len, forms)) > width:
        begin = max(min(len(one.before) for one in forms) - width // _BEFORE, 0)
    mine, *rest = (_window(one, _seen_from(one, begin, width), width) for one in forms)
    alike_ones = Marked(mine.text)
    places = iter(rest)
    return mine, [alike_ones if other == first else next(places) for other in others]


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


def _parted(first: str, second: str) -> tuple[_Parts, _Parts]:
    """Both texts in their three parts, in one line, with the difference spelled out."""
    start = _common(first, second)
    if start and any(unicodedata.combining(text[start]) for text in (first, second) if start < len(text)):
        start -= 1  # an accent goes with its letter
    suffix = _common(first[start:][::-1], second[start:][::-1])
    while suffix and unicodedata.combining(first[-suffix]):
        suffix -= 1
    raw = [
        _Parts(text[:start], text[start : len(text) - suffix], text[len(text) - suffix :]) for text in (first, second)
    ]
    same = alike(first, second)
    mine, its = raw
    found = [
        _Parts(in_one_line(one.before), spelled(one, other.differing, same=same), in_one_line(one.after))
        for one, other in ((mine, its), (its, mine))
    ]
    if "".join(found[0]) == "".join(found[1]):  # one is how the other would be spelled
        found = [_Parts(*map(in_one_line, one)) for one in raw]
    return found[0], found[1]


def _common(first: str, second: str) -> int:
    """How many characters both begin with."""
    return next(
        (at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _seen_from(parts: _Parts, begin: int, width: int) -> int:
    """The place to cut at: `begin`, unless the difference would then be past the end of what is shown."""
    place, room = len(parts.before), width - (len(_CUT) if begin else 0)
    shows = len(parts) - begin <= room or place - begin < room - len(_CUT)
    return begin if shows else place - width // _BEFORE


def _window(parts: _Parts, begin: int, width: int) -> Marked:
    """The text from `begin` on, with dots where something is left out."""
    text, start = "".join(parts), len(parts.before)
    end = start + len(parts.differing)
    head = _CUT if begin else ""
    room = width - len(head)
    shown = shortened(text[begin:], room)
    last = len(shown) - (len(text) - begin > room)  # before the dots
    at = len(head) - begin
    return Marked(head + shown, min(start + at, len(head) + last), min(end + at, len(head) + last), differs=True)
