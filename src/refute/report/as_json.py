"""The report as JSON."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from refute.display import in_json

if TYPE_CHECKING:
    from refute.report.report import Report


def render(report: Report) -> str:
    """The JSON text; values that JSON lacks (dates, decimals, NaN) become strings or null."""
    return in_json(json.dumps(_plain(report.to_dict()), indent=2, ensure_ascii=False, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
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
