"""Suspects as plain text: how many, which rules blame them, and the first of them with what they should say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from refute.display import in_one_line
from refute.display.contrast import marked_pair, shortened
from refute.display.plurals import plural
from refute.display.spelling import revealed
from refute.report.numbers import percent

if TYPE_CHECKING:
    from refute.report.suspects import Suspect, SuspectCell, Suspects

SHOWN = 20
_CELL = 80  # characters of a value; its file has the whole of it
NOT_LOOKED_FOR = (
    "Suspects are not searched for by default, as that may take longer than the check. "
    "--suspects F or report.suspects finds them."
)


def render(suspects: Suspects, shown: int = SHOWN) -> str:
    """The text, without colours."""
    return "\n".join(_lines(suspects, shown))


def _lines(suspects: Suspects, shown: int) -> Iterator[str]:
    yield f"Suspects: {suspects.summary}"
    for name, share in suspects.shares.items():
        if share:
            yield f"      {in_one_line(name)} blames {percent(share)} of all rows."
    for note in suspects.notes:
        yield f"      {in_one_line(note)}"
    for line in suspects.first(shown):
        yield f"  row {identity(line.row)}: {said(line)}"
    if len(suspects) > shown:
        yield f"  and {plural(len(suspects) - shown, 'more line')}"


def identity(row: Any) -> str:
    """The id of a row in one line; the values of a key of several columns with slashes between."""
    values = row.values() if isinstance(row, dict) else [row]
    return in_one_line("/".join(map(str, values)))


def said(line: Suspect) -> str:
    """Why a row is listed under a rule, in words."""
    what = "violation" if line.violations == 1 else "violations"
    words = f"{line.rule}, in {line.violations:,} {what}"
    if line.either:
        words += "; either this row or another with its key is wrong"
        words += "" if line.removed else ", and this one stays"
    return in_one_line("; ".join([words, *(cell_said(cell) for cell in line.cells)]))


def _in_quotes(text: str) -> str:
    mark = '"' if "'" in text and '"' not in text else "'"
    return f"{mark}{text}{mark}"


def cell_said(cell: SuspectCell) -> str:
    """What is said of a cell."""
    if cell.value is None or cell.suggestion is None:
        texts = [None if text is None else shortened(revealed(text), _CELL) for text in (cell.value, cell.suggestion)]
    else:
        texts = [one.text for one in marked_pair(cell.value, cell.suggestion, _CELL)]
    value, suggestion = (None if text is None else _in_quotes(text) for text in texts)
    words = f"{cell.column} is {'null' if value is None else value}"
    if suggestion is not None:
        words += f", should be {suggestion}"
    return words if cell.support is None else f"{words} ({cell.support})"
