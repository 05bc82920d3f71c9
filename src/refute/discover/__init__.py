"""Discovery: every minimal rule that a table obeys, exactly or but for an error."""

from refute.discover.discovery import Discovered, Discovery
from refute.discover.kinds import RuleSort
from refute.discover.options import Measure, Method, Options, Progress
from refute.discover.search import discover

__all__ = ["Discovered", "Discovery", "Measure", "Method", "Options", "Progress", "RuleSort", "discover"]
