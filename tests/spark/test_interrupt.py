"""Ctrl-C while Spark works: one line, and nothing is left."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytestmark = pytest.mark.spark

# The command, which sends itself the signal when Spark has begun to work.
INTERRUPTED = """
import os, signal, sys, threading
from refute.cli import source
from refute.cli.app import run
begin = source.open_data
def begun(*given, **more):
    opened = begin(*given, **more)
    threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
    return opened
import refute.cli.check
refute.cli.check.open_data = begun
rule = "not (s.a < t.a and s.b > t.b and s.c < t.c)"
sys.exit(run(["check", "rows.parquet", rule, "--violations", "out", "--engine", "spark"]))
"""


def test_an_interrupted_command_says_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    numbers = pa.array(range(400_000))
    pq.write_table(pa.table({"a": numbers, "b": numbers, "c": numbers}), tmp_path / "rows.parquet")
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "refute: Interrupted.\n")
    deadline = time.monotonic() + 60
    while any((tmp_path / "temporary").iterdir()) and time.monotonic() < deadline:  # Java ends after Python
        time.sleep(0.2)
    assert not list((tmp_path / "temporary").iterdir())
    assert not (tmp_path / "out").exists()
