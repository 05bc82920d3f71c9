"""`refute check`: which rules hold, which do not, and the rows that clash."""

from __future__ import annotations

from pathlib import Path

import click

import refute
from refute.cli.exits import Exit
from refute.cli.listing import print_clashes, write_violations
from refute.cli.options import Shared, shared
from refute.cli.progress import counting, waiting
from refute.cli.source import open_data, reading_options
from refute.cli.terminal import hand_over, say

_FILE = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


@click.command("check")
@click.argument("data", metavar="DATA")
@click.argument("rules", metavar="RULES")
@click.option("--count", "mode", flag_value="count", default="count", help="Count all violations (the default).")
@click.option("--verify", "mode", flag_value="verify", help="Stop at the first clash of each rule.")
@click.option(
    "--list", "shown", type=click.IntRange(min=1), metavar="N", help="Also show N clashes of each broken rule."
)
@click.option("--json", "json_file", type=_FILE, metavar="F", help="Write the report as JSON (- for stdout).")
@click.option("--html", "html_file", type=_FILE, metavar="F", help="Write the report as one HTML page.")
@click.option("--junit", "junit_file", type=_FILE, metavar="F", help="Write the report as JUnit XML.")
@click.option(
    "--violations",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write every violation of every broken rule as Parquet, one folder or file a rule.",
)
@click.option("--key", metavar="C,..", help="The columns that name a row; else the rules say, else its position does.")
@click.option("--method", default="auto", show_default=True, help="Force a method of detection.")
@reading_options
@shared
def command(
    options: Shared,
    data: str,
    rules: str,
    mode: str,
    shown: int | None,
    json_file: Path | None,
    html_file: Path | None,
    junit_file: Path | None,
    folder: Path | None,
    key: str | None,
    method: str,
    engine: str,
    schema: str | None,
    header: bool,
) -> Exit:
    """Check the rows of DATA against RULES.

    DATA is a path or glob of CSV, JSON, Parquet or ORC files. RULES is a file of rules, or the text of one rule.
    """
    book = refute.RuleBook.of(rules)
    columns = tuple(name.strip() for name in key.split(",")) if key else book.dataset.key
    with waiting("Starting", options.quiet):
        opened = open_data(data, engine, options, schema=schema, header=header)
    with counting("Checking", len(book), options.quiet, spark=engine == "spark") as step:
        report = refute.check(
            opened.table,
            book,
            key=columns,
            counts=mode == "count",
            nulls=options.nulls,
            method=method,
            name=data,
            progress=step,
            **opened.reading,
        )
    outputs = ((json_file, report.to_json), (html_file, report.to_html), (junit_file, report.to_junit))
    for file, write in outputs:
        if file == Path("-"):
            hand_over(write().rstrip("\n") + "\n")
        elif file is not None:
            write(file)
    if not options.quiet and not any(file == Path("-") for file, _ in outputs):
        say(str(report))
        if shown is not None:
            print_clashes(opened, report, shown, key=columns)
    if folder is not None:
        write_violations(opened, report, folder, key=columns)
    return Exit(report.exit_code)
