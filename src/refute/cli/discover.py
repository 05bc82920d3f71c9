"""`refute discover`: the rules that a table obeys, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import refute
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.places import Place, as_file, require_all
from refute.cli.progress import following, waiting
from refute.cli.source import open_data, persist_option, reading_options
from refute.cli.terminal import say
from refute.display import in_one_line

if TYPE_CHECKING:
    from refute.discovery import Discovered

_SHOWN = 20


@click.command("discover")
@click.argument("data", metavar="DATA")
@click.option(
    "--error",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="G1",
    help="The share of row pairs allowed to break a rule.",
)
@click.option("--max-predicates", type=click.IntRange(min=1), metavar="K", help="At most K comparisons in a rule.")
@click.option("--columns", metavar="C,..", help="Use only these columns.")
@click.option("--where", metavar="CONDITION", help="Use only rows that match, e.g. \"state = 'NY' and salary > 0\".")
@click.option(
    "--cross-columns/--no-cross-columns", default=True, show_default=True, help="Also compare different columns."
)
@click.option("--one-row", is_flag=True, help="Also compare columns within a row.")
@click.option(
    "--constants",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Also compare with N frequent values.",
)
@click.option(
    "--almost", type=click.IntRange(min=0), default=0, metavar="N", help="Also list rules broken by at most N pairs."
)
@click.option("--method", default="auto", show_default=True, help="Force a method of discovery.")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S seconds and show the rules verified so far.")
@click.option(
    "--top", type=click.IntRange(min=1), default=_SHOWN, show_default=True, metavar="N", help="Show the N best rules."
)
@click.option("--out", callback=as_file, metavar="F", help="Write the rules as a rule file.")
@persist_option
@reading_options
@shared
def command(
    options: SharedOptions,
    data: str,
    error: float,
    max_predicates: int | None,
    columns: str | None,
    where: str | None,
    cross_columns: bool,
    one_row: bool,
    constants: int,
    almost: int,
    method: str,
    time_limit: float | None,
    top: int,
    out: Place | None,
    engine: str,
    schema: str | None,
    header: bool,
    driver_bytes: int | None,
    persist: bool,
) -> Exit:
    """Find the rules that the rows of DATA obey, each minimal and checked on all rows.

    DATA is a path or glob of CSV, JSON, Parquet or ORC files, or a catalog table. Small
    tables are searched in this process, large ones by Spark. With --out, all rules are written to a rule file, as
    proposals to keep or drop.
    """
    with waiting("Starting", options.quiet):
        opened = open_data(data, engine, options, schema=schema, header=header, driver_bytes=driver_bytes)
    require_all([out], opened)
    with following("Discovering", options.quiet) as follow:
        found = refute.discover(
            opened.table,
            where=where,
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            cross_columns=cross_columns,
            one_row=one_row,
            constants=constants,
            error=error,
            max_predicates=max_predicates,
            method=method,
            nulls=options.nulls or "sql",
            time_limit=time_limit,
            almost=almost,
            progress=follow,
            persist=persist,
            **opened.reading,
        )
    if not options.quiet:
        say(describe(data, found, top))
    if out is not None:
        out.write(found.to_yaml(), opened)
        if not options.quiet:
            say(f"wrote {_rules(len(found), 'proposed rule')} to {out.text}", err=True)
    return Exit.PARTIAL if found.partial else Exit.HOLDS


def describe(name: str, found: refute.Discovery, top: int) -> str:
    """The best rules as text, then those that a few pairs break, then what was not searched."""
    shown = found.top(top)
    best = f", the {len(shown)} best:" if shown else ""
    lines = [f"{name}: {_rules(len(found))} in {found.seconds:.1f} s{best}"]
    lines += [_line(rule) for rule in shown]
    if found.almost:
        lines += ["", "Broken by a few rows only:", *(_line(rule) for rule in found.almost[:top])]
    lines += [f"note: {note}" for note in found.notes]
    return "\n".join(lines)


def _rules(number: int, noun: str = "rule") -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"


def _line(rule: Discovered) -> str:
    broken = f" ({rule.violations:,} violations)" if rule.violations else ""
    return f"  {rule.sort.value:<21}  {in_one_line(rule.sentence)}{broken}"
