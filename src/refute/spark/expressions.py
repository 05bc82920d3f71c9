"""Columns, predicates and conditions as Spark expressions, where Spark compares exactly; None where it would not."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from functools import reduce
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import AtomicType, BinaryType, StructType

from refute.language.conditions import And, Compare, Condition, InTable, IsNull, Matches, Not, Or
from refute.language.form import RowFilter
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Constant, Predicate, Value
from refute.relation import Relation
from refute.relation.masks.constants import nearest_float
from refute.relation.types import ColumnType, Family

_MAX_DIGITS = 38
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def quoted(name: str) -> str:
    """The name of a column as Spark reads it, whatever characters it has."""
    return "`" + name.replace("`", "``") + "`"


def as_texts(frame: DataFrame) -> DataFrame:
    """The frame with text in place of what CSV has no form for; parts of a struct have slashes between."""
    columns = []
    for field in frame.schema.fields:
        plain = F.col(quoted(field.name))
        if isinstance(field.dataType, StructType):
            parts = (F.coalesce(plain[part].cast("string"), F.lit("null")) for part in field.dataType.names)
            plain = F.concat_ws("/", *parts)
        elif isinstance(field.dataType, BinaryType):
            plain = F.hex(plain)
        elif not isinstance(field.dataType, AtomicType):
            plain = plain.cast("string")
        columns.append(plain.alias(field.name))
    return frame.select(*columns)


def column(kind: ColumnType) -> SparkColumn:
    """The column with NaN as null and -0.0 as 0.0: what Spark then calls equal is equal."""
    plain = F.col(quoted(kind.name))
    if kind.family is Family.FLOAT:
        wide = plain.cast("double")
        return F.when(~F.isnan(wide), wide + F.lit(0.0))
    return plain


def literal(value: Any, kind: str) -> SparkColumn:
    """A value that Spark gave back, as a constant of this type of Spark."""
    if isinstance(value, dt.datetime) and kind == "timestamp":
        return _instant(value)
    if isinstance(value, Decimal) and ",-" in kind:  # a scale that SQL cannot write
        return F.lit(Decimal(format(value, "f")))
    text_or_value = value.isoformat() if isinstance(value, dt.date | dt.time) else value
    return F.lit(text_or_value).cast("timestamp_ltz" if kind == "timestamp" else kind)


def as_number(value: SparkColumn, family: Family) -> SparkColumn:
    """A day or a moment as the days or the time since 1970, which Python can hold for any; all else as it is."""
    match family:
        case Family.DATE:
            return F.unix_date(value)
        case Family.ZONED:
            return F.unix_micros(value)
        case Family.TIMESTAMP:
            return value - F.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
        case _:
            return value


def _instant(value: dt.datetime) -> SparkColumn:
    """A moment with a zone, whatever zone the session has and whichever type it calls `timestamp`.

    Spark gives moments back without a zone, in that of this process.
    """
    since = (value.astimezone() if value.tzinfo is None else value) - _EPOCH
    return F.timestamp_micros(F.lit(since // dt.timedelta(microseconds=1)))


def operand(kind: ColumnType, other: ColumnType) -> SparkColumn | None:
    """The column as a side of an exact comparison with the other column; None where Spark would round."""
    families = {kind.family, other.family}
    if kind.family is Family.NULL:
        return column(kind).cast(from_arrow_type(other.arrow_type, prefer_timestamp_ntz=True))
    if other.family is Family.NULL or (len(families) == 1 and kind.family is not Family.DECIMAL):
        return column(kind)
    if families == {Family.DATE, Family.TIMESTAMP}:
        return column(kind).cast("timestamp_ntz")
    if families <= {Family.INTEGER, Family.DECIMAL}:
        (whole, scale), (other_whole, other_scale) = _digits(kind), _digits(other)
        whole, scale = max(whole, other_whole), max(scale, other_scale)
        if whole + scale <= _MAX_DIGITS:
            return column(kind).cast(f"decimal({whole + scale},{scale})")
    return None


def _digits(kind: ColumnType) -> tuple[int, int]:
    """The digits before and after the decimal point."""
    if kind.family is Family.INTEGER:
        return 19, 0
    arrow = kind.arrow_type
    return arrow.precision - arrow.scale, max(arrow.scale, 0)  # below 0, digits before the point are left out


def predicate_expression(relation: Relation, predicate: Predicate, nulls: Nulls) -> SparkColumn | None:
    """A predicate about one row as a condition that is true or false, never null; None where it cannot be exact."""
    left = relation.type_of(predicate.left.name)
    if isinstance(predicate.right, Constant):
        return _with_constant(left, predicate.op, predicate.right.value, nulls)
    right = relation.type_of(predicate.right.name)
    first, second = operand(left, right), operand(right, left)
    if first is None or second is None:
        return None
    return compare(first, predicate.op, second, nulls)


def compare(first: SparkColumn, op: Operator, second: SparkColumn, nulls: Nulls) -> SparkColumn:
    """The comparison, true or false, never null."""
    if nulls.reads(op):
        same = first.eqNullSafe(second)
        return same if nulls.holds(op, both=True) else ~same
    return F.coalesce(_UFUNCS[op](first, second), F.lit(False))


_UFUNCS = {
    Operator.EQ: lambda a, b: a == b,
    Operator.NE: lambda a, b: a != b,
    Operator.LT: lambda a, b: a < b,
    Operator.LE: lambda a, b: a <= b,
    Operator.GT: lambda a, b: a > b,
    Operator.GE: lambda a, b: a >= b,
}


def _with_constant(kind: ColumnType, op: Operator, value: Value, nulls: Nulls) -> SparkColumn | None:
    if isinstance(value, float) and math.isnan(value):
        return None
    if kind.family is Family.NULL:
        return F.lit(nulls.holds(op, both=False))
    if kind.family is Family.FLOAT:
        return _float_with_constant(kind, op, value, nulls)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = Decimal(value)
    if isinstance(value, Decimal | int) and not isinstance(value, bool):
        value = Decimal(value).normalize()
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        scale = max(-exponent, 0)
        whole = max(len(digits) + exponent, 1)
        own_whole, own_scale = _digits(kind)
        if max(whole, own_whole) + max(scale, own_scale) > _MAX_DIGITS:
            return None
        kind_type = f"decimal({max(whole, own_whole) + max(scale, own_scale)},{max(scale, own_scale)})"
        return compare(column(kind).cast(kind_type), op, literal(format(value, "f"), kind_type), nulls)
    if kind.family in (Family.DATE, Family.TIMESTAMP):
        assert isinstance(value, dt.date)
        return compare(column(kind).cast("timestamp_ntz"), op, literal(value, "timestamp_ntz"), nulls)
    if kind.family is Family.ZONED:
        assert isinstance(value, dt.datetime)
        return compare(column(kind), op, _instant(value), nulls)
    if kind.family in (Family.STRING, Family.BOOLEAN):
        return compare(column(kind), op, F.lit(value), nulls)
    return None


def _float_with_constant(kind: ColumnType, op: Operator, value: Value, nulls: Nulls) -> SparkColumn | None:
    """A float column against a number: a decimal stands for the float nearest to it, other numbers for themselves."""
    assert isinstance(value, int | float | Decimal)
    meant = nearest_float(value, kind.arrow_type) if isinstance(value, Decimal) else None
    if meant is not None:
        return compare(column(kind), op, F.lit(meant), nulls)
    try:
        near = float(value)
    except OverflowError:
        return None
    if Decimal(near) == Decimal(value):
        return compare(column(kind), op, F.lit(near), nulls)
    return None


def condition_expression(relation: Relation, condition: Condition) -> SparkColumn | None:
    """A `where` condition under SQL's three-valued logic; None where a comparison cannot be exact."""
    match condition:
        case Compare(predicate):
            exact = predicate_expression(relation, predicate, Nulls.SQL)
            if exact is None:
                return None
            known = [column(relation.type_of(part.name)).isNotNull() for part in predicate.columns]
            return F.when(_all(known), exact)
        case IsNull(name, negated):
            plain = column(relation.type_of(name))
            return plain.isNotNull() if negated else plain.isNull()
        case Matches() | InTable():  # Java's regular expressions are others; other tables take a join
            return None
        case Not(part):
            inner = condition_expression(relation, part)
            return None if inner is None else ~inner
        case And(parts) | Or(parts):
            found = [condition_expression(relation, part) for part in parts]
            if any(one is None for one in found):
                return None
            exact_parts = [one for one in found if one is not None]
            return reduce(lambda a, b: a & b if isinstance(condition, And) else a | b, exact_parts)


def _all(conditions: list[SparkColumn]) -> SparkColumn:
    return reduce(lambda a, b: a & b, conditions)


def all_of(conditions: list[SparkColumn]) -> SparkColumn:
    """True where every condition is; true without any."""
    return _all(conditions) if conditions else F.lit(True)


def filter_expressions(relation: Relation, side: RowFilter, nulls: Nulls) -> list[SparkColumn] | None:
    """The conditions that rows of a side must meet, its `where` first; None where Spark cannot tell exactly."""
    conditions = [] if side.where is None else [condition_expression(relation, side.where)]
    conditions += [predicate_expression(relation, one, nulls) for one in side.filters]
    exact = [condition for condition in conditions if condition is not None]
    return exact if len(exact) == len(conditions) else None


def not_null(relation: Relation, names: list[str]) -> SparkColumn:
    """True where none of these columns is null or NaN; one text, since each call to Spark's functions takes a while."""
    parts = []
    for name in names:
        parts.append(f"{quoted(name)} is not null")
        if relation.type_of(name).family is Family.FLOAT:
            parts.append(f"not isnan({quoted(name)})")
    return F.expr(" and ".join(parts) or "true")
