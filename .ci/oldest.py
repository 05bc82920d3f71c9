"""Prints the oldest set of packages that pyproject.toml allows, as constraints for pip: every `>=` becomes `==`."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def constraints(extras: list[str]) -> Iterator[str]:
    """One line for each package that Refute itself and these extras need."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *(name for extra in extras for name in project["optional-dependencies"][extra])]
    for requirement in dict.fromkeys(needed):
        found = re.fullmatch(r"([\w.-]+)>=([\w.]+)(;.*)?", requirement)
        if found is None:
            sys.exit(f"{requirement!r} has no lower bound that could be tested: write it as name>=version.")
        yield f"{found[1]}=={found[2]}"


if __name__ == "__main__":
    sys.stdout.write("".join(line + "\n" for line in constraints(sys.argv[1:])))
