"""The page of a report, and the part of it that notebooks show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refute.display import markup
from refute.display.contrast import shortened
from refute.display.plurals import plural
from refute.report.forms.suspects_as_text import NOT_LOOKED_FOR
from refute.report.numbers import counted
from refute.report.page.cards import WORDS, Room, card_of
from refute.report.page.suspected import shown_suspects
from refute.report.result import RuleResult, Standing
from refute.version import __version__

if TYPE_CHECKING:
    from refute.report.history import PastRuns
    from refute.report.report import Report
    from refute.report.suspects import Suspects

_CLASHES, _SUSPECTS = 1_000_000, 300_000  # bytes of data on a page, which stays below 2 MB
_CARDS, _REST = 1_450_000, 150_000  # bytes of the cards of rules, with their clashes, and of a table of other rules
_CARDS_IN_PART = 50
_NAME = 200  # letters of a rule in that table
_PICTURED, _PICTURED_IN_PART = 40, 10  # rules that have a picture and show clashes: of hundreds, the last have none
_ENGINES = {"local": "in this process", "spark": "on Spark"}
_TILES = (
    (Standing.ERROR, "failed", "error"),
    (Standing.WARN, "warnings", "warn"),
    (Standing.KNOWN, "known only", "warn"),
    (Standing.TOLERATED, "tolerated", "warn"),
    (Standing.OK, "passed", "ok"),
)


def render(
    report: Report,
    clashes: int | None = None,
    history: PastRuns | None = None,
    follows: markup.Follows | None = None,
) -> str:
    """The page. Cell values are escaped: they are whatever the data holds."""
    names = [result.name for result in report]
    runs = {} if history is None else history.runs(report.data.name, names)
    exhibits, room, left = report.exhibits(clashes), Room(_CLASHES), _CARDS
    cards: list[Any] = []
    for place, result in enumerate(report.failing_first):
        shown = exhibits if place < _PICTURED else None
        card = card_of(result, shown, report.data.rows, room, runs.get(result.name, ()))
        cards.append(markup.piece("rule.html", scripted=True, card={"place": place, **card}))
        left -= len(cards[-1].encode("utf-8", "surrogatepass"))
        if left < 0 and place:
            cards.pop()
            break
    fetches = "nothing" if follows is None else "nothing but newer versions of itself"
    told = {
        "cards": cards,
        "rest": _rest(report.failing_first[len(cards) :], _REST),
        "footer": f"Made by Refute {__version__}. The page fetches {fetches} and sends nothing.",
    }
    return markup.page("report.html", follows=follows, scripted=True, **told, **_head(report, _SUSPECTS))


def render_part(report: Report) -> str:
    """The same for a notebook, without a script: the suspects to look at first, and one clash of each rule."""
    exhibits, results = report.exhibits(), report.failing_first
    cards = []
    for place, result in enumerate(results[:_CARDS_IN_PART]):
        card = card_of(result, exhibits if place < _PICTURED_IN_PART else None, report.data.rows, None)
        cards.append(markup.piece("rule.html", scripted=False, card={"place": place, **card}))
    rest = _rest(results[len(cards) :], 0)
    return markup.part("report_part.html", scripted=False, cards=cards, rest=rest, **_head(report, None))


def _rest(results: list[RuleResult], room: int) -> dict[str, Any] | None:
    """The rules that have no card, in a line each as long as there is room; None where all have one."""
    if not results:
        return None
    lines: list[list[str]] = []
    for result in results:
        line = [shortened(result.name, _NAME), WORDS[result.state], counted(result)]
        room -= markup.size_in_script(line) + 1
        if room < 0:
            break
        lines.append(line)
    return {"rules": plural(len(results), "more rule"), "lines": lines, "left_out": len(results) - len(lines)}


def render_suspects(suspects: Suspects) -> str:
    """The suspects to look at first, for notebooks."""
    told = shown_suspects(suspects, None)
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
        "suspects": None if suspects is None else shown_suspects(suspects, room),
        "note": note,
    }
