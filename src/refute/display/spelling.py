"""Characters that cannot be seen, or look like others, spelled out: `Rome<U+200B>` is not `Rome`."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")  # letters and signs without ink
_JOINING = frozenset("\u200c\u200d\ufe0e\ufe0f")  # within emoji and words, where they belong
_SPACE = "␣"


def revealed(text: str) -> str:
    """The text in one line, with spaces at its ends and what cannot be seen spelled out."""
    inner = text.strip(" ")
    head = len(text) - len(text.lstrip(" "))
    tail = len(text) - head - len(inner)
    shown = [_code(c) if _is_unseen(c) and c not in _JOINING else c for c in inner]
    for end in (0, -1) if inner else ():
        shown[end] = _code(inner[end]) if _is_unseen(inner[end]) else shown[end]
    return _SPACE * head + "".join(shown) + _SPACE * tail


def alike(first: str, second: str) -> bool:
    """Whether two texts look the same, or nearly so, as they are the same characters in another form."""
    return unicodedata.normalize("NFKC", first) == unicodedata.normalize("NFKC", second)


def spelled(parts: tuple[str, str, str], other: str, *, same: bool) -> str:
    """The part of a text that differs from another's, with what does not show as a difference spelled out.

    The text is given by what comes before that part, the part, and what comes after; `same` says that both texts look
    alike. Spaces show where nothing or another space is beside them.
    """
    before, part, after = parts
    whole = f"\n{before[-1:]}{part}{after[:1]}\n"
    offset = 1 + len(before[-1:])
    joined = _without_joining(part) != _without_joining(other)
    found = []
    for place, c in enumerate(part, offset):
        if c == " ":
            beside = whole[place - 1] + whole[place + 1]
            found.append(_SPACE if part.isspace() or beside.strip(" ") != beside or "\n" in beside else c)
        elif joined and c in _JOINING:
            found.append(c)
        elif _is_unseen(c) or (same and unicodedata.combining(c)):
            found.append(_code(c))
        elif not c.isascii() and (same or (len(part) == len(other) == 1 and _looks_like(c, other))):
            found.append(c + _code(c))
        else:
            found.append(c)
    return "".join(found)


def _is_unseen(c: str) -> bool:
    return c != " " and (unicodedata.category(c) in _UNSEEN or c in _BLANK or c in _JOINING)


def _without_joining(text: str) -> str:
    return "".join(c for c in text if c not in _JOINING)


def _looks_like(c: str, other: str) -> bool:
    """Whether one character may be taken for another: of another script or kind, and no letter with an accent."""
    return not unicodedata.decomposition(c) and _script(c) != _script(other)


def _script(c: str) -> str:
    return unicodedata.name(c, "").partition(" ")[0]


def _code(c: str) -> str:
    return f"<U+{ord(c):04X}>"
