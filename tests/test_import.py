"""What `import refute` must not do: load an engine, or compile anything."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("pyspark", "py4j", "pandas", "polars", "duckdb", "numba", "llvmlite", "numpy", "pyarrow", "lark", "rich")


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running some code."""
    script = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_refute_loads_no_engine_and_no_compiler() -> None:
    assert modules_after("import refute").isdisjoint(HEAVY)


def test_the_help_of_the_command_line_loads_no_engine_either() -> None:
    loaded = modules_after("from refute.cli.app import run\nrun(['--help'])")
    assert loaded.isdisjoint(("pyspark", "py4j", "pandas", "polars", "duckdb", "numba"))


def test_a_discovery_over_few_rows_loads_only_what_it_uses() -> None:
    loaded = modules_after(
        "import pyarrow.csv, refute, refute.data\n"  # tables made of Python's lists load pandas, if it is there
        "table = pyarrow.csv.read_csv(refute.data.TABLE).select(['city', 'state', 'zip', 'singleexemp', 'rate'])\n"
        "assert len(refute.discover(table, one_row=True, shared_values=0.0)) > 0"
    )
    assert "refute.discovery.evidence.tiles" in loaded
    others = ("guided.guided", "hydra.hydra", "hydra.refiners", "guided.hunting")
    assert loaded.isdisjoint(f"refute.discovery.{name}" for name in others)
    assert loaded.isdisjoint(("refute.detect.detector", "refute.detect.local", "refute.plan.compile"))
    assert loaded.isdisjoint(("pandas", "polars", "pyspark", "ruamel.yaml", "lark", "rich", "click"))
