"""Reports: what a check found, as text, JSON, JUnit XML and one self-contained HTML page."""

from refute.report.report import DataSummary, Report
from refute.report.result import RuleResult
from refute.report.suspects import Suspects

__all__ = ["DataSummary", "Report", "RuleResult", "Suspects"]
