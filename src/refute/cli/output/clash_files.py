"""Clashing rows as files."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import refute
from refute.errors import OptionError
from refute.faults import unwritable
from refute.writing import replacing_folder, write_text

if TYPE_CHECKING:
    from refute.cli.output.places import Place
    from refute.cli.source import Opened
    from refute.report import RuleResult


_LONGEST_NAME = 150  # bytes of a rule's name in the name of its file; file systems take 255 for the whole name
_FINISHED = "_SUCCESS"  # as Spark calls it


def require_violations(place: Place | None, form: str, key: Sequence[str], mask: Sequence[str]) -> None:
    """Raise OptionError where the violations cannot be written as asked for."""
    if place is None:
        return
    if form == "csv" and place.table is not None:
        raise OptionError("A catalog table is not written as CSV. Leave --violations-format out.", option=place.flag)
    hidden = [name for name in key if name in mask]
    if hidden:
        raise OptionError(
            f"{place.flag} names rows by their key, and --mask hides {hidden[0]!r}. Leave one of the two out.",
            option=place.flag,
            column=hidden[0],
        )


def write_violations(data: Opened, report: refute.Report, place: Place, form: str) -> None:
    """Write all violations of every broken rule to one table, or below a folder, without ever holding them all.

    On this machine each file or folder of a rule appears whole, or stays as it was; an empty file `_SUCCESS` says that
    all are there; what an earlier run left there of these rules is gone then, also where they now hold. Elsewhere Spark
    leaves such a file in the folder of each rule.
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
            _write(report.violations(result), f"{elsewhere.rstrip('/')}/{_file_name(result.name, taken)}", form)
        return
    folder = _made(place)
    finished = folder / _FINISHED
    earlier = finished.exists()
    finished.unlink(missing_ok=True)
    for result in report:
        name = _file_name(result.name, taken)
        written = folder / (f"{name}.{form}" if data.session is None else name)
        if not result.finding.holds and data.session is None:
            _write(report.violations(result), str(written), form)
        elif not result.finding.holds:
            with replacing_folder(written) as draft:
                _write(report.violations(result), f"file://{draft}", form)
        if earlier:
            _clear(folder, name, None if result.finding.holds else written)
    write_text(finished, "")


def _clear(folder: Path, name: str, written: Path | None) -> None:
    """Remove what an earlier run wrote for a rule, by whichever engine and in whichever format, but for `written`."""
    for old in (folder / f"{name}.parquet", folder / f"{name}.csv"):
        if old != written:
            old.unlink(missing_ok=True)
    if folder / name != written and (folder / name / _FINISHED).exists():
        shutil.rmtree(folder / name)


def _write(violations: refute.Violations, path: str, form: str) -> None:
    if form == "csv":
        violations.write_csv(path)
    else:
        violations.write_parquet(path)


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
