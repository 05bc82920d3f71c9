"""How counts are said: violations and rows always stand side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from refute.display.plurals import plural

if TYPE_CHECKING:
    from refute.report.result import RuleResult


def counted(result: RuleResult) -> str:
    """The extent of a result in words, with what lets it pass: `12 violations in 7 rows (tolerated: 1% rows)`."""
    said = extent(result)
    if result.compared is not None and not result.finding.holds:
        said += f", {result.compared.counts['new']:,} of them new"
    if result.suspects is not None:
        said += f", {plural(result.suspects, 'row')} to blame"
    return f"{said} (tolerated: {result.rule.tolerance})" if result.tolerated and not result.finding.holds else said


def extent(result: RuleResult) -> str:
    """The extent of a result in words: `12 violations in 7 rows`."""
    finding = result.finding
    if finding.holds:
        return "holds"
    if finding.violations is None or finding.rows is None:
        return "violated"
    return f"{plural(finding.violations, 'violation')} in {plural(finding.rows, 'row')}"


def some_of(clashes: Sequence[tuple[Any, ...]], most: int, text_of: Callable[[Any], str]) -> str:
    """A few clashes by what names their rows: `1 with 2; 1 with 3 and 7 more`, equal ones once."""
    times = Counter(" with ".join(map(text_of, clash)) for clash in clashes)
    shown = list(times)[:most]
    named = "; ".join(text if times[text] == 1 else f"{text} ({times[text]:,} times)" for text in shown)
    more = len(clashes) - sum(times[text] for text in shown)
    return f"{named} and {more:,} more" if more else named


def percent(share: float) -> str:
    """A share in words, as rules write it: `1.5%`, `less than 0.001%`."""
    return "less than 0.001%" if 0 < share < 1e-5 else f"{100 * share:.3g}%"
