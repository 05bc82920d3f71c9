"""The report as JSON: its version and shape are a contract, which `report.schema.json` states."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from refute.display import in_json
from refute.version import __version__

if TYPE_CHECKING:
    from refute.detect.shown.scenes import ValueTally
    from refute.report.exhibits import Clash
    from refute.report.report import Report

VERSION = 1


def render(report: Report, clashes: int | None = None) -> str:
    """The JSON text; values that JSON lacks (dates, decimals, NaN) become strings or null."""
    return as_text(plain_report(report, clashes))


def as_text(value: object) -> str:
    """A plain value as JSON text that no terminal acts on."""
    return in_json(json.dumps(plain_value(value), indent=2, ensure_ascii=False, allow_nan=False))


def shipped_schema() -> str:
    """The text of the JSON schema of a report, for programs that read reports."""
    return files("refute.report").joinpath("report.schema.json").read_text(encoding="utf-8")


def plain_report(report: Report, clashes: int | None = None) -> dict[str, Any]:
    """The report as plain values; with `clashes`, so many violations of each broken rule, and the values in groups."""
    rules = [result.to_dict() for result in report]
    if clashes is not None:
        exhibits = report.exhibits(clashes)
        for result, rule in zip(report, rules, strict=True):
            rule["clashes"] = [_clash(one) for one in exhibits.clashes(result.name)]
            tally = exhibits.tally(result.name)
            rule["groups"] = None if tally is None else _groups(tally)
    found: dict[str, Any] = {
        "version": VERSION,
        "tool": {"name": "refute", "version": __version__},
        "time": report.data.time.isoformat(timespec="seconds"),
        "engine": report.data.engine,
        "exit_code": report.exit_code,
        "data": report.data.to_dict(),
        "rules": rules,
        "ok": report.ok,
    }
    if "suspects" in report.__dict__:
        suspects = report.suspects
        found["suspects"] = {"count": suspects.count, "lower_bound": suspects.lower_bound, "shares": suspects.shares}
    return found


def _clash(clash: Clash) -> dict[str, Any]:
    return {row.role: {"id": row.row_id, "values": row.values} for row in clash}


def _groups(tally: ValueTally) -> dict[str, Any]:
    listed = [
        {
            "key": dict(zip(tally.left, group.key, strict=True)),
            "rows": group.rows,
            "distinct": group.distinct,
            "values": [
                {"value": dict(zip(tally.right, one.values, strict=True)), "rows": one.rows, "first": one.first}
                for one in group.values
            ],
        }
        for group in tally.groups
    ]
    return {"count": tally.n_groups, "listed": listed}


def plain_value(value: Any) -> Any:
    """The value as JSON has it."""
    if isinstance(value, dict):
        return {str(key): plain_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return str(value)
