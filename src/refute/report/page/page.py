"""The page of a report, and the part of it that notebooks show."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from refute.display import markup
from refute.display.differences import shortened
from refute.relation.shown import id_text
from refute.report.numbers import percent, plural
from refute.report.page.cards import Room, card_of
from refute.report.result import Standing
from refute.report.suspects_as_text import NOT_LOOKED_FOR
from refute.version import __version__

if TYPE_CHECKING:
    from refute.report.history import PastRuns
    from refute.report.report import Report
    from refute.report.suspects import Suspects

_CLASHES, _SUSPECTS = 1_000_000, 300_000  # bytes of data on a page, which stays below 2 MB
_PICTURED = 40  # rules that have a picture and show clashes; of hundreds of broken rules, the last have none
_SHOWN = 10  # lines of suspects that are there without a script
_MOST, _IN_PART = 5000, 10  # suspects on a page, and in a notebook
_CELL = 1000  # letters that are kept; fewer are seen
_SEEN = 200
_ENGINES = {"local": "in this process", "spark": "on Spark"}
_HEAD = ["row", "rule", "column", "says", "should say", "support", "violations", "clears"]
_TILES = (
    (Standing.ERROR, "failed", "error"),
    (Standing.WARN, "warnings", "warn"),
    (Standing.KNOWN, "known only", "warn"),
    (Standing.TOLERATED, "tolerated", "warn"),
    (Standing.OK, "passed", "ok"),
)


def render(report: Report, clashes: int | None = None, history: PastRuns | None = None) -> str:
    """The page. Cell values are escaped: they are whatever the data holds."""
    names = [result.name for result in report]
    runs = {} if history is None else history.runs(report.data.name, names)
    exhibits, room = report.exhibits(clashes), Room(_CLASHES)
    cards = [
        {
            "place": place,
            **card_of(
                result,
                exhibits if place < _PICTURED else None,
                report.data.rows,
                room,
                runs.get(result.name, ()),
            ),
        }
        for place, result in enumerate(report.failing_first)
    ]
    footer = f"Made by Refute {__version__}. The page fetches nothing and sends nothing."
    return markup.page("report.html", scripted=True, cards=cards, footer=footer, **_head(report, _SUSPECTS))


def render_part(report: Report) -> str:
    """The same for a notebook, without a script: the suspects to look at first, and one clash of each rule."""
    exhibits = report.exhibits()
    cards = [
        {"place": place, **card_of(result, exhibits if place < _IN_PART else None, report.data.rows, None)}
        for place, result in enumerate(report.failing_first)
    ]
    return markup.part("report_part.html", scripted=False, cards=cards, **_head(report, None))


def render_suspects(suspects: Suspects) -> str:
    """The suspects to look at first, for notebooks."""
    told = _suspects(suspects, None)
    return markup.part("report_suspects.html", scripted=False, suspects=told, note=None)


def _head(report: Report, room: int | None) -> dict[str, Any]:
    """What stands above the rules."""
    suspects = report.first_suspects
    note = NOT_LOOKED_FOR if suspects is None and report.has_suspects else None
    if suspects is not None and suspects.count == 0:
        suspects = None
    counts = report.counts
    tiles: list[dict[str, Any]] = [
        {"state": state.value, "word": word, "number": counts[state], "tone": tone if counts[state] else ""}
        for state, word, tone in _TILES
        if counts[state] or state in (Standing.ERROR, Standing.OK)
    ]
    tiles.append({"state": "", "word": "rows", "number": report.data.rows, "tone": ""})
    if suspects is not None:
        tiles.append({"state": "", "word": "suspects", "number": suspects.count, "tone": "error"})
    failed, warned = counts[Standing.ERROR], counts[Standing.WARN]
    said = [f"{plural(failed, 'rule')} failed" if failed else "", f"{plural(warned, 'rule')} warned" if warned else ""]
    verdict = " and ".join(filter(None, said)) or "All rules pass"
    moment = report.data.time.strftime("%Y-%m-%d %H:%M:%S UTC")
    return {
        "title": report.data.name.rstrip("/").rpartition("/")[2] or report.data.name,
        "lead": f"{report.data.name}: {plural(report.data.rows, 'row')}, {plural(len(report), 'rule')}; checked "
        f"{moment} {_ENGINES[report.data.engine]} by Refute {__version__}",
        "verdict": f"{verdict} (exit code {report.exit_code})",
        "failed": not report.ok,
        "tiles": tiles,
        "suspects": None if suspects is None else _suspects(suspects, room),
        "note": note,
    }


def _suspects(suspects: Suspects, room: int | None) -> dict[str, Any]:
    """What is shown of suspects: as many lines as there is room for, or the first few."""
    lines: list[list[Any]] = []
    most, full = _MOST if room is not None else _IN_PART, False
    for line in suspects.first(most):
        for cell in line.cells or (None,):
            if full:
                break
            texts = [
                id_text(line.row),
                f"{line.rule} (either)" if line.either else line.rule,
                None if cell is None else cell.column,
                None if cell is None else "null" if cell.value is None else cell.value,
                None if cell is None else cell.suggestion,
                None if cell is None else cell.support,
                f"{line.violations:,}",
                f"{line.clears:,}",
            ]
            told = [None if text is None else shortened(text, _CELL) for text in texts]
            if room is not None:
                room -= len(json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass")) + 1
                full = room < 0 and bool(lines)
            if not full:
                lines.append(told)
    shares = [f"{name} blames {percent(share)} of all rows." for name, share in suspects.shares.items() if share]
    return {
        "summary": suspects.summary,
        "shares": shares,
        "notes": suspects.notes,
        "head": _HEAD,
        "static": [[text and shortened(text, _SEEN) for text in line] for line in lines[:_SHOWN]],
        "lines": lines,
        "left_out": full or len(suspects) > most,
        "more": max(len(suspects) - most, 0),
    }
