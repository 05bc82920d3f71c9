"""The report as one HTML page: no script, no style sheet and no font from elsewhere."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from refute.display import in_html
from refute.language.render import render_logic
from refute.report.numbers import counted, plural
from refute.report.suspects_as_text import NOT_LOOKED_FOR, SHOWN, identity

if TYPE_CHECKING:
    from jinja2 import Template

    from refute.report.report import Report
    from refute.report.result import RuleResult
    from refute.report.suspects import Suspects


def render(report: Report) -> str:
    """The page. Cell values are escaped: they are whatever the data holds."""
    suspects = report.first_suspects
    note = NOT_LOOKED_FOR if suspects is None and report.has_suspects else None
    if suspects is not None and suspects.count == 0:
        suspects = None
    page = _template().render(
        report=report,
        suspects=None if suspects is None else _shown(suspects, SHOWN),
        note=note,
        cards=[_card(result, report.data.rows) for result in report],
        passed=sum(result.passed for result in report),
    )
    return in_html(page)


def render_suspects(suspects: Suspects, shown: int = SHOWN) -> str:
    """The first lines as a table, for notebooks."""
    return in_html(_template("suspects.html").render(**_shown(suspects, shown)))


def _shown(suspects: Suspects, shown: int) -> dict[str, Any]:
    """What the template shows of suspects."""
    more = max(len(suspects) - shown, 0)
    return {"suspects": suspects, "lines": suspects.first(shown), "more": more, "identity": identity}


@cache
def _template(name: str = "report.html") -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("refute.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    return environment.get_template(name)


def _card(result: RuleResult, n_rows: int) -> dict[str, Any]:
    """What the template shows of one rule."""
    columns = result.rule.constraint.columns
    clash = []
    if result.values is not None and result.finding.witness is not None:
        shown = {role: values for role, values in result.values.items() if values is not None}
        for role, values in shown.items():
            cells = [
                {"text": "null" if values[name] is None else str(values[name]), "null": values[name] is None}
                for name in columns
            ]
            clash.append({"role": role, "id": getattr(result.finding.witness, role), "cells": cells})
    rows, skipped = result.finding.rows, result.finding.skipped_nulls
    return {
        "name": result.name,
        "state": "pass" if result.finding.holds else "tolerated" if result.passed else result.rule.severity.value,
        "sentence": result.sentence,
        "formula": render_logic(result.rule.constraint),
        "extent": counted(result),
        "share": 0.0 if not rows or not n_rows else 100.0 * rows / n_rows,
        "skipped": plural(skipped, "row") if skipped else "",
        "seconds": result.seconds,
        "method": result.finding.method,
        "columns": columns,
        "clash": clash,
    }
