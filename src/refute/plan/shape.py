"""The shape of a rule: all that the choice of a method depends on besides the number of rows."""

from __future__ import annotations

from dataclasses import dataclass

from refute.display.plurals import plural
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.plan.problem import Problem


@dataclass(frozen=True, slots=True)
class Shape:
    """How many comparisons of each kind a rule makes between its two rows, and how many within one."""

    equal: int
    order: int
    differ: int
    one_row: int = 0
    single: bool = False

    @classmethod
    def of_rule(cls, rule: DenialConstraint) -> Shape:
        """The shape as written."""
        two_row = [predicate.op for predicate in rule.predicates if predicate.is_two_row]
        return cls(
            equal=two_row.count(Operator.EQ),
            order=sum(op.is_order for op in two_row),
            differ=two_row.count(Operator.NE),
            one_row=len(rule.predicates) - len(two_row),
            single=rule.is_single_row,
        )

    @classmethod
    def of_problem(cls, problem: Problem) -> Shape:
        """The shape after compilation."""
        return cls(len(problem.equal), len(problem.order), len(problem.differ))

    def __str__(self) -> str:
        if self.single:
            return f"one row at a time, {plural(self.one_row, 'comparison')}"
        parts = [
            (self.equal, "equality", "equalities"),
            (self.order, "order comparison", None),
            (self.differ, "inequality", "inequalities"),
            (self.one_row, "one-row filter", None),
        ]
        return "pairs of rows, " + ", ".join(plural(*part) for part in parts if part[0])
