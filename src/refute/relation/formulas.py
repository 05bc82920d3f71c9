"""Formulas over the columns of a table in memory, computed exactly."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from refute.errors import DataError
from refute.language.arithmetic import Combined, Formula, Number, Read, Sign, leaves, spelled
from refute.relation.formula_types import (
    Exact,
    Mode,
    TypeOf,
    exact_constant,
    exact_result,
    exact_type,
    formula_type,
    mode_of,
    moment_of,
)
from refute.relation.types import ColumnType

_OPERATIONS = {Sign.PLUS: pc.add, Sign.MINUS: pc.subtract, Sign.TIMES: pc.multiply}
_WIDEST = 76  # digits of Arrow's widest decimals
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
ColumnOf = Callable[[str], pa.ChunkedArray]
Values = Any  # a column or a scalar of Arrow


def computed_column(formula: Combined, column_of: ColumnOf, n_rows: int, *, narrow: bool) -> pa.ChunkedArray:
    """The values of a formula in all rows: of the type that `formula_type` says or, if `narrow`, as integers where
    the values that are there allow that, which cost less."""

    def type_of(name: str) -> ColumnType:
        return ColumnType.of(name, column_of(name).type)

    mode = mode_of(formula, type_of)
    kind = formula_type(formula, type_of)
    match mode:
        case Mode.NOTHING:
            return pa.chunked_array([pa.nulls(n_rows)])
        case Mode.FLOAT:
            found = _floats(formula, column_of)
        case Mode.MOMENT:
            found = _moved(formula, column_of, type_of)
        case Mode.EXACT:
            if _stays_long(formula, partial(_bounds, column_of)):
                found = _longs(formula, column_of)
                kind = found.type if narrow else kind
            else:
                found = _wide(formula, column_of, type_of)
    return found if found.type == kind else found.cast(kind)


def _values(name: str, column_of: ColumnOf) -> pa.ChunkedArray:
    """A column without its dictionary, if it has one."""
    column = column_of(name)
    return column.cast(column.type.value_type) if pt.is_dictionary(column.type) else column


def _floats(formula: Formula, column_of: ColumnOf) -> Values:
    match formula:
        case Read(name):
            column = _values(name, column_of)
            return column if column.type == pa.float64() else column.cast(pa.float64(), safe=False)
        case Number(value):
            return pa.scalar(float(value), pa.float64())
        case Combined(left, sign, right):
            return _OPERATIONS[sign](_floats(left, column_of), _floats(right, column_of))
    raise AssertionError(f"floats have no {formula}")


def _bounds(column_of: ColumnOf, name: str) -> Exact | None:
    """The least and the greatest value of a column of integers; None for other columns."""
    column = _values(name, column_of)
    if not pt.is_integer(column.type):
        return None
    ends = pc.min_max(column).as_py()
    return Exact(ends["min"] or 0, ends["max"] or 0, 0)


def _stays_long(formula: Combined, bounds: Callable[[str], Exact | None]) -> bool:
    """Whether every number on the way is an integer of 64 bits, whichever rows meet."""
    known = {part.name: bounds(part.name) for part in leaves(formula, Read)}

    def within(part: Formula) -> Exact | None:
        match part:
            case Read(name):
                found = known[name]
            case Number(value):
                found = exact_constant(value)
            case Combined(left, sign, right):
                first, second = within(left), within(right)
                found = None if first is None or second is None else exact_result(first, sign, second)
            case _:
                found = None
        return found if found is not None and found.is_long else None

    return within(formula) is not None


def _longs(formula: Formula, column_of: ColumnOf) -> Values:
    match formula:
        case Read(name):
            return _values(name, column_of).cast(pa.int64())
        case Number(value):
            return pa.scalar(int(value), pa.int64())
        case Combined(left, sign, right):
            return _OPERATIONS[sign](_longs(left, column_of), _longs(right, column_of))
    raise AssertionError(f"integers have no {formula}")


def _wide(formula: Formula, column_of: ColumnOf, type_of: TypeOf) -> Values:
    """The values as decimals with room for all that sums and products of Arrow ask for."""
    size = exact_type(formula, type_of)
    kind = pa.decimal256(size.digits, size.scale)
    match formula:
        case Read(name):
            return _values(name, column_of).cast(kind)
        case Number(value):
            return pa.scalar(value, kind)
        case Combined(left, sign, right):
            found = _OPERATIONS[sign](_wide(left, column_of, type_of), _wide(right, column_of, type_of))
            assert found.type.precision <= _WIDEST
            return found.cast(kind)
    raise AssertionError(f"decimals have no {formula}")


def _moved(formula: Combined, column_of: ColumnOf, type_of: TypeOf) -> pa.ChunkedArray:
    column, seconds = moment_of(formula, type_of)
    values = _values(column.name, column_of)
    if values.null_count == len(values):
        return values
    if pt.is_date(values.type):
        kind, held, step = pa.date32(), pa.int32(), seconds // _DAY
        values = values.cast(kind)
    else:
        kind, held, step = values.type, pa.int64(), seconds * _PER_SECOND[values.type.unit]
    try:
        found = pc.add_checked(values.cast(held).cast(pa.int64()), pa.scalar(step, pa.int64()))
        return found.cast(held).cast(kind)
    except (pa.ArrowInvalid, OverflowError):
        raise beyond_time(formula, column) from None


def beyond_time(formula: Combined, column: ColumnType) -> DataError:
    """The error for a date or moment that no column of its type could hold."""
    return DataError(
        f"{spelled(formula)} gives a moment that {column} cannot hold in some row. Use a shorter time, or a table "
        "without such rows.",
        column=column.name,
    )
