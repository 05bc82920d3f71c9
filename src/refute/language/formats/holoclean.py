"""HoloClean: `t1&t2&EQ(t1.Zip,t2.Zip)&IQ(t1.City,t2.City)`, one constraint per line; constants in quotes, all text."""

from __future__ import annotations

import re

from refute.errors import RuleError
from refute.faults import unknown_operator
from refute.language.constraint import DenialConstraint
from refute.language.formats.format import (
    Format,
    TableFacts,
    UnwritableError,
    lines_of,
    read_each_line,
    write_each_line,
)
from refute.language.formats.loose import guess
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.language.rulebook import RuleBook

_NAMES = {
    Operator.EQ: "EQ",
    Operator.NE: "IQ",
    Operator.LT: "LT",
    Operator.LE: "LTE",
    Operator.GT: "GT",
    Operator.GE: "GTE",
}
_OPERATORS = {name: operator for operator, name in _NAMES.items()}
_VARIABLES = ("t1", "t2")
_QUOTED = r"'[^']*'|\"[^\"]*\""
_PART = re.compile(rf"(?:{_QUOTED}|[^&'\"])+")
_ARGUMENT = re.compile(rf"(?:{_QUOTED}|[^,'\"])+")
_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)
_RESERVED = re.compile(r"[&,()'\"\n]")


def read(text: str, table: TableFacts | None = None) -> RuleBook:
    """The rule book of a HoloClean constraint file."""
    return read_each_line(text, FORMAT.title, _constraint)


def write(book: RuleBook, table: TableFacts | None = None) -> str:
    """The rules as a HoloClean constraint file; names are not kept, since the format has none."""
    return write_each_line(book, FORMAT.title, _line)


def sniff(text: str) -> bool:
    """Whether the first rule begins with tuple names joined by `&`."""
    first = next(lines_of(text), (0, ""))[1]
    return re.match(r"\w+\s*&\s*(\w+\s*&\s*)?(EQ|IQ|LTE|GTE|LT|GT)\s*\(", first) is not None


def _constraint(line: str) -> DenialConstraint:
    parts = [part.strip() for part in _PART.findall(line)]
    names = tuple(part for part in parts if "(" not in part)
    if not 1 <= len(names) <= 2 or parts[: len(names)] != list(names):
        raise RuleError("A constraint begins with one or two tuple names, as in t1&t2&EQ(...).", text=line)
    predicates = tuple(_predicate(part, names) for part in parts[len(names) :])
    if not predicates:
        raise RuleError("No predicate follows the tuple names.", text=line)
    return DenialConstraint(predicates)


def _predicate(text: str, names: tuple[str, ...]) -> Predicate:
    call = _CALL.fullmatch(text)
    if call is None:
        raise RuleError(f"Expected a predicate such as EQ(t1.A,t2.A), but found {text!r}.", text=text)
    if call[1] not in _OPERATORS:
        raise unknown_operator(call[1], _OPERATORS)
    operands = [_operand(argument.strip(), names) for argument in _ARGUMENT.findall(call[2])]
    if len(operands) != 2:
        raise RuleError(f"{text!r} compares {len(operands)} things, not two.", text=text, count=len(operands))
    if all(isinstance(operand, Constant) for operand in operands):
        raise RuleError(f"{text!r} compares two constants.", text=text)
    return Predicate.of(operands[0], _OPERATORS[call[1]], operands[1])


def _operand(text: str, names: tuple[str, ...]) -> Column | Constant:
    if len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
        return Constant(text[1:-1])
    variable, dot, column = text.partition(".")
    if dot and variable in names and column:
        return Column((Row.S, Row.T)[names.index(variable)], column)
    value = guess(text)
    if isinstance(value, str):
        raise RuleError(f"{text!r} is neither a column of {' or '.join(names)} nor a constant in quotes.", text=text)
    return Constant(value)


def _line(constraint: DenialConstraint) -> str:
    variables = dict(zip(Row, _VARIABLES, strict=True))
    calls = (
        f"{_NAMES[predicate.op]}({_spell(predicate.left, variables)},{_spell(predicate.right, variables)})"
        for predicate in constraint.predicates
    )
    return "&".join((*(variables[row] for row in Row if row in constraint.rows), *calls))


def _spell(operand: Column | Constant, variables: dict[Row, str]) -> str:
    if isinstance(operand, Column):
        if not operand.name:
            raise UnwritableError("A column has no name.")
        if _RESERVED.search(operand.name) or operand.name != operand.name.strip():
            raise UnwritableError(
                f"The column {operand.name!r} has a separator in its name, or a blank at its beginning or end.",
                column=operand.name,
            )
        return f"{variables[operand.row]}.{operand.name}"
    if not isinstance(operand.value, str):
        raise UnwritableError(f"Constants are text in this format, and {operand.value!r} is not.", value=operand.value)
    if re.search(r"[&,'\"\n]", operand.value):
        raise UnwritableError(
            f"The constant {operand.value!r} has a quote, comma, & or line break.", value=operand.value
        )
    return f'"{operand.value}"'


FORMAT = Format("holoclean", "HoloClean", sniff, read, write)
