"""Rule files with comments: what the file is, how to work on it, and a remark above some rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from refute.display import in_one_line
from refute.language.rulebook.book import RuleBook
from refute.language.rulebook.dumping import yaml_text
from refute.language.rulebook.reading.schema import schema_address

ABOUT_PROPOSALS = (
    "A rule with `status: proposed` only warns. To accept it, delete that line; to reject it, delete the rule.",
    "`tolerance` is how far the rows broke the rule when this was written, so that they pass. Lower it once they are",
    "mended; without it, nothing is tolerated.",
)
EDITOR = "yaml-language-server: $schema="


def schema_line() -> str:
    """The comment by which editors find the schema of rule files: the one that this installation has."""
    return EDITOR + schema_address()


def commented_yaml(book: RuleBook, head: Sequence[str], remarks: Sequence[Sequence[str]]) -> str:
    """The book as YAML text with comments at its head, and remarks above its entries."""
    plain = book.to_plain()
    entries = cast("list[object]", plain.pop("rules"))
    parts = [_comments(head), yaml_text(plain), "rules:\n" if entries else "rules: []\n"]
    for entry, remark in zip(entries, remarks, strict=True):
        parts += (_comments(remark), yaml_text([entry]))
    return "".join(parts)


def _comments(lines: Sequence[str]) -> str:
    """The lines as comments; what would end one, as names of columns may, is a mark."""
    return "".join(f"# {in_one_line(line)}".rstrip() + "\n" for line in lines)
