"""How long it takes until Refute is there: imports and the command line, each in a fresh process."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping

from benchmarks.case import US, Case, Claim, Contestant
from benchmarks.measure import Measurement
from refute.data import RULES, TABLE

PLAIN = f"""
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[*]").getOrCreate()
print(session.read.csv({str(TABLE)!r}, header=True, inferSchema=True).count())
"""
# The command as its user calls it, but for its exit code: the sample breaks rules, which is 1.
CHECK = f"""
from refute.cli.app import run
assert run(["check", {str(TABLE)!r}, {str(RULES)!r}, "--engine", "spark"]) == 1
"""
PEERS = ("duckdb", "pandas", "polars", "desbordante", "pyspark.sql")


NAMES = ["gender", "areacode", "city", "state", "zip", "maritalstatus", "haschild", "salary", "rate"]
ROWS = f"pyarrow.csv.read_csv({str(TABLE)!r}).select({NAMES})"
DISCOVER = f"""
import pyarrow.csv
import refute
refute.discover({ROWS})
"""
KERNEL = """
import numpy, pyarrow.csv
from refute.kernels.encode.integers import bounds
bounds(numpy.arange(9), numpy.zeros(0, numpy.uint8))
"""
FASTADC = f"""
import desbordante, pyarrow.csv
frame = {ROWS}.to_pandas().dropna()
for name in frame.columns:
    if frame[name].dtype.kind not in "if":
        frame[name] = frame[name].astype(str).astype(object)
algorithm = desbordante.dc.algorithms.FastADC()
algorithm.load_data(table=frame)
algorithm.execute(threads=2, shard_length=min(350, len(frame)))
"""
ONE_KERNEL = "one cached kernel of ours"
# The first commands on a machine, in processes of their own as their user calls them: nothing is compiled yet.
FIRST = f"""
import os, subprocess, sys, tempfile
with tempfile.TemporaryDirectory() as cache:
    environment = {{**os.environ, "REFUTE_CACHE_DIR": cache}}
    for arguments in (["check", {str(TABLE)!r}, {str(RULES)!r}], ["discover", {str(TABLE)!r}]):
        subprocess.run([sys.executable, "-m", "refute", *arguments, "--engine", "local"], env=environment)
"""


def cases() -> Iterator[Case]:
    """The import, the demonstration, a check, a discovery, what is compiled, and the help of the command line."""
    yield Case(
        "import",
        "import the package in a fresh process",
        _imports,
        [Claim("import refute takes under 0.7 s", lambda results: results[US].seconds < 0.7)],
    )
    yield _against_plain("demo", "check the sample on Spark", [sys.executable, "-m", "refute", "demo"])
    yield _against_plain("check", "refute check of the sample on Spark", [sys.executable, "-c", CHECK])
    yield Case(
        "few",
        "discover the rules of 1,000 rows and nine columns in a fresh process, caches warm",
        _few_rows,
        [Claim("at most 1.7 times the CPU of running one kernel, and 64 MB more", _little_more)],
        same_answer=False,
    )
    yield Case(
        "compile",
        "the first check and the first discover of the sample, in this process, with an empty cache",
        lambda: [Contestant(US, command=[sys.executable, "-c", FIRST])],
        [Claim("both together take under 8 s of CPU", lambda results: results[US].cpu_seconds < 8)],
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


def _few_rows() -> list[Contestant]:
    """Rules of the sample, in processes that start with nothing; Desbordante's, and what one cached kernel takes."""
    ours = [sys.executable, "-W", "ignore", "-c", DISCOVER]
    kernel = [sys.executable, "-W", "ignore", "-c", KERNEL]
    peer = Contestant("desbordante FastADC", absent="not installed")
    if importlib.util.find_spec("desbordante") is not None:
        peer = Contestant("desbordante FastADC", command=[sys.executable, "-W", "ignore", "-c", FASTADC])
    return [Contestant(US, command=ours), Contestant(ONE_KERNEL, command=kernel), peer]


def _little_more(found: Mapping[str, Measurement]) -> bool:
    floor, ours = found[ONE_KERNEL], found[US]
    assert floor.peak_bytes is not None
    assert ours.peak_bytes is not None
    return ours.cpu_seconds <= 1.7 * floor.cpu_seconds and ours.peak_bytes <= floor.peak_bytes + (64 << 20)


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
