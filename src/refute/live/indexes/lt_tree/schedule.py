"""The schedule: in which order rules and their predicates are looked at, and what they share (section 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from refute.live.indexes.index import Compared, Watched
from refute.live.indexes.lt_tree.operands import OperandSides
from refute.live.indexes.lt_tree.predicate_order import PredicateOrdering
from refute.live.indexes.lt_tree.prefixes import Plan, Prefix, common_prefixes
from refute.live.indexes.lt_tree.tuning import PredicateOrder, Scheduling, Tuning


def distinct_predicates(rules: Sequence[Watched]) -> tuple[Compared, ...]:
    """Every predicate of the rules once; their places are the numbers by which schedules name them."""
    return tuple(dict.fromkeys(predicate for rule in rules for predicate in rule.compared))


class Schedule:
    """Plans of all rules, their order of execution and the prefixes that are made first; up to date at any time."""

    def __init__(self, rules: Sequence[Watched], cardinality: Callable[[Compared], int], tuning: Tuning) -> None:
        predicates = distinct_predicates(rules)
        numbers = {predicate: number for number, predicate in enumerate(predicates)}
        self.sides = tuple(OperandSides.of(predicate) for predicate in predicates)
        self.predicates = predicates
        self._rules: list[Plan] = [tuple(dict.fromkeys(numbers[one] for one in rule.compared)) for rule in rules]
        self._ordering = PredicateOrdering(predicates, cardinality, tuning.predicate_order)
        self._tuning = tuning
        self.is_shared = tuning.scheduling is not Scheduling.SEPARATE
        self.plans: list[Plan] = []
        self.executed: list[int] = []
        self.prefixes: list[Prefix] = []
        self.refined_by: list[Plan] = []  # for each predicate the rules that its operand refines
        self._make()

    def update(self) -> None:
        """Takes note that a row came or went (algorithm 2, line 17; algorithm 3, line 7)."""
        if self._ordering.changed():
            self._make()

    def first_order(self) -> Compared | None:
        """The first inequality, by which a batch is sorted (section 5.5); None where no rule has one."""
        found = (self.predicates[number] for number in self._ordering.by_rank)
        return next((predicate for predicate in found if predicate.op.is_order), None)

    def _make(self) -> None:
        # Step 1: a plan for each rule by itself.
        rank = {number: place for place, number in enumerate(self._ordering.by_rank)}
        if self._tuning.predicate_order is PredicateOrder.GIVEN:
            self.plans = self._rules
        else:
            self.plans = [tuple(sorted(rule, key=rank.__getitem__)) for rule in self._rules]
        rules = range(len(self.plans))
        if not self.is_shared:
            self.executed = list(rules)
            return
        # Step 2: rules that begin with a late predicate come first. They need it, and it may settle others as well.
        starts = [rank[plan[0]] if plan else -1 for plan in self.plans]
        self.executed = sorted(rules, key=lambda rule: -starts[rule])
        owners = [tuple(rule for rule in rules if number in self.plans[rule]) for number in range(len(self.sides))]
        self.refined_by = owners
        # Steps 3 and 4: common prefixes.
        if self._tuning.scheduling is Scheduling.PREFIXES:
            self.prefixes = common_prefixes(self.plans, self.executed)
