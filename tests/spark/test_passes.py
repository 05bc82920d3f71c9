"""How often the rows of a source are read for one question: counted from the records in Spark's event log."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROWS = 24_000
SCRIPT = """
import contextlib, io, json, sys, warnings
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
from refute.cli.app import run
from refute.detect.engine import ClashingRow
from refute.language.rulebook import RuleBook
from refute.spark import SparkBudget, SparkEngine
from refute.spark.session import session

folder, rows, cases = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
warnings.simplefilter("ignore")
numbers = np.arange(rows)
last = numbers == rows - 1
table = pa.table({
    "id": numbers, "k": numbers // 4, "v": numbers // 4 % 7, "w": np.where(last, 9, numbers // 4 % 7),
    "a": numbers % 50, "x": numbers, "y": np.where(last, 0, numbers), "h": numbers // 2,
    "u": np.where(last, 5, numbers),
    "n": pa.array([None if i % 100 == 0 else i for i in range(rows)], pa.int64()),
})
pq.write_table(table, folder / "t.parquet")
csv.write_csv(table, folder / "t.csv")
csv.write_csv(table.select(["a", "v"]).slice(0, 400), folder / "small.csv")
spark = session(master="local[2]", brief=True, settings={
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{folder}/log", "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false", "spark.sql.shuffle.partitions": "3", "spark.driver.memory": "768m",
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"})
parquet = spark.read.parquet(f"{folder}/t.parquet")
sources = {
    "Parquet": parquet, "CSV": f"{folder}/t.csv", "filter": parquet.where("id >= 0"), "shuffle": parquet.repartition(3)
}


def begin(case):
    spark.sparkContext.setJobDescription(f"begin {case}")
    spark.range(1).count()
    spark.sparkContext.setJobDescription(None)


for number, (source, rule, question, key) in enumerate(cases):
    begin(number)
    with SparkEngine(sources[source], key=key, budget=SparkBudget(driver_bytes=0, sample_rows=50)) as engine:
        (asked,) = RuleBook.of(rule)
        if question == "count":
            engine.count(asked)
        elif question == "tally":
            assert engine.tally(asked, 12, counts=False).n_groups == 1
        elif question == "excerpt":
            rows = [ClashingRow(role, row, table.slice(row, 1).to_pylist()[0]) for role, row in (("s", 52), ("t", 102))]
            assert engine.excerpt(asked, rows, 400, 80).scene is not None
        else:
            engine.measure([asked], counts=question == "check")
            engine.n_rows
for case, options in {"plain": [], "listed": ["--list", "3", "--violations", f"{folder}/clashes"]}.items():
    begin(case)
    with contextlib.redirect_stdout(io.StringIO()):
        assert run(["check", f"{folder}/small.csv", "a -> v", "--quiet", "--engine", "spark", *options]) == 1
spark.stop()
"""
CASES: list[tuple[str, str, str, list[str]]] = [
    ("Parquet", "unique(u)", "check", []),  # broken by the last row
    ("Parquet", "k -> w", "verify", []),
    ("Parquet", "not (s.k = t.k and s.v != t.v and s.w != t.w)", "count", []),
    ("Parquet", "not (s.id = t.k and s.a != t.v)", "check", []),
    ("Parquet", "not (s.a = t.a and s.x < t.y and s.x > t.h)", "check", []),
    ("Parquet", "not (s.a = t.a and s.y > t.u)", "verify", []),
    ("shuffle", "k -> w", "check", ["id"]),  # and once more for the key
    ("shuffle", "not (s.a = t.a and s.x < t.y and s.x > t.h)", "check", []),
    ("CSV", "k -> w", "check", []),
    ("Parquet", "k -> w", "tally", []),
    ("Parquet", "not (s.a = t.a and s.x < t.y and s.x > t.h)", "excerpt", []),
]
SHOWN = ("tally", "excerpt")  # what a report asks for unasked
_FIRST = 0.2  # of the rows: the first ones, which are looked at before all


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all questions were asked, in one process of their own."""
    found = tmp_path_factory.mktemp("passes")
    (found / "log").mkdir()
    arguments = [sys.executable, "-c", SCRIPT, str(found), str(ROWS), json.dumps(CASES)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def records(folder: Path) -> dict[str, int]:
    """How many records were read for each question. Spark writes events in order, and a small job begins each."""
    read: dict[str, int] = defaultdict(int)
    case = "before all"
    for event in _events(folder):
        if event["Event"] == "SparkListenerJobStart":
            word, _, name = event["Properties"].get("spark.job.description", "").partition(" ")
            case = name if word == "begin" else case
        if event["Event"] == "SparkListenerTaskEnd":
            metrics = event.get("Task Metrics") or {}
            read[case] += metrics.get("Input Metrics", {}).get("Records Read", 0)
    return read


@pytest.mark.spark
def test_a_question_about_one_rule_reads_the_source_twice_at_most(records: dict[str, int]) -> None:
    passes = [records[str(number)] / ROWS for number in range(len(CASES))]
    most = [(1 if case[2] in SHOWN else 2) + _FIRST + len(case[3]) for case in CASES]
    found = {case[:3]: read for case, read, limit in zip(CASES, passes, most, strict=True) if read > limit}
    assert not found
    assert min(passes) >= 1


@pytest.mark.spark
def test_listing_and_writing_clashes_of_a_small_file_reads_it_no_more_often(
    records: dict[str, int], folder: Path
) -> None:
    assert records["plain"] == records["listed"] >= 400
    assert any((folder / "clashes").rglob("*.parquet"))


def _events(folder: Path) -> Iterator[dict[str, Any]]:
    (log,) = (folder / "log").iterdir()
    for line in log.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)
