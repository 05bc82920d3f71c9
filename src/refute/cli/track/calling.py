"""The command: its options, and what a call does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import refute
from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.apart import require_apart
from refute.cli.output.flags import speaking_of_options
from refute.cli.output.places import Place, as_file, require_all
from refute.cli.output.progress import following, waiting
from refute.cli.source import Opened, file_options
from refute.cli.terminal import hand_over, say
from refute.display import in_json
from refute.display.plurals import plural
from refute.errors import OptionError
from refute.language.addresses import local_path

if TYPE_CHECKING:
    from refute.relation.read.csv.options import CsvOptions
    from refute.relation.read.schema import Schema

_SHOWN = 20
_MANIFEST = "manifest.json"


@click.command("track")
@click.argument("data", metavar="[DATA]", required=False)
@click.option("--state", required=True, metavar="DIR", help="The folder that keeps rows and rules.")
@click.option("--key", metavar="C,..", help="The columns that identify a row.")
@click.option("--changes", is_flag=True, help="DATA is a list of changes: see --op.")
@click.option("--append", is_flag=True, help="DATA has new rows only.")
@click.option(
    "--op", default="op", show_default=True, metavar="C", help="The column that says insert, update or delete."
)
@click.option("--columns", metavar="C,..", help="Search only these columns.")
@click.option("--kinds", metavar="K,..", help='Report only these kinds, e.g. "key,functional dependency".')
@click.option(
    "--error",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="G1",
    help="The share of row pairs allowed to break a rule.",
)
@click.option("--max-predicates", type=click.IntRange(min=1), metavar="K", help="At most K comparisons in a rule.")
@click.option("--cross-columns/--no-cross-columns", default=None, help="Also compare different columns (default).")
@click.option("--one-row", is_flag=True, default=None, help="Also compare columns within a row.")
@click.option("--constants", type=click.IntRange(min=0), metavar="N", help="Also compare with N frequent values.")
@click.option("--almost", type=click.IntRange(min=0), metavar="N", help="Also list rules broken by at most N pairs.")
@click.option("--fail-on-loss", is_flag=True, help="End with exit code 1 if a rule was lost.")
@click.option(
    "--top", type=click.IntRange(min=1), default=_SHOWN, show_default=True, metavar="N", help="Show at most N rules."
)
@click.option("--out", callback=as_file, metavar="F", help="Write the current rules as a rule file, in a stable order.")
@click.option(
    "--json", "json_file", callback=as_file, metavar="F", help="Write rules and changes as JSON (- for stdout)."
)
@file_options
@shared
@speaking_of_options
def command(
    options: SharedOptions,
    /,
    data: str | None,
    state: str,
    key: str | None,
    changes: bool,
    append: bool,
    op: str,
    fail_on_loss: bool,
    top: int,
    out: Place | None,
    json_file: Place | None,
    schema: str | None,
    header: bool,
    csv: dict[str, Any] | None,
    **searching: Any,
) -> Exit:
    """Keep the rules of DATA in a folder, and report how they change with the data.

    The first call discovers the rules of DATA. Later calls take a new version of the table, from which they find the
    rows that were inserted, deleted or updated (by the key; without one, rows are compared as a whole), only new rows
    (--append), or a list of changes (--changes). Without DATA, the rules in the folder are shown. DATA is a path or
    glob of CSV, JSON, Parquet or ORC files, and is read in this process. A rule is lost if rows break it; one that
    only follows from others is not.
    """
    from refute.cli.track import words  # with the loops that a tracker runs, which help does not need
    from refute.cli.track.versions import read
    from refute.relation.read.csv.options import CsvOptions
    from refute.relation.read.schema import Schema

    given, written = Schema.of(schema, header=header), CsvOptions.of(csv)
    _refuse(options, data, changes, append)
    if out is not None and out.is_stdout:
        raise OptionError("--out needs a file. Use --json - for standard output.", option="--out", value="-")
    require_all([out, json_file], Opened(""))
    asked = {name: value for name, value in searching.items() if value is not None}
    asked |= {name: _names(asked[name]) for name in ("columns", "kinds") if name in asked}
    asked |= {} if options.nulls is None else {"nulls": options.nulls}
    folder = local_path(state, "--state needs a folder on this machine.")
    require_apart([out, json_file], [("DATA", data)], own=folder)
    begun = (folder / _MANIFEST).exists()
    if changes and not begun:
        raise OptionError(
            f"There is no tracker in {state} to apply changes to. The first call needs a whole table.",
            option="--changes",
            path=state,
        )
    with waiting("Reading", options.quiet):
        first = None if begun or data is None else read(data, given, written)
    with following("Discovering", options.quiet) as follow:
        tracker = refute.Tracker.open(folder, first, key=None if key is None else _names(key), progress=follow, **asked)
    found = None
    with tracker:
        if begun and data is not None:
            with waiting("Comparing", options.quiet):
                found = _changed(tracker, data, given, written, op if changes else None, append)
        told = json.dumps(words.as_json(tracker, found), indent=2, default=str, ensure_ascii=False) + "\n"
        if json_file is not None and json_file.is_stdout:
            hand_over(in_json(told))
        elif not options.quiet:
            say("\n".join(_text(tracker, found, state, top)))
        if json_file is not None and not json_file.is_stdout:
            json_file.write(in_json(told), Opened(""))
        if out is not None:
            out.write(words.review(tracker), Opened(""))
        is_lost = found is not None and bool(found.broken)
    # committed only now: a report that was not given, as the process was killed, is given by the next run
    return Exit.ERROR if is_lost and fail_on_loss else Exit.HOLDS


def _refuse(options: SharedOptions, data: str | None, changes: bool, append: bool) -> None:
    if options.master or options.remote or options.conf or options.py_files:
        raise OptionError(
            "A tracker reads DATA in this process, so --master, --remote, --conf and --py-files have no effect.",
            option="--master",
        )
    if changes and append:
        raise OptionError("--changes and --append cannot be used together.", option="--changes")
    if data is None and (changes or append):
        flag = "--changes" if changes else "--append"
        raise OptionError(f"{flag} needs DATA.", option=flag)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _changed(
    tracker: refute.Tracker, data: str, given: Schema | None, written: CsvOptions, op: str | None, append: bool
) -> refute.RuleChanges:
    """What a version of the table, new rows, or a list of changes (with the column `op`) does to the rules."""
    from refute.cli.track.versions import read, read_like

    table = read_like(data, tracker.schema, op, written) if given is None else read(data, given, written)
    if op is not None:
        return tracker.apply(table, op=op)
    return tracker.insert(table) if append else tracker.become(table)


def _text(tracker: refute.Tracker, found: refute.RuleChanges | None, state: str, top: int) -> list[str]:
    """What is said: the state, then its changes, or else its best rules."""
    from refute.cli.track import words

    parts = [plural(tracker.n_rows, "row"), plural(len(tracker), "rule")]
    lines = [f"{Path(state)}: {', '.join(parts)}, {plural(tracker.batches, 'batch', 'batches')}"]
    if found is not None:
        rows = ", ".join(f"{number:,} {what}" for what, number in found.rows._asdict().items() if number)
        return [*lines, f"rows: {rows or 'none changed'}", *words.diff(found, top), *found.notes]
    lines += words.standing(tracker, tracker.top(top))
    if len(tracker) > top:
        lines.append(f"  ... and {plural(len(tracker) - top, 'more rule')}")
    if tracker.almost:
        lines += ["Broken by a few rows only:", *(f"  {words.written(one.constraint)}" for one in tracker.almost[:top])]
    return [*lines, *(f"Note: {note}" for note in tracker.notes)]
