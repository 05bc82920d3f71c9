"""Refute: the pairs of rows that refute your data's rules, and the rules your data obeys.

Names are loaded on first use, so `import refute` costs next to nothing and starts neither Spark nor a compiler.
The errors that every call can raise are in `refute.errors`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from refute import errors
from refute.version import __version__ as __version__

if TYPE_CHECKING:
    from refute.api.discovery import discover
    from refute.api.functions import check, count, explain, suspects, verify, violations
    from refute.api.monitor import Monitor
    from refute.api.proposing import propose
    from refute.api.tracker import Tracker
    from refute.api.watch import Watch, watch
    from refute.detect.results import Verdict
    from refute.discovery import Discovery
    from refute.language.constraint import DenialConstraint
    from refute.language.parsing.parser import parse
    from refute.language.rulebook import RuleBook
    from refute.language.rulebook.reading.load import load_rules
    from refute.live.changes import Changes
    from refute.report import Report
    from refute.report.suspects import Suspects
    from refute.report.violations import Violations
    from refute.tracking.changes import RuleChanges

__all__ = [
    "Changes",
    "DenialConstraint",
    "Discovery",
    "Monitor",
    "Report",
    "RuleBook",
    "RuleChanges",
    "Suspects",
    "Tracker",
    "Verdict",
    "Violations",
    "Watch",
    "check",
    "count",
    "discover",
    "errors",
    "explain",
    "load_rules",
    "parse",
    "propose",
    "suspects",
    "verify",
    "violations",
    "watch",
]

_HOMES = {
    "Changes": "refute.live.changes",
    "DenialConstraint": "refute.language.constraint",
    "Discovery": "refute.discovery",
    "Monitor": "refute.api.monitor",
    "Report": "refute.report",
    "RuleBook": "refute.language.rulebook",
    "RuleChanges": "refute.tracking.changes",
    "Tracker": "refute.api.tracker",
    "Suspects": "refute.report.suspects",
    "Verdict": "refute.detect.results",
    "Violations": "refute.report.violations",
    "Watch": "refute.api.watch",
    "check": "refute.api.functions",
    "count": "refute.api.functions",
    "discover": "refute.api.discovery",
    "explain": "refute.api.functions",
    "load_rules": "refute.language.rulebook.reading.load",
    "parse": "refute.language.parsing.parser",
    "propose": "refute.api.proposing",
    "suspects": "refute.api.functions",
    "verify": "refute.api.functions",
    "violations": "refute.api.functions",
    "watch": "refute.api.watch",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'refute' has no attribute {name!r}.{errors.did_you_mean(name, __all__)}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
