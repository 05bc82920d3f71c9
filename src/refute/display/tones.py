"""Lines of text whose parts have a tone: a terminal may colour them, everything else shows the words alone."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Tone(Enum):
    """What a part of a line is to the reader."""

    BAD = "bad"
    DOUBTFUL = "doubtful"
    GOOD = "good"
    FAINT = "faint"
    MARKED = "marked"


Span = tuple[str, Tone | None]
Line = list[Span]


def line(*parts: str | Span) -> Line:
    """A line of texts and of texts with a tone."""
    return [(part, None) if isinstance(part, str) else part for part in parts]


def without_tones(lines: Iterable[Line]) -> str:
    """The words alone."""
    return "\n".join("".join(text for text, _ in one).rstrip() for one in lines)
