"""`refute explain`: how rules would be answered, before anything is searched."""

from __future__ import annotations

from typing import Any

import click

import refute
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.progress import waiting
from refute.cli.source import open_data, reading_options
from refute.cli.terminal import say


@click.command("explain")
@click.argument("data", metavar="DATA")
@click.argument("rules", metavar="RULES")
@click.option("--method", default="auto", show_default=True, help="Force a detection method.")
@reading_options
@shared
def command(
    options: SharedOptions,
    data: str,
    rules: str,
    method: str,
    engine: str,
    schema: str | None,
    header: bool,
    csv: dict[str, Any] | None,
    driver_bytes: int | None,
) -> Exit:
    """Show for each of RULES its shape, the method chosen for DATA, the steps that would run, and the worst case."""
    book = refute.RuleBook.of(rules)
    with waiting("Starting", options.quiet):
        opened = open_data(data, engine, options, schema=schema, header=header, csv=csv, driver_bytes=driver_bytes)
    with waiting("Planning", options.quiet):
        plan = refute.explain(opened.table, book, nulls=options.nulls, method=method, **opened.reading)
    if not options.quiet:
        say(str(plan))
    return Exit.HOLDS
