"""What `import refute` must not do: load an engine, or compile anything."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pyspark", "py4j", "pandas", "polars", "duckdb", "numba", "llvmlite", "numpy", "pyarrow", "lark", "rich")


def modules_after(code: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_refute_loads_no_engine_and_no_compiler() -> None:
    assert modules_after("import refute").isdisjoint(HEAVY)


def test_the_help_of_the_command_line_loads_no_engine_either() -> None:
    loaded = modules_after("from refute.cli.app import run\nrun(['--help'])")
    assert loaded.isdisjoint(("pyspark", "py4j", "pandas", "polars", "duckdb", "numba"))
