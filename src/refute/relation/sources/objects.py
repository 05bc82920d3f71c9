"""Python objects as Arrow columns: each object exactly, or an error that names the types that were found.

Arrow's own conversion takes the type of the first objects for that of all: it cuts a datetime down to its day, loses
nanoseconds and zones, and so makes values equal that are not.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import math
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from refute.errors import SchemaError
from refute.relation.sources.moments import ticks
from refute.relation.types import READABLE, ColumnType, Family

_UINT64 = range(2**64)
_WITH_NULLS = {Family.FLOAT, Family.DECIMAL, Family.TIMESTAMP, Family.DURATION}
_FEW = 100  # objects that show whether there may be nulls only
_MOST_DIGITS = 76  # of decimals that Arrow holds
_FAMILIES: tuple[tuple[type | tuple[type, ...], Family], ...] = (  # the first that fits: a datetime is a date as well
    ((bool, np.bool_), Family.BOOLEAN),
    ((dt.timedelta, np.timedelta64), Family.DURATION),
    ((int, np.integer), Family.INTEGER),
    ((float, np.float16, np.float32), Family.FLOAT),
    (Decimal, Family.DECIMAL),
    (str, Family.STRING),
    ((dt.datetime, np.datetime64), Family.TIMESTAMP),
    (dt.date, Family.DATE),
    (dt.time, Family.TIME),
)


def column_of_objects(objects: Sequence[object], name: str) -> pa.Array | pa.ChunkedArray:
    """The objects as one Arrow column, equal and ordered exactly as they are; None, NaN, NaT and NA are null.

    Raises SchemaError where no Arrow type holds them all exactly.
    """
    kinds = set(map(type, objects)) - _null_types()
    families = {_family_of(kind) for kind in kinds}
    # A family may be there for a NaN or NaT alone.
    if families & _WITH_NULLS and (len(families) > 1 or not any(map(_is_value, objects[:_FEW]))):
        objects = _cells(objects)
        families = {_family_of(kind) for kind in set(map(type, objects)) - _null_types()}
    convert = _CONVERSIONS.get(frozenset(families))
    try:
        found = None if convert is None else convert(objects)
    except UnicodeEncodeError as error:
        raise SchemaError(f"Column {name!r} holds text that is not Unicode: {error.object!r}.", column=name) from error
    if found is None and families == {Family.UNSUPPORTED}:
        found = _unreadable(objects)
        if found is None:
            raise SchemaError(
                f"Column {name!r} holds {_described(objects)} objects, which cannot be compared. {READABLE}",
                column=name,
            )
    if found is None:
        raise SchemaError(
            f"Column {name!r} has no single type that holds all its values exactly: they are {_described(objects)}. "
            "Convert them to one type.",
            column=name,
        )
    return found


def _family_of(kind: type) -> Family:
    return next((family for types, family in _FAMILIES if issubclass(kind, types)), Family.UNSUPPORTED)


def _null_types() -> set[type]:
    """The types that have a null for their only value, as far as they are loaded."""
    pandas = sys.modules.get("pandas")
    return {type(None)} if pandas is None else {type(None), type(pandas.NA), type(pandas.NaT)}


def _cells(objects: Sequence[object]) -> list[Any]:
    """The objects with None for every null."""
    nulls = _null_types()
    return [None if type(value) in nulls or _is_nothing(value) else value for value in objects]


def _is_value(value: object) -> bool:
    return type(value) not in _null_types() and not _is_nothing(value)


def _is_nothing(value: object) -> bool:
    if isinstance(value, Decimal):
        return value.is_nan()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(value != value)


def _plain(kind: pa.DataType) -> Callable[[Sequence[object]], pa.Array | pa.ChunkedArray]:
    """A conversion that Arrow does exactly."""
    return lambda objects: pa.array(objects, kind, from_pandas=True)


def _nothing(objects: Sequence[object]) -> pa.Array:
    return pa.nulls(len(objects))


def _integers(objects: Sequence[object]) -> pa.Array | None:
    try:
        return pa.array(objects, pa.int64(), from_pandas=True)
    except (OverflowError, pa.ArrowInvalid):
        cells = [None if cell is None else int(cell) for cell in _cells(objects)]
    known = [cell for cell in cells if cell is not None]
    if min(known) in _UINT64 and max(known) in _UINT64:
        return pa.array(cells, pa.uint64())
    return _decimals(cells)


def _numbers(objects: Sequence[object]) -> pa.Array | None:
    """Integers beside floats: as floats where these hold every integer, as integers where every float is whole."""
    cells = _cells(objects)
    known = [cell for cell in cells if cell is not None]
    whole = [int(cell) for cell in known if _family_of(type(cell)) is Family.INTEGER]
    if all(_is_float(number) for number in whole):
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if all(math.isfinite(cell) and cell == math.floor(cell) for cell in known):
        return _integers([None if cell is None else int(cell) for cell in cells])
    return None


def _is_float(number: int) -> bool:
    try:
        return float(number) == number
    except OverflowError:
        return False


def _decimals(objects: Sequence[object]) -> pa.Array | None:
    """Decimals, integers among them or not; None where they have more digits than Arrow holds, or no end."""
    cells = [int(cell) if isinstance(cell, np.integer) else cell for cell in _cells(objects)]
    whole, places = 1, 0
    for cell in cells:
        if cell is not None:
            _, digits, exponent = Decimal(cell).as_tuple()
            if not isinstance(exponent, int):  # an infinity
                return None
            if any(digits):  # a zero needs none, whatever its exponent
                whole, places = max(whole, len(digits) + exponent), max(places, -exponent)
    if whole + places > _MOST_DIGITS:
        return None
    make = pa.decimal128 if whole + places <= 38 else pa.decimal256
    return pa.array([cell if cell is None or cell else 0 for cell in cells], make(whole + places, places))


def _moments(objects: Sequence[object]) -> pa.Array | None:
    """Datetimes that all have a zone, or all have none."""
    cells = _cells(objects)
    if len({_has_zone(cell) for cell in cells if cell is not None}) > 1:
        return None
    zone = "UTC" if any(_has_zone(cell) for cell in cells if cell is not None) else None
    # Arrow converts these exactly, and faster, except for offsets with fractions of a second.
    if all(cell is None or (type(cell) is dt.datetime and _has_whole_offset(cell)) for cell in cells):
        return pa.array(cells, pa.timestamp("us", zone))
    return ticks(cells, lambda unit: pa.timestamp(unit, zone))


def _has_whole_offset(value: dt.datetime) -> bool:
    offset = value.utcoffset()
    return offset is None or offset.microseconds == 0


def _has_zone(value: object) -> bool:
    return isinstance(value, dt.datetime | dt.time) and value.utcoffset() is not None


def _durations(objects: Sequence[object]) -> pa.Array | None:
    cells = _cells(objects)
    if all(type(cell) in (dt.timedelta, type(None)) for cell in cells):
        with contextlib.suppress(OverflowError, pa.ArrowInvalid):  # beyond 292,000 years
            return pa.array(cells, pa.duration("us"))
    return ticks(cells, pa.duration)


def _times(objects: Sequence[object]) -> pa.Array | None:
    if any(value.tzinfo is not None for value in objects if isinstance(value, dt.time)):
        return None
    return pa.array(objects, pa.time64("us"), from_pandas=True)


_CONVERSIONS: dict[frozenset[Family], Callable[[Sequence[object]], pa.Array | pa.ChunkedArray | None]] = {
    frozenset(): _nothing,
    frozenset({Family.STRING}): _plain(pa.string()),
    frozenset({Family.BOOLEAN}): _plain(pa.bool_()),
    frozenset({Family.INTEGER}): _integers,
    frozenset({Family.FLOAT}): _plain(pa.float64()),
    frozenset({Family.INTEGER, Family.FLOAT}): _numbers,
    frozenset({Family.DECIMAL}): _decimals,
    frozenset({Family.DECIMAL, Family.INTEGER}): _decimals,
    frozenset({Family.TIMESTAMP}): _moments,
    frozenset({Family.DATE}): _plain(pa.date32()),
    frozenset({Family.TIME}): _times,
    frozenset({Family.DURATION}): _durations,
}


def _unreadable(objects: Sequence[object]) -> pa.Array | pa.ChunkedArray | None:
    """Objects that no rule can read, as Arrow has them, so an error can say what they are; None if it has none."""
    try:
        found = pa.array(objects, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError, RecursionError):
        return None
    return found if ColumnType.of("", found.type).family is Family.UNSUPPORTED else None


def _described(objects: Sequence[object], most: int = 6) -> str:
    """The types that were found, as users call them, and values that no type of Arrow holds."""
    nulls = _null_types()
    seen = dict.fromkeys(_called(value) for value in objects if type(value) not in nulls and not _is_nothing(value))
    names = sorted(seen)[:most]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _called(value: object) -> str:
    kind = type(value).__name__
    family = _family_of(type(value))
    if family in (Family.TIMESTAMP, Family.TIME):
        return f"{kind} with a time zone" if _has_zone(value) else f"{kind} without a time zone"
    if isinstance(value, Decimal) and value.is_infinite():
        return "an infinite Decimal"
    if isinstance(value, int | Decimal) and family is not Family.BOOLEAN:
        _, digits, exponent = Decimal(value).as_tuple()
        assert isinstance(exponent, int)
        return kind if max(len(digits), len(digits) + exponent, -exponent) <= 18 else f"{kind} of many digits"
    return kind
