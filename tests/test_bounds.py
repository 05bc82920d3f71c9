"""Every dependency has a lower bound, which `make oldest` installs and tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.skipif(not (ROOT / ".ci" / "oldest.py").is_file(), reason="only a checkout has the script")
def test_every_dependency_has_a_lower_bound_that_can_be_tested() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: needs for name, needs in project["optional-dependencies"].items() if name != "all"}
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "oldest.py", *extras], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    pinned = dict(line.split("==") for line in done.stdout.split())
    assert len(pinned) == len({*project["dependencies"], *(need for needs in extras.values() for need in needs)})
    assert pinned["click"] == "8.2.0"  # the first with an error of its own for a command without arguments
