"""The result of one rule in a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from refute.detect.engine import Engine
from refute.detect.results import Finding, Timed, Witness
from refute.display import in_one_line
from refute.display.markup import table_part
from refute.language.render import render_condition
from refute.language.rulebook import Rule, Severity, Status
from refute.report.discretion import Discretion
from refute.report.numbers import extent


class Standing(Enum):
    """How a rule fared: in the order in which reports show them, those that need somebody first."""

    ERROR = "error"
    WARN = "warn"
    KNOWN = "known"  # broken, but by nothing that the baseline does not have
    TOLERATED = "tolerated"
    OK = "ok"


@dataclass(frozen=True, slots=True)
class SinceBaseline:
    """The clashes of a rule beside those of a baseline: how many are in both, and which are in one only.

    Each is by the ids of its rows, or by their values where rows have no key. A clash of a symmetric rule is named
    once, and makes two violations: `orders` says how many, and `counts` counts violations, as all reports do.
    """

    known: int
    new: tuple[tuple[Any, ...], ...]
    healed: tuple[tuple[Any, ...], ...]
    changed: bool = False  # the rule is another one than in the baseline, so all of it is new
    orders: int = 1

    @property
    def counts(self) -> dict[str, int]:
        """How many violations are known, new and healed; those that are known or new are all there are."""
        clashes = {"known": self.known, "new": len(self.new), "healed": len(self.healed)}
        return {word: self.orders * number for word, number in clashes.items()}

    def hiding(self, discretion: Discretion, key: Sequence[str]) -> SinceBaseline:
        """The same without hidden values."""

        def quiet(pairs: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
            return tuple(tuple(discretion.row_id(one, key) for one in pair) for pair in pairs)

        return replace(self, new=quiet(self.new), healed=quiet(self.healed))


@dataclass(frozen=True, slots=True, repr=False)
class RuleResult:
    """What a check found about one rule."""

    rule: Rule
    finding: Finding
    values: dict[str, dict[str, Any] | None] | None  # the witness rows by role: their keys and what the rule reads
    seconds: float
    tolerated: bool  # holds, or is violated no more than its tolerance allows
    compared: SinceBaseline | None = None
    suspects: int | None = None  # the rows to blame for this rule alone, where its tolerance limits them

    @classmethod
    def of(cls, rule: Rule, timed: Timed, engine: Engine) -> RuleResult:
        """The result, judged by the rule's tolerance; the engine that found it counts the rows to blame."""
        finding, n_rows, key = timed.finding, engine.n_rows, engine.key
        passed, suspects = finding.holds, None
        if not passed and finding.violations is not None and finding.rows is not None:
            if rule.tolerance.suspects is not None:
                suspects = finding.rows if rule.constraint.is_single_row else engine.blamed(rule)
            passed = rule.allows(finding.violations, finding.rows, n_rows, suspects)
        shown = dict.fromkeys((*key, *rule.columns))
        values = timed.values
        if values is not None:
            values = {
                role: None if row is None else {name: row[name] for name in shown if name in row}
                for role, row in values.items()
            }
        return cls(rule, finding, values, timed.seconds, passed, suspects=suspects)

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def passed(self) -> bool:
        """Whether it holds, is violated within its tolerance, or by nothing that the baseline does not have."""
        return self.tolerated or (self.compared is not None and not self.compared.new)

    @property
    def failed(self) -> Severity | None:
        """The severity with which it failed, or None when it passed."""
        return None if self.passed else self.rule.severity

    @property
    def state(self) -> Standing:
        """How it fared, in one word."""
        if self.finding.holds:
            return Standing.OK
        if self.tolerated:
            return Standing.TOLERATED
        return Standing.KNOWN if self.passed else Standing(self.rule.severity.value)

    @property
    def is_proposed(self) -> bool:
        """Whether nobody has accepted the rule yet: until then, it only warns."""
        return self.rule.status is Status.PROPOSED

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        return self.rule.description or self.rule.sentence

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the rule reads."""
        return self.rule.constraint.columns

    def hiding(self, discretion: Discretion, key: Sequence[str]) -> RuleResult:
        """The same without hidden values."""
        witness = self.finding.witness
        if witness is not None:
            witness = Witness(*(None if one is None else discretion.row_id(one, key) for one in witness))
        values = self.values
        if values is not None:
            values = {role: None if row is None else discretion.values(row) for role, row in values.items()}
        compared = None if self.compared is None else self.compared.hiding(discretion, key)
        return replace(self, finding=replace(self.finding, witness=witness), values=values, compared=compared)

    def to_dict(self) -> dict[str, Any]:
        """The result as in the JSON of `check`."""
        finding, rule = self.finding, self.rule
        found: dict[str, Any] = {
            "name": self.name,
            "kind": rule.kind.value,
            "constraint": rule.text,
            "where": None if rule.scope is None else render_condition(rule.scope),
            "sentence": rule.sentence,
            "description": rule.description,
            "columns": list(self.columns),
            "severity": rule.severity.value,
            "status": rule.status.value,
            "tags": list(rule.tags),
            "tolerance": rule.tolerance.plain() or None,
            "state": self.state.value,
            "holds": finding.holds,
            "passed": self.passed,
            "violations": finding.violations,
            "rows": finding.rows,
            "suspects": self.suspects,
            "skipped_nulls": finding.skipped_nulls,
            "witness": self.values,
            "witness_ids": None if finding.witness is None else {"s": finding.witness.s, "t": finding.witness.t},
            "seconds": round(self.seconds, 6),
            "method": finding.method,
        }
        if self.compared is not None:
            found["baseline"] = {**self.compared.counts, "changed": self.compared.changed}
        return found

    def _repr_html_(self) -> str:
        rows = [(role, *map(str, row.values())) for role, row in (self.values or {}).items() if row is not None]
        names = next((list(row) for row in (self.values or {}).values() if row is not None), [])
        return table_part(f"{repr(self)[11:-1]}. {self.sentence}", ("role", *names) if rows else (), rows)

    def __repr__(self) -> str:
        return f"RuleResult({in_one_line(self.name)}: {self.state.value}, {extent(self)})"
