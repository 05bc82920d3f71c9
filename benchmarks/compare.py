"""`python -m benchmarks.compare BEFORE AFTER`: Refute's own times and memory in two files of results, case by case."""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from benchmarks.case import US

NOISE_SECONDS = 0.002  # differences of so little time are those of the clock and of other processes
NOISE_MB = 4.0
_WIDTH = 130  # letters of a line of the table


@dataclass(frozen=True, slots=True)
class Figures:
    """The medians of all rows that a file has of one case."""

    seconds: float
    cpu_seconds: float
    peak_mb: float | None

    def slower_than(self, before: Figures, most: float) -> bool:
        """Whether both clocks say so: one alone is easily misled by other processes."""
        return all(
            now > most * then + NOISE_SECONDS
            for now, then in ((self.seconds, before.seconds), (self.cpu_seconds, before.cpu_seconds))
        )

    def larger_than(self, before: Figures, most: float) -> bool:
        """Whether it takes more memory."""
        if self.peak_mb is None or before.peak_mb is None:
            return False
        return self.peak_mb > most * before.peak_mb + NOISE_MB


def figures(path: Path) -> dict[str, Figures]:
    """What a file of results says of Refute, by case."""
    rows = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["contestant"] == US:
            rows[row["case"]].append(row)
    return {case: _medians(found) for case, found in rows.items()}


def _medians(rows: list[dict[str, float]]) -> Figures:
    peaks = [row["peak_mb"] for row in rows if row["peak_mb"] is not None]
    return Figures(
        statistics.median(row["seconds"] for row in rows),
        statistics.median(row["cpu_seconds"] for row in rows),
        statistics.median(peaks) if peaks else None,
    )


def worse(before: Mapping[str, Figures], after: Mapping[str, Figures], most: float = 1.1) -> dict[str, str]:
    """The cases that got slower or larger, and which of the two."""
    found = {}
    for case in before.keys() & after.keys():
        faults = ["slower"] if after[case].slower_than(before[case], most) else []
        faults += ["more memory"] if after[case].larger_than(before[case], most) else []
        if faults:
            found[case] = ", ".join(faults)
    return found


@click.command()
@click.argument("before", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("after", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--most", default=1.1, show_default=True, help="The ratio beyond which a case got worse.")
def main(before: Path, after: Path, most: float) -> None:
    """Show both files side by side; ends with exit code 1 if a case got worse."""
    then, now = figures(before), figures(after)
    faults = worse(then, now, most)
    table = Table()
    for name in ("case", "s", "ratio", "cpu s", "ratio", "MB", "ratio", ""):
        table.add_column(name, justify="left" if name in ("case", "") else "right")
    for case in sorted(then.keys() & now.keys()):
        cells = [case]
        for name in ("seconds", "cpu_seconds", "peak_mb"):
            old, new = getattr(then[case], name), getattr(now[case], name)
            told = old is not None and new is not None
            cells += [f"{old:.3g} → {new:.3g}" if told else "", f"{new / old:.2f}" if told and old else ""]
        table.add_row(*cells, faults.get(case, ""))
    console = Console()
    console.width = max(console.width, _WIDTH)
    console.print(table)
    for what, missing in (("before", now.keys() - then.keys()), ("after", then.keys() - now.keys())):
        if missing:
            console.print(f"not measured {what}: {', '.join(sorted(missing))}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
