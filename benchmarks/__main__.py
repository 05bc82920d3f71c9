"""`python -m benchmarks [CASE...]`: run cases, print ratios, and keep the results as JSON rows."""

from __future__ import annotations

import json
import sys
from fnmatch import fnmatch
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.cases import all_cases
from benchmarks.machine import load
from benchmarks.runner import Result, run_case

RESULTS = Path(__file__).parent / "results.jsonl"


@click.command()
@click.argument("names", nargs=-1, metavar="[CASE]...")
@click.option("--list", "listed", is_flag=True, help="Only say which cases there are.")
@click.option(
    "--repeat", default=5, show_default=True, type=click.IntRange(min=1), help="Measured rounds per contestant."
)
@click.option("--alone", is_flag=True, help="Run Refute without its peers, to compare two versions of it.")
@click.option("--out", default=RESULTS, show_default=True, type=click.Path(path_type=Path), help="Rows are added here.")
def main(names: tuple[str, ...], listed: bool, repeat: int, alone: bool, out: Path) -> None:
    """Run the cases whose names match (such as `import`, `detect` or `detect.*.c4`); all of them when none is named."""
    cases = [case for case in all_cases() if not names or any(_named(case.name, name) for name in names)]
    if not cases:
        raise click.UsageError(f"no case is called {' or '.join(names)}; --list shows them")
    if listed:
        for case in cases:
            click.echo(f"{case.name:24} {case.title}")
        return
    held = True
    for case in cases:
        result = run_case(case, repeat, alone=alone)
        show(result)
        held &= all(result.claims.values()) and not result.differing
        with out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in result.rows())
    sys.exit(0 if held else 1)


def _named(case: str, name: str) -> bool:
    return fnmatch(case, name) or case.startswith(f"{name}.")


def show(result: Result) -> None:
    """Print one result."""
    table = Table(title=f"{result.case.name}: {result.case.title} (load {load()})", title_justify="left")
    for name in ("", "seconds", "cpu s", "peak MB", "ratio", "runs", ""):
        table.add_column(name, justify="left" if not name else "right")
    for name, found in result.measured.items():
        peak = "" if found.peak_bytes is None else f"{found.peak_bytes / 2**20:,.0f}"
        remarks = ["other answer"] if name in result.differing else []
        if found.stopped:
            remarks.append(found.stopped)
        if name in result.prepared:
            remarks.append(f"after {result.prepared[name]:.3g} s to load")
        remarks += [f"{what} {value:g}" for what, value in found.facts.items()]
        remark = ", ".join(remarks)
        numbers = (
            f"{found.seconds:.4g}",
            f"{found.cpu_seconds:.4g}",
            peak,
            f"{'> ' if found.stopped else ''}{result.ratio(name):.2f}",
            str(found.runs),
        )
        table.add_row(name, *numbers, remark)
    for name, why in result.absent.items():
        table.add_row(name, "", "", "", "", "", why)
    console = Console()
    console.print(table)
    for text, holds in result.claims.items():
        console.print(f"  {'held  ' if holds else 'FAILED'}  {text}")


main()
