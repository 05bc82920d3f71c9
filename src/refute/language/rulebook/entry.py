"""One entry of a rule file, as written. It stands for one rule or, where its text says several things, for more."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from textwrap import indent

from refute.language.conditions import And, Condition, InTable, IsNull, Matches
from refute.language.nulls import Nulls
from refute.language.parsing.parser import RuleKind, parse_condition, parse_kind
from refute.language.render.text import render_condition
from refute.language.rulebook.dumping import yaml_text
from refute.language.rulebook.expand import expand, source_of, spelled
from refute.language.rulebook.rule import Rule, Severity, Status, nulls_of
from refute.language.rulebook.tolerance import STRICT, Tolerance
from refute.language.short_forms.column_rules import AllowedValues, Patterns, References
from refute.language.short_forms.sugar import NotNull

_MAPPED = (RuleKind.MATCHES, RuleKind.ONE_OF)  # kinds that say something of each column


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
    folder: str = field(default="", compare=False)  # of the file that it is written in, where tables are sought

    @classmethod
    def of(cls, rule: Rule, *, default_nulls: Nulls = Nulls.SQL) -> Entry:
        """The entry that stands for this one rule; if it is only proposed, as an error once it is accepted."""
        kind, source = spelled(rule.constraint, rule.kind, rule.source)
        if rule.kind.adds:
            kind, source = rule.kind, _source_of(rule)
        return cls(
            name=rule.name,
            kind=kind,
            source=source,
            severity=rule.severity if rule.status is Status.ACTIVE else Severity.ERROR,
            tolerance=rule.tolerance,
            nulls=None if rule.nulls is default_nulls or kind.adds else rule.nulls,
            where=None if (where := rule.scope) is None else render_condition(where),
            description=rule.description,
            tags=rule.tags,
            status=rule.status,
            line=rule.line,
        )

    def rules(self, default_nulls: Nulls = Nulls.SQL) -> tuple[Rule, ...]:
        """The rules it stands for: `name` alone, or `name[city]`, `name[2]`, ... where it stands for several."""
        parts = expand(self.kind, self.source, self.folder)
        where = None if self.where is None else parse_condition(self.where)
        return tuple(
            Rule(
                name=self.name if len(parts) == 1 else f"{self.name}[{part.label}]",
                constraint=part.constraint,
                severity=self.severity,
                tolerance=self.tolerance,
                nulls=nulls_of(self.kind) or self.nulls or default_nulls,
                where=_joined(part.added, where),
                description=self.description,
                tags=self.tags,
                status=self.status,
                kind=self.kind,
                source=self.source,
                line=self.line,
            )
            for part in parts
        )

    def only_where(self, condition: str, n_rows: int) -> Entry:
        """The entry about rows that meet a condition, of which there are `n_rows`: shares of these become numbers."""
        single_row = bool(self.tolerance) and self.rules()[0].constraint.is_single_row
        return replace(
            self,
            where=condition if self.where is None else f"({self.where}) and ({condition})",
            tolerance=self.tolerance.counted(n_rows, single_row=single_row),
        )

    def yaml(self) -> str:
        """The entry as the lines of a rule file, indented as below its key `rules`."""
        return indent(yaml_text([self.plain()]).rstrip("\n"), "  ")

    def _value(self) -> object:
        """What is written under its kind: a text, or a mapping where that is easier to read."""
        if self.kind not in _MAPPED:
            return self.source
        match parse_kind(self.kind, self.source):
            case Patterns(columns):
                return dict(columns) if len(dict(columns)) == len(columns) else self.source
            case AllowedValues(columns):
                listed = {name: [one.value for one in values] for name, values in columns}
                plain = all(type(value) in (str, int, bool) for values in listed.values() for value in values)
                return listed if plain and len(listed) == len(columns) else self.source
            case _:
                return self.source

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
            self.kind.value: self._value(),
            **{key: value for key, value in options.items() if value},
        }


def _joined(added: Condition | None, where: Condition | None) -> Condition | None:
    """What a kind adds, and then the condition as written."""
    return where if added is None else added if where is None else And((added, where))


def _source_of(rule: Rule) -> str:
    """The text of one rule of a kind that adds to its condition."""
    match rule.added:
        case IsNull(name):
            return source_of(NotNull((name,)))
        case Matches(name, pattern):
            return source_of(Patterns(((name, pattern),)))
        case InTable(names, path, columns):
            return source_of(References((InTable(names, path, columns),)))
        case other:
            raise AssertionError(f"no kind adds {other}")
