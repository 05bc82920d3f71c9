"""How long it takes until Refute is there: imports and the command line, each in a fresh process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator

from benchmarks.case import US, Case, Claim, Contestant
from refute.data import RULES, TABLE

PLAIN = f"""
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[*]").getOrCreate()
print(session.read.csv({str(TABLE)!r}, header=True, inferSchema=True).count())
"""
# The command as its user calls it, but for its exit code: the sample breaks rules, which is 1.
CHECK = f"""
from refute.cli.app import run
assert run(["check", {str(TABLE)!r}, {str(RULES)!r}]) == 1
"""
PEERS = ("duckdb", "pandas", "polars", "desbordante", "pyspark.sql")


def cases() -> Iterator[Case]:
    """The import, the demonstration, a check, and the help of the command line."""
    yield Case(
        "import",
        "import the package in a fresh process",
        _imports,
        [Claim("import refute takes under 0.7 s", lambda results: results[US].seconds < 0.7)],
    )
    yield _against_plain("demo", "check the sample on Spark", [sys.executable, "-m", "refute", "demo"])
    yield _against_plain("check", "refute check of the sample on Spark", [sys.executable, "-c", CHECK])
    yield Case(
        "help",
        "refute --help, against a Python that does nothing",
        lambda: [
            Contestant(US, command=[sys.executable, "-m", "refute", "--help"]),
            Contestant("python -c pass", command=[sys.executable, "-c", "pass"]),
        ],
        same_answer=False,
    )


def _against_plain(name: str, title: str, command: list[str]) -> Case:
    """A whole process of ours against what PySpark takes to read and count the same file."""
    plain = "plain pyspark"
    return Case(
        name,
        f"{title}, whole process, against a plain PySpark script that only counts its rows",
        lambda: [
            Contestant(US, command=command),
            Contestant(plain, command=[sys.executable, "-W", "ignore", "-c", PLAIN]),
        ],
        [Claim("at most 1.4 times as long", lambda results: results[US].seconds <= 1.4 * results[plain].seconds)],
        same_answer=False,
    )


def _imports() -> list[Contestant]:
    ours = Contestant(US, command=[sys.executable, "-c", "import refute"])
    return [ours, *(_imported(name) for name in PEERS)]


def _imported(name: str) -> Contestant:
    if importlib.util.find_spec(name.partition(".")[0]) is None:
        return Contestant(name, absent="not installed")
    return Contestant(name, command=[sys.executable, "-W", "ignore", "-c", f"import {name}"])
