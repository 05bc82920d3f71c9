"""Which type a formula has, by those of its columns alone: the same on every engine, for any rows.

Whole numbers and decimals are computed exactly, with as many digits as the types of the columns may need; a formula
that may need more than 38 is refused before any row is read, as Spark's decimals have no more. A float anywhere in a
formula makes all of it arithmetic of 64-bit floats, each operation rounded as IEEE 754 says, which every engine does
alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum

import pyarrow as pa
import pyarrow.types as pt

from refute.errors import SchemaError
from refute.language.arithmetic import Combined, Formula, Number, Read, Sign, Span, Unit, leaves, spelled
from refute.relation.types import ColumnType, Family

MOST_DIGITS = 38
_LONG = (-(2**63), 2**63 - 1)
TypeOf = Callable[[str], ColumnType]
_CASTS = "Cast it, or give it another type with a schema."


class Mode(Enum):
    """How a formula is computed."""

    NOTHING = "nothing but null"
    FLOAT = "floats"
    EXACT = "exact numbers"
    MOMENT = "dates and timestamps"


@dataclass(frozen=True, slots=True)
class Exact:
    """Numbers of so many digits after the point, whose digits make an integer between two bounds."""

    low: int
    high: int
    scale: int

    @property
    def digits(self) -> int:
        """How many digits a value may have."""
        return max(len(str(max(abs(self.low), abs(self.high)))), self.scale, 1)

    @property
    def is_long(self) -> bool:
        """Whether all values are integers of 64 bits."""
        return self.scale == 0 and _LONG[0] <= self.low and self.high <= _LONG[1]

    @property
    def arrow_type(self) -> pa.DataType:
        """The type that holds all values: integers of 64 bits where these do."""
        return pa.int64() if self.is_long else pa.decimal128(self.digits, self.scale)

    def rescaled(self, scale: int) -> Exact:
        """The same numbers with more digits after the point."""
        factor = 10 ** (scale - self.scale)
        return Exact(self.low * factor, self.high * factor, scale)


def formula_type(formula: Combined, type_of: TypeOf) -> pa.DataType:
    """The type of a formula; raises SchemaError where its columns do not go together."""
    match mode_of(formula, type_of):
        case Mode.NOTHING:
            return pa.null()
        case Mode.FLOAT:
            return pa.float64()
        case Mode.EXACT:
            return exact_type(formula, type_of).arrow_type
        case Mode.MOMENT:
            kind = plain_type(moment_of(formula, type_of)[0])
            return pa.date32() if pt.is_date(kind) else kind


def mode_of(formula: Combined, type_of: TypeOf) -> Mode:
    """How a formula is computed; raises SchemaError for columns that arithmetic cannot use."""
    kinds = [type_of(name) for name in dict.fromkeys(part.name for part in leaves(formula, Read))]
    families = {kind.family for kind in kinds}
    for kind in kinds:
        if not (kind.family.is_number or kind.family.is_temporal or kind.family is Family.NULL):
            raise _misfit(formula, kinds, f"Column {kind} is not a number, a date or a timestamp. {_CASTS}")
    if Family.NULL in families:
        return Mode.NOTHING
    if any(family.is_temporal for family in families):
        moment_of(formula, type_of)
        return Mode.MOMENT
    if any(True for _ in leaves(formula, Span)):
        raise _misfit(formula, kinds, "A length of time is added to dates and timestamps, and here are numbers.")
    if Family.FLOAT not in families and not any(isinstance(one.value, float) for one in leaves(formula, Number)):
        return Mode.EXACT
    if Family.DECIMAL in families:
        raise _misfit(
            formula,
            kinds,
            f"Decimals are exact and floats are not, so {_these(kinds)} do not go together. Cast one of them.",
        )
    return Mode.FLOAT


def exact_type(formula: Formula, type_of: TypeOf) -> Exact:
    """The numbers that a formula, or a part of one, may give; raises SchemaError where these need too many digits."""
    match formula:
        case Read(name):
            return _of_column(plain_type(type_of(name)))
        case Number(value):
            return exact_constant(value)
        case Combined(left, sign, right):
            first, second = exact_type(left, type_of), exact_type(right, type_of)
            found = exact_result(first, sign, second)
            if found is None:
                raise SchemaError(
                    f"{spelled(formula)} may need more than {MOST_DIGITS} digits, by the types of its columns. Give "
                    "them narrower types, such as int or decimal(10,2), with a schema or a cast.",
                    most=MOST_DIGITS,
                )
            return found
        case Span():
            raise AssertionError("lengths of time are not numbers")


def exact_result(first: Exact, sign: Sign, second: Exact) -> Exact | None:
    """The sums, differences or products of such numbers; None where one may have too many digits."""
    if sign is Sign.TIMES:
        ends = [one * other for one in (first.low, first.high) for other in (second.low, second.high)]
        found = Exact(min(ends), max(ends), first.scale + second.scale)
        needed = first.digits + second.digits + 1
    else:
        scale = max(first.scale, second.scale)
        one, other = first.rescaled(scale), second.rescaled(scale)
        if sign is Sign.PLUS:
            found = Exact(one.low + other.low, one.high + other.high, scale)
        else:
            found = Exact(one.low - other.high, one.high - other.low, scale)
        needed = max(one.digits, other.digits) + 1
    # Spark drops digits after the point where its own rule for the type of a result asks for more than it has.
    fits = found.digits <= MOST_DIGITS and (found.scale == 0 or needed <= MOST_DIGITS)
    return found if fits and max(first.digits, second.digits) <= MOST_DIGITS else None


def exact_constant(value: int | Decimal | float) -> Exact:
    """A number as written."""
    numerator, denominator = Decimal(value).as_integer_ratio()
    scale = 0
    while denominator > 1 and numerator * 10**scale % denominator:
        scale += 1
    digits = numerator * 10**scale // denominator
    return Exact(digits, digits, scale)


def moment_of(formula: Formula, type_of: TypeOf) -> tuple[ColumnType, int]:
    """The column of dates or moments that a formula moves, and by how many seconds."""
    match formula:
        case Read(name):
            return type_of(name), 0
        case Combined(left, Sign.PLUS | Sign.MINUS as sign, right):
            if sign is Sign.PLUS and isinstance(left, Span):
                left, right = right, left
            if isinstance(right, Span) and not isinstance(left, Number | Span):
                kind, seconds = moment_of(left, type_of)
                if kind.family is Family.DATE and right.seconds % Unit.DAY.value:
                    raise SchemaError(
                        f"Column {kind} holds dates, which {spelled(formula)} would move by less than a day. Cast it "
                        "to a timestamp.",
                        column=kind.name,
                    )
                return kind, seconds + (right.seconds if sign is Sign.PLUS else -right.seconds)
    kinds = [type_of(part.name) for part in leaves(formula, Read)]
    raise _misfit(
        formula, kinds, "Dates and timestamps are moved by a length of time and nothing else, as in ended + 1 day."
    )


def plain_type(kind: ColumnType) -> pa.DataType:
    """The type of the values, also of a column that is encoded by a dictionary."""
    return kind.arrow_type.value_type if pt.is_dictionary(kind.arrow_type) else kind.arrow_type


def _of_column(kind: pa.DataType) -> Exact:
    if pt.is_decimal(kind):
        scale = max(kind.scale, 0)
        most = (10**kind.precision - 1) * 10 ** max(-kind.scale, 0)
        return Exact(-most, most, scale)
    bits = kind.bit_width
    if pt.is_unsigned_integer(kind):
        return Exact(0, 2**bits - 1, 0)
    return Exact(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1, 0)


def _misfit(formula: Formula, kinds: list[ColumnType], reason: str) -> SchemaError:
    return SchemaError(f"Cannot compute {spelled(formula)}: {reason}", columns=tuple(kind.name for kind in kinds))


def _these(kinds: list[ColumnType]) -> str:
    return " and ".join(map(str, kinds))
