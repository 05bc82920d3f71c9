"""Our own formats: the YAML of rule books, and plain text with one rule per line."""

from __future__ import annotations

import re

from refute.errors import RuleError
from refute.language.constraint import DenialConstraint
from refute.language.formats.format import Format, TableFacts, book_of, lines_of, write_each_line
from refute.language.parsing.parser import parse_statement
from refute.language.parsing.syntax import RuleSyntaxError
from refute.language.render.text import render_sugar, render_text
from refute.language.rulebook import ProblemLog, RuleBook
from refute.language.rulebook.expand import parts_of, short_form
from refute.language.rulebook.reading.loader import book_from_yaml

_TOP_KEY = re.compile(r"^[^\S\n]*(?:\{\s*)?[\"']?(version|dataset|rules)[\"']?\s*:", re.MULTILINE)


def read_yaml(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of a YAML text."""
    return book_from_yaml(text)


def write_yaml(book: RuleBook, table: TableFacts | None = None) -> str:
    """The book as YAML, with all that it says."""
    return book.to_yaml()


def sniff_yaml(text: str) -> bool:
    """Whether one of the keys of a rule file begins a line."""
    return _TOP_KEY.search(text) is not None


def read_text(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of a text with one rule per line, in any notation that `parse` takes."""
    log = ProblemLog()
    rules = []
    for number, line in lines_of(text):
        try:
            parts_of(parse_statement(line))  # some rules can be read, and stand for nothing
            rules.append(line)
        except RuleSyntaxError as error:
            log.add(f"{error.problem}\n{error.excerpt}", number)
        except RuleError as error:
            log.add(str(error), number)
    return book_of(rules, log, TEXT.title)


def write_text(book: RuleBook, table: TableFacts | None = None) -> str:
    """One rule per line in our notation; names, severity and the like are not kept."""
    return write_each_line(book, TEXT.title, _line, computes=True)


def sniff_text(text: str) -> bool:
    """Whether the first line that says something is a rule."""
    first = next(lines_of(text), (0, ""))[1]
    try:
        parse_statement(first)
    except RuleError:
        return re.match(r"(not\b|¬|!)\s*[({\[]", first, re.IGNORECASE) is not None
    return True


def _line(constraint: DenialConstraint) -> str:
    sugar = short_form(constraint)
    return render_text(constraint) if sugar is None else render_sugar(sugar)


_ALL = ("severity", "tolerance", "description", "tags", "status")
YAML = Format("yaml", "YAML", sniff_yaml, read_yaml, write_yaml, keeps=_ALL)
TEXT = Format("text", "rule text", sniff_text, read_text, write_text)
