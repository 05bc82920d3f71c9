"""How long it takes until Refute is there: imports and the command line, each in a fresh process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator

from benchmarks.case import US, Case, Claim, Contestant

PEERS = ("duckdb", "pandas", "polars", "desbordante", "pyspark.sql")


def cases() -> Iterator[Case]:
    """The import, and the help of the command line."""
    yield Case(
        "import",
        "import the package in a fresh process",
        _imports,
        [Claim("import refute takes under 0.7 s", lambda results: results[US].seconds < 0.7)],
    )
    yield Case(
        "help",
        "refute --help, against a Python that does nothing",
        lambda: [
            Contestant(US, command=[sys.executable, "-m", "refute", "--help"]),
            Contestant("python -c pass", command=[sys.executable, "-c", "pass"]),
        ],
        same_answer=False,
    )


def _imports() -> list[Contestant]:
    ours = Contestant(US, command=[sys.executable, "-c", "import refute"])
    return [ours, *(_imported(name) for name in PEERS)]


def _imported(name: str) -> Contestant:
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        return Contestant(name, absent="not installed")
    return Contestant(name, command=[sys.executable, "-W", "ignore", "-c", f"import {name}"])
