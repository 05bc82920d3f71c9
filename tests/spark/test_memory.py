"""Tables larger than the memory of an executor: one of 1 GB, on a cluster of its own, answers and discovers exactly.

`HYPOTHESIS_PROFILE=thorough REFUTE_MEMORY_ROWS=10000000 pytest tests/spark/test_memory.py -s` runs it with a table that
does not fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refute as rf
from standalone import environment, standalone
from thorough import THOROUGH

pytestmark = [
    pytest.mark.spark,
    pytest.mark.cluster,
    pytest.mark.skipif(not THOROUGH, reason="HYPOTHESIS_PROFILE=thorough runs it"),
]

ROWS = int(os.environ.get("REFUTE_MEMORY_ROWS", "50000"))
PADDING = 10  # columns of eight bytes that no rule reads
RULES = (
    "not (s.k = t.k and s.a < t.a and s.b > t.b)",
    "not (s.a < t.a and s.b > t.b)",
    "not (s.a = t.a and s.k = t.k)",
    "not (s.k = t.k and s.c != t.c)",
)
DRIVER = """
import json, sys, time
from refute.discovery.options import options_of
from refute.language.rulebook import RuleBook
from refute.spark.budget import SparkBudget
from refute.spark.discovery import discover_on_spark
from refute.spark.engine import SparkEngine
from refute.spark.session import session

master, data, *texts = sys.argv[1:]
spark = session(master=master)
assert spark.conf.get("spark.executor.memory", "1g") == "1g"
engine = SparkEngine(data, session=spark, budget=SparkBudget(driver_bytes=0))
rules, seconds = list(RuleBook.of(texts)), []
found = []
for rule in rules:
    started = time.time()
    found.append(engine.count(rule))
    seconds.append(round(time.time() - started, 1))
started = time.time()
marked = engine.marked([rules[0], rules[3]])
if engine.n_rows > 1_000_000:
    marked.write.format("noop").mode("overwrite").save()
broken = marked.where("size(refute) > 0").count()
seconds.append(round(time.time() - started, 1))
started = time.time()
options = options_of(columns=["k", "a", "b", "c"], cross_columns=False, method="guided")
rules = sorted(rule.text for rule in discover_on_spark(data, options, gather=0).rules)
seconds.append(round(time.time() - started, 1))
print(json.dumps({"counts": found, "rows": broken, "rules": rules, "seconds": seconds}))
spark.stop()
"""


def test_an_executor_of_one_gigabyte_answers_exactly(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    a = rng.permutation(ROWS)
    noise = np.where(rng.random(ROWS) < 0.0005, rng.integers(0, 50, ROWS), 0)
    columns = {"k": a // 100, "a": a, "b": a + noise, "c": a // 100 % 7 + (rng.random(ROWS) < 0.00001)}
    table = pa.table(columns)
    padding = rng.integers(0, 2**62, ROWS)
    wide = pa.table(columns | {f"p{i}": padding ^ i for i in range(PADDING)})
    data = tmp_path / "data.parquet"
    pq.write_table(wide, data, row_group_size=500_000, compression="none", use_dictionary=False)
    del wide, padding
    with standalone(tmp_path, workers=1, cores=2) as (master, _):
        command = [sys.executable, "-W", "ignore", "-c", DRIVER, master, str(data), *RULES]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    sys.stdout.write(f"{ROWS:,} rows, {data.stat().st_size / 2**20:,.0f} MB, seconds {found['seconds']}\n")
    assert found["counts"] == [rf.count(table, text) for text in RULES]
    assert found["rules"] == sorted(
        rule.text for rule in rf.discover(table, cross_columns=False, method="guided").rules
    )
    broken = set()
    for text in (RULES[0], RULES[3]):
        broken |= {row for pair in rf.violations(table, text) for row in pair}
    assert found["rows"] == len(broken)
