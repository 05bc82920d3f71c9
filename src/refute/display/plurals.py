"""Things in words: `1 row`, `2,000 rows`, `an int`."""

from __future__ import annotations


def plural(number: int, noun: str, several: str | None = None) -> str:
    """`1 row`, `2,000 rows`; `several` is the plural where it is not the noun and an s."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {several or noun + 's'}"


def with_article(kind: str) -> str:
    """`a list`, `an int`: a type as a sentence names it."""
    return f"an {kind}" if kind[:1].lower() in "aeio" and kind else f"a {kind}"
