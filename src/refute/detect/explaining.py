"""How the rules over a table in memory are answered: the steps that will run, and what rules share.

A problem is prepared just as for an answer: columns are encoded, rows grouped, samples looked at. The same
choosers then say what they would do, and nothing is searched or counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from refute.detect.detector import Detector
from refute.detect.sweep.points import Points
from refute.detect.sweep.reduce import reduce
from refute.display.plurals import plural
from refute.language.arithmetic import shown_column
from refute.language.logic.closure import Closure
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.plan.plan import Plan, RulePlan
from refute.plan.problem import Comparison, Problem
from refute.plan.shape import Shape
from refute.plan.step import Step, named


def plan_rules(detector: Detector, rules: Sequence[Rule]) -> Plan:
    """The plans of all rules, with the columns that several of them use, and the rules that nothing can break."""
    plans = tuple(plan_rule(detector, rule) for rule in rules)
    readers: dict[str, int] = {}
    for rule in rules:
        for name in map(shown_column, rule.constraint.compared):
            readers[name] = readers.get(name, 0) + 1
    shared = [f"  column {name}: encoded once for {count} rules" for name, count in readers.items() if count > 1]
    notes = ["shared between rules", *shared] if shared else []
    notes += [
        f"{rule.name} can never be violated: its comparisons contradict each other."
        for rule in rules
        if Closure(rule.constraint.predicates, rule.nulls).contradictory
    ]
    return Plan(plans, tuple(notes))


def plan_rule(detector: Detector, rule: Rule) -> RulePlan:
    """The plan of one rule."""
    detector.relation.bind(rule.constraint, rule=rule.name, where=rule.where)
    rows = detector.relation.n_rows
    if rule.constraint.is_single_row:
        steps = ("evaluate the comparisons for each row",)
        return RulePlan.of(rule, rows=rows, method="scan", steps=steps, worst="n rows")
    method = detector.method
    verify = tuple(map(str, detector.verify_steps(rule)))  # first rows are encoded before all, and then on their own
    problem = detector.compiled(rule).problem
    if problem is None:
        steps = ("nothing to search: its comparisons contradict each other",)
        return RulePlan.of(rule, rows=rows, method=method.value, steps=steps, worst="nothing")
    return RulePlan.of(
        rule,
        rows=rows,
        method=method.value,
        steps=tuple(map(str, _preparation(detector, rule, problem))),
        verify=verify,
        count=tuple(map(str, detector.count_steps(rule))),
        check=("verify the rule as above; continue if it is broken", *map(str, detector.extent_steps(rule))),
        worst=_at_worst(Shape.of_problem(problem), method),
    )


def _preparation(detector: Detector, rule: Rule, problem: Problem) -> Iterator[Step]:
    """What is done before anything is searched."""
    yield Step(f"encode {', '.join(map(shown_column, rule.constraint.compared))} as integers")
    n = detector.relation.n_rows
    if problem.s.size < n or problem.t.size < n:
        on_t = "" if problem.aligned else f" as s, {problem.t.size:,} as t"
        yield Step(f"keep the rows that can be part of a pair: {problem.s.size:,}{on_t}")
    points = reduce(problem, detector.share) if detector.method is not MethodName.REFINE else None
    if points is not None and points.group is not None:
        yield Step(f"group the rows by {named(problem.equal)}: {plural(_groups(points.group), 'group')}")
        if points.s_pick is not None or points.t_pick is not None:
            yield Step(f"drop the rows that are alone in their group: {_left(points)}")


def _groups(group: Comparison) -> int:
    """How many groups have rows: the numbers of groups may have gaps."""
    held = np.zeros(group.size, bool)
    held[group.s] = True
    held[group.t] = True
    return int(np.count_nonzero(held))


def _left(points: Points) -> str:
    on_t = "" if points.aligned else f" as s, {points.n_t:,} as t"
    return f"{points.n_s:,} stay{on_t}"


def _at_worst(shape: Shape, method: MethodName) -> str:
    """The cost for n rows at worst."""
    dimensions = max(shape.order + shape.differ, 1)
    if method is MethodName.RANGE_SEARCH:
        return f"n^(2 - 1/{dimensions}) with a k-d tree, n log^{dimensions} n with a range tree"
    if method is MethodName.REFINE:
        return "n^2 pairs of clusters"
    match shape.order:
        case 0:
            return "n rows"
        case 1:
            return "n log n to count, n to verify"
        case 2:
            return "n log n"
        case 3:
            return "n log^2 n"
        case orders:
            return f"n log^{orders - 1} n to count, n^(2 - 1/{orders}) to verify, in linear space"
