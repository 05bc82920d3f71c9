"""What a column holds, and which columns and constants can be compared."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import lru_cache

import pyarrow as pa
import pyarrow.types as pt

from refute.language.arithmetic import shown_column
from refute.language.predicate import Value

READABLE = "Rules can use numbers, strings, booleans, dates and times."


class Family(Enum):
    """A kind of value. Families with the same `realm` compare with each other."""

    INTEGER = "integer"
    FLOAT = "float"
    DECIMAL = "decimal"
    BOOLEAN = "boolean"
    STRING = "string"
    DATE = "date"
    TIMESTAMP = "timestamp"
    ZONED = "timestamp with time zone"
    TIME = "time of day"
    DURATION = "duration"
    NULL = "null"
    UNSUPPORTED = "unsupported"

    @property
    def realm(self) -> str:
        """What it compares with: numbers with numbers, dates with zone-less timestamps, all else with its own."""
        return _REALMS.get(self, self.value)

    @property
    def is_number(self) -> bool:
        """Whether it is an integer, a float or a decimal."""
        return self.realm == "number"

    @property
    def is_temporal(self) -> bool:
        """Whether it is a date or a timestamp."""
        return self in (Family.DATE, Family.TIMESTAMP, Family.ZONED)


_REALMS = {
    Family.INTEGER: "number",
    Family.FLOAT: "number",
    Family.DECIMAL: "number",
    Family.DATE: "moment",
    Family.TIMESTAMP: "moment",
}
_ARROW_FAMILIES = (
    (pt.is_null, Family.NULL),
    (pt.is_boolean, Family.BOOLEAN),
    (pt.is_integer, Family.INTEGER),
    (pt.is_floating, Family.FLOAT),
    (pt.is_decimal, Family.DECIMAL),
    (lambda t: pt.is_string(t) or pt.is_large_string(t) or pt.is_string_view(t), Family.STRING),
    (pt.is_date, Family.DATE),
    (lambda t: pt.is_timestamp(t) and t.tz is None, Family.TIMESTAMP),
    (pt.is_timestamp, Family.ZONED),
    (pt.is_time, Family.TIME),
    (pt.is_duration, Family.DURATION),
)


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column's name, the kind of its values and how Arrow holds them."""

    name: str
    family: Family
    arrow_type: pa.DataType

    @classmethod
    def of(cls, name: str, arrow_type: pa.DataType) -> ColumnType:
        """The column type; a dictionary-encoded column is of the family of its values."""
        return cls(name, _family_of(arrow_type), arrow_type)

    @property
    def is_usable(self) -> bool:
        """Whether rules can use it."""
        return self.family is not Family.UNSUPPORTED

    def __str__(self) -> str:
        values = self.arrow_type.value_type if pt.is_dictionary(self.arrow_type) else self.arrow_type
        kind = str(values)  # which for lists and the like names fields that no reader cares for
        return f"{shown_column(self.name)!r} ({kind.partition('<')[0] if pt.is_nested(values) else kind})"


@lru_cache(maxsize=256)
def _family_of(arrow_type: pa.DataType) -> Family:
    values = arrow_type.value_type if pt.is_dictionary(arrow_type) else arrow_type
    return next((family for test, family in _ARROW_FAMILIES if test(values)), Family.UNSUPPORTED)


def is_usable(kind: pa.DataType) -> bool:
    """Whether rules can use a column of this type."""
    return ColumnType.of("", kind).is_usable


def usable(schema: pa.Schema, needed: Collection[str]) -> list[str]:
    """The columns that are needed, and others of one name and a type that rules can use."""
    times = Counter(schema.names)
    return [name for name in times if name in needed or (times[name] == 1 and is_usable(schema.field(name).type))]


def constant_family(value: Value) -> Family:
    """The family of a literal."""
    if isinstance(value, bool):
        return Family.BOOLEAN
    if isinstance(value, dt.datetime):
        return Family.TIMESTAMP if value.tzinfo is None else Family.ZONED
    return _CONSTANT_FAMILIES[type(value)]


_CONSTANT_FAMILIES = {
    int: Family.INTEGER,
    float: Family.FLOAT,
    Decimal: Family.DECIMAL,
    str: Family.STRING,
    dt.date: Family.DATE,
}

_LITERALS = {
    Family.INTEGER: "5",
    Family.STRING: "'text'",
    Family.BOOLEAN: "true or false",
    Family.DATE: "date '2020-01-31'",
    Family.TIMESTAMP: "timestamp '2020-01-31 12:00:00'",
    Family.ZONED: "timestamp '2020-01-31 12:00:00+00:00'",
}
_WITHOUT_LITERAL = (Family.TIME, Family.DURATION)


def clash(left: Family, right: Family) -> str | None:
    """What to do about two columns whose families cannot be compared; None when they can."""
    if Family.NULL in (left, right) or left.realm == right.realm:
        return None
    if Family.ZONED in (left, right) and left.is_temporal and right.is_temporal:
        return "Give both a time zone, or cast the zoned one to a timestamp without a zone, in the zone you mean."
    return "Cast one of them to the type of the other."


def literal_clash(column: Family, literal: Family) -> str | None:
    """How to write a literal for a column that the given one cannot be compared with; None when it can."""
    if clash(column, literal) is None:
        return None
    if column in _WITHOUT_LITERAL:
        return (
            f"Rules have no literal for a {column.value}: compare the column with another of its type, or turn it into "
            "a number of seconds."
        )
    zone = ""
    if literal.is_temporal and column.is_temporal:
        zone = " The column has a time zone." if column is Family.ZONED else " The column has no time zone."
    return f"{zone.lstrip()} Write it like {_LITERALS.get(column, '1.5')}.".lstrip()
