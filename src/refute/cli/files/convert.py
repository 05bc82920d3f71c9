"""`refute convert`: rules from one tool's format to another's."""

from __future__ import annotations

import csv
import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from refute.cli.exits import Exit
from refute.cli.options import OF_SPARK, SharedOptions, shared, without
from refute.cli.output.apart import require_apart
from refute.cli.output.places import Place
from refute.cli.terminal import hand_over, say
from refute.display.plurals import plural
from refute.errors import OptionError
from refute.faults import missing_file, unreadable
from refute.language.addresses import local_path
from refute.language.formats import (
    ALIASES,
    FORMATS,
    MAX_CHARACTERS,
    Format,
    TableFacts,
    check_size,
    detect,
    named,
    read_rules,
    write_rules,
)
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule, RuleBook
from refute.language.rulebook.reading.load import read_file
from refute.writing import write_text


@click.command("convert")
@click.argument("rules", metavar="IN")
@click.option("--to", "target", required=True, metavar="FORMAT", help=f"One of {', '.join((*FORMATS, *ALIASES))}.")
@click.option("--from", "origin", metavar="FORMAT", help="The format of IN. Default: detected.")
@click.option("--out", metavar="F", help="Write to this file; - or nothing is stdout.")
@click.option("--header", metavar="NAMES|CSV", help="Column names (a,b,c), or a CSV file, if columns are numbered.")
@click.option("--table", default="data", show_default=True, help="The name of the table, for sql.")
@shared
def command(
    options: SharedOptions, rules: str, target: str, origin: str | None, out: str | None, header: str | None, table: str
) -> Exit:
    """Write the rules of IN (a file, or - for stdin) in another format.

    A rule that the format cannot express is an error that names it.
    """
    if out is not None and out != "-":
        require_apart([Place(out, "--out")], [("IN", None if rules == "-" else rules), ("--header", header)])
    columns = read_header(header) if header is not None else TableFacts()
    return convert(
        rules,
        to=target,
        origin=origin,
        out=out,
        table=replace(columns, name=table),
        nulls=options.nulls,
        quiet=options.quiet,
    )


without(command, *OF_SPARK)


def convert(
    rules: str,
    *,
    to: str,
    origin: str | None = None,
    out: str | None = None,
    table: TableFacts | None = None,
    nulls: str | None = None,
    quiet: bool = False,
) -> Exit:
    """Write the rules of a file in another format, to `out` or stdout."""
    target = named(to)
    text = sys.stdin.read(MAX_CHARACTERS + 1) if rules == "-" else read_file(Path(rules), format=origin)
    check_size(text)
    chosen = origin or detect(text).name
    book = read_rules(text, format=chosen, table=table, source=None if rules == "-" else rules)
    if nulls is not None:
        book = book.with_nulls(Nulls.of(nulls))
    written = write_rules(book, to, table=table)
    lost = _lost(book, target)
    if lost and not quiet:
        say(f"refute: {target.title} does not keep {', '.join(lost)}.", err=True)
    if out is None or out == "-":
        hand_over(written)
        return Exit.HOLDS
    write_text(local_path(out, "--out needs a file on this machine; without it, rules go to stdout."), written)
    if not quiet:
        say(f"{out}: {plural(len(book), 'rule')}, {named(chosen).title} to {target.title}", err=True)
    return Exit.HOLDS


def read_header(given: str) -> TableFacts:
    """The header written as `a,b,c`, or as the first line of a CSV file; `name:FLOAT` gives a type too."""
    path = Path(given)
    if os.path.isfile(path):  # unlike `path.is_file()`, no error for a list of names too long for a file
        try:
            with path.open(encoding="utf-8-sig", newline="") as stream:
                cells = next(csv.reader(stream), [])
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise unreadable(str(path), f"Its header is not CSV ({error}).") from None
    elif path.suffix.lower() == ".csv":
        raise missing_file(given, OptionError)
    else:
        cells = next(csv.reader([given]), [])
    pairs = [_typed(cell.strip()) for cell in cells]
    if not pairs or not all(name for name, _ in pairs):
        raise OptionError(f"--header must name every column, not {given!r}.", option="--header", value=given)
    return TableFacts(tuple(name for name, _ in pairs), tuple(kind for _, kind in pairs))


def _typed(cell: str) -> tuple[str, str | None]:
    name, colon, kind = cell.rpartition(":")
    return (name, kind) if colon and kind in ("INTEGER", "FLOAT", "STRING") else (cell, None)


def _lost(book: RuleBook, target: Format) -> list[str]:
    """What the rules say beyond their constraints, and the format does not keep."""
    plain = Rule(name="", constraint=book[0].constraint)
    keys = [key for key in ("severity", "tolerance", "description", "tags", "status") if key not in target.keeps]
    return [key for key in keys if any(getattr(rule, key) != getattr(plain, key) for rule in book)]
