"""The public functions: they pick the engine for a table and put its answers into the classes users see."""

from refute.api.discovery import discover
from refute.api.functions import check, count, explain, verify, violations
from refute.api.violations import Violations

__all__ = ["Violations", "check", "count", "discover", "explain", "verify", "violations"]
