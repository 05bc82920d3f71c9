"""A rule: one denial constraint with a name and what follows when it is broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from refute.faults import several_rules
from refute.language.conditions import And, Condition
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.parser import RuleKind
from refute.language.render.english import render_english
from refute.language.render.text import quote_name, render_condition
from refute.language.rulebook.tolerance import STRICT, Tolerance


class Severity(Enum):
    """Whether a broken rule fails a run, or only warns."""

    ERROR = "error"
    WARN = "warn"


class Status(Enum):
    """Whether a rule is accepted, or only proposed, as by discovery."""

    ACTIVE = "active"
    PROPOSED = "proposed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One constraint under a name. `source` is its text as written, which may stand for other rules too.

    `line` is its line in the rule file, if it came from one; equality ignores it.
    """

    name: str
    constraint: DenialConstraint
    severity: Severity = Severity.ERROR
    tolerance: Tolerance = STRICT
    nulls: Nulls = Nulls.SQL
    where: Condition | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    kind: RuleKind = RuleKind.DC
    source: str = ""
    line: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, rule: object) -> Rule:
        """The rule of a text, a constraint or a rule; a text that stands for several rules is an error."""
        from refute.language.rulebook.book import RuleBook  # a book is made of rules

        book = RuleBook.of(rule)
        if len(book) != 1:
            raise several_rules(book.names, "give one of them")
        return book[0]

    @property
    def sentence(self) -> str:
        """The rule in English, with the condition that says which rows it is about."""
        where = self.where
        if self.kind is RuleKind.NOT_NULL:  # whose condition is a part of what it says
            sentence = f"In every row, {quote_name(self.constraint.columns[0])} has a value."
            where = where.parts[1] if isinstance(where, And) else None
        else:
            sentence = render_english(self.constraint)
        return sentence if where is None else f"{sentence} Only rows where {render_condition(where)} count."

    @property
    def terms(self) -> tuple[object, ...]:
        """All of the rule that a result depends on."""
        return self.name, self.constraint, self.where, self.nulls, self.severity, self.tolerance

    def allows(self, violations: int, rows: int, n_rows: int) -> bool:
        """Whether a table of `n_rows` rows with these counts passes the rule within its tolerance."""
        return self.tolerance.allows(violations, rows, n_rows, single_row=self.constraint.is_single_row)
