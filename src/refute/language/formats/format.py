"""What a foreign rule format is to us: how to know it, read it and write it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from refute.errors import RuleError
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.rulebook import ProblemLog, Rule, RuleBook, RuleBookError, RuleMistake


class FormatError(RuleBookError):
    """Text that does not follow its format, or a rule that a format cannot express."""

    @classmethod
    def cannot_express(cls, rule: str, title: str, what: str) -> FormatError:
        """The error for a rule that cannot be written in a format."""
        return cls([RuleMistake(f"Rule {rule!r} cannot be written as {title}: {what}")])


class UnwritableError(RuleError):
    """What a format cannot express; a writer's inner step raises it, and the writer puts the rule's name before it."""


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What some formats have to know of the table: its columns in order with types where known, and its name."""

    columns: tuple[str, ...] = ()
    types: tuple[str | None, ...] = ()
    name: str = "data"


@dataclass(frozen=True, slots=True)
class Format:
    """A rule format. `sniff` tells from the text alone whether it is this one; a format without `read` only writes.

    `keeps` names what it says of a rule beyond its constraint.
    """

    name: str
    title: str
    sniff: Callable[[str], bool]
    read: Callable[[str, TableFacts | None], RuleBook] | None
    write: Callable[[RuleBook, TableFacts | None], str]
    keeps: tuple[str, ...] = ()


def lines_of(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, with their numbers: neither blank nor a comment after `#`."""
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def read_each_line(text: str, title: str, parse: Callable[[str], DenialConstraint]) -> RuleBook:
    """The rule book of a text with one constraint per line; all lines that do not parse are reported together."""
    log = ProblemLog()
    constraints: list[DenialConstraint] = []
    lines: list[int] = []
    for number, line in lines_of(text):
        try:
            constraints.append(parse(line))
            lines.append(number)
        except RuleError as error:
            log.add(f"This is not {title}: {error}", number)
    book = book_of(constraints, log, title)
    rules = tuple(replace(rule, line=line) for rule, line in zip(book.rules, lines, strict=True))
    return RuleBook(rules, tuple(replace(entry, line=line) for entry, line in zip(book.entries, lines, strict=True)))


def book_of(rules: Iterable[DenialConstraint | Rule | str], log: ProblemLog, title: str) -> RuleBook:
    """The rule book of what was read, or one error with every problem met on the way; no rule at all is one too."""
    found = list(rules)
    if not found and not log:
        log.add(f"There is no rule in this {title} text.")
    try:
        log.raise_if_any()
    except RuleBookError as error:
        raise FormatError(error.problems) from None
    return RuleBook.of(found)


def write_each_line(
    book: RuleBook, title: str, render: Callable[[DenialConstraint], str], *, computes: bool = False
) -> str:
    """One line of text per rule; an error names every rule that the format cannot express, and why.

    `computes` says that the format has arithmetic.
    """

    def line_of(rule: Rule) -> str:
        line = render(plain_constraint(rule, computes=computes))
        if "\n" in line or "\r" in line:
            raise UnwritableError("A name or constant has a line break, and this format has one line per rule.")
        return line + "\n"

    return "".join(written_each(book, title, line_of))


def written_each(book: RuleBook, title: str, write: Callable[[Rule], str]) -> list[str]:
    """What is written of each rule; an error names every rule that the format cannot express, and why."""
    log: list[RuleMistake] = []
    texts: list[str] = []
    for rule in book:
        try:
            texts.append(write(rule))
        except RuleError as error:
            log.extend(FormatError.cannot_express(rule.name, title, str(error)).problems)
    if log:
        raise FormatError(log)
    return texts


def plain_constraint(rule: Rule, *, computes: bool = False) -> DenialConstraint:
    """The rule's constraint, if that says all about which rows clash: foreign formats have no `where`, no null mode."""
    if rule.added is not None:
        raise UnwritableError(
            f"It is a rule of the kind `{rule.kind.value}`, which this format does not have.", type=rule.kind.value
        )
    if rule.where is not None:
        raise UnwritableError("It has a `where`.")
    if rule.nulls is not Nulls.SQL:
        raise UnwritableError(f"It has `nulls: {rule.nulls.value}`.", value=rule.nulls.value)
    if rule.constraint.computes and not computes:
        raise UnwritableError(
            "It has arithmetic, and this format compares columns and constants only.", columns=rule.constraint.columns
        )
    return rule.constraint
