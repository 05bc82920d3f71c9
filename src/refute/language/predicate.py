"""Predicates: one comparison between a column of a row and another column, or a constant."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

from refute.errors import RuleError
from refute.language.operators import Operator

MAX_DIGITS = 1000  # of a number in a rule; Python itself refuses to read or write more than 4,300
_TOO_LARGE = 10**MAX_DIGITS
Value = bool | int | float | Decimal | str | dt.date | dt.datetime


TOO_MANY_DIGITS = f"This number has more than {MAX_DIGITS} digits."
HALF_A_CHARACTER = "This text has half a character (one of a pair such as \\ud83d\\udc4d), so it is not Unicode."


def beyond_floats(written: str) -> str:
    """The problem with a number that no float is near to, and that would be taken for infinity."""
    return f"{written} is larger than any float: leave the comparison out, or write float 'inf'."


class Row(Enum):
    """The two row variables of a rule."""

    S = "s"
    T = "t"

    __hash__ = object.__hash__  # members are unique; that of Enum is slow, and rules are hashed by the million

    @property
    def other(self) -> Row:
        """The other row variable."""
        return Row.T if self is Row.S else Row.S


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one of the two rows: one that is stored, or arithmetic on such (`refute.language.arithmetic`)."""

    row: Row
    name: str

    def swapped(self) -> Column:
        """The same column of the other row."""
        return Column(self.row.other, self.name)


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Two constants are the same only if value and type agree: 1, 1.0 and True are three constants.

    The value is made plain: subclasses of the seven types become those types, and a moment with a zone becomes UTC.
    Compared with a column of floats (32 or 64 bits), a decimal such as 0.1 stands for the float of that type nearest to
    it, which is what the column holds for 0.1; integers, and floats written as such (1e-1), stand for themselves.
    """

    value: Value

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", _plain(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value).__name__, self.value))


@dataclass(frozen=True, slots=True)
class Predicate:
    """`left op right`. Always built by `of`, which puts `s` before `t` and columns before constants."""

    left: Column
    op: Operator
    right: Column | Constant

    @classmethod
    def of(cls, left: Column | Constant, op: Operator, right: Column | Constant) -> Predicate:
        """The predicate with operands in standard order: column first, then row `s`; within one row, by name."""
        if isinstance(left, Constant):
            if isinstance(right, Constant):
                raise ValueError("A predicate needs at least one column.")
            return cls(right, op.mirrored, left)
        if isinstance(right, Column) and (right.row.value, right.name) < (left.row.value, left.name):
            if left.row is right.row or left.row is Row.T:
                return cls(right, op.mirrored, left)
        return cls(left, op, right)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns it reads, left to right."""
        return (self.left, self.right) if isinstance(self.right, Column) else (self.left,)

    @property
    def rows(self) -> frozenset[Row]:
        """The row variables it mentions."""
        right = self.right
        return frozenset((self.left.row, right.row) if isinstance(right, Column) else (self.left.row,))

    @property
    def is_two_row(self) -> bool:
        """Whether it compares the two rows with each other."""
        return isinstance(self.right, Column) and self.right.row is not self.left.row

    @property
    def is_cross_column(self) -> bool:
        """Whether it compares two columns of different names."""
        return isinstance(self.right, Column) and self.right.name != self.left.name

    @property
    def sort_key(self) -> tuple[int, str, str, str, str, str]:
        """Its place among predicates: equalities, then order, then differences; equal for equal predicates only."""
        right = self.right
        kind, value = (right.row.value, right.name) if isinstance(right, Column) else _constant_key(right.value)
        return (
            _RANKS[self.op],
            "column" if isinstance(right, Column) else "constant",
            self.left.name,
            self.left.row.value,
            kind,
            value,
        )

    def swapped(self) -> Predicate:
        """The predicate with the roles of the two rows exchanged."""
        right = self.right.swapped() if isinstance(self.right, Column) else self.right
        return Predicate.of(self.left.swapped(), self.op, right)

    def negated(self) -> Predicate:
        """The predicate that is true on non-null values exactly where this one is false."""
        return Predicate(self.left, self.op.negated, self.right)


_RANKS = {
    op: rank for rank, op in enumerate((Operator.EQ, Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.NE))
}


def _constant_key(value: Value) -> tuple[str, str]:
    """Type and value as text; equal for equal constants only."""
    match value:
        case float():
            return "float", value.hex()
        case Decimal():
            numerator, denominator = value.as_integer_ratio()
            return "decimal", f"{numerator}/{denominator}"
        case dt.date():
            return type(value).__name__, value.isoformat()
        case _:
            return type(value).__name__, str(value)


def _plain(value: object) -> Value:
    """The value as one of the seven types; raises RuleError for anything a comparison could never be true with."""
    match value:
        case bool():
            return value
        case int():
            if not -_TOO_LARGE < value < _TOO_LARGE:
                raise RuleError(TOO_MANY_DIGITS, most=MAX_DIGITS)
            return int(value)
        case float():
            if math.isnan(value):
                raise RuleError(
                    "NaN cannot be a constant: it counts as null, and a comparison with null is never true.",
                    value=value,
                )
            return float(value) + 0.0  # -0.0 is 0.0
        case Decimal():
            if not value.is_finite():
                raise RuleError(f"{value} is not a decimal number, so it cannot be a constant.", value=value)
            if len(value.as_tuple().digits) > MAX_DIGITS or abs(value.adjusted()) > MAX_DIGITS:
                raise RuleError(TOO_MANY_DIGITS, most=MAX_DIGITS)
            return Decimal(value)
        case str():
            return str(value)
        case dt.datetime():
            return _plain_moment(value)
        case dt.date():
            return dt.date(value.year, value.month, value.day)
        case _:
            raise RuleError(
                f"{value!r} of type {type(value).__name__} cannot be a constant: "
                "use a boolean, number, text, date or timestamp.",
                value=value,
                type=type(value).__name__,
            )


def _plain_moment(value: dt.datetime) -> dt.datetime:
    if getattr(value, "nanosecond", 0):
        raise RuleError(f"{value} is finer than a microsecond: it cannot be a constant.", value=value)
    moment = dt.datetime.combine(
        dt.date(value.year, value.month, value.day),
        dt.time(value.hour, value.minute, value.second, value.microsecond),
    )
    offset = value.utcoffset()
    if offset is None:
        return moment
    try:
        return (moment - offset).replace(tzinfo=dt.UTC)
    except OverflowError:
        raise RuleError(f"{value} lies outside the years 1 to 9999: it cannot be a constant.", value=value) from None
