"""Rules that were found, as an HTML page to choose from, and as a table for notebooks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from refute.display import markup
from refute.display.contrast import shortened
from refute.display.plurals import plural
from refute.version import __version__

if TYPE_CHECKING:
    from refute.discovery.result.discovery import Discovery, FoundRule

MOST = 500  # rules on a page
_IN_PART = 20
_FOUND = 300  # letters of a rule that a search looks at
_ORDER = {  # what the rules are sorted by, in words
    "worth": "how sure it is that more than chance speaks for a rule, and less for a rule about few rows or with more "
    "columns",
    "score": "how short a rule is, how many pairs come close to breaking it, and how little chance explains it",
}


@dataclass(frozen=True, slots=True)
class RulePage:
    """A page of rules, and whether some are missing as there was no time for them."""

    text: str
    is_cut: bool


def render(found: Discovery, n: int, name: str | None, is_time_up: Callable[[], bool]) -> RulePage:
    """The page of the n best rules, each with the text that a rule file takes; where time is up, it ends with the rule
    at hand, and says so."""
    rows: list[dict[str, Any]] = []
    is_cut = False
    for rule, entries in found.written(n, as_ranked=True):
        if rows and is_time_up():
            is_cut = True
            break
        copied = "\n".join(entry.yaml() for entry, _ in entries)
        rows.append({"place": len(rows) + 1, "yaml": copied, "find": _find(rule), **_said(rule)})
    cut = [f"Stopped while this was written, after {plural(len(rows), 'rule')}: others are missing."] if is_cut else []
    kinds: dict[str, int] = {}
    for row in rows:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    extent = f"{plural(found.n_rows, 'row')}, {plural(len(rows), 'rule')}"
    more = f", the best {len(rows):,} of {len(found):,}" if len(found) > len(rows) else ""
    stopped = "" if found.complete else ", stopped before the end"
    text = markup.page(
        "discovery.html",
        title=f"Rules found in {name.rstrip('/').rpartition('/')[2] or name}" if name else "Rules found",
        lead=f"{f'{name}: ' if name else ''}{extent}{more}; searched "
        f"{found.time.strftime('%Y-%m-%d %H:%M:%S UTC')} by Refute {__version__} in {found.seconds:.1f} s{stopped}.",
        rows=rows,
        kinds=kinds,
        measure=rows[0]["measure"] if rows else "violations",
        worth=rows[0]["worth"] if rows else "score",
        order=_ORDER[rows[0]["worth"]] if rows else "",
        notes=[*found.notes, *cut],
    )
    return RulePage(text, is_cut)


def render_part(found: Discovery) -> str:
    """The best rules as a table for a notebook."""
    rows = [(one["kind"], one["sentence"], one["evidence"]) for one in map(_said, found.top(_IN_PART))]
    return markup.table_part(repr(found), ("kind", "rule", "evidence"), rows, max(len(found) - _IN_PART, 0))


def _said(rule: FoundRule) -> dict[str, Any]:
    """What is shown of a rule, whichever search has found it."""
    evidence = getattr(rule, "evidence", None)
    broken = getattr(rule, "blame", None) if evidence else getattr(rule, "violations", 0)
    if evidence is None:
        evidence = f"{broken:,} violations" if broken else "all rows obey it"
    members = [member.text for member in getattr(rule, "members", ())]
    return {
        "kind": rule.kind,
        "sentence": rule.sentence,
        "text": rule.text,
        "evidence": evidence,
        "measure": "rows that break it" if hasattr(rule, "evidence") else "violations",
        "broken": broken or 0,
        "worth": "worth" if hasattr(rule, "rank") else "score",
        "score": float(getattr(rule, "rank", getattr(rule, "score", 0.0))),
        "members": members[:8],
        "more_members": max(len(members) - 8, 0),
    }


def _find(rule: FoundRule) -> str:
    return shortened(f"{rule.kind} {rule.sentence} {rule.text}", _FOUND)
