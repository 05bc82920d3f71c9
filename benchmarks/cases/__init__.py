"""All cases: every module of this folder has a function `cases()`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from benchmarks.case import Case


def all_cases() -> Iterator[Case]:
    """Every case of every module, in order of name."""
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        yield from importlib.import_module(f"{__name__}.{module.name}").cases()
