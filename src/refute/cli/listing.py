"""Clashing rows, on the terminal and as files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

import refute
from refute.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

    from refute.report import RuleResult


def print_clashes(
    data: str, report: refute.Report, shown: int, *, key: tuple[str, ...], engine: str, nulls: str | None
) -> None:
    """Show some clashes of every broken rule, as the ids of their rows."""
    for result in _broken(report):
        found = refute.violations(data, result.rule, shown, key=key, engine=engine, nulls=nulls).to_arrow()
        click.echo(f"\n{result.name}: {found.num_rows} of the clashing {_what(result)}")
        click.echo(_aligned(found))


def write_violations(
    data: str, report: refute.Report, folder: Path, *, key: tuple[str, ...], engine: str, nulls: str | None
) -> None:
    """Write all violations of every broken rule below a folder, without ever holding them all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(f"cannot write to {folder}: {error.strerror or error}") from error
    for result in _broken(report):
        found = refute.violations(data, result.rule, key=key, engine=engine, nulls=nulls)
        place = folder / re.sub(r"[^\w.-]+", "_", result.name)
        if engine == "spark":
            found.to_spark().write.mode("overwrite").parquet(str(place))
            continue
        from pyarrow import parquet as pq  # kept out of `refute --help`

        with found.to_reader() as reader, pq.ParquetWriter(f"{place}.parquet", reader.schema) as writer:
            for batch in reader:
                writer.write_batch(batch)


def _broken(report: refute.Report) -> list[RuleResult]:
    return [result for result in report if not result.finding.holds]


def _what(result: RuleResult) -> str:
    return "rows" if result.rule.constraint.is_single_row else "pairs"


def _aligned(table: pa.Table) -> str:
    rows = [table.column_names, *([str(value) for value in row.values()] for row in table.to_pylist())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
