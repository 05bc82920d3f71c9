"""One entry of a rule file, as written. It stands for one rule or, where its text says several things, for more."""

from __future__ import annotations

from dataclasses import dataclass, field

from refute.language.conditions import And, Condition, IsNull
from refute.language.nulls import Nulls
from refute.language.parser import RuleKind, parse_condition
from refute.language.render.text import render_condition
from refute.language.rulebook.expand import expand, spelled
from refute.language.rulebook.rule import Rule, Severity, Status
from refute.language.rulebook.tolerance import STRICT, Tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A name, one of the ways to write a rule with its text, and options; None means the book's default."""

    name: str
    kind: RuleKind
    source: str
    severity: Severity = Severity.ERROR
    tolerance: Tolerance = STRICT
    nulls: Nulls | None = None
    where: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    status: Status = Status.ACTIVE
    line: int | None = field(default=None, compare=False)

    @classmethod
    def of(cls, rule: Rule, *, default_nulls: Nulls = Nulls.SQL) -> Entry:
        """The entry that stands for this one rule; if it is only proposed, as an error once it is accepted."""
        kind, source = spelled(rule.constraint, rule.kind, rule.source)
        return cls(
            name=rule.name,
            kind=kind,
            source=source,
            severity=rule.severity if rule.status is Status.ACTIVE else Severity.ERROR,
            tolerance=rule.tolerance,
            nulls=None if rule.nulls is default_nulls or kind is RuleKind.NOT_NULL else rule.nulls,
            where=None if (where := _written(rule, kind)) is None else render_condition(where),
            description=rule.description,
            tags=rule.tags,
            status=rule.status,
            line=rule.line,
        )

    def rules(self, default_nulls: Nulls = Nulls.SQL) -> tuple[Rule, ...]:
        """The rules it stands for: `name` alone, or `name[city]`, `name[2]`, ... where it stands for several."""
        parts = expand(self.kind, self.source)
        where = None if self.where is None else parse_condition(self.where)
        absent = self.kind is RuleKind.NOT_NULL
        return tuple(
            Rule(
                name=self.name if len(parts) == 1 else f"{self.name}[{label}]",
                constraint=constraint,
                severity=self.severity,
                tolerance=self.tolerance,
                nulls=Nulls.EQUAL if absent else self.nulls or default_nulls,
                where=_null_rows(constraint.columns[0], where) if absent else where,
                description=self.description,
                tags=self.tags,
                status=self.status,
                kind=self.kind,
                source=self.source,
                line=self.line,
            )
            for label, constraint in parts
        )

    def plain(self) -> dict[str, object]:
        """The entry as a YAML mapping, without what is default."""
        options: dict[str, object] = {
            "severity": None if self.severity is Severity.ERROR else self.severity.value,
            "tolerance": self.tolerance.plain(),
            "nulls": None if self.nulls is None else self.nulls.value,
            "where": self.where,
            "description": self.description,
            "tags": list(self.tags),
            "status": None if self.status is Status.ACTIVE else self.status.value,
        }
        return {
            "name": self.name,
            self.kind.value: self.source,
            **{key: value for key, value in options.items() if value},
        }


def _null_rows(name: str, where: Condition | None) -> Condition:
    """The rows that a column must not be null in, where it is."""
    return IsNull(name) if where is None else And((IsNull(name), where))


def _written(rule: Rule, kind: RuleKind) -> Condition | None:
    """The condition as written: without what `not_null` has added to it."""
    if kind is not RuleKind.NOT_NULL:
        return rule.where
    return rule.where.parts[1] if isinstance(rule.where, And) else None
