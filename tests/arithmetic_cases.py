"""Rules with arithmetic by seed, each with what it means in plain Python: exact numbers, floats, dates and moments."""

from __future__ import annotations

import datetime as dt
import operator
import random
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any, NamedTuple

import pyarrow as pa

Values = dict[str, Any]
Meaning = Callable[[Values], Any]
_OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_LARGE = [2**63 - 1, -(2**63), 2**62, 3_037_000_500]
_DAY = dt.date(2024, 2, 27)
_KINDS: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "i": (pa.int64(), lambda r: r.choice([*range(-3, 6), *_LARGE])),
    "j": (pa.int64(), lambda r: r.randrange(-3, 9)),
    "k": (pa.int16(), lambda r: r.choice([-(2**15), 2**15 - 1, *range(5)])),
    "e": (pa.decimal128(9, 2), lambda r: Decimal(r.randrange(-200, 200)) / 100),
    "w": (pa.decimal128(17, 4), lambda r: Decimal(10**12) + Decimal(r.randrange(9)) / 10_000),
    "f": (pa.float64(), lambda r: r.choice([0.1, 0.2, 0.3, -0.0, 1.5, float("nan"), float("inf"), 1e308])),
    "h": (pa.float32(), lambda r: r.choice([0.5, 1.0, 3.25, 7.0])),
    "d": (pa.date32(), lambda r: _DAY + dt.timedelta(r.randrange(5))),
    "c": (pa.date32(), lambda r: _DAY + dt.timedelta(r.randrange(5))),
    "u": (pa.timestamp("us"), lambda r: dt.datetime(2024, 3, 31) + dt.timedelta(hours=r.randrange(30))),
    "z": (pa.timestamp("us", "UTC"), lambda r: dt.datetime(2024, 3, 31, r.randrange(24), tzinfo=dt.UTC)),
}
_REALMS = (("i", "j", "k", "e", "w"), ("f", "h", "i", "j", "k"), ("d", "c", "u"), ("z",))
_UNITS = {"day": 86_400, "days": 86_400, "week": 604_800, "hours": 3_600, "minute": 60, "seconds": 1}


class Side(NamedTuple):
    """An operand: its text for a row variable, and its value for a row."""

    text: Callable[[str], str]
    value: Meaning
    digits: int  # that it may have, by the types of its columns
    scale: int
    is_sum: bool


class Case(NamedTuple):
    """A table, a rule about it, and the pairs that break it."""

    table: pa.Table
    rule: str
    truth: list[tuple[int, int]]


def arithmetic_case(seed: int, rows: int = 14) -> Case:
    """A random table and a rule of one to three comparisons, at least one with arithmetic."""
    r = random.Random(seed)
    table = pa.table(
        {
            "id": pa.array(range(rows), pa.int64()),
            **{
                name: pa.array([None if r.random() < 0.1 else draw(r) for _ in range(rows)], kind)
                for name, (kind, draw) in _KINDS.items()
            },
        }
    )
    parts = [_comparison(r) for _ in range(r.randrange(1, 4))]
    values = [
        {name: None if isinstance(cell, float) and cell != cell else cell for name, cell in row.items()}
        for row in table.to_pylist()
    ]
    truth = [
        (s, t)
        for s, s_row in enumerate(values)
        for t, t_row in enumerate(values)
        if s != t and all(holds(s_row, t_row) for _, holds in parts)
    ]
    return Case(table, f"not ({' and '.join(text for text, _ in parts)})", truth)


def _comparison(r: random.Random) -> tuple[str, Callable[[Values, Values], bool]]:
    realm = r.choice(_REALMS)
    floats, moments = realm[0] == "f", realm[0] in "dz"
    sides = [_moved(r, realm) if moments else _drawn(r, realm, 2, floats=floats) for _ in range(2)]
    while floats and not all({"s.f", "s.h"} & set(re.findall(r"s\.\w", side.text("s"))) for side in sides):
        sides = [_drawn(r, realm, 2, floats=True) for _ in range(2)]  # without a float, integers are exact
    symbol = r.choice(list(_OPERATORS))

    def holds(s: Values, t: Values) -> bool:
        left, right = sides[0].value(s), sides[1].value(t)
        if left is None or right is None or left != left or right != right:
            return False
        if isinstance(left, dt.date) and isinstance(right, dt.date):
            left, right = _moment(left), _moment(right)
        return bool(_OPERATORS[symbol](left, right))

    return f"{sides[0].text('s')} {symbol} {sides[1].text('t')}", holds


def _drawn(r: random.Random, realm: tuple[str, ...], depth: int, *, floats: bool) -> Side:
    """Numbers: a column, or two parts combined, of which one may be a constant."""
    if depth == 0 or r.random() < 0.2:
        return _column(r.choice(realm), floats)
    left = _drawn(r, realm, depth - 1, floats=floats)
    right = _constant(r, floats) if r.random() < 0.4 else _drawn(r, realm, depth - 1, floats=floats)
    if r.random() < 0.3:
        left, right = right, left
    sign = r.choice("+-*")
    scale = left.scale + right.scale if sign == "*" else max(left.scale, right.scale)
    whole = [side.digits - side.scale for side in (left, right)]
    digits = left.digits + right.digits + 1 if sign == "*" else max(whole) + scale + 1
    if not floats and digits > 38:
        return left if left.digits <= 19 and not left.text("s").lstrip("-")[0].isdigit() else _column("j", floats)
    compute = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign]

    def text(row: str) -> str:
        first = f"({left.text(row)})" if left.is_sum and (sign == "*" or r.random() < 0.5) else left.text(row)
        second = f"({right.text(row)})" if right.is_sum else right.text(row)
        return f"{first} {sign} {second}" if r.random() < 0.5 else f"{first}{sign} {second}"

    def value(row: Values) -> Any:
        parts = left.value(row), right.value(row)
        if None in parts:
            return None
        with localcontext(prec=200):
            return compute(*parts)

    return Side(text, value, digits, scale, True)


def _column(name: str, floats: bool) -> Side:
    kind = _KINDS[name][0]
    digits, scale = (kind.precision, kind.scale) if pa.types.is_decimal(kind) else ({pa.int16(): 5}.get(kind, 19), 0)

    def value(row: Values) -> Any:
        found: Any = row[name]
        return float(found) if floats and found is not None else found

    return Side(lambda row: f"{row}.{name}", value, digits, scale, False)


def _constant(r: random.Random, floats: bool) -> Side:
    choices: list[Any] = [0, 1, 2, -3, 100, Decimal("0.5"), Decimal("-1.25"), Decimal("2.0"), Decimal("0.00")]
    number = r.choice(choices)
    digits = len(str(number).strip("-").replace(".", "").lstrip("0")) or 1
    scale = len(str(number).partition(".")[2])
    meant = float(number) if floats else number
    return Side(lambda row: str(number), lambda row: meant, max(digits, scale), scale, False)


def _moved(r: random.Random, realm: tuple[str, ...]) -> Side:
    """Dates and moments: a column, moved once or twice."""
    name = r.choice(realm)
    units = ["day", "days", "week"] if name in "dc" else list(_UNITS)
    steps = [(r.choice("+-"), r.randrange(-2, 4), r.choice(units)) for _ in range(r.randrange(3))]
    seconds = sum((1 if sign == "+" else -1) * count * _UNITS[unit] for sign, count, unit in steps)
    moved = "".join(f" {sign} {count} {unit}" for sign, count, unit in steps)

    def value(row: Values) -> Any:
        return None if row[name] is None else row[name] + dt.timedelta(seconds=seconds)

    return Side(lambda row: f"{row}.{name}{moved}", value, 0, 0, False)


def _moment(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
