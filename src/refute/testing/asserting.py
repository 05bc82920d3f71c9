"""An assertion that a table obeys rules; its message is the report, with the rows that clash."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from refute.api.functions import check
from refute.errors import RefuteError
from refute.language.rulebook import Severity

if TYPE_CHECKING:
    from refute.report import Report


class BrokenRulesError(AssertionError):
    """A table breaks its rules. `report` is what the check found."""

    def __init__(self, report: Report) -> None:
        super().__init__(f"The table breaks its rules.\n{report}")
        self.report = report


class BrokenRuleWarning(UserWarning):
    """A rule of severity `warn` is broken; the test goes on."""


def assert_holds(table: Any, rules: Any, **options: Any) -> Report:
    """The report of the check, if no rule of severity `error` is broken beyond its tolerance; else an AssertionError.

    The message of the error is the report, which names the broken rules and shows rows that clash. Broken rules of
    severity `warn` give a `BrokenRuleWarning` each. `options` are those of `refute.check`.
    """
    __tracebackhide__ = True  # pytest shows the line of the test, not this one
    return held(table, rules, options, above=2)


def held(table: Any, rules: Any, options: dict[str, Any], *, above: int) -> Report:
    """The report as `assert_holds` has it; warnings name the line so many calls above this one."""
    __tracebackhide__ = True
    try:
        report = check(table, rules, **options)
    except RefuteError as error:
        raise error.with_traceback(None) from None  # pytest would show page after page of what is not the test
    if report.exit_code == 1:
        raise BrokenRulesError(report)
    for result in report:
        if result.failed is Severity.WARN:
            warnings.warn(f"{result.name}: {result.sentence}", BrokenRuleWarning, stacklevel=above + 1)
    return report
