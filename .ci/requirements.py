"""Prints what groups and extras of pyproject.toml need, as requirements for pip, of which not all versions know groups.

With --oldest, it prints the oldest set of packages that Refute itself and these groups allow, as constraints for pip:
every `>=` becomes `==`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def requirements(groups: Iterable[str], *, own: bool) -> list[str]:
    """What these groups need, each once, and with `own` what Refute itself needs before that."""
    read = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    known = read["dependency-groups"] | read["project"]["optional-dependencies"]
    needed = list(read["project"]["dependencies"]) if own else []
    for group in groups:
        if group not in known:
            sys.exit(f"pyproject.toml has no group or extra {group!r}; it has {', '.join(known)}.")
        needed += known[group]
    return list(dict.fromkeys(needed))


def oldest(needed: Iterable[str]) -> Iterator[str]:
    """One constraint for each package."""
    for requirement in needed:
        found = re.fullmatch(r"([\w.-]+)(\[\w+\])?>=([\w.]+)(,<[\w.]+)?(;.*)?", requirement)
        if found is None:
            sys.exit(f"{requirement!r} has no lower bound that could be tested: write it as name>=version.")
        yield f"{found[1]}=={found[3]}"


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--oldest"]
    is_oldest = "--oldest" in sys.argv
    lines = requirements(names, own=is_oldest)
    sys.stdout.write("".join(line + "\n" for line in (oldest(lines) if is_oldest else lines)))
