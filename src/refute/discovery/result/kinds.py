"""What sort of rule a constraint is, in the words that people use."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from refute.discovery.options import chosen, several
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator


class RuleSort(Enum):
    """The sorts that discovery tells apart."""

    KEY = "key"
    FD = "functional dependency"
    ORDER = "order rule"
    CROSS_COLUMN = "cross-column rule"
    ROW = "row rule"
    OTHER = "other"


def kinds_of(kinds: Iterable[str | RuleSort] | None) -> set[RuleSort] | None:
    """The kinds of rules that are named; raises OptionError naming the nearest."""
    return None if kinds is None else {chosen(RuleSort, kind, "kinds") for kind in several(kinds)}


def sort_of(constraint: DenialConstraint) -> RuleSort:
    """The sort of a rule: a key, a dependency or an order only if all of it compares columns with themselves."""
    if constraint.is_single_row:
        return RuleSort.ROW
    if any(p.is_cross_column for p in constraint.predicates):
        return RuleSort.CROSS_COLUMN
    if any(not p.is_two_row for p in constraint.predicates):
        return RuleSort.OTHER
    rest = [p for p in constraint.predicates if p.op is not Operator.EQ]
    if not rest:
        return RuleSort.KEY
    if len(rest) == 1 and rest[0].op is Operator.NE:
        return RuleSort.FD
    if len(rest) == 2 and all(p.op.is_order for p in rest):
        return RuleSort.ORDER
    return RuleSort.OTHER
