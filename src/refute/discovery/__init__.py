"""Discovery: every minimal rule that a table obeys, exactly or within an error."""

from refute.discovery.options import Measure, Options, Progress, SearchMethod
from refute.discovery.result.discovery import CompleteDiscovery, Discovered, Discovery
from refute.discovery.result.kinds import RuleSort

__all__ = [
    "CompleteDiscovery",
    "Discovered",
    "Discovery",
    "Measure",
    "Options",
    "Progress",
    "RuleSort",
    "SearchMethod",
]
