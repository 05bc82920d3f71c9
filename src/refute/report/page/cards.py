"""What the page shows of one rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refute.display import in_one_line
from refute.display.contrast import shortened
from refute.display.markup import size_in_script
from refute.display.plurals import plural
from refute.language.render import render_condition
from refute.report.forms.as_text import clash_cells, text_of
from refute.report.numbers import counted, percent, some_of
from refute.report.page.pictures import picture_of, trend
from refute.report.result import RuleResult, Standing

if TYPE_CHECKING:
    from refute.report.exhibits import Clash, Exhibits
    from refute.report.history import PastRun

WORDS = {
    Standing.ERROR: "failed",
    Standing.WARN: "warning",
    Standing.KNOWN: "known only",
    Standing.TOLERATED: "tolerated",
    Standing.OK: "passed",
}
_CELL = 60
_STATIC = 5  # clashes that are there without a script
_FOUND = 300  # letters of a rule that a search looks at
_NAMED = 3
Data = list[list[Any]]


class Room:
    """How many bytes may still be spent on clashes that a script shows, over all rules."""

    def __init__(self, size: int) -> None:
        self._left = size

    def takes(self, clash: list[Any]) -> bool:
        """Whether there is room for one more, which is then taken."""
        self._left -= size_in_script(clash) + 1
        return self._left >= 0


def card_of(
    result: RuleResult, exhibits: Exhibits | None, n_rows: int, room: Room | None, runs: Sequence[PastRun] = ()
) -> dict[str, Any]:
    """What the template shows; without `room`, no data for a script, without exhibits only words and numbers."""
    finding = result.finding
    clashes = [] if exhibits is None else exhibits.clashes(result.name)
    data: Data = []
    for clash in clashes if room is not None else ():
        line = _plain(clash, result.columns)
        if not room.takes(line) and data:  # type: ignore[union-attr]
            break
        data.append(line)
    shown = [clash_cells(clash, result.columns, _CELL) for clash in clashes[: _STATIC if room is not None else 1]]
    sentence = " ".join(result.sentence.split())
    return {
        "name": result.name,
        "state": result.state.value,
        "word": WORDS[result.state],
        "sentence": sentence,
        "extent": counted(result),
        "violations": finding.violations or 0,
        "rows": finding.rows or 0,
        "find": shortened(f"{result.name} {sentence} {' '.join(result.columns)} {' '.join(result.rule.tags)}", _FOUND),
        "remarks": list(_remarks(result, n_rows)),
        "picture": None if exhibits is None else picture_of(result, exhibits),
        "trend": trend(list(runs)),
        "columns": result.columns,
        "clashes": shown,
        "data": data,
        "caption": _caption(result, len(data) if room is not None else len(shown), full=0 < len(data) < len(clashes)),
        "formula": result.rule.logic,
        "details": list(_details(result)),
    }


def _caption(result: RuleResult, number: int, *, full: bool) -> str:
    """How many clashes are shown; `full` says that more were asked for than a page has room for."""
    what = "row" if result.rule.constraint.is_single_row else "pair"
    total = result.finding.violations
    if total is not None and result.rule.constraint.is_symmetric:  # each pair is two violations
        total //= 2
    if total is None or total <= number:
        return "Rows that break the rule" if what == "row" else "Pairs of rows that clash"
    return f"{plural(number, what)} of {total:,}{'; more would make the page too large' if full else ''}"


def _remarks(result: RuleResult, n_rows: int) -> list[str]:
    """What stands below the sentence: how large a part of the table is in question, and what has changed."""
    found, compared = [], result.compared
    rows = result.finding.rows
    if result.is_proposed:
        found.append("Only proposed: it can only warn until `status: proposed` is deleted from the rule file")
    if rows and n_rows:
        found.append(f"{percent(rows / n_rows)} of the rows take part in a violation")
    if compared is not None:
        new, healed = len(compared.new), len(compared.healed)
        what = "row" if result.rule.constraint.is_single_row else "pair"
        found.append(
            f"Compared with the baseline: {plural(compared.known, f'known {what}')}, {new:,} new, {healed:,} healed"
        )
        if compared.changed:
            found.append("The rule differs from the one in the baseline, so all its violations are new.")
        for word, clashes in (("New", compared.new), ("Healed", compared.healed)):
            if clashes:
                found.append(f"{word}: {some_of(clashes, _NAMED, _text)}")
    return found


def _details(result: RuleResult) -> list[str]:
    rule, finding = result.rule, result.finding
    found = [rule.text]
    if rule.description:
        found.append(rule.sentence)
    if rule.scope is not None:
        found.append(f"Only rows where {render_condition(rule.scope)}")
    if rule.tolerance:
        found.append(f"Tolerance: {rule.tolerance}")
    if rule.tags:
        found.append(f"Tags: {', '.join(rule.tags)}")
    if finding.skipped_nulls:
        found.append(f"{plural(finding.skipped_nulls, 'row')} skipped because of nulls")
    said = f"Severity {rule.severity.value}, status {rule.status.value}"
    return [*found, f"{said}; answered by {finding.method} in {result.seconds:.3f} s"]


def _plain(clash: Clash, columns: Sequence[str]) -> list[Any]:
    """A clash for the script: the ids of its rows, then the cells of each column, one where both say the same."""
    rows = clash_cells(clash, columns, _CELL)
    found: list[Any] = [[row[0].text for row in rows]]
    for cells in zip(*(row[1:] for row in rows), strict=True):
        texts = [cell.text for cell in cells]
        found.append(texts[:1] if len(set(texts)) == 1 else texts)
    return found


def _text(value: Any) -> str:
    return shortened(in_one_line(text_of(value)), _CELL)
