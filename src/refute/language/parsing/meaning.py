"""From parse trees to rules: row variables, names and constants get their meaning here."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Collection, Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, NoReturn

from refute.errors import RuleError, did_you_mean
from refute.language.arithmetic import Formula, formula_of
from refute.language.arithmetic.sides import OperandReader
from refute.language.conditions import And, Compare, Condition, IsNull, Matches, Not, Or
from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.parsing.syntax import RuleSyntaxError
from refute.language.predicate import (
    MAX_DIGITS,
    TOO_MANY_DIGITS,
    Column,
    Constant,
    Predicate,
    Row,
    Value,
    beyond_floats,
)
from refute.language.short_forms.sugar import (
    FunctionalDependency,
    Key,
    NoOverlap,
    NotNull,
    OrderItem,
    OrderRule,
    RowRule,
    Sugar,
)

if TYPE_CHECKING:
    from lark import Token, Tree

_PAIRS = (("s", "t"), ("t", "t'"), ("t0", "t1"), ("t1", "t2"))
_PAIRS_IN_WORDS = "s and t (or t and t', t0 and t1, t1 and t2)"
_VARIABLES = frozenset(variable for pair in _PAIRS for variable in pair)
_OPERATORS = {
    "EQ": Operator.EQ,
    "NE": Operator.NE,
    "LE": Operator.LE,
    "GE": Operator.GE,
    "LT": Operator.LT,
    "GT": Operator.GT,
}
_EXAMPLES = {
    "date": "date '2020-01-31'",
    "timestamp": "timestamp '2020-01-31 12:00:00'",
    "float": "float '1.5'",
}


class Reader:
    """Gives trees of one text their meaning."""

    def __init__(self, text: str, columns: Collection[str] | None) -> None:
        self._text = text
        self._columns = columns
        self._rows: dict[str, Row] = {}
        self._operands = OperandReader(self._column, self._value, self._fail)

    def statement(self, tree: Tree[Token]) -> DenialConstraint | Sugar:
        """The denial constraint or short form that a tree spells."""
        match tree.data:
            case "rule" | "unique" | "order" | "no_overlap" if _trees(tree)[0].data != "names":
                return self.statement(_trees(tree)[0])
            case "constraint":
                return self._constraint(tree)
            case "unique" | "unique_call":
                return Key(self._names(_trees(tree)[0]))
            case "not_null_call":
                return NotNull(self._names(_trees(tree)[0]))
            case "fd":
                left, right = _trees(tree)
                return FunctionalDependency(self._names(left), self._names(right))
            case "order_call":
                first, second, *by = _trees(tree)
                return OrderRule(self._order_item(first), self._order_item(second), self._by(by))
            case "no_overlap_call":
                start, end, *by = _trees(tree)
                return NoOverlap(self._item(start), self._item(end), self._by(by))
            case "row_call":
                return RowRule(self.condition(tree))
            case other:
                raise AssertionError(f"no meaning for {other}")

    def condition(self, tree: Tree[Token]) -> Condition:
        """The condition that a tree spells."""
        self._bind_rows(tree, most=1)
        return self._condition(_trees(tree)[0])

    def formula(self, tree: Tree[Token]) -> Formula | Constant:
        """The formula that a tree spells."""
        return self._operands.formula(_trees(tree)[0])

    def _constraint(self, tree: Tree[Token]) -> DenialConstraint:
        self._bind_rows(tree, most=2)
        return DenialConstraint(tuple(self._predicate(found) for found in _comparisons(tree)))

    def _condition(self, tree: Tree[Token]) -> Condition:
        parts = _trees(tree)
        match tree.data:
            case "disjunction":
                return Or(tuple(self._condition(part) for part in parts))
            case "conjoined":
                found = tuple(self._condition(part) for part in parts)
                return And(found) if len(found) > 1 else found[0]
            case "negated":
                return Not(self._condition(parts[0]))
            case "comparison":
                return Compare(self._predicate(tree))
            case "is_null" | "is_not_null":
                return IsNull(self._subject(parts[0]).name, tree.data == "is_not_null")
            case "one_of" | "none_of":
                subject = self._subject(parts[0])
                choices = tuple(Compare(Predicate.of(subject, Operator.EQ, self._constant(part))) for part in parts[1:])
                found_or = Or(choices) if len(choices) > 1 else choices[0]
                return Not(found_or) if tree.data == "none_of" else found_or
            case "matches" | "not_matches":
                return self._matches(tree)
            case "between" | "not_between":
                low = Compare(self._compared(parts[1], Operator.LE, parts[0], tree))
                high = Compare(self._compared(parts[0], Operator.LE, parts[2], tree))
                return Not(And((low, high))) if tree.data == "not_between" else And((low, high))
            case other:
                raise AssertionError(f"no meaning for {other}")

    def _matches(self, tree: Tree[Token]) -> Matches:
        written = next(iter(tree.scan_values(lambda value: getattr(value, "type", "") == "STRING")))
        try:
            return Matches(self._subject(_trees(tree)[0]).name, _unquoted(written), tree.data == "not_matches")
        except RuleSyntaxError:
            raise
        except RuleError as error:
            self._fail(written, str(error))

    def _predicate(self, tree: Tree[Token]) -> Predicate:
        left, comparator, right = _trees(tree)
        return self._compared(left, _OPERATORS[_token(comparator).type], right, tree)

    def _compared(self, left: Tree[Token], op: Operator, right: Tree[Token], tree: Tree[Token]) -> Predicate:
        sides = self._operands.operand(left), self._operands.operand(right)
        if all(isinstance(side, Constant) for side in sides):
            self._fail(_first_token(tree), "This compares two constants: at least one side must be a column.")
        return Predicate.of(sides[0], op, sides[1])

    def _subject(self, tree: Tree[Token]) -> Column:
        found = self._operands.operand(tree)
        if isinstance(found, Constant):
            self._fail(_first_token(tree), "Expected a column here, found a constant.")
        return found

    def _item(self, tree: Tree[Token]) -> str:
        """The name of a column of a short form, which has no row variables."""
        for token in tree.scan_values(lambda value: getattr(value, "type", "") == "ROW"):
            self._fail(token, "Expected a column name; a short form has no row variables.")
        return self._subject(tree).name

    def _column(self, tree: Tree[Token]) -> Column:
        fields = [str(part).rstrip(". \t\r\n") for part in tree.children if getattr(part, "type", "") == "FIELD"]
        name = self._name(_trees(tree)[-1], ".".join(fields))
        return Column(self._rows[_variable(_token(tree))] if tree.data == "row_column" else Row.S, name)

    def _bind_rows(self, tree: Tree[Token], most: int) -> None:
        """Decides which row each variable of the text means."""
        seen: dict[str, Token] = {}
        for found in tree.scan_values(lambda value: getattr(value, "type", "") == "ROW"):
            seen.setdefault(_variable(found), found)
        for variable, token in seen.items():
            if variable not in _VARIABLES:
                hint = "" if most == 1 else f" The two rows are called {_PAIRS_IN_WORDS}."
                self._fail(token, f"No row is called {variable!r}.{hint} A name with a dot goes into back quotes.")
        if len(seen) > most:
            *_, last = seen.values()
            if most == 1:
                self._fail(last, "A condition is about one row, and this names a second.")
            if len(seen) > 2:
                self._fail(last, f"This names a third row. The two rows are called {_PAIRS_IN_WORDS}.")
        if len(seen) == 1:
            self._rows = dict.fromkeys(seen, Row.S)
        for pair in _PAIRS:
            if len(seen) == 2 and seen.keys() == set(pair):
                self._rows = dict(zip(pair, (Row.S, Row.T), strict=True))
        if seen and not self._rows:
            first, last_name = seen
            self._fail(
                seen[last_name],
                f"{first} and {last_name} do not go together: the two rows are called {_PAIRS_IN_WORDS}.",
            )

    def _constant(self, tree: Tree[Token]) -> Constant:
        token = _token(tree)
        return Constant(self._value(token))

    def _value(self, token: Token) -> Value:
        written = str(token)
        if token.type in ("INTEGER", "DECIMAL") and sum(map(str.isdigit, written)) > MAX_DIGITS:
            self._fail(token, TOO_MANY_DIGITS)
        match token.type:
            case "INTEGER":
                return int(written)
            case "DECIMAL":
                return Decimal(written)
            case "FLOAT":
                return self._float(token, written)
            case "STRING":
                return _unquoted(written)
            case "TRUE" | "FALSE":
                return token.type == "TRUE"
            case _:
                return self._typed(token)

    def _typed(self, token: Token) -> Value:
        mark = "'" if token.endswith("'") else '"'
        kind, quoted = token[: token.index(mark)].strip().lower(), _unquoted(token[token.index(mark) :])
        try:
            match kind:
                case "date":
                    return dt.date.fromisoformat(quoted)
                case "timestamp":
                    return dt.datetime.fromisoformat(quoted)
                case _:
                    return self._float(token, quoted)
        except ValueError:
            self._fail(token, f"{quoted!r} is not a {kind}: write it like {_EXAMPLES[kind]}.")

    def _float(self, token: Token, written: str) -> float:
        value = float(written)
        if math.isinf(value) and "inf" not in written.lower():
            self._fail(token, beyond_floats(written))
        return value

    def _names(self, tree: Tree[Token]) -> tuple[str, ...]:
        return tuple(self._name(part) for part in _trees(tree))

    def _name(self, tree: Tree[Token], within: str = "") -> str:
        token = _token(tree)
        name = _unquoted(token) if token.type == "QUOTED" else str(token)
        name = f"{within}.{name}" if within else name
        if formula_of(name) is not None:
            self._fail(token, "A column of this name would be taken for arithmetic. Rename it.")
        if self._columns is not None and name not in self._columns:
            self._fail(token, f"There is no column {name!r}.{did_you_mean(name, self._columns)}", self._columns)
        return name

    def _order_item(self, tree: Tree[Token]) -> OrderItem:
        name, *direction = _trees(tree)
        return OrderItem(self._item(name), bool(direction) and _token(direction[0]).type == "DESC")

    def _by(self, found: list[Tree[Token]]) -> tuple[str, ...]:
        return self._names(_trees(found[0])[0]) if found else ()

    def _fail(self, token: Token, problem: str, expected: Collection[str] = ()) -> NoReturn:
        raise RuleSyntaxError(problem, text=self._text, position=int(token.start_pos or 0), expected=expected)


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if not isinstance(child, str)]


def _comparisons(tree: Tree[Token]) -> Iterator[Tree[Token]]:
    for part in _trees(tree):
        if part.data == "pair_comparison":
            yield part
        else:
            yield from _comparisons(part)


def _token(tree: Tree[Token]) -> Token:
    return next(child for child in tree.children if isinstance(child, str))


def _first_token(tree: Tree[Token]) -> Token:
    return next(iter(tree.scan_values(lambda value: isinstance(value, str))))


def _variable(token: Token) -> str:
    return token.rstrip(". \t\r\n").lower().replace("′", "'").replace("’", "'")


def _unquoted(written: str) -> str:
    mark = written[0]
    return written[1:-1].replace(mark * 2, mark)
