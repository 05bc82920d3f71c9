"""Datetimes and durations of Python, NumPy and pandas as whole numbers of a unit, exactly."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

_INT64 = range(-(2**63), 2**63)
_NANOSECONDS = {
    "W": 7 * 86_400 * 10**9,
    "D": 86_400 * 10**9,
    "h": 3_600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 10**3,
    "ns": 1,
}
_UNITS = ("us", "ns", "ms", "s")  # those of Arrow, in the order in which they are tried


def ticks(values: Sequence[Any], kind: Callable[[str], pa.DataType]) -> pa.Array | None:
    """Datetimes, or durations, and None as an Arrow array of the first unit that holds them all; None where none does.

    A datetime with a zone counts from 1970 in UTC, one without from 1970 on its own clock.
    """
    exact = [None if value is None else _nanoseconds(value) for value in values]
    known = [value for value in exact if value is not None]
    if len(known) < sum(value is not None for value in values):
        return None
    for unit in _UNITS:
        size = _NANOSECONDS[unit]
        if all(value % size == 0 and value // size in _INT64 for value in known):
            return pa.array([None if value is None else value // size for value in exact], pa.int64()).cast(kind(unit))
    return None


def _nanoseconds(value: Any) -> int | None:
    """The value as whole nanoseconds; None where its unit is not a fixed number of them, as with months."""
    for method in ("to_datetime64", "to_timedelta64"):  # pandas: its own arithmetic ends where 64 bits end
        if hasattr(value, method):
            value = getattr(value, method)()
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit, steps = np.datetime_data(value.dtype)
        size = _NANOSECONDS.get(unit)
        return None if size is None else int(value.astype(np.int64)) * steps * size
    if isinstance(value, dt.datetime):
        offset = value.utcoffset()
        since = value.replace(tzinfo=None) - dt.datetime(1970, 1, 1)
        return _exact(since) - (0 if offset is None else _exact(offset))
    assert isinstance(value, dt.timedelta)
    return _exact(value)


def _exact(span: dt.timedelta) -> int:
    return ((span.days * 86_400 + span.seconds) * 10**6 + span.microseconds) * 1000
