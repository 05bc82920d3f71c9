"""Plans: how rules are answered, as data that prints itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from refute.display import in_one_line
from refute.display.plurals import plural
from refute.faults import needing
from refute.language.rulebook import Rule
from refute.plan.shape import Shape

if TYPE_CHECKING:
    import pandas


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
        text, sentence = rule.text, rule.sentence
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


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """The plans of several rules over one table, and notes on them."""

    rules: tuple[RulePlan, ...]
    notes: tuple[str, ...] = ()
    engine: str = ""  # where they are answered, in words

    def __iter__(self) -> Iterator[RulePlan]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __repr__(self) -> str:
        methods = ", ".join(dict.fromkeys(one.method for one in self.rules))
        return f"Plan({plural(len(self), 'rule')} by {methods})"

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part

        rows = [(one.name, one.method, "; ".join((*one.steps, *one.count)), one.worst) for one in self.rules]
        return table_part(repr(self), ("rule", "method", "steps to count", "worst case"), rows)

    def to_arrow(self) -> pa.Table:
        """One row per rule."""
        texts = ("name", "constraint", "sentence", "method", "worst")
        lists = ("steps", "verify", "count", "check")
        columns = {name: pa.array([getattr(one, name) for one in self.rules], pa.string()) for name in texts}
        steps = {
            name: pa.array([list(getattr(one, name)) for one in self.rules], pa.list_(pa.string())) for name in lists
        }
        return pa.table({**columns, "rows": pa.array([one.rows for one in self.rules], pa.int64()), **steps})

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self.to_arrow().to_pandas()

    def __str__(self) -> str:
        notes = "\n".join(map(in_one_line, self.notes))
        return "\n\n".join(filter(None, [self.engine, *map(str, self.rules), notes]))
