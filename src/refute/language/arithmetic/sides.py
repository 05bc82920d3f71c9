"""The sides of comparisons: a column of a row, a constant, or arithmetic on the columns of one row."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn, Protocol

from refute.errors import RuleError
from refute.language.arithmetic.formula import Formula, Number, Read, Sign, Span, Unit, combined, named
from refute.language.predicate import Column, Constant, Row, Value

if TYPE_CHECKING:
    from lark import Token, Tree

_SIGNS = {"PLUS": Sign.PLUS, "MINUS": Sign.MINUS, "TIMES": Sign.TIMES}
_DIVISION = (
    "Rules do not divide, because a quotient is not exact: multiply the other side instead, as in s.a > t.b * 2 for "
    "s.a / 2 > t.b."
)
_TWO_ROWS = (
    "Each side of a comparison is about one row: bring the columns of the other row to the other side, as in "
    "s.a > t.b + 5 for s.a - t.b > 5."
)
_LONE_SPAN = "A length of time is added to a date or a timestamp, as in s.ended + 3 days < t.begun."
_TYPES = "Arithmetic is for numbers, and for dates and timestamps with a length of time, as in s.ended + 3 days."


class Fail(Protocol):
    """What raises the error for a place in the text."""

    def __call__(self, token: Token, problem: str) -> NoReturn: ...


@dataclass(frozen=True, slots=True)
class OperandReader:
    """Gives the trees of operands their meaning, by what the reader of the text knows of its names and constants."""

    column: Callable[[Tree[Token]], Column]
    value: Callable[[Token], Value]
    fail: Fail

    def operand(self, tree: Tree[Token]) -> Column | Constant:
        """The column or constant that a tree spells; a formula is a column that goes by its own text."""
        if tree.data == "constant":
            return Constant(self.value(_first(tree)))
        if tree.data in ("bare_column", "row_column"):
            return self.column(tree)
        rows: set[Row] = set()
        found = self._formula(tree, rows)
        if isinstance(found, Span):
            self.fail(_first(tree), _LONE_SPAN)
        if isinstance(found, Number):
            return self._number(tree, found.value)
        if isinstance(found, Constant):
            return found
        if not rows:
            self.fail(_first(tree), _TYPES)
        return Column(rows.pop(), named(found))

    def formula(self, tree: Tree[Token]) -> Formula | Constant:
        """The formula over the columns of one row that a tree spells."""
        return self._formula(tree, set())

    def _formula(self, tree: Tree[Token], rows: set[Row]) -> Formula | Constant:
        match tree.data:
            case "constant":
                value = self.value(_first(tree))
                is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
                return Number(value) if is_number else Constant(value)  # type: ignore[arg-type]
            case "span":
                count, unit = tree.children
                return Span(int(str(count)), Unit.of(str(unit)))
            case "opposite":
                inner = tree.children[-1]
                assert not isinstance(inner, str)
                return self._combined(tree, Number(0), Sign.MINUS, self._formula(inner, rows))
            case "combined":
                left, sign, right = tree.children
                assert not isinstance(left, str) and not isinstance(right, str)
                if sign.type == "OVER":  # type: ignore[union-attr]
                    self.fail(sign, _DIVISION)  # type: ignore[arg-type]
                first = self._formula(left, rows)
                return self._combined(right, first, _SIGNS[sign.type], self._formula(right, rows))  # type: ignore[union-attr]
            case _:
                column = self.column(tree)
                rows.add(column.row)
                if len(rows) > 1:
                    self.fail(_first(tree), _TWO_ROWS)
                return Read(column.name)

    def _combined(
        self, tree: Tree[Token], left: Formula | Constant, sign: Sign, right: Formula | Constant
    ) -> Formula | Constant:
        if isinstance(left, Constant) or isinstance(right, Constant):
            return self._moved(tree, left, sign, right)
        try:
            found = combined(left, sign, right)
        except OverflowError:
            self.fail(_first(tree), "This number is too large to be computed as a float.")
        if isinstance(found, Number):
            self._number(tree, found.value)
        return found

    def _moved(
        self, tree: Tree[Token], left: Formula | Constant, sign: Sign, right: Formula | Constant
    ) -> Formula | Constant:
        """A date or moment as written, moved by a length of time."""
        moment, span = (right, left) if sign is Sign.PLUS and isinstance(left, Span) else (left, right)
        value = moment.value if isinstance(moment, Constant) else None
        if not isinstance(value, dt.date) or not isinstance(span, Span) or sign is Sign.TIMES:
            self.fail(_first(tree), _TYPES)
        if not isinstance(value, dt.datetime) and span.seconds % Unit.DAY.value:
            self.fail(_first(tree), "A date is moved by whole days. Write a timestamp to move it by hours.")
        try:
            length = dt.timedelta(seconds=span.seconds)
            return Constant(value + length if sign is Sign.PLUS else value - length)
        except OverflowError:
            self.fail(_first(tree), "This is beyond the years 1 to 9999.")

    def _number(self, tree: Tree[Token], value: int | Decimal | float) -> Constant:
        try:
            return Constant(value)
        except RuleError as error:
            self.fail(_first(tree), str(error))


def _first(tree: Tree[Token]) -> Token:
    return next(iter(tree.scan_values(lambda value: isinstance(value, str))))
