"""Clashing rows, on the terminal and as files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import refute
from refute.cli.terminal import say
from refute.display import in_one_line
from refute.errors import OptionError
from refute.writing import replacing, replacing_folder, write_text

if TYPE_CHECKING:
    from refute.cli.places import Place
    from refute.cli.source import Opened
    from refute.language.rulebook import Rule
    from refute.report import RuleResult


_LONGEST_NAME = 150  # bytes of a rule's name in the name of its file; file systems take 255 for all of it
_FINISHED = "_SUCCESS"  # as Spark calls it


def print_clashes(data: Opened, report: refute.Report, shown: int, *, key: tuple[str, ...]) -> None:
    """Show some clashes of every broken rule: the rows with the columns it reads."""
    for result in _broken(report):
        rule = result.rule
        what = "rows" if rule.constraint.is_single_row else "pairs"
        on_spark = data.on_spark
        clashes = list(_clashes_on_spark(report, result, shown) if on_spark else _clashes(data, rule, shown, key))
        lines = [["row", *map(_cell, rule.constraint.columns)], *(line for clash in clashes for line in clash)]
        number = len(clashes)
        say(f"\n{in_one_line(result.name)}: {number:,} of {result.finding.violations or 'the'} clashing {what}")
        say(_aligned(lines))


def write_violations(data: Opened, report: refute.Report, place: Place) -> None:
    """Write all violations of every broken rule to one table, or below a folder, without ever holding them all.

    On this machine each file or folder of a rule appears whole, or stays as it was; an empty file `_SUCCESS` says that
    all are there. Elsewhere Spark leaves such a file in the folder of each rule.
    """
    if place.table is not None:
        from refute.spark.places import write_table

        assert data.session is not None
        found = [(result.name, report.violations(result).to_spark()) for result in _broken(report)]
        # A table without rows says that all rules hold, and takes the place of what an earlier run has found.
        first = report.results[0]
        write_table(data.session, place.table, found or [(first.name, report.violations(first, 1).to_spark().limit(0))])
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
            _write_file(report.violations(result), folder / f"{name}.parquet")
        else:
            with replacing_folder(folder / name) as draft:
                report.violations(result).write_parquet(f"file://{draft}")
    write_text(finished, "")


def _write_file(found: Any, place: Path) -> None:
    from pyarrow import parquet as pq  # kept out of `refute --help`

    with (
        replacing(place) as draft,
        found.to_reader() as reader,
        pq.ParquetWriter(str(draft), reader.schema) as writer,
    ):
        for batch in reader:
            writer.write_batch(batch)


def _elsewhere(data: Opened, place: Place) -> str | None:
    """The folder as Spark names it where it is not on this machine's file system; else None."""
    if place.address is not None:
        return place.address
    if data.session is not None:
        from refute.spark.listing import shares_files

        if not shares_files(data.session):  # a path means what Spark takes it for, maybe on another machine
            return place.text
    return None


def _made(place: Place) -> Path:
    """The folder on this machine, which is there then."""
    try:
        place.path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write to {place.text}: {error.strerror or error}") from error
    return place.path


def _file_name(name: str, taken: set[str]) -> str:
    """A name for the files of a rule that no other rule has, also where case does not tell files apart."""
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


def _clashes(data: Opened, rule: Rule, shown: int, key: tuple[str, ...]) -> Iterator[list[list[str]]]:
    """Each clash as the lines of its rows: role and id, then the values of the columns that the rule reads."""
    table = data.table
    assert not isinstance(table, str)
    found = refute.violations(table, rule, shown).to_arrow()
    names = rule.constraint.columns
    for pair in found.to_pylist():
        lines = []
        for role, position in pair.items():
            row = table.row(position)
            identity = "/".join(_cell(row[name]) for name in key) if key else str(position)
            lines.append([f"{role} = {identity}", *(_cell(row[name]) for name in names)])
        yield lines


def _clashes_on_spark(report: refute.Report, result: RuleResult, shown: int) -> Iterator[list[list[str]]]:
    """The same where Spark has the rows."""
    for clash in report.violations(result, shown).with_values():
        lines = []
        for role, row_id, values in clash:
            identity = "/".join(map(_cell, row_id.values())) if isinstance(row_id, dict) else str(row_id)
            lines.append([f"{role} = {identity}", *(_cell(values[name]) for name in result.rule.constraint.columns)])
        yield lines


def _cell(value: object) -> str:
    return "null" if value is None else in_one_line(str(value))


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
