"""`refute lint`: everything that is wrong, or of no use, in a file of rules."""

from __future__ import annotations

from pathlib import Path

import click

from refute.cli.exits import Exit
from refute.cli.files.convert import read_header
from refute.cli.options import OF_SPARK, SharedOptions, shared, without
from refute.cli.terminal import say
from refute.display import in_one_line
from refute.errors import shortened
from refute.language.nulls import Nulls
from refute.language.rulebook import RuleBook, RuleBookError
from refute.language.rulebook.advice import advise
from refute.language.rulebook.reading.load import load_rules


@click.command("lint")
@click.argument("rules", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RULES...")
@click.option("--from", "source_format", metavar="FORMAT", help="The format of the files. Default: detected.")
@click.option("--header", metavar="NAMES|CSV", help="Column names (a,b,c), or a CSV file, if columns are numbered.")
@shared
def command(options: SharedOptions, rules: tuple[Path, ...], source_format: str | None, header: str | None) -> Exit:
    """Check rule files without reading any data.

    Every mistake is shown as file:line. Rules that are valid but useless (never broken, repeated, implied by
    another, with a redundant comparison) are warnings. The exit code is 3 if there is a mistake, otherwise 0.
    """
    names = None if header is None else read_header(header).columns
    return lint(rules, source_format=source_format, header=names, nulls=options.nulls, quiet=options.quiet)


without(command, *OF_SPARK)


def lint(
    rules: tuple[Path, ...],
    *,
    source_format: str | None = None,
    header: tuple[str, ...] | None = None,
    nulls: str | None = None,
    quiet: bool = False,
) -> Exit:
    """Print the mistakes in these files to stderr and the warnings to stdout; mistakes set the exit code."""
    outcome = Exit.HOLDS
    for path in rules:
        try:
            book = load_rules(path, format=source_format, header=header)
        except RuleBookError as error:
            for problem in error.problems:
                say(shortened(problem.located(str(path))), err=True)
            say(f"{path}: {_counted(len(error.problems), 'mistake')}", err=True)
            outcome = Exit.FAILED
        else:
            _report(path, book if nulls is None else book.with_nulls(Nulls.of(nulls)), quiet)
    return outcome


def _report(path: Path, book: RuleBook, quiet: bool) -> None:
    advice = advise(book)
    for item in advice:
        place = f"{path}:{item.rule.line}" if item.rule.line is not None else str(path)
        say(f"{place}: warning: {in_one_line(shortened(str(item)))}")
    if not quiet:
        say(f"{path}: {_counted(len(book), 'rule')}, {_counted(len(advice), 'warning')}")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
