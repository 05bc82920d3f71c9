"""`refute demo`: the main jobs on the sample that ships with Refute."""

from __future__ import annotations

import warnings

import click

import refute
from refute.cli.discover import describe_proposals
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.progress import counting, following, waiting
from refute.cli.source import engine_option, open_data
from refute.cli.terminal import say
from refute.data import RULES, TABLE
from refute.errors import InferredTypesWarning


@click.command("demo")
@engine_option
@shared
def command(options: SharedOptions, engine: str) -> Exit:
    """Find rules in the sample that ships with Refute, check others, and show the rows that clash."""
    warnings.simplefilter("ignore", InferredTypesWarning)  # the sample's types are known to be right
    with waiting("Starting", options.quiet):
        table = open_data(str(TABLE), engine, options).table
    with following("Proposing", options.quiet) as follow:
        found = refute.propose(table, progress=follow)
    _say(options, f"$ refute discover {TABLE.name} --top 8")
    _say(options, describe_proposals(TABLE.name, found, 8) + "\n")
    _say(options, f"$ refute check {TABLE.name} {RULES.name}")
    book = refute.load_rules(RULES)
    with counting("Checking", len(book), options.quiet, spark=engine == "spark") as step:
        report = refute.check(table, book, key=book.dataset.key, nulls=options.nulls, name=TABLE.name, progress=step)
    _say(options, str(report))
    return Exit.HOLDS


def _say(options: SharedOptions, text: str) -> None:
    if not options.quiet:
        say(text)
