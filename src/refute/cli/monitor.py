"""`refute monitor`: what a folder of a monitor holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from refute.cli.exits import Exit
from refute.cli.options import SharedOptions, shared
from refute.cli.output.apart import require_apart
from refute.cli.output.places import Place, as_file
from refute.cli.terminal import hand_over, say
from refute.display import in_one_line
from refute.errors import OptionError
from refute.faults import unwritable
from refute.language.addresses import local_path
from refute.language.render import render_condition
from refute.writing import write_text

if TYPE_CHECKING:
    from refute.live.overview import Overview


@click.command("monitor")
@click.argument("folder", metavar="DIR")
@click.option("--json", "json_file", callback=as_file, metavar="F", help="Write the overview as JSON (- for stdout).")
@click.option("--verify", is_flag=True, help="Read all files and verify their checksums.")
@shared
def command(options: SharedOptions, folder: str, json_file: Place | None, verify: bool) -> Exit:
    """Show the rules, rows and open violations of the monitor in DIR, as of its last commit.

    DIR is a folder of `refute.Monitor.open`. It may be in use: nothing is locked or changed. The exit code is 3 if
    there is no monitor or one of its files is damaged, and 0 otherwise, whether rules are broken or not.
    """
    from refute.live.overview import Overview  # with the loops that a monitor runs, which help does not need

    target = None if json_file is None or json_file.is_stdout else _checked(json_file)
    home = local_path(folder, "A monitor needs a folder on this machine.")
    require_apart([json_file], (), own=home)
    found = Overview.of(home, verify=verify)
    if json_file is not None:
        text = json.dumps(_plain(found), indent=2, ensure_ascii=False) + "\n"
        if target is None:
            hand_over(text)
            return Exit.HOLDS
        write_text(target, text)
    if not options.quiet:
        say(_text(found))
    return Exit.HOLDS


def _checked(place: Place) -> Path:
    """The file to write; raises OptionError where it cannot be on this machine."""
    if place.address is not None:
        raise OptionError(
            f"--json {place.text}: Only Spark can write there. Name a file on this machine.",
            option="--json",
            value=place.text,
        )
    if place.path.is_dir() or not place.path.parent.is_dir():
        why = "It is a folder." if place.path.is_dir() else f"There is no folder {place.path.parent}."
        raise unwritable(place.text, why)
    return place.path


def _text(found: Overview) -> str:
    total = _counted(sum(found.counts.values()), "violation")
    lines = [f"{found.folder}: {_counted(found.n_rows, 'row')}, {_counted(len(found.rules), 'rule')}, {total}"]
    for rule in found.rules:
        count = found.counts[rule.name]
        lines.append(f"{'ok' if count == 0 else rule.severity.value:<5} {in_one_line(rule.name)}: {_extent(count)}")
        lines.append(f"      {in_one_line(' '.join((rule.description or rule.sentence).split()))}")
    commits = _counted(found.commits, "commit")
    lines.append(f"key {', '.join(map(in_one_line, found.key)) or 'none: rows are numbered'}, method {found.method}")
    lines.append(f"{commits}, of which {found.commits_in_log:,} in the log ({_size(found.log_bytes)})")
    lines.append(f"{_size(found.n_bytes)} in {_counted(found.n_files, 'file')}, format {found.format}")
    return "\n".join(lines)


def _extent(count: int) -> str:
    return "holds" if count == 0 else _counted(count, "violation")


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _size(number: int) -> str:
    """A number of bytes for people."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return _counted(number, "byte")


def _plain(found: Overview) -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "format": found.format,
        "key": list(found.key),
        "method": found.method,
        "rows": found.n_rows,
        "commits": found.commits,
        "commits_in_log": found.commits_in_log,
        "log_bytes": found.log_bytes,
        "bytes": found.n_bytes,
        "files": found.n_files,
        "rules": [
            {
                "name": rule.name,
                "constraint": rule.text,
                "where": None if rule.scope is None else render_condition(rule.scope),
                "sentence": rule.sentence,
                "severity": rule.severity.value,
                "nulls": rule.nulls.value,
                "violations": found.counts[rule.name],
            }
            for rule in found.rules
        ],
    }
