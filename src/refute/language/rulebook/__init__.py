"""Named rules with severity and tolerance, from YAML and from code."""

from refute.language.parsing.parser import RuleKind
from refute.language.rulebook.book import Dataset, RuleBook
from refute.language.rulebook.entry import Entry
from refute.language.rulebook.naming import suggest_name
from refute.language.rulebook.reading.problems import ProblemLog, RuleBookError, RuleMistake
from refute.language.rulebook.rule import Rule, Severity, Status
from refute.language.rulebook.tolerance import Limit, Tolerance

__all__ = [
    "Dataset",
    "Entry",
    "Limit",
    "ProblemLog",
    "Rule",
    "RuleBook",
    "RuleBookError",
    "RuleKind",
    "RuleMistake",
    "Severity",
    "Status",
    "Tolerance",
    "suggest_name",
]
