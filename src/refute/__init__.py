"""Refute: the pairs of rows that refute your data's rules, and the rules your data obeys.

Names are loaded on first use, so that `import refute` costs next to nothing and starts neither Spark nor a compiler.
The errors that every call can raise are in `refute.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from refute import errors

if TYPE_CHECKING:
    from refute.language.constraint import DenialConstraint

__version__ = "0.1.0"

__all__ = ["DenialConstraint", "errors"]

_HOMES = {
    "DenialConstraint": "refute.language.constraint",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'refute' has no attribute {name!r}{errors.did_you_mean(name, __all__)}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
