"""Values of Arrow as Python has them, for reports and listings: as text where Python's types cannot hold them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_PLACES = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_DAY = 86_400
_ERA = 146_097  # days of 400 years


def shown(scalar: pa.Scalar) -> Any:
    """The value of a scalar: a Python value that is equal to it, else its text."""
    if not scalar.is_valid:
        return None
    if pt.is_time64(scalar.type) and scalar.type.unit == "ns" and scalar.value % 1000:
        return time_text(scalar.value, "ns")  # Python would leave the nanoseconds out
    try:
        return scalar.as_py()
    except (OverflowError, ValueError, LookupError, pa.ArrowException):
        return _text(scalar)


def shown_row(table: pa.Table, row: int) -> dict[str, Any]:
    """The values of one row, by column."""
    return {name: shown(table.column(place)[row]) for place, name in enumerate(table.column_names)}


def shown_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The value of every row."""
    if not (pt.is_time64(column.type) and column.type.unit == "ns"):
        try:
            return list(column.to_pylist())
        except (OverflowError, ValueError, LookupError, pa.ArrowException):
            pass
    return [shown(scalar) for scalar in column]


def told_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The values of every row, by column."""
    columns = [shown_values(column) for column in table.columns]
    return [dict(zip(table.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def id_text(value: Any) -> str:
    """The id of a row, or any value, as text; the values of a key of several columns with slashes between."""
    return (
        "/".join(map(id_text, value.values())) if isinstance(value, dict) else "null" if value is None else str(value)
    )


def date_text(days: int) -> str:
    """The day so many days after 1970-01-01, as ISO 8601 writes it: years beyond four digits have a sign."""
    era, day = divmod(days + 719_468, _ERA)  # after the first of March of the year 0, whose February comes last
    year = (day - day // 1460 + day // 36_524 - day // (_ERA - 1)) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    number = year + 400 * era + (month >= 10)
    text = f"{number:04d}" if 0 <= number <= 9999 else f"{'-' if number < 0 else '+'}{abs(number):04d}"
    return f"{text}-{month + 3 - 12 * (month >= 10):02d}-{day - (153 * month + 2) // 5 + 1:02d}"


def time_text(ticks: int, unit: str) -> str:
    """The time of day after so many ticks of a unit."""
    seconds, rest = divmod(ticks, _PER_SECOND[unit])
    fraction = f"{rest:0{_PLACES[unit]}d}".rstrip("0") if rest else ""
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{clock}.{fraction}" if fraction else clock


def _text(scalar: pa.Scalar) -> Any:
    """What stands for a value that Python cannot hold; lists and structs keep their shape."""
    kind = scalar.type
    for is_kind, write in _WRITERS:
        if is_kind(kind):
            return write(scalar)
    return str(scalar)


def _moment(scalar: pa.Scalar) -> str:
    unit = scalar.type.unit
    days, ticks = divmod(scalar.value, _DAY * _PER_SECOND[unit])
    return f"{date_text(days)} {time_text(ticks, unit)}{'' if scalar.type.tz is None else '+00:00'}"


def _duration(scalar: pa.Scalar) -> str:
    unit = scalar.type.unit
    days, ticks = divmod(scalar.value, _DAY * _PER_SECOND[unit])
    return f"{days} day{'' if abs(days) == 1 else 's'}, {time_text(ticks, unit)}"


_WRITERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]], ...] = (
    (pt.is_date32, lambda scalar: date_text(scalar.value)),
    (pt.is_date64, lambda scalar: date_text(scalar.value // (_DAY * 1000))),
    (pt.is_timestamp, _moment),
    (pt.is_duration, _duration),
    (pt.is_time, lambda scalar: time_text(scalar.value, scalar.type.unit)),
    (pt.is_dictionary, lambda scalar: shown(scalar.value)),
    (pt.is_struct, lambda scalar: {name: shown(scalar[name]) for name in dict.fromkeys(scalar.type.names)}),
    (pt.is_map, lambda scalar: [tuple(shown(pair[part]) for part in ("key", "value")) for pair in scalar.values]),
    (pt.is_nested, lambda scalar: [shown(one) for one in scalar.values]),
    (
        lambda kind: pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind),
        lambda scalar: scalar.as_buffer().to_pybytes().decode("utf-8", errors="replace"),
    ),
    (lambda kind: isinstance(kind, pa.BaseExtensionType), lambda scalar: shown(scalar.value)),
)
