"""Logic notation as discovery tools print it: names without quotes that may hold blanks, types in brackets."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from decimal import Decimal

from refute.display.plurals import with_article
from refute.errors import RuleError
from refute.language.constraint import DenialConstraint
from refute.language.formats.format import UnwritableError
from refute.language.operators import Operator
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

OPERATORS = {
    "==": Operator.EQ,
    "=": Operator.EQ,
    "!=": Operator.NE,
    "<>": Operator.NE,
    "≠": Operator.NE,
    "<=": Operator.LE,
    "≤": Operator.LE,
    ">=": Operator.GE,
    "≥": Operator.GE,
    "<": Operator.LT,
    ">": Operator.GT,
}
_SYMBOL = "|".join(sorted(map(re.escape, OPERATORS), key=len, reverse=True))
_SPACED_OPERATOR = re.compile(rf"\s({_SYMBOL})\s")
_OPERATOR = re.compile(f"({_SYMBOL})")
_PAIRS = (("t0", "t1"), ("t1", "t2"), ("s", "t"), ("t", "t'"), ("tx", "ty"))
_VARIABLE = re.compile(r"(t0|t1|t2|tx|ty|s|t'|t)\.(.+)", re.DOTALL)
_TYPE = re.compile(
    r"\((?:String|Integer|Long|Double|Float|Numeric|Decimal|Number|Boolean|Date|Timestamp)\)$", re.IGNORECASE
)
_WRAPPED = re.compile(r"(?:¬|!|not\b)\s*(?:\((.*)\)|\{(.*)\}|\[(.*)\])", re.IGNORECASE | re.DOTALL)
_LISTED = re.compile(r"\[DC:(.*)\]", re.DOTALL)
# A run of blanks is tried at its beginning only: from each of its blanks on, it would take the square of its length.
_AND = r"(?<!\s)\s+(?:\^|&&?|and)\s+|(?:(?<!\s)\s+)?∧\s*"
_QUOTED = r"(?<=[=<>≠≤≥]\s)(?:'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
_LIST_AND = rf"{_AND}|\s{{2,}}|(?<=\))\s+(?=t[01]\.)"
_BETWEEN = re.compile(_AND, re.IGNORECASE)
_INTEGER = re.compile(r"-?(?:0|[1-9]\d*)")
_DECIMAL = re.compile(r"-?\d+\.\d+")
_EXPONENT = re.compile(r"-?\d+(?:\.\d+)?[eE][-+]?\d+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[-+]\d\d:\d\d)?")


def read_constraint(text: str, *, escapes: bool = False, quotes: bool = True) -> DenialConstraint:
    """The constraint of one line: `¬(...)`, `¬{...}`, `!(...)`, `not [...]`, or `[DC: p  p ]`.

    With `escapes`, the first backslash of a column is dropped; without `quotes`, quotes belong to the constant.
    """
    listed = _LISTED.fullmatch(text)
    wrapped = None if listed else _WRAPPED.fullmatch(text)
    if listed is None and wrapped is None:
        raise RuleError(f"Expected a negation in brackets, such as ¬(...), but found {text!r}.", text=text)
    body = listed[1] if listed else next(group for group in wrapped.groups() if group is not None)  # type: ignore[union-attr]
    parts = [part.strip() for part in _split(body, _LIST_AND if listed else _AND, quotes)]
    comparisons = [_comparison(part, escapes, quotes) for part in parts if part]
    if not comparisons:
        raise RuleError("It has no predicate.")
    rows = _rows({operand[0] for left, _, right in comparisons for operand in (left, right) if operand[0]})
    return DenialConstraint(tuple(_predicate(left, op, right, rows) for left, op, right in comparisons))


def guess(text: str) -> Value:
    """The value of a literal without quotes: a number, date or time where it is spelled as one, else the text."""
    if _INTEGER.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise RuleError(TOO_MANY_DIGITS, most=MAX_DIGITS)
        return int(text)
    if _DECIMAL.fullmatch(text):
        return Decimal(text)
    if _EXPONENT.fullmatch(text):
        if math.isinf(float(text)):
            raise RuleError(beyond_floats(text), value=text)
        return float(text)
    try:
        if _DATE.fullmatch(text):
            return dt.date.fromisoformat(text)
        if _MOMENT.fullmatch(text):
            return dt.datetime.fromisoformat(text)
    except ValueError:
        return text
    return text


def spell(value: Value) -> str:
    """The literal without quotes that `guess` reads as this value."""
    if isinstance(value, float) and "e" not in repr(value):
        text = f"{value!r}e0"
    elif isinstance(value, dt.datetime):
        text = value.isoformat(sep=" ")
    elif isinstance(value, dt.date):
        text = value.isoformat()
    elif isinstance(value, Decimal):
        text = f"{value:f}"
    else:
        text = str(value)
    if Constant(guess(text)) != Constant(value):
        kind = type(value).__name__
        raise UnwritableError(
            f"Without quotes, the constant {value!r} would not be read back as {with_article(kind)}.",
            value=value,
            type=kind,
        )
    return text


def check_name(name: str) -> str:
    """The name itself, if it can stand without quotes where predicates are split at operators and `and`."""
    if reason := _lost_without_quotes(name, "names"):
        raise UnwritableError(f"The column {name!r} {reason}.", column=name)
    return name


def check_text(text: str) -> str:
    """The text of a constant, if it can stand without quotes where a name can."""
    if reason := _lost_without_quotes(text, "constants"):
        raise UnwritableError(f"The constant {text!r} {reason}.", value=text)
    return text


def _lost_without_quotes(text: str, kind: str) -> str:
    """Why a text would be read in another way without quotes; empty where it would not."""
    if not text:
        return "is empty"
    if text != text.strip() or "\n" in text:
        return "begins or ends with a blank, or has a line break"
    if _SPACED_OPERATOR.search(f" {text} ") or _BETWEEN.search(f" {text} ") or "  " in text or _TYPE.search(text):
        return f"would be split, because {kind} have no quotes in this format"
    if text[0] in '`"' and text[-1] == text[0]:
        return "would lose its quotes"
    return ""


def _split(body: str, separator: str, quotes: bool) -> Iterator[str]:
    """The parts between separators; with `quotes`, one inside a quoted constant does not count."""
    start = 0
    pattern = f"(?P<quoted>{_QUOTED})|{separator}" if quotes else f"(?P<quoted>(?!))|{separator}"
    for match in re.finditer(pattern, body, re.IGNORECASE):
        if match["quoted"] is not None:
            continue
        yield body[start : match.start()]
        start = match.end()
    yield body[start:]


_Operand = tuple[str | None, str | Value]


def _comparison(text: str, escapes: bool, quotes: bool) -> tuple[_Operand, Operator, _Operand]:
    found = _SPACED_OPERATOR.search(text) or _OPERATOR.search(text)
    if found is None:
        raise RuleError(f"Expected an operator such as == or <> in {text!r}.", text=text)
    left, right = text[: found.start()].strip(), text[found.end() :].strip()
    if not left or not right:
        raise RuleError(f"An operand is missing in {text!r}.", text=text)
    operands = _operand(left, escapes, quotes), _operand(right, escapes, quotes)
    if operands[0][0] is None and operands[1][0] is None:
        raise RuleError(f"{text!r} compares two constants.", text=text)
    return operands[0], OPERATORS[found[1]], operands[1]


def _operand(text: str, escapes: bool, quotes: bool) -> _Operand:
    """The row variable and column name, or None and the constant."""
    variable = _VARIABLE.fullmatch(text)
    if variable is None:
        if quotes and len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]:
            return None, text[1:-1].replace(text[0] * 2, text[0])
        return None, guess(text)
    name = _TYPE.sub("", variable[2]).strip()
    if len(name) > 2 and name[0] in '`"' and name[-1] == name[0]:
        name = name[1:-1].replace(name[0] * 2, name[0])
    return variable[1], name.replace("\\", "", 1) if escapes else name


def _rows(variables: set[str | None]) -> dict[str | None, Row]:
    """Which variable is `s` and which is `t`; a lone variable is `s`."""
    if len(variables) == 1:
        return dict.fromkeys(variables, Row.S)
    for first, second in _PAIRS:
        if variables <= {first, second}:
            return {first: Row.S, second: Row.T}
    raise RuleError(
        f"Expected two row variables such as t0 and t1, but found {sorted(map(str, variables))}.",
        text=", ".join(sorted(map(str, variables))),
    )


def _predicate(left: _Operand, op: Operator, right: _Operand, rows: dict[str | None, Row]) -> Predicate:
    built = [Constant(value) if row is None else Column(rows[row], str(value)) for row, value in (left, right)]
    return Predicate.of(built[0], op, built[1])
