"""`refute init`: a first rule file for a table, with the rules that its rows support, to be edited."""

from __future__ import annotations

from typing import Any

import click

import refute
from refute.cli.discover import counted_rules, write_rules
from refute.cli.ending import Ending
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.apart import require_apart
from refute.cli.output.places import Place, as_file, require_all, require_new
from refute.cli.output.progress import following, waiting
from refute.cli.source import open_data, reading_options
from refute.cli.terminal import say
from refute.display import in_one_line

_EXAMPLES = (
    "No rule is proposed for these rows. Rules look like this; lines such as these replace the `[]` of `rules` below:",
    '- {name: zip_fixes_city, fd: "zip -> city"}',
    '- {name: one_id, unique: "id"}',
    '- {name: rate_is_a_percentage, row: "rate >= 0 and rate <= 100", severity: warn}',
)


@click.command("init")
@click.argument("data", metavar="DATA")
@click.option(
    "--out",
    callback=as_file,
    default="rules.yaml",
    show_default=True,
    metavar="F",
    help="Where to write the rule file; - for stdout.",
)
@click.option("--force", is_flag=True, help="Write the file even if there is one.")
@click.option("--columns", metavar="C,..", help="Use only these columns.")
@click.option("--where", metavar="CONDITION", help="Use only rows that match, e.g. \"state = 'NY' and salary > 0\".")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S seconds and write the rules found so far.")
@reading_options
@shared
def command(
    options: SharedOptions,
    /,
    data: str,
    out: Place,
    force: bool,
    columns: str | None,
    where: str | None,
    time_limit: float | None,
    engine: str,
    schema: str | None,
    header: bool,
    csv: dict[str, Any] | None,
    driver_bytes: int | None,
) -> Exit:
    """Write a rule file for DATA: the rules that its rows support, as proposals to keep or drop.

    `refute check` passes on the same rows, as each rule has the tolerance that they need. Proposed rules only warn
    until `status: proposed` is deleted. The first line leads YAML editors to the schema. Where no rule is proposed, the
    file has examples to start from, and the exit code is 4, as nothing can be checked yet.
    """
    from refute.language.rulebook.commented import schema_line

    if options.nulls == "equal":
        raise click.UsageError("--nulls equal cannot be used with init: proposals take no account of rows with nulls.")
    require_apart([out], [("DATA", data)])
    require_new(out, force=force)
    with Ending(time_limit) as ending:
        with waiting("Starting", options.quiet):
            opened = open_data(data, engine, options, schema=schema, header=header, csv=csv, driver_bytes=driver_bytes)
        require_all([out], opened)
        with following("Proposing", options.quiet) as follow:
            found = refute.propose(
                opened.table,
                where=where,
                columns=None if columns is None else [name.strip() for name in columns.split(",")],
                time_limit=time_limit,
                progress=ending.following(follow),
                **opened.reading,
            )
            ending.begin(found.seconds)
        about = f"Rules that refute proposed for {data}: {counted_rules(len(found))}."
        notes = [f"Note: {note}" for note in found.notes]
        file = ending.rule_file(found, schema_line(), about, *notes, *(() if len(found) else _EXAMPLES))
        if len(found):
            write_rules(file, out, opened, options)
            return Exit.PARTIAL if found.partial or ending.is_cut else Exit.HOLDS
        out.write(file.text, opened)
        if not options.quiet and not out.is_stdout:
            say(
                f"No rule is proposed. Wrote examples to {in_one_line(out.text)}: add a rule before you check.",
                err=True,
            )
        return Exit.PARTIAL  # a file without rules is no rule file
