"""Values as places in a picture."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from refute.display import in_one_line
from refute.display.contrast import shortened

_LABEL = 18


@dataclass(frozen=True, slots=True)
class Scale:
    """Places of values between two ends of a line: numbers and moments by their size, all else by its rank."""

    values: tuple[Any, ...]
    places: tuple[float, ...]
    low: str
    high: str

    @classmethod
    def of(cls, values: Sequence[Any], start: float, end: float) -> Scale | None:
        """The scale over these values; None where one of them is missing or they cannot be put in order."""
        if not values or any(value is None for value in values):
            return None
        numbers = [_number(value) for value in values]
        if any(number is None for number in numbers):
            try:
                ranks = {value: place for place, value in enumerate(sorted(set(values)))}
            except TypeError:
                return None
            numbers = [float(ranks[value]) for value in values]
        known = [number for number in numbers if number is not None]
        least, most = min(known), max(known)
        room = most - least
        places = tuple(start + (end - start) * ((number - least) / room if room else 0.5) for number in known)
        low, high = (values[known.index(found)] for found in (least, most))
        return cls(tuple(values), places, label(low), label(high))


def label(value: Any, width: int = _LABEL) -> str:
    """A value as a short text."""
    return shortened(in_one_line("null" if value is None else str(value)), width)


def _number(value: Any) -> float | None:
    """A number that is as large as the value; None for what is not a number or a moment."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float | Decimal):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    if isinstance(value, dt.datetime):
        naive = value.replace(tzinfo=None) if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)
        return (naive - dt.datetime(1970, 1, 1)).total_seconds()
    return float(value.toordinal()) if isinstance(value, dt.date) else None
