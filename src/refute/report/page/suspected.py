"""What the page shows of suspects, and has in the file that it offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from refute.display.contrast import Marked, marked_pair, shortened
from refute.display.markup import size_in_script
from refute.display.spelling import revealed
from refute.relation.shown import id_text
from refute.report.numbers import percent

if TYPE_CHECKING:
    from refute.report.suspects import Suspect, SuspectCell, Suspects

_SHOWN = 10  # lines that are there without a script
_MOST, _IN_PART = 5000, 10  # suspects on a page, and in a notebook
_CELL = 1000  # letters that are kept where there is no room for whole values; fewer are seen
_SEEN = 200
_SAYS = slice(3, 5)  # what a cell says and should say, in a line
_HEAD = ["row", "rule", "column", "says", "should say", "support", "violations", "clears"]
_IN_FILE = ["row", "rule", "column", "value", "suggestion", "support", "violations", "clears"]  # as in `--suspects F`
Says = tuple[Marked | None, Marked | None]


class _SuspectLines(NamedTuple):
    """Lines for a script, what the first of them show without one, and whether anything is missing."""

    lines: list[list[Any]]
    static: list[list[Any]]
    is_all: bool
    is_cut: bool


def shown_suspects(suspects: Suspects, room: int | None) -> dict[str, Any]:
    """What is shown: as many lines as there is room for, with whole values if all lines fit so; or the first few."""
    chosen = suspects.first(_MOST if room is not None else _IN_PART)
    listed = _listed(chosen, room, None)
    if not listed.is_all:
        listed = _listed(chosen, room, _CELL)
    return {
        "summary": suspects.summary,
        "shares": [f"{name} blames {percent(share)} of all rows." for name, share in suspects.shares.items() if share],
        "notes": suspects.notes,
        "head": _HEAD,
        "file_head": _IN_FILE,
        "static": listed.static,
        "lines": listed.lines,
        "left_out": not listed.is_all or len(suspects) > len(chosen),
        "longest": _CELL if listed.is_cut else None,
        "more": max(len(suspects) - len(chosen), 0),
    }


def _listed(chosen: Sequence[Suspect], room: int | None, longest: int | None) -> _SuspectLines:
    """The lines of these suspects as long as there is room, one at least; `longest` limits the letters of a value."""
    lines: list[list[Any]] = []
    static: list[list[Any]] = []
    is_cut = False
    for line, cell in _cells(chosen):
        texts = _texts(line, cell)
        told: list[Any] = [one if one is None or longest is None else shortened(one, longest) for one in texts]
        says = (None, None) if cell is None else _says(cell)
        seen = [one and one.text for one in says]
        if seen != told[_SAYS] or line.either:
            told += [seen if seen != told[_SAYS] else None, len(_remark(line))]
        if room is not None:
            room -= size_in_script(told) + 1
            if room < 0 and lines:
                return _SuspectLines(lines, static, False, is_cut)
        is_cut = is_cut or told[: len(_HEAD)] != texts
        lines.append(told)
        if len(static) < _SHOWN:
            static.append([None if text is None else shortened(text, _SEEN) for text in told[: len(_HEAD)]])
            static[-1][_SAYS] = says
    return _SuspectLines(lines, static, room is None or room >= 0, is_cut)


def _cells(chosen: Sequence[Suspect]) -> Iterator[tuple[Suspect, SuspectCell | None]]:
    """Each suspect with each of its cells, once where it has none."""
    for line in chosen:
        for cell in line.cells or (None,):
            yield line, cell


def _texts(line: Suspect, cell: SuspectCell | None) -> list[str | None]:
    """What stands in a line; the script takes the remark off the rule again for a file."""
    return [
        id_text(line.row),
        line.rule + _remark(line),
        None if cell is None else cell.column,
        None if cell is None else "null" if cell.value is None else cell.value,
        None if cell is None else cell.suggestion,
        None if cell is None else cell.support,
        f"{line.violations:,}",
        f"{line.clears:,}",
    ]


def _remark(line: Suspect) -> str:
    """What is said behind the rule of a row that is one of several of which nothing shows which is wrong."""
    return "" if not line.either else " (either)" if line.removed else " (either; this row stays)"


def _says(cell: SuspectCell) -> Says:
    """What a cell says and should say as they are seen, with what differs marked."""
    value = "null" if cell.value is None else cell.value
    if cell.value is None or cell.suggestion is None:
        suggestion = None if cell.suggestion is None else Marked(shortened(revealed(cell.suggestion), _SEEN))
        return Marked(shortened(revealed(value), _SEEN)), suggestion
    return marked_pair(value, cell.suggestion, _SEEN)
