"""Formulas as Spark expressions: the same numbers, dates and moments as in process, whatever settings a session has."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow.types as pt
from pyspark.sql import Column as SparkColumn
from pyspark.sql import functions as F

from refute.errors import FACTS_NOTE
from refute.language.arithmetic import Combined, Formula, Number, Read, Sign, Span
from refute.relation import Relation
from refute.relation.formula_types import Exact, Mode, exact_type, mode_of, moment_of
from refute.relation.formulas import beyond_time
from refute.relation.types import Family
from refute.spark.expressions import literal, quoted

_DAY = 86_400
_OPERATIONS: dict[Sign, Callable[[SparkColumn, SparkColumn], SparkColumn]] = {
    Sign.PLUS: lambda left, right: left + right,
    Sign.MINUS: lambda left, right: left - right,
    Sign.TIMES: lambda left, right: left * right,
}


def formula_expression(formula: Combined, types: Relation) -> SparkColumn:
    """The formula over columns of these types; raises SchemaError where it does not fit them."""
    match mode_of(formula, types.type_of):
        case Mode.NOTHING:
            return F.lit(None)
        case Mode.FLOAT:
            return _floats(formula)
        case Mode.EXACT:
            return _exact(formula, types)
        case Mode.MOMENT:
            return _moved(formula, types)


def _floats(formula: Formula) -> SparkColumn:
    match formula:
        case Read(name):
            return F.col(quoted(name)).cast("double")
        case Number(value):
            return F.lit(float(value))
        case Combined(left, sign, right):
            return _OPERATIONS[sign](_floats(left), _floats(right))
        case Span():
            raise AssertionError("floats have no lengths of time")


def _exact(formula: Formula, types: Relation) -> SparkColumn:
    """Integers of 64 bits where their types leave no room for an overflow, decimals with room for all digits else."""
    size = exact_type(formula, types.type_of)
    match formula:
        case Read(name):
            return F.col(quoted(name)).cast(_type(size))
        case Number():  # with the digits of its type alone, as Spark reads no whole number from 1.0
            return literal(format(Decimal(f"{size.low}e-{size.scale}"), "f"), _type(size))
        case Combined(left, sign, right):
            sizes = [exact_type(part, types.type_of) for part in (left, right)]
            parts = [_exact(part, types) for part in (left, right)]
            if not (size.is_long and all(one.is_long for one in sizes)):
                parts = [part.cast(_decimal(one)) for part, one in zip(parts, sizes, strict=True)]
            return _OPERATIONS[sign](*parts).cast(_type(size))
        case Span():
            raise AssertionError("numbers have no lengths of time")


def _moved(formula: Combined, types: Relation) -> SparkColumn:
    """The dates or moments; an error, which `explained` knows by its first word, where their type cannot hold one."""
    column, seconds = moment_of(formula, types.type_of)
    plain = F.col(quoted(column.name))
    if pt.is_date(column.arrow_type):
        moved = _summed(F.unix_date(plain), seconds // _DAY, 31)
        found = F.date_from_unix_date(moved.cast("int"))
    elif column.family is Family.ZONED:  # a day of 24 hours, whatever the clocks of the session's zone do
        found = F.timestamp_micros(_summed(F.unix_micros(plain), seconds * 10**6, 63))
    elif abs(seconds * 10**6) < 2**63:
        found = F.try_add(plain, F.expr(f"make_dt_interval({seconds // _DAY}, 0, 0, {seconds % _DAY})"))
    else:
        found = F.lit(None).cast("timestamp_ntz")
    error = beyond_time(formula, column)
    said = f"{type(error).__module__}.{type(error).__name__}: {error}\n{FACTS_NOTE}{error.facts!r}\n"
    return F.when(plain.isNotNull(), F.coalesce(found, F.raise_error(F.lit(said))))


def _summed(number: SparkColumn, step: int, bits: int) -> SparkColumn:
    """A number and a step as a bigint; null where their sum needs more bits, beside that of its sign."""
    low, high = max(-(2**bits), -(2**bits) - step), min(2**bits - 1, 2**bits - 1 - step)
    if low > high or not -(2**63) <= step < 2**63:
        return F.lit(None).cast("bigint")
    return F.when(number.between(F.lit(low), F.lit(high)), number.cast("bigint") + F.lit(step).cast("bigint"))


def _type(size: Exact) -> str:
    return "bigint" if size.is_long else _decimal(size)


def _decimal(size: Exact) -> str:
    return f"decimal({size.digits},{size.scale})"
