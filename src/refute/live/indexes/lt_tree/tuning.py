"""The choices of the paper that can be made otherwise, for those who compare. No answer depends on them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class PredicateOrder(Enum):
    """In which order the predicates of a rule refine its candidates (section 5.2)."""

    CARDINALITY = "cardinality"  # the paper's: six classes, within each by the number of distinct values
    GIVEN = "given"  # as the rule was written
    WORST = "worst"  # the paper's, turned round


class Scheduling(Enum):
    """What rules share while a row is compared (section 5.3)."""

    PREFIXES = "prefixes"  # the paper's: operands, and candidates after a common prefix
    OPERANDS = "operands"  # operands alone: one look-up refines all rules that have the predicate
    SEPARATE = "separate"  # nothing: rule by rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """How rows are compared; by default as in the paper."""

    predicate_order: PredicateOrder = PredicateOrder.CARDINALITY
    scheduling: Scheduling = Scheduling.PREFIXES
    batches: bool = True  # sorted batches (section 5.5), or rows one at a time as they come


DEFAULT = Tuning()
