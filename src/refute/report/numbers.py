"""How counts are said: violations and rows always stand side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from refute.report.result import RuleResult


def counted(result: RuleResult) -> str:
    """The extent of a result in words: `12 violations in 7 rows`."""
    finding = result.finding
    if finding.holds:
        return "holds"
    if finding.violations is None or finding.rows is None:
        return "violated"
    extent = f"{plural(finding.violations, 'violation')} in {plural(finding.rows, 'row')}"
    return f"{extent} (tolerated: {result.rule.tolerance})" if result.passed else extent


def plural(number: int, noun: str) -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
