"""Every dependency has a lower bound, which `make oldest` installs and tests."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


SCRIPT = ROOT / ".ci" / "requirements.py"
pytestmark = pytest.mark.skipif(not SCRIPT.is_file(), reason="only a checkout has the script")
READ = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = READ["project"]["optional-dependencies"] | READ["dependency-groups"]


def printed(*arguments: str) -> list[str]:
    done = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_every_dependency_has_a_lower_bound_that_can_be_tested() -> None:
    pinned = dict(line.split("==") for line in printed("--oldest", *GROUPS))
    needed = {*READ["project"]["dependencies"], *(need for needs in GROUPS.values() for need in needs)}
    assert len(pinned) == len(needed)
    assert pinned["click"] == "8.2.0"  # the first with an error of its own for a command without arguments


def test_tools_are_groups_and_no_extras_that_users_see() -> None:
    assert set(READ["project"]["optional-dependencies"]) == {"spark"}
    assert printed("docs") == READ["dependency-groups"]["docs"]
    assert printed("dev", "bench")[0] == READ["dependency-groups"]["dev"][0]
