"""`refute check`: which rules hold, which do not, and the rows that clash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

import refute
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.again import again
from refute.cli.output.apart import require_apart
from refute.cli.output.clash_files import require_violations, write_violations
from refute.cli.output.hiding import hiding_options, names_of, require_discreet
from refute.cli.output.places import Place, as_file, as_folder, as_folder_or_table, on_spark_alone, require_all
from refute.cli.output.progress import counting, waiting
from refute.cli.output.since import Since, since_options
from refute.cli.output.suspects import require_quarantine, require_suspects_file, write_halves, write_suspects, written
from refute.cli.source import open_data, persist_option, reading_options
from refute.cli.terminal import say, say_lines
from refute.language.conditions import InTable


@click.command("check")
@click.argument("data", metavar="DATA")
@click.argument("rules", metavar="RULES")
@click.option("--count", "mode", flag_value="count", default="count", help="Count all violations (the default).")
@click.option("--verify", "mode", flag_value="verify", help="Stop at the first clash of each rule.")
@click.option(
    "--list",
    "shown",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show N clashes, or groups of clashing values, of each broken rule: here, in --json and in --html.",
)
@click.option("--json", "json_file", callback=as_file, metavar="F", help="Write the report as JSON (- for stdout).")
@click.option("--html", "html_file", callback=as_file, metavar="F", help="Write the report as one HTML page.")
@click.option("--junit", "junit_file", callback=as_file, metavar="F", help="Write the report as JUnit XML.")
@click.option(
    "--violations",
    "violations",
    callback=as_folder_or_table,
    metavar="DIR",
    help="Write all violations with the columns of both rows, one file (on Spark, one folder) per rule; or into one "
    "catalog table: table:schema.name.",
)
@click.option(
    "--violations-format",
    "form",
    type=click.Choice(["parquet", "csv"]),
    default="parquet",
    show_default=True,
    help="How --violations writes.",
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
@hiding_options
@click.option("--rule", "names", multiple=True, metavar="NAME", help="Check only this rule. May be repeated.")
@click.option("--tags", callback=names_of, metavar="T,..", help="Check only rules with one of these tags.")
@since_options
@click.option("--key", metavar="C,..", help="Columns that identify a row. Default: the key in RULES, else position.")
@click.option("--method", default="auto", show_default=True, help="Force a detection method.")
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
    form: str,
    mask: tuple[str, ...],
    no_values: bool,
    names: tuple[str, ...],
    tags: tuple[str, ...],
    since: Since,
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
    On Spark, output may go to an address such as s3://bucket/folder, where a report becomes the only file of a folder.
    """
    book = refute.RuleBook.of(rules).select(names, tags)
    columns = tuple(name.strip() for name in key.split(",")) if key else book.dataset.key
    places = (json_file, html_file, junit_file, violations, suspects_file, quarantine, *since.places)
    require_apart(places, [("DATA", data), ("RULES", rules), *since.inputs, *_tables(book)])
    reading: dict[str, Any] = {"schema": schema, "header": header, "csv": csv, "driver_bytes": driver_bytes}
    with waiting("Starting", options.quiet):
        opened = open_data(data, engine, options, wanted=persist or on_spark_alone(places), **reading)
    require_all(places, opened)
    require_violations(violations, form, columns, mask)
    since.require(counted=mode == "count")
    require_discreet(since.written, book, columns, mask, no_values=no_values)
    require_suspects_file(suspects_file)
    require_quarantine(quarantine, places)
    with counting("Checking", len(book), options.quiet, spark=opened.on_spark) as step:
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
    report.hiding(*mask)  # so that a column which does not exist is reported before anything is written
    report = since.applied(report)
    if mask or no_values:
        report = report.hiding(*mask, values=not no_values)
    outputs: list[tuple[Place | None, Callable[[], str]]] = [
        (json_file, lambda: report.to_json(clashes=shown)),
        (html_file, lambda: report.to_html(clashes=shown, history=since.history)),
        (junit_file, report.to_junit),
    ]
    if suspects_file is not None and suspects_file.is_stdout:
        outputs.append((suspects_file, lambda: written(report.suspects, suspects_file)))
    elif suspects_file is not None:
        write_suspects(opened, report.suspects, suspects_file)
    if quarantine is not None:
        write_halves(opened, report.suspects, quarantine)
    for file, write in outputs:
        if file is not None:
            file.write(write(), opened)
    if not options.quiet and not any(file is not None and file.is_stdout for file, _ in outputs):
        from refute.report.forms.as_text import lines  # which loads all that a report can do

        say_lines(lines(report, shown))
        hint = _next(report, suspects_file or quarantine, html_file)
        if hint:
            say(f"Next: {hint}")
    if violations is not None:
        write_violations(opened, report, violations, form)
    return Exit(report.exit_code)


def _tables(book: refute.RuleBook) -> list[tuple[str, str]]:
    """The other tables that rules refer to."""
    return [("a table of `references`", rule.added.path) for rule in book if isinstance(rule.added, InTable)]


def _next(report: refute.Report, blamed: Any, page: Any) -> str | None:
    """The command that helps most after this one; None where there is nothing to do."""
    if report.exit_code == 0 or (page is not None and blamed):
        return None
    if page is None:
        return f"{again('--html', 'report.html')}   (a page with pictures, suspects and clashes)"
    return f"{again('--suspects', 'suspects.csv')}   (the rows to blame, with suggested values)"
