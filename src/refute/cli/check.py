"""`refute check`: which rules hold, which do not, and the rows that clash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import refute
from refute.cli.exits import Exit
from refute.cli.listing import print_clashes, write_violations
from refute.cli.options import SharedOptions, shared
from refute.cli.places import Place, as_file, as_folder, as_folder_or_table, require_all
from refute.cli.progress import counting, waiting
from refute.cli.source import open_data, persist_option, reading_options
from refute.cli.suspects import require_quarantine, require_suspects_file, write_halves, write_suspects, written
from refute.cli.terminal import hand_over, say


@click.command("check")
@click.argument("data", metavar="DATA")
@click.argument("rules", metavar="RULES")
@click.option("--count", "mode", flag_value="count", default="count", help="Count all violations (the default).")
@click.option("--verify", "mode", flag_value="verify", help="Stop at the first clash of each rule.")
@click.option(
    "--list", "shown", type=click.IntRange(min=1), metavar="N", help="Also show N clashes of each broken rule."
)
@click.option("--json", "json_file", callback=as_file, metavar="F", help="Write the report as JSON (- for stdout).")
@click.option("--html", "html_file", callback=as_file, metavar="F", help="Write the report as one HTML page.")
@click.option("--junit", "junit_file", callback=as_file, metavar="F", help="Write the report as JUnit XML.")
@click.option(
    "--violations",
    "violations",
    callback=as_folder_or_table,
    metavar="DIR",
    help="Write all violations as Parquet, one file (on Spark, one folder) per rule; or into one catalog table: "
    "table:schema.name.",
)
@click.option(
    "--suspects",
    "suspects_file",
    callback=as_file,
    metavar="F",
    help="Write the few rows to blame, with reasons and suggested values, as .csv, .json or .parquet (- for stdout).",
)
@click.option(
    "--quarantine",
    callback=as_folder,
    metavar="DIR",
    help="Write the rows that stay and the suspects, with reasons, as two Parquet files of a folder.",
)
@click.option("--key", metavar="C,..", help="Columns that identify a row. Default: the key in RULES, else position.")
@click.option("--method", default="auto", show_default=True, help="Force a method of detection.")
@persist_option
@reading_options
@shared
def command(
    options: SharedOptions,
    data: str,
    rules: str,
    mode: str,
    shown: int | None,
    json_file: Place | None,
    html_file: Place | None,
    junit_file: Place | None,
    violations: Place | None,
    suspects_file: Place | None,
    quarantine: Place | None,
    key: str | None,
    method: str,
    engine: str,
    schema: str | None,
    header: bool,
    csv: dict[str, Any] | None,
    driver_bytes: int | None,
    persist: bool,
) -> Exit:
    """Check the rows of DATA against RULES.

    DATA is a path or glob of CSV, JSON, Parquet or ORC files. RULES is a file of rules, or the text of one rule.
    On Spark, output may go to an address such as s3://bucket/folder, where a report is the only file of a folder.
    """
    book = refute.RuleBook.of(rules)
    columns = tuple(name.strip() for name in key.split(",")) if key else book.dataset.key
    with waiting("Starting", options.quiet):
        opened = open_data(data, engine, options, schema=schema, header=header, csv=csv, driver_bytes=driver_bytes)
    require_all((json_file, html_file, junit_file, violations, suspects_file, quarantine), opened)
    require_suspects_file(suspects_file)
    require_quarantine(quarantine)
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
            persist=persist,
            **opened.reading,
        )
    outputs: list[tuple[Place | None, Callable[[], str]]] = [
        (json_file, report.to_json),
        (html_file, report.to_html),
        (junit_file, report.to_junit),
    ]
    if suspects_file is not None and suspects_file.is_stdout:
        outputs.append((suspects_file, lambda: written(report.suspects, suspects_file)))
    elif suspects_file is not None:
        write_suspects(opened, report.suspects, suspects_file)
    if quarantine is not None:
        write_halves(opened, report.suspects, quarantine)
    for file, write in outputs:
        if file is not None and file.is_stdout:
            hand_over(write().rstrip("\n") + "\n")
        elif file is not None:
            file.write(write(), opened)
    if not options.quiet and not any(file is not None and file.is_stdout for file, _ in outputs):
        say(str(report))
        if shown is not None:
            print_clashes(report, shown)
    if violations is not None:
        write_violations(opened, report, violations)
    return Exit(report.exit_code)
