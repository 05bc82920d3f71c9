"""Rule formats of other tools, and our own: read, write, and recognise by content."""

from __future__ import annotations

from refute.errors import OptionError
from refute.faults import unknown_choice
from refute.language.formats import dbt, desbordante, holoclean, metanome, nadeef, own, sql, weever
from refute.language.formats.format import Format, FormatError, TableFacts
from refute.language.rulebook import RuleBook, RuleBookError, RuleMistake

__all__ = [
    "ALIASES",
    "FORMATS",
    "MAX_CHARACTERS",
    "Format",
    "FormatError",
    "TableFacts",
    "detect",
    "read_rules",
    "write_rules",
]

FORMATS = {
    item.name: item
    for item in (
        own.YAML,
        nadeef.FORMAT,
        weever.FORMAT,
        holoclean.FORMAT,
        desbordante.FORMAT,
        metanome.FORMAT,
        own.TEXT,
        sql.ANSI,
        sql.SPARK,
        dbt.FORMAT,
    )
}
ALIASES = {"hydra": "metanome", "dcfinder": "metanome", "incdc": "metanome"}  # tools that write one format
MAX_CHARACTERS = 40_000_000  # of a file of rules: a hundred thousand of them, which take a minute
_BY_CONTENT = ("nadeef", "weever", "holoclean", "desbordante", "metanome", "yaml", "text")


def detect(text: str) -> Format:
    """The format a text is in, detected by its content; YAML if it looks like none of them."""
    return next((FORMATS[name] for name in _BY_CONTENT if FORMATS[name].sniff(text)), FORMATS["yaml"])


def read_rules(
    text: str, *, format: str | None = None, table: TableFacts | None = None, source: str | None = None
) -> RuleBook:
    """The rule book of a text in any format; `format` names it, else it is detected. `source` is for messages."""
    check_size(text)
    chosen = detect(text) if format is None else named(format)
    if chosen.read is None:
        raise OptionError(f"{chosen.title} can be written, but not read.", option="format", value=chosen.name)
    try:
        return chosen.read(text, table)
    except RuleBookError as error:
        raise type(error)(error.problems, source) from None


def check_size(text: str) -> None:
    """Raises an error for a text that is longer than any file of rules."""
    if len(text) > MAX_CHARACTERS:
        raise FormatError(
            [RuleMistake(f"This has more than {MAX_CHARACTERS:,} characters, the most that a file of rules may have.")]
        )


def write_rules(book: RuleBook, format: str, *, table: TableFacts | None = None) -> str:
    """The rules as text in a format; an error names each rule that the format cannot express."""
    return named(format).write(book, table)


def named(name: str) -> Format:
    """The format of this name, or of a tool that writes it."""
    name = ALIASES.get(name, name)
    if name not in FORMATS:
        raise unknown_choice("format", name, [*FORMATS, *ALIASES])
    return FORMATS[name]
