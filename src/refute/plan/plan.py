"""Plans: how rules are answered, as data that prints itself."""

from __future__ import annotations

from dataclasses import dataclass

from refute.display import in_one_line
from refute.language.render import render_english, render_text
from refute.language.rulebook import Rule
from refute.plan.shape import Shape


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How one rule is answered: by which method, in which steps, and at what cost at worst."""

    name: str
    constraint: str
    sentence: str
    shape: Shape
    rows: int
    method: str
    steps: tuple[str, ...]
    worst: str

    @classmethod
    def of(cls, rule: Rule, *, rows: int, method: str, steps: tuple[str, ...], worst: str) -> RulePlan:
        """The plan of a rule over a table of so many rows."""
        constraint = rule.constraint
        shape = Shape.of_rule(constraint)
        return cls(rule.name, render_text(constraint), render_english(constraint), shape, rows, method, steps, worst)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.constraint}",
            f"  meaning   {self.sentence}",
            f"  shape     {self.shape}",
            f"  method    {self.method}, {self.rows:,} rows",
            *(f"  {'steps    ' if i == 0 else '         '} {i + 1}. {step}" for i, step in enumerate(self.steps)),
            f"  worst     {self.worst}",
        ]
        return "\n".join(map(in_one_line, lines))


@dataclass(frozen=True, slots=True)
class Plan:
    """The plans of several rules over one table, and what else is to be known of them."""

    rules: tuple[RulePlan, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join([*map(str, self.rules), *filter(None, ["\n".join(map(in_one_line, self.notes))])])
