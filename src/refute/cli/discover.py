"""`refute discover`: the rules that people would write, or with --complete every rule that the rows obey."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import refute
from refute.cli.ending import Ending
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.again import again
from refute.cli.output.apart import require_apart
from refute.cli.output.places import Place, as_file, on_spark_alone, require_all, require_new
from refute.cli.output.progress import following, waiting
from refute.cli.source import Opened, open_data, persist_option, reading_options
from refute.cli.terminal import say
from refute.display import in_one_line

if TYPE_CHECKING:
    from refute.discovery import CompleteDiscovery, Discovered
    from refute.language.rulebook.commented import RuleFile
    from refute.proposing.result import Proposal, Proposals

_SHOWN = 20
_OF_COMPLETE = (
    "error",
    "measure",
    "max_predicates",
    "cross_columns",
    "one_row",
    "constants",
    "almost",
    "method",
    "persist",
)
_OF_PROPOSALS = ("tendencies", "max_left", "seed")


@click.command("discover")
@click.argument("data", metavar="DATA")
@click.option("--columns", metavar="C,..", help="Use only these columns.")
@click.option("--where", metavar="CONDITION", help="Use only rows that match, e.g. \"state = 'NY' and salary > 0\".")
@click.option("--kinds", metavar="K,..", help='Only rules of these kinds, e.g. "key,functional dependency".')
@click.option(
    "--max-left",
    type=click.IntRange(1, 3),
    default=2,
    show_default=True,
    metavar="N",
    help="At most N columns on the left of a dependency, and in a key.",
)
@click.option("--tendencies", is_flag=True, help="Also show what holds more often than by chance, but is not a rule.")
@click.option("--time-limit", type=float, metavar="S", help="Stop after S seconds and show the rules found so far.")
@click.option("--seed", type=click.IntRange(min=0), default=0, metavar="N", help="Seed of the random draws.")
@click.option(
    "--top", type=click.IntRange(min=1), default=_SHOWN, show_default=True, metavar="N", help="Show the N best rules."
)
@click.option("--out", callback=as_file, metavar="F", help="Write the rules as a rule file (- for stdout).")
@click.option("--force", is_flag=True, help="With --out: write the file even if there is one.")
@click.option("--html", "html_file", callback=as_file, metavar="F", help="Write the rules as one HTML page.")
@click.option("--complete", is_flag=True, help="Find every minimal rule that the rows obey. The options below need it.")
@click.option(
    "--error",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    metavar="E",
    help="The largest error that a rule may have, by --measure.",
)
@click.option(
    "--measure",
    default="g1",
    show_default=True,
    help="What --error limits. g1: share of pairs, each counted once, g2: share of rows in violations, "
    "g3: share of rows to blame.",
)
@click.option("--max-predicates", type=click.IntRange(min=1), metavar="K", help="At most K comparisons in a rule.")
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
@click.option("--method", default="auto", show_default=True, help="Force a discovery method.")
@persist_option
@reading_options
@shared
def command(
    options: SharedOptions,
    /,
    data: str,
    columns: str | None,
    where: str | None,
    kinds: str | None,
    max_left: int,
    tendencies: bool,
    time_limit: float | None,
    seed: int,
    top: int,
    out: Place | None,
    force: bool,
    html_file: Place | None,
    complete: bool,
    engine: str,
    schema: str | None,
    header: bool,
    csv: dict[str, Any] | None,
    driver_bytes: int | None,
    **of_complete: Any,
) -> Exit:
    """Find rules that the rows of DATA speak for, although some rows may break them.

    DATA is a path or glob of CSV, JSON, Parquet or ORC files, or a catalog table. A rule is proposed where far fewer
    rows break it than would by chance. With --complete, every minimal rule that the rows obey is found, which takes far
    longer and gives many more. With --out, rules are written to a rule file, as proposals to keep or drop: each has the
    tolerance that the rows need, so `refute check` passes on them; where there are none, no file is written, and the
    exit code is 4.
    """
    _require_fitting(complete, options)
    require_apart([out, html_file], [("DATA", data)])
    require_new(out, force=force)
    found: refute.Discovery
    text: Callable[[], str]
    with Ending(time_limit) as ending:
        with waiting("Starting", options.quiet):
            wanted = bool(of_complete["persist"]) or on_spark_alone([out, html_file])
            reading: dict[str, Any] = {"schema": schema, "header": header, "csv": csv, "driver_bytes": driver_bytes}
            opened = open_data(data, engine, options, wanted=wanted, **reading)
        require_all([out, html_file], opened)
        common = {
            "where": where,
            "columns": None if columns is None else [name.strip() for name in columns.split(",")],
            "kinds": None if kinds is None else [name.strip() for name in kinds.split(",")],
            "time_limit": time_limit,
            **opened.reading,
        }
        with following("Discovering" if complete else "Proposing", options.quiet) as follow:
            common["progress"] = ending.following(follow)
            if complete:
                every = refute.discover(opened.table, nulls=options.nulls or "sql", **of_complete, **common)
                found, text = every, partial(describe, data, every, top, ending.in_time)
            else:
                some = refute.propose(opened.table, max_left=max_left, seed=seed, **common)
                found, text = some, partial(describe_proposals, data, some, top, tendencies=tendencies)
            ending.begin(found.seconds)
        given = any(place is not None and place.is_stdout for place in (out, html_file))
        if not options.quiet and not given:
            said = text()
            with ending.printing():
                say(said)
                if out is None and len(found):
                    say(f"Next: {again('--out', 'rules.yaml')}   (the rules as a file, to edit and to check)")
        if html_file is not None:
            html_file.write(ending.page(found, data), opened)
        if out is not None and not len(found) + len(found.almost):
            say(f"No rule was found, so {in_one_line(out.text)} was not written.", err=True)
            return Exit.PARTIAL
        if out is not None:
            write_rules(ending.rule_file(found, *found.headline), out, opened, options)
    return Exit.PARTIAL if found.partial or ending.is_cut else Exit.HOLDS


def write_rules(file: RuleFile, out: Place, opened: Opened, options: SharedOptions) -> None:
    """Write a file of proposed rules, and say how many, and how they are checked on the same data."""
    out.write(file.text, opened)
    if options.quiet or out.is_stdout:
        return
    cut = ", and stopped before the others" if file.is_cut else ""
    say(f"Wrote {counted_rules(file.entries, 'proposed rule')} to {in_one_line(out.text)}{cut}.", err=True)
    say_next(out)


def say_next(rules: Place) -> None:
    """Say how the rules that this command has written are checked on its data."""
    from refute.cli.check import command as checking

    if not rules.is_stdout:
        say(f"Next: edit it, then run: {again(command=checking, arguments=[rules.text])}", err=True)


def _require_fitting(complete: bool, options: SharedOptions) -> None:
    """Raises UsageError for an option that the chosen search does not have."""
    context = click.get_current_context()
    wrong = [
        name
        for name in (_OF_PROPOSALS if complete else _OF_COMPLETE)
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if wrong:
        flag = f"--{wrong[0].replace('_', '-')}"
        raise click.UsageError(f"{flag} cannot be used with --complete." if complete else f"{flag} needs --complete.")
    if options.nulls == "equal" and not complete:
        raise click.UsageError("--nulls equal needs --complete: proposals take no account of rows with nulls.")


def describe(
    name: str, found: CompleteDiscovery, top: int, in_time: Callable[[Iterable[Discovered]], Iterable[Discovered]]
) -> str:
    """The best rules as text, then those that a few pairs break, then what was not searched."""
    shown = [_line(rule) for rule in in_time(found.each(top))]
    best = f", {_best(len(shown))}" if shown else ""
    lines = [f"{name}: {counted_rules(len(found))} in {found.seconds:.1f} s{best}", *shown]
    if len(shown) < min(top, len(found)):
        lines.append("Note: More rules were found than could be shown in time.")
    if found.almost:
        lines += ["", "Broken by a few pairs only, the fewest rows to blame first:"]
        lines += [_line(rule) for rule in found.almost[:top]]
    lines += [f"Note: {note}" for note in found.notes]
    return "\n".join(lines)


def describe_proposals(name: str, found: Proposals, top: int, *, tendencies: bool = False) -> str:
    """The best rules in words, each with the rows to blame and what stands under it, then tendencies and notes."""
    shown = found.top(top)
    best = f", {_best(len(shown))}" if len(shown) < len(found) else ":" if shown else ""
    lines = [f"{name}: {counted_rules(len(found))} proposed in {found.seconds:.1f} s{best}"]
    for rule in shown:
        lines += _proposal(rule)
    if found.tendencies and tendencies:
        lines += ["", "Tendencies, which too many rows break to call them rules:"]
        for rule in found.tendencies[:top]:
            lines += _proposal(rule)
    elif found.tendencies:
        lines.append(f"and {counted_rules(len(found.tendencies), 'tendency', 'tendencies')}; --tendencies shows them")
    lines += [f"Note: {note}" for note in found.notes]
    return "\n".join(lines)


def _best(number: int) -> str:
    return "the best:" if number == 1 else f"the {number} best:"


def _proposal(rule: Proposal) -> list[str]:
    lines = [f"  {in_one_line(rule.text)}", f"      {in_one_line(rule.sentence)} {rule.evidence}."]
    if rule.members:
        few = ", ".join(member.text for member in rule.members[:3])
        more = f" and {len(rule.members) - 3} more" if len(rule.members) > 3 else ""
        lines.append(f"      with it: {in_one_line(few)}{more}")
    return lines


def counted_rules(number: int, noun: str = "rule", several: str | None = None) -> str:
    """A number of rules in words."""
    return f"1 {noun}" if number == 1 else f"{number:,} {several or noun + 's'}"


def _line(rule: Discovered) -> str:
    rows = "" if rule.blame is None else f", {rule.blame:,} row{'s'[: rule.blame != 1]} to blame"
    broken = f" ({rule.violations:,} violations{rows})" if rule.violations else ""
    return f"  {rule.sort.value:<21}  {in_one_line(rule.sentence)}{broken}"
