"""The report of a check: one result per rule, and the rows that break them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from refute.detect.engine import Engine
from refute.display.plurals import plural
from refute.errors import OptionError
from refute.faults import listed, needing, unknown_rule
from refute.language.addresses import local_path
from refute.language.rulebook import Severity
from refute.report.discretion import OPEN, Discretion
from refute.report.exhibits import Exhibits
from refute.report.result import RuleResult, Standing
from refute.report.suspects import Suspects
from refute.report.unasked import LOOKS, cost
from refute.report.violations import Violations
from refute.writing import write_text

if TYPE_CHECKING:
    import pandas

    from refute.report.baseline import Baseline
    from refute.report.exhibits import Clash
    from refute.report.history import PastRuns


@dataclass(frozen=True, slots=True)
class DataSummary:
    """What was checked, when, and by which engine."""

    name: str
    rows: int
    columns: tuple[str, ...]
    key: tuple[str, ...] = ()
    engine: str = "local"
    time: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))

    def to_dict(self) -> dict[str, Any]:
        """The summary as in the JSON of `check`."""
        return {"name": self.name, "rows": self.rows, "columns": list(self.columns), "key": list(self.key)}


class Report:
    """Results of all rules, in their order. `rows` and `split` give tables of the kind that was checked."""

    def __init__(
        self,
        data: DataSummary,
        results: tuple[RuleResult, ...],
        engine: Engine,
        discretion: Discretion = OPEN,
    ) -> None:
        self.data = data
        self.results = results
        self._engine = engine
        self._discretion = discretion
        self._exhibits: dict[int | None, Exhibits] = {}  # which text, JSON and HTML show alike

    @property
    def ok(self) -> bool:
        """Whether every rule holds or is within its tolerance."""
        return all(result.passed for result in self.results)

    @property
    def exit_code(self) -> int:
        """0 all rules hold, 1 a rule of severity `error` failed, 2 only rules of severity `warn` failed."""
        failed = {result.failed for result in self.results} - {None}
        return 1 if Severity.ERROR in failed else 2 if failed else 0

    @property
    def counts(self) -> dict[Standing, int]:
        """How many rules fared how."""
        return {state: sum(result.state is state for result in self.results) for state in Standing}

    @property
    def failing_first(self) -> list[RuleResult]:
        """The results, those that need attention first; otherwise in the order of the rules."""
        states = list(Standing)
        return sorted(self.results, key=lambda result: states.index(result.state))

    @cached_property
    def rows(self) -> Any:
        """The input with a column `refute`: which rules each row breaks, in which role, with how many partners."""
        return self._engine.marked([result.rule for result in self.results])

    @cached_property
    def suspects(self) -> Suspects:
        """A small set of rows whose removal leaves a table that obeys every rule, with what their cells should say.

        Rules that are broken within their tolerance, or only as a baseline knows, blame nobody.
        """
        blaming = [result.rule for result in self.results if result.finding.holds or not result.passed]
        read = [name for rule in blaming for name in rule.constraint.columns]
        failing = (result for result in self.results if not result.passed)
        partly = [result.name for result in failing if result.compared is not None and result.compared.known]
        notes = [f"Known violations of {listed(partly)} count too, not only new ones."] if partly else []
        return Suspects(self._engine.suspects(blaming), self._discretion, read, notes)

    @property
    def first_suspects(self) -> Suspects | None:
        """The suspects where a report shows them: those that were asked for, and those that are found in about a
        second (`unasked.py`) in rows that are in this process, of a table that was counted; None otherwise."""
        if "suspects" in self.__dict__:
            return self.suspects
        return self.suspects if self.has_suspects and self._is_cheap else None

    @property
    def has_suspects(self) -> bool:
        """Whether it is known that there are suspects: some rule fails, and violations were counted."""
        return not self.ok and all(result.finding.violations is not None for result in self.results)

    @property
    def _is_cheap(self) -> bool:
        """Whether looking at all rows for each rule takes about a second, as they are in this process."""
        rules = [result.rule for result in self.results]
        broken = {result.name for result in self.results if not result.finding.holds}
        return cost(rules, self.data.rows, broken) <= LOOKS and self._engine.holds(rules)

    def split(self, blame: str = "suspects") -> tuple[Any, Any]:
        """The rows that stay, and the suspects with one more column `refute` that says why each is one.

        With `blame="all"`, the rows that break no rule, and all that take part in a violation, innocent partners too;
        both with the columns of the input.
        """
        if blame == "suspects":
            return self.suspects.split()
        if blame != "all":
            raise OptionError(f"blame must be 'suspects' or 'all', not {blame!r}.", option="blame", value=blame)
        return self._engine.split(self.rows)

    def violations(self, rule: str | RuleResult, limit: int | None = None) -> Violations:
        """The clashing rows of a rule, as `refute.violations` returns them; the table is not opened again.

        Columns that the report hides are left out, and `***` in `rows()`; `s` and `t` name rows by key nonetheless.
        """
        result = self._named(rule) if isinstance(rule, str) else rule
        return Violations(self._engine, result.rule, limit, discretion=self._discretion)

    def clashes(self, result: RuleResult, limit: int) -> Iterator[Clash]:
        """Some violations of a rule with all values that it reads, hidden ones too: what a baseline compares."""
        yield from Violations(self._engine, result.rule, limit).rows()

    def hiding(self, *columns: str, values: bool = True) -> Report:
        """The same report without the values of these columns, or with `values=False` without any: `***` is shown.

        That holds for text, JSON, JUnit, HTML, suspects and listed violations. `rows` and `split` are the data itself.
        """
        read = (name for result in self.results for name in result.rule.columns)
        known = list(dict.fromkeys((*self.data.columns, *self.data.key, *read)))
        chosen = Discretion.of(columns, known, everything=not values)
        results = tuple(result.hiding(chosen, self.data.key) for result in self.results)
        return Report(self.data, results, self._engine, chosen)

    def against(self, baseline: Baseline) -> Report:
        """The same report, where only violations that the baseline does not have fail."""
        judged = (baseline.judged(self, result) for result in self.results)
        results = tuple(result.hiding(self._discretion, self.data.key) for result in judged)
        return Report(self.data, results, self._engine, self._discretion)

    def exhibits(self, clashes: int | None = None) -> Exhibits:
        """What is shown of broken rules besides their numbers: some clashes of each, and the values in their groups.

        By default few of each: of rows that stay on Spark, those that one job for each rule that fails brings.
        """
        if clashes not in self._exhibits:
            self._exhibits[clashes] = Exhibits(self, self._engine, self._discretion, clashes)
        return self._exhibits[clashes]

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
        from refute.report.forms.as_text import render

        return render(self)

    def _repr_html_(self) -> str:
        from refute.report.page.page import render_part

        return render_part(self)

    def to_dict(self, *, clashes: int | None = None) -> dict[str, Any]:
        """The report as plain values: the JSON of `check`. With `clashes`, so many violations of each broken rule."""
        from refute.report.forms.as_json import plain_report

        return plain_report(self, clashes)

    def to_arrow(self) -> pa.Table:
        """One row per rule: how it fared, with its numbers."""
        from refute.report.forms.as_table import table_of

        return table_of(self)

    def to_pandas(self) -> pandas.DataFrame:
        """What `to_arrow` gives, as a pandas DataFrame."""
        with needing("to_pandas()"):
            return self.to_arrow().to_pandas()

    def to_json(self, path: str | Path | None = None, *, clashes: int | None = None) -> str:
        """The report as JSON text, written to `path` if given."""
        from refute.report.forms.as_json import render

        return _written(render(self, clashes), path)

    def to_html(
        self, path: str | Path | None = None, *, clashes: int | None = None, history: PastRuns | None = None
    ) -> str:
        """The report as one self-contained HTML page, written to `path` if given.

        `clashes` says how many violations of each broken rule are shown. Without it, one job for each of the first
        rules that fail brings some rows of a table that stays on Spark, and the clashes among them are shown.
        With a history, the page shows how the numbers have changed.
        """
        from refute.report.page.page import render

        return _written(render(self, clashes, history), path)

    def to_junit(self, path: str | Path | None = None) -> str:
        """The report as JUnit XML, for CI servers, written to `path` if given."""
        from refute.report.forms.as_junit import render

        return _written(render(self), path)


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        write_text(local_path(path), text)
    return text
