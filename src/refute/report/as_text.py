"""The report as plain text: one line a rule, and the clashing rows of those that failed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from refute.display import in_one_line
from refute.report.numbers import counted, plural
from refute.report.suspects_as_text import NOT_LOOKED_FOR
from refute.report.suspects_as_text import render as rendered_suspects

if TYPE_CHECKING:
    from refute.report.report import Report
    from refute.report.result import RuleResult

CELL_WIDTH = 24
FIRST_SUSPECTS = 5
FETCHED = "gather"  # the method of rules whose rows Spark sent to this process


def render(report: Report) -> str:
    """The text, without colours."""
    lines = [f"{in_one_line(report.data.name)}: {plural(report.data.rows, 'row')}, {plural(len(report), 'rule')}"]
    suspects = report.first_suspects
    if suspects is not None and suspects.count:
        lines.append(rendered_suspects(suspects, FIRST_SUSPECTS))
    elif suspects is None and report.has_suspects:
        lines.append(f"Suspects: {NOT_LOOKED_FOR}")
    for result in report:
        lines.extend(_lines(result))
    fetched = [result.name for result in report if result.finding.method == FETCHED]
    if fetched:
        lines.append(f"Answered in this process, from rows fetched from Spark: {', '.join(fetched)}")
    return "\n".join(lines)


def _lines(result: RuleResult) -> Iterator[str]:
    mark = "ok" if result.finding.holds else "ok~" if result.passed else result.rule.severity.value
    yield f"{mark:<5} {in_one_line(result.name)}: {counted(result)}"
    if result.finding.skipped_nulls:
        yield f"      {plural(result.finding.skipped_nulls, 'row')} skipped because of nulls"
    if result.finding.holds:
        return
    yield f"      {in_one_line(' '.join(result.sentence.split()))}"
    if result.values is not None:
        yield from (f"      {line}" for line in witness_table(result))


def witness_table(result: RuleResult) -> list[str]:
    """The clashing rows as an aligned table of the columns that the rule reads."""
    assert result.values is not None and result.finding.witness is not None
    columns = result.rule.constraint.columns
    rows = [["row", *map(_cell, columns)]]
    for role, values in result.values.items():
        if values is not None:
            row_id = getattr(result.finding.witness, role)
            rows.append([f"{role} = {_cell(row_id)}", *(_cell(values[name]) for name in columns)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cell(value: Any) -> str:
    text = "null" if value is None else str(value)
    text = in_one_line(text)
    return text if len(text) <= CELL_WIDTH else text[: CELL_WIDTH - 1] + "…"
