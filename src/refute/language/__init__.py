"""What a rule is: predicates, constraints, their logic, their text. Nothing here knows data."""

from refute.language.conditions import Condition
from refute.language.constraint import DenialConstraint
from refute.language.logic.implication import implies, is_trivial, reduced
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.parsing.parser import RuleKind, parse, parse_condition, parse_kind, parse_rule, parse_statement
from refute.language.parsing.syntax import RuleSyntaxError
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.short_forms.sugar import recognise

__all__ = [
    "Column",
    "Condition",
    "Constant",
    "DenialConstraint",
    "Nulls",
    "Operator",
    "Predicate",
    "Row",
    "RuleKind",
    "RuleSyntaxError",
    "implies",
    "is_trivial",
    "parse",
    "parse_condition",
    "parse_kind",
    "parse_rule",
    "parse_statement",
    "recognise",
    "reduced",
]
