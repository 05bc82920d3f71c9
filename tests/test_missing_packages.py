"""What users see where an optional package is not installed: one wording, and the command that installs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import json, sys
for name in ("pyspark", "polars"):
    sys.modules[name] = None  # an import of it fails as if it were not installed
import pyarrow as pa
import refute as rf
from refute.cli.app import run

table = pa.table({"a": [1, 1]})
asked = {
    "catalog table": lambda: rf.check("sales.orders", "unique(a)"),
    "bucket": lambda: rf.count("s3://bucket/rows.parquet", "unique(a)"),
    "check on Spark": lambda: rf.check("rows.csv", "unique(a)", persist=True),
    "count on Spark": lambda: rf.count(table, "unique(a)", engine="spark"),
    "discovery": lambda: rf.discover(table, engine="spark"),
    "to_spark": lambda: rf.violations(table, "unique(a)").to_spark(),
    "to_polars": lambda: rf.violations(table, "unique(a)").to_polars(),
}
said = {}
for name, ask in asked.items():
    try:
        ask()
    except rf.errors.EngineError as error:
        said[name] = [str(error), error.facts]
said["check of a file"] = rf.check("rows.csv", "unique(a)").exit_code
print(json.dumps(said))
assert run(["check", "rows.csv", "unique(a)", "--quiet"]) == 1
assert run(["check", "rows.csv", "unique(a)", "--master", "local", "--driver-bytes", "9"]) == 3
assert run(["check", "rows.csv", "unique(a)", "--html", "s3://bucket/page.html"]) == 3
sys.exit(run(["check", "rows.csv", "unique(a)", "--engine", "spark"]))
"""

SPARK = "Spark needs the package pyspark, which is not installed. Run `pip install 'refute[spark]'`"
LOCAL = f"{SPARK}, or pass engine='local' to work in this process."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A process without the optional packages."""
    folder: Path = tmp_path_factory.mktemp("without")
    (folder / "rows.csv").write_text("a\n1\n1\n", encoding="utf-8")
    return subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, cwd=folder, check=False)


def test_a_missing_package_is_named_with_the_command_that_installs_it(run: subprocess.CompletedProcess[str]) -> None:
    said = json.loads(run.stdout)
    spark = {"package": "pyspark", "extra": "spark"}
    assert said.pop("check of a file") == 1  # which this process answers
    assert said == {
        "catalog table": [
            "There is no file or folder 'sales.orders'. If it is a catalog table, Spark can read it: run "
            "`pip install 'refute[spark]'`.",
            {"path": "sales.orders", **spark},
        ],
        "bucket": [f"Reading 's3://bucket/rows.parquet' {SPARK.removeprefix('Spark ')}.", spark],
        "check on Spark": [LOCAL, spark],
        "count on Spark": [LOCAL, spark],
        "discovery": [LOCAL, spark],
        "to_spark": [f"to_spark() {SPARK.removeprefix('Spark ')}.", spark],
        "to_polars": [
            "to_polars() needs the package polars, which is not installed. Run `pip install polars`.",
            {"package": "polars"},
        ],
    }


def test_the_command_says_how_to_go_on_without_spark(run: subprocess.CompletedProcess[str]) -> None:
    assert run.returncode == 3
    assert run.stderr.splitlines() == [
        f"refute: {SPARK}, or leave --master and --driver-bytes out.",
        f"refute: {SPARK}, or leave out the options that need it.",
        f"refute: {SPARK}, or add --engine local to read DATA in this process.",
    ]
