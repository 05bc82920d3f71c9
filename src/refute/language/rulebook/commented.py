"""Rule files with comments: what the file is, how to work on it, and a remark above some rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from refute.display import in_one_line
from refute.display.plurals import plural
from refute.language.rulebook.book import Dataset, RuleBook
from refute.language.rulebook.dumping import yaml_text
from refute.language.rulebook.entry import Entry
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


Remarked = tuple[Entry, Sequence[str]]
"""An entry, and the lines that are said above it."""


@dataclass(frozen=True, slots=True)
class RuleFile:
    """The text of a rule file, its number of entries, and whether others are missing as there was no time for them."""

    text: str
    entries: int
    is_cut: bool = False


def commented_yaml(
    dataset: Dataset,
    head: Sequence[str],
    entries: Iterable[Remarked],
    is_time_up: Callable[[], bool],
) -> RuleFile:
    """Entries as YAML text with comments at its head, and remarks above each. Where time is up, it ends with the entry
    at hand, and says so at its head."""
    parts: list[str] = []
    number, is_cut = 0, False
    for entry, remarks in entries:
        if number and is_time_up():
            is_cut = True
            break
        parts += (_comments(remarks), yaml_text([entry.plain()]))
        number += 1
    start = RuleBook((), (), dataset).to_plain()
    del start["rules"]
    cut = [f"Stopped while this was written, after {plural(number, 'rule')}: others are missing."] if is_cut else []
    begin = (_comments([*head, *cut]), yaml_text(start), "rules:\n" if number else "rules: []\n")
    return RuleFile("".join((*begin, *parts)), number, is_cut)


def _comments(lines: Sequence[str]) -> str:
    """The lines as comments; what would end one, as names of columns may, is a mark."""
    return "".join(f"# {in_one_line(line)}".rstrip() + "\n" for line in lines)
