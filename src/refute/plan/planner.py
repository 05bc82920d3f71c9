"""Plans: which method answers a rule, in which steps, and why. A plan is data and prints itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from refute.display import in_one_line
from refute.language.closure import Closure
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.plan.cost import Cost, costs
from refute.plan.method import MethodName
from refute.plan.problem import Problem
from refute.plan.shape import Shape
from refute.relation import Relation

SAMPLE_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How one rule will be answered."""

    name: str
    constraint: str
    sentence: str
    shape: Shape
    rows: int
    method: MethodName
    steps: tuple[str, ...]
    costs: tuple[Cost, ...]

    @property
    def cost(self) -> Cost:
        """The cost of the chosen method."""
        return next(cost for cost in self.costs if cost.method is self.method)

    def __str__(self) -> str:
        others = [f"{cost.method.value} ~{cost.expected:,.0f}" for cost in self.costs if cost.method is not self.method]
        against = f" (against {', '.join(others)})" if others else ""
        lines = [
            f"{self.name}: {self.constraint}",
            f"  meaning   {self.sentence}",
            f"  shape     {self.shape}",
            f"  method    {'scan' if self.shape.single else self.method.value}",
            *(f"  {'order    ' if i == 0 else '         '} {i + 1}. {step}" for i, step in enumerate(self.steps)),
            f"  expected  ~{self.cost.expected:,.0f} row visits for {self.rows:,} rows{against}",
            f"  worst     {self.cost.worst} for n rows",
        ]
        return "\n".join(map(in_one_line, lines))


@dataclass(frozen=True, slots=True)
class Plan:
    """The plans of several rules over one table, and what they share."""

    rules: tuple[RulePlan, ...]
    shared: tuple[str, ...]

    def __str__(self) -> str:
        parts = [str(rule) for rule in self.rules]
        if self.shared:
            parts.append("shared between rules\n" + "\n".join(f"  {in_one_line(line)}" for line in self.shared))
        return "\n\n".join(parts)


def choose_method(problem: Problem) -> MethodName:
    """The method with the least expected cost for this problem."""
    return costs(Shape.of_problem(problem), max(problem.s_size, problem.t_size))[0].method


def plan_rule(relation: Relation, rule: Rule, method: MethodName = MethodName.AUTO) -> RulePlan:
    """The plan of one rule; looks at a sample of rows only."""
    from refute.language.render import render_english, render_text

    shape = Shape.of_rule(rule.constraint)
    sample = relation.head(SAMPLE_ROWS)
    compiled = compile_rule(sample, rule.constraint, rule.nulls, rule.where)
    group_rows = _group_rows(compiled.problem, relation.n_rows) if compiled.problem is not None else None
    estimates = costs(shape, relation.n_rows, group_rows)
    chosen = estimates[0].method if method is MethodName.AUTO or shape.single else method
    steps = _steps(rule, shape, chosen)
    if Closure(rule.constraint.predicates, rule.nulls).contradictory:
        steps = ("nothing to look for: its comparisons exclude each other, so it can never be violated",)
        estimates = tuple(Cost(cost.method, 0.0, "nothing") for cost in estimates)
    return RulePlan(
        name=rule.name,
        constraint=render_text(rule.constraint),
        sentence=render_english(rule.constraint),
        shape=shape,
        rows=relation.n_rows,
        method=chosen,
        steps=steps,
        costs=estimates,
    )


def plan_rules(relation: Relation, rules: list[Rule], method: MethodName = MethodName.AUTO) -> Plan:
    """The plans of all rules, with the columns and groupings that several of them use."""
    plans = tuple(plan_rule(relation, rule, method) for rule in rules)
    readers: dict[str, int] = {}
    for rule in rules:
        for name in rule.constraint.columns:
            readers[name] = readers.get(name, 0) + 1
    shared = tuple(f"column {name}: encoded once for {count} rules" for name, count in readers.items() if count > 1)
    return Plan(plans, shared)


def _group_rows(problem: Problem, rows: int) -> float | None:
    """The mean size of an equality group in the whole table, scaled up from a sample; None without equalities."""
    if not problem.equal or problem.s_size == 0:
        return None
    keys = np.stack([comparison.s.astype(np.int64) for comparison in problem.equal])
    groups = int(np.unique(keys, axis=1).shape[1])
    mean = problem.s_size / groups
    # A sample in which nearly all groups are single rows says little: such groups are taken to stay small.
    return float(mean if mean < 2 else mean * rows / problem.n_rows)


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
