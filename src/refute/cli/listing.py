"""Clashing rows, on the terminal and as files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import refute
from refute.cli.terminal import say
from refute.display import in_one_line
from refute.faults import unwritable
from refute.writing import replacing_folder, write_text

if TYPE_CHECKING:
    from refute.cli.places import Place
    from refute.cli.source import Opened
    from refute.report import RuleResult


_LONGEST_NAME = 150  # bytes of a rule's name in the name of its file; file systems take 255 for the whole name
_FINISHED = "_SUCCESS"  # as Spark calls it


def print_clashes(report: refute.Report, shown: int) -> None:
    """Show some clashes of every broken rule: the rows with the columns it reads."""
    for result in _broken(report):
        columns = result.rule.constraint.columns
        clashes = report.violations(result, shown).rows()
        lines = [["row", *map(_cell, columns)]]
        for role, row_id, values in (row for clash in clashes for row in clash):
            identity = "/".join(map(_cell, row_id.values())) if isinstance(row_id, dict) else _cell(row_id)
            lines.append([f"{role} = {identity}", *(_cell(values[name]) for name in columns)])
        what = "rows" if result.rule.constraint.is_single_row else "pairs"
        of = result.finding.violations or "the"
        say(f"\n{in_one_line(result.name)}: {len(clashes):,} of {of} clashing {what}")
        say(_aligned(lines))


def write_violations(data: Opened, report: refute.Report, place: Place) -> None:
    """Write all violations of every broken rule to one table, or below a folder, without ever holding them all.

    On this machine each file or folder of a rule appears whole, or stays as it was; an empty file `_SUCCESS` says that
    all are there. Elsewhere Spark leaves such a file in the folder of each rule.
    """
    if place.table is not None:
        from refute.spark.source.places import write_table

        assert data.session is not None
        found = [(result.name, report.violations(result).to_spark()) for result in _broken(report)]
        # A table without rows says that all rules hold, and takes the place of what an earlier run has found.
        first = report.results[0]
        write_table(place.table, found or [(first.name, report.violations(first, 1).to_spark().limit(0))])
        return
    elsewhere = _elsewhere(data, place)
    taken = {_FINISHED.casefold()}
    if elsewhere is not None:
        for result in _broken(report):
            report.violations(result).write_parquet(f"{elsewhere.rstrip('/')}/{_file_name(result.name, taken)}")
        return
    folder = _made(place)
    finished = folder / _FINISHED
    finished.unlink(missing_ok=True)
    for result in _broken(report):
        name = _file_name(result.name, taken)
        if data.session is None:
            report.violations(result).write_parquet(str(folder / f"{name}.parquet"))
        else:
            with replacing_folder(folder / name) as draft:
                report.violations(result).write_parquet(f"file://{draft}")
    write_text(finished, "")


def _elsewhere(data: Opened, place: Place) -> str | None:
    """The folder as Spark names it where it is not on this machine's file system; else None."""
    if place.address is not None:
        return place.address
    if data.session is not None:
        from refute.spark.source.files import shares_files

        if not shares_files(data.session):  # a path means what Spark takes it for, maybe on another machine
            return place.text
    return None


def _made(place: Place) -> Path:
    """The folder on this machine, which is there then."""
    try:
        place.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(place.text, error.strerror or str(error)) from error
    return place.path


def _file_name(name: str, taken: set[str]) -> str:
    """A name for the files of a rule that no other rule has, also where case does not distinguish files."""
    plain = re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "rule"
    if len(plain.encode()) > _LONGEST_NAME:
        digits = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:16]
        plain = f"{plain.encode()[:_LONGEST_NAME].decode(errors='ignore')}-{digits}"
    number, chosen = 1, plain
    while chosen.casefold() in taken:
        number += 1
        chosen = f"{plain}_{number}"
    taken.add(chosen.casefold())
    return chosen


def _broken(report: refute.Report) -> list[RuleResult]:
    return [result for result in report if not result.finding.holds]


def _cell(value: object) -> str:
    return "null" if value is None else in_one_line(str(value))


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
