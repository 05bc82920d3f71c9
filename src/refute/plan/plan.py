"""Plans: how rules are answered, as data that prints itself."""

from __future__ import annotations

from dataclasses import dataclass

from refute.display import in_one_line
from refute.language.render import render_text
from refute.language.rulebook import Rule
from refute.plan.shape import Shape


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How one rule is answered: by which method, in which steps, and at what cost in the worst case.

    Where a verdict and a count take steps of their own, `steps` are those that come before either.
    """

    name: str
    constraint: str
    sentence: str
    shape: Shape
    rows: int
    method: str
    steps: tuple[str, ...]
    worst: str
    verify: tuple[str, ...] = ()
    count: tuple[str, ...] = ()
    check: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        rule: Rule,
        *,
        rows: int,
        method: str,
        steps: tuple[str, ...],
        worst: str,
        verify: tuple[str, ...] = (),
        count: tuple[str, ...] = (),
        check: tuple[str, ...] = (),
    ) -> RulePlan:
        """The plan of a rule over a table of so many rows."""
        text, sentence = render_text(rule.constraint), rule.sentence
        shape = Shape.of_rule(rule.constraint)
        return cls(rule.name, text, sentence, shape, rows, method, steps, worst, verify, count, check)

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.constraint}",
            f"  meaning   {self.sentence}",
            f"  shape     {self.shape}",
            f"  method    {self.method}, {self.rows:,} rows",
            *_numbered("prepare" if self.verify else "steps", self.steps),
            *_numbered("verify", self.verify),
            *_numbered("count", self.count),
            *_numbered("check", self.check),
            f"  worst     {self.worst}",
        ]
        return "\n".join(map(in_one_line, lines))


def _numbered(title: str, steps: tuple[str, ...]) -> list[str]:
    return [f"  {title if number == 0 else '':9} {number + 1}. {step}" for number, step in enumerate(steps)]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plans of several rules over one table, and notes on them."""

    rules: tuple[RulePlan, ...]
    notes: tuple[str, ...] = ()
    engine: str = ""  # where they are answered, in words

    def __str__(self) -> str:
        notes = "\n".join(map(in_one_line, self.notes))
        return "\n\n".join(filter(None, [self.engine, *map(str, self.rules), notes]))
