"""The report of a check: one result per rule, and the rows that break them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from refute.detect.engine import Engine
from refute.errors import OptionError
from refute.faults import unknown_rule
from refute.language.addresses import local_path
from refute.language.rulebook import Severity
from refute.report.numbers import plural
from refute.report.result import RuleResult
from refute.report.suspects import Suspects
from refute.report.unasked import LOOKS, cost
from refute.report.violations import Violations
from refute.writing import write_text


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What was checked."""

    name: str
    rows: int
    columns: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The summary as in the JSON of `check`."""
        return {"name": self.name, "rows": self.rows, "columns": list(self.columns)}


class Report:
    """Results of all rules, in their order. `rows` and `split` give tables of the kind that was checked."""

    def __init__(
        self,
        data: DataSummary,
        results: tuple[RuleResult, ...],
        engine: Engine,
    ) -> None:
        self.data = data
        self.results = results
        self._engine = engine

    @property
    def ok(self) -> bool:
        """Whether every rule holds or is within its tolerance."""
        return all(result.passed for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 all rules hold, 1 a rule of severity `error` failed, 2 only rules of severity `warn` failed."""
        failed = {result.failed for result in self.results} - {None}
        return 1 if Severity.ERROR in failed else 2 if failed else 0

    @cached_property
    def rows(self) -> Any:
        """The input with a column `refute`: which rules each row breaks, in which role, with how many partners."""
        return self._engine.marked([result.rule for result in self.results])

    @cached_property
    def suspects(self) -> Suspects:
        """A small set of rows whose removal leaves a table that obeys every rule, with what their cells should say.

        Rules that are broken within their tolerance blame nobody.
        """
        blaming = [result.rule for result in self.results if result.finding.holds or not result.passed]
        return Suspects(self._engine.suspects(blaming))

    @property
    def first_suspects(self) -> Suspects | None:
        """The suspects where a report shows them: those that were asked for, and those that are found in about a
        second (`unasked.py`) in rows that are in this process, of a table that was counted; None otherwise."""
        if "suspects" in self.__dict__:
            return self.suspects
        rules = [result.rule for result in self.results]
        cheap = cost(rules, self.data.rows) <= LOOKS and self.has_suspects and self._engine.holds(rules)
        return self.suspects if cheap else None

    @property
    def has_suspects(self) -> bool:
        """Whether it is known that there are suspects: some rule fails, and violations were counted."""
        return not self.ok and all(result.finding.violations is not None for result in self.results)

    def split(self, blame: str = "suspects") -> tuple[Any, Any]:
        """The rows that stay, and the suspects with one more column `refute` that says why each is one.

        With `blame="all"`, the rows that break no rule, and all that take part in a violation, innocent partners too;
        both with the columns of the input.
        """
        if blame == "suspects":
            return self.suspects.split()
        if blame != "all":
            raise OptionError(f"blame must be 'suspects' or 'all', not {blame!r}", option="blame", value=blame)
        return self._engine.split(self.rows)

    def violations(self, rule: str | RuleResult, limit: int | None = None) -> Violations:
        """The clashing rows of a rule, as `refute.violations` returns them; the table is not opened again."""
        result = self._named(rule) if isinstance(rule, str) else rule
        return Violations(self._engine, result.rule, limit)

    def _named(self, name: str) -> RuleResult:
        names = [result.name for result in self.results]
        if name not in names:
            raise unknown_rule(name, names, "report")
        return self[name]

    def __iter__(self) -> Iterator[RuleResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, name: str) -> RuleResult:
        for result in self.results:
            if result.name == name:
                return result
        raise KeyError(str(unknown_rule(name, [result.name for result in self], "report")))

    def __repr__(self) -> str:
        broken = sum(not result.passed for result in self.results)
        return f"Report({plural(len(self.results), 'rule')}, {broken} failed, {plural(self.data.rows, 'row')})"

    def __str__(self) -> str:
        from refute.report.as_text import render

        return render(self)

    def _repr_html_(self) -> str:
        from refute.report.as_html import render

        return render(self)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values: the JSON of `check`."""
        return {
            "data": self.data.to_dict(),
            "rules": [result.to_dict() for result in self.results],
            "ok": self.ok,
        }

    def to_json(self, path: str | Path | None = None) -> str:
        """The report as JSON text, written to `path` if given."""
        from refute.report.as_json import render

        return _written(render(self), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """The report as one self-contained HTML page, written to `path` if given."""
        from refute.report.as_html import render

        return _written(render(self), path)

    def to_junit(self, path: str | Path | None = None) -> str:
        """The report as JUnit XML, for CI servers, written to `path` if given."""
        from refute.report.as_junit import render

        return _written(render(self), path)


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_text(local_path(path), text)
    return text
