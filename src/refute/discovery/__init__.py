"""Discovery: every minimal rule that a table obeys, exactly or but for an error."""

from refute.discovery.options import Measure, Method, Options, Progress
from refute.discovery.result.discovery import Discovered, Discovery
from refute.discovery.result.kinds import RuleSort
from refute.discovery.search import discover

__all__ = ["Discovered", "Discovery", "Measure", "Method", "Options", "Progress", "RuleSort", "discover"]
