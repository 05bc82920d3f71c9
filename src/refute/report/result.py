"""The result of one rule in a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from refute.detect.results import Finding, Timed
from refute.language.render import render_condition, render_text
from refute.language.rulebook import Rule, Severity


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What a check found about one rule."""

    rule: Rule
    finding: Finding
    values: dict[str, dict[str, Any] | None] | None  # the witness rows, by role
    seconds: float
    passed: bool  # holds, or is violated no more than its tolerance allows

    @classmethod
    def of(cls, rule: Rule, timed: Timed, n_rows: int) -> RuleResult:
        """The result, judged by the rule's tolerance."""
        finding = timed.finding
        passed = finding.holds
        if not passed and finding.violations is not None and finding.rows is not None:
            passed = rule.allows(finding.violations, finding.rows, n_rows)
        return cls(rule, finding, timed.values, timed.seconds, passed)

    @property
    def name(self) -> str:
        """The name of the rule."""
        return self.rule.name

    @property
    def failed(self) -> Severity | None:
        """The severity with which it failed, or None when it passed."""
        return None if self.passed else self.rule.severity

    @property
    def sentence(self) -> str:
        """The rule in plain words."""
        return self.rule.description or self.rule.sentence

    def to_dict(self) -> dict[str, Any]:
        """The result as in the JSON of `check`."""
        finding = self.finding
        return {
            "name": self.name,
            "constraint": render_text(self.rule.constraint),
            "where": None if self.rule.where is None else render_condition(self.rule.where),
            "sentence": self.rule.sentence,
            "severity": self.rule.severity.value,
            "holds": finding.holds,
            "passed": self.passed,
            "violations": finding.violations,
            "rows": finding.rows,
            "skipped_nulls": finding.skipped_nulls,
            "witness": self.values,
            "witness_ids": None if finding.witness is None else {"s": finding.witness.s, "t": finding.witness.t},
            "seconds": round(self.seconds, 6),
            "method": finding.method,
        }
