"""How often the rows of a source are read for one question: counted from the records that Spark's event log tells."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROWS = 24_000
SCRIPT = """
import json, sys, warnings
from pathlib import Path
import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
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
spark = session(master="local[2]", settings={
    "spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{folder}/log", "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false", "spark.sql.shuffle.partitions": "3", "spark.driver.memory": "768m"})
parquet = spark.read.parquet(f"{folder}/t.parquet")
sources = {
    "Parquet": parquet, "CSV": f"{folder}/t.csv", "filter": parquet.where("id >= 0"), "shuffle": parquet.repartition(3)
}
for number, (source, rule, question, key) in enumerate(cases):
    spark.sparkContext.setJobDescription(f"case {number}")
    with SparkEngine(sources[source], key=key, budget=SparkBudget(driver_bytes=0, sample_rows=50)) as engine:
        (asked,) = RuleBook.of(rule)
        if question == "count":
            engine.count(asked)
        else:
            engine.measure([asked], counts=question == "check")
            engine.n_rows
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
]
_FIRST = 0.2  # of the rows: the first ones, which are looked at before all


@pytest.mark.spark
def test_a_question_about_one_rule_reads_the_source_twice_at_most(tmp_path: Path) -> None:
    passes = _passes(tmp_path, CASES)
    found = {case[:3]: read for case, read in zip(CASES, passes, strict=True) if read > 2 + _FIRST + len(case[3])}
    assert not found
    assert min(passes) >= 1


@pytest.mark.spark
def test_listing_and_writing_clashes_of_a_small_file_reads_it_no_more_often(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("a,b\n" + "".join(f"{i % 50},{i % 7}\n" for i in range(400)), encoding="utf-8")
    plain = _records_read_by_a_check(tmp_path / "plain", data)
    listed = _records_read_by_a_check(
        tmp_path / "listed", data, "--list", "3", "--violations", str(tmp_path / "clashes")
    )
    assert plain == listed > 0
    assert any((tmp_path / "clashes").rglob("*.parquet"))


def _records_read_by_a_check(log: Path, data: Path, *options: str) -> int:
    log.mkdir()
    settings = {"enabled": "true", "dir": log.as_uri(), "compress": "false", "rolling.enabled": "false"}
    conf = [word for name, value in settings.items() for word in ("--conf", f"spark.eventLog.{name}={value}")]
    command = [sys.executable, "-m", "refute", "check", str(data), "a -> b", "--quiet", *conf, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (file,) = log.iterdir()
    events = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return sum(
        (event.get("Task Metrics") or {}).get("Input Metrics", {}).get("Records Read", 0)
        for event in events
        if event["Event"] == "SparkListenerTaskEnd"
    )


def _passes(folder: Path, cases: list[tuple[str, str, str, list[str]]]) -> list[float]:
    """How often all rows were read for each case."""
    (folder / "log").mkdir()
    arguments = [sys.executable, "-c", SCRIPT, str(folder), str(ROWS), json.dumps(cases)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (log,) = (folder / "log").iterdir()
    events = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    numbers: dict[int, int] = {}
    read: dict[int, int] = defaultdict(int)
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            words = event["Properties"].get("spark.job.description", "before all").split()
            numbers |= dict.fromkeys(event["Stage IDs"], int(words[1]) if words[0] == "case" else -1)
        if event["Event"] == "SparkListenerTaskEnd":
            metrics = event.get("Task Metrics") or {}
            read[numbers[event["Stage ID"]]] += metrics.get("Input Metrics", {}).get("Records Read", 0)
    return [read[number] / ROWS for number in range(len(cases))]
