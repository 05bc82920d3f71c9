"""A rule: one denial constraint with a name and what follows when it is broken."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from refute.faults import several_rules
from refute.language.arithmetic import all_sources
from refute.language.conditions import And, Condition, InTable, IsNull, Matches, compared_by
from refute.language.constraint import DenialConstraint
from refute.language.nulls import Nulls
from refute.language.parsing.parser import RuleKind
from refute.language.render.english import render_english
from refute.language.render.logic import render_logic
from refute.language.render.text import quote_name, render_condition, render_denied, render_text
from refute.language.rulebook.tolerance import STRICT, Tolerance


class Severity(Enum):
    """Whether a broken rule fails a run, or only warns."""

    ERROR = "error"
    WARN = "warn"


class Status(Enum):
    """Whether a rule is accepted, or only proposed, as by discovery."""

    ACTIVE = "active"
    PROPOSED = "proposed"


def nulls_of(kind: RuleKind) -> Nulls | None:
    """How nulls compare in all rules of a kind; None where that is for the rule to say."""
    return None if not kind.adds else Nulls.EQUAL if kind is RuleKind.NOT_NULL else Nulls.SQL


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One constraint under a name. `source` is its text as written, which may stand for other rules too.

    A rule that is only proposed warns, whatever its severity will be once it is accepted. `line` is its line in the
    rule file, if it came from one; equality ignores it.
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

    def __post_init__(self) -> None:
        if self.status is Status.PROPOSED:
            object.__setattr__(self, "severity", Severity.WARN)

    def __repr__(self) -> str:
        proposed = ", proposed" if self.status is Status.PROPOSED else ""
        return f"Rule({self.name!r}: {self.source or str(self.constraint)!r}, {self.severity.value}{proposed})"

    def _repr_html_(self) -> str:
        from refute.display.markup import table_part

        shown = (self.name, self.sentence, self.text, self.severity.value, str(self.tolerance))
        return table_part(repr(self), ("rule", "says", "constraint", "severity", "tolerance"), [shown])

    @classmethod
    def of(cls, rule: object) -> Rule:
        """The rule of a text, a constraint or a rule; a text that stands for several rules is an error."""
        from refute.language.rulebook.book import RuleBook  # a book is made of rules

        book = RuleBook.of(rule)
        if len(book) != 1:
            raise several_rules(book.names, "Give one of them.")
        return book[0]

    @property
    def added(self) -> Condition | None:
        """What rows that break it meet beyond its constraint, where its kind says more than comparisons can."""
        if not self.kind.adds:
            return None
        return self.where.parts[0] if isinstance(self.where, And) else self.where

    @property
    def scope(self) -> Condition | None:
        """Which rows it is about, as written."""
        if not self.kind.adds:
            return self.where
        return self.where.parts[1] if isinstance(self.where, And) else None

    @property
    def text(self) -> str:
        """The rule as a denial constraint, with what its kind adds: `not (s.zip not matches '[0-9]{5}')`."""
        added = self.added
        return render_text(self.constraint) if added is None else f"not ({render_denied(added)})"

    @property
    def logic(self) -> str:
        """The same in the notation of the papers."""
        added = self.added
        return render_logic(self.constraint) if added is None else f"∀ s: ¬({render_denied(added)})"

    @property
    def sentence(self) -> str:
        """The rule in English, with the condition that says which rows it is about."""
        match self.added:
            case None:
                sentence = render_english(self.constraint)
            case IsNull(name):
                sentence = f"In every row, {quote_name(name)} has a value."
            case Matches(name, pattern):
                sentence = f"In every row, {quote_name(name)} matches {pattern}, or is null."
            case InTable(names, path, columns):
                own, others = (" and ".join(map(quote_name, part)) for part in (names, columns))
                sentence = f"In every row, {own} is found as {others} in {path}, or is null."
            case other:
                raise AssertionError(f"no kind adds {other}")
        where = self.scope
        return sentence if where is None else f"{sentence} Only rows where {render_condition(where)} count."

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's columns that it and its `where` read, each once."""
        return all_sources(self.compared)

    @property
    def compared(self) -> tuple[str, ...]:
        """What it and its `where` compare: columns of the table, and formulas over them."""
        chosen = () if self.where is None else compared_by(self.where)
        return tuple(dict.fromkeys((*self.constraint.compared, *chosen)))

    @property
    def read(self) -> tuple[str, ...]:
        """What it compares, and the table's columns behind that, each once."""
        return tuple(dict.fromkeys((*self.compared, *self.columns)))

    @property
    def terms(self) -> tuple[object, ...]:
        """All of the rule that a result depends on, however its predicates are written."""
        return self.name, self.constraint.tidied, self.where, self.nulls, self.severity, self.tolerance

    def allows(self, violations: int, rows: int, n_rows: int, suspects: int | None = None) -> bool:
        """Whether a table of `n_rows` rows with these counts passes the rule within its tolerance."""
        single_row = self.constraint.is_single_row
        return self.tolerance.allows(violations, rows, n_rows, suspects=suspects, single_row=single_row)
