"""How the rules over a table in memory are answered: which steps, and what they share."""

from __future__ import annotations

from refute.language.closure import Closure
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from refute.plan.plan import Plan, RulePlan
from refute.plan.shape import Shape
from refute.relation import Relation


def plan_rule(relation: Relation, rule: Rule, method: MethodName) -> RulePlan:
    """The plan of one rule; no rows are looked at."""
    relation.bind(rule.constraint, rule=rule.name)
    shape = Shape.of_rule(rule.constraint)
    name = "scan" if shape.single else method.chosen.value
    steps, worst = _steps(rule, shape, method.chosen), _at_worst(shape, method.chosen)
    if Closure(rule.constraint.predicates, rule.nulls).contradictory:
        steps = ("nothing to look for: its comparisons exclude each other, so it can never be violated",)
        worst = "nothing"
    return RulePlan.of(rule, rows=relation.n_rows, method=name, steps=steps, worst=worst)


def plan_rules(relation: Relation, rules: list[Rule], method: MethodName) -> Plan:
    """The plans of all rules, with the columns and groupings that several of them use."""
    plans = tuple(plan_rule(relation, rule, method) for rule in rules)
    readers: dict[str, int] = {}
    for rule in rules:
        for name in rule.constraint.columns:
            readers[name] = readers.get(name, 0) + 1
    shared = [f"  column {name}: encoded once for {count} rules" for name, count in readers.items() if count > 1]
    return Plan(plans, ("shared between rules", *shared) if shared else ())


def _at_worst(shape: Shape, method: MethodName) -> str:
    """The cost for n rows at worst."""
    if shape.single:
        return "n rows"
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


def _steps(rule: Rule, shape: Shape, method: MethodName) -> tuple[str, ...]:
    columns = ", ".join(rule.constraint.columns)
    steps = [f"encode {columns} as integers"]
    if shape.one_row or rule.where is not None:
        steps.append("keep the rows that the one-row comparisons and `where` admit on each side")
    if shape.single:
        return tuple(steps)
    if method is MethodName.REFINE:
        steps.append("order the predicates by estimated selectivity, then refine cluster pairs one predicate at a time")
        return tuple(steps)
    if shape.equal:
        steps.append(f"group by {_counted_columns(shape.equal)}; drop groups without a partner")
    if method is MethodName.RANGE_SEARCH:
        steps.append(f"search a tree of {max(shape.order + shape.differ, 1)} dimensions once per row")
        return tuple(steps)
    steps.append(_SWEEPS[min(shape.order, 4)])
    if shape.order <= 2:
        steps.append("to count where few distinct rows repeat often: answer from these and their numbers alone")
    if shape.differ:
        steps.append(
            f"{shape.differ} `!=`: count without it minus count with `=`; verified by the two best of different value"
        )
    return tuple(steps)


_SWEEPS = (
    "compare group sizes",
    "smallest and largest value per group (sorted to count)",
    "sort by one column, keep a running extremum of the other (a merge to count)",
    "sort by one column, Fenwick tree of extrema over the others (divide and conquer to count)",
    "dual k-d tree with impossible and certain boxes",
)


def _counted_columns(number: int) -> str:
    return "1 equality" if number == 1 else f"{number} equalities together"
