"""Random tables and rules by seed, for checks that run by the hundred: every shape of rule over many types."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from refute.language.nulls import Nulls
from refute.language.parsing.parser import parse
from refute.language.rulebook import Rule

_DAY = dt.date(2024, 2, 27)
_KINDS: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "g": (pa.int32(), lambda r: r.choice([0, 0, 0, 1, 2])),
    "g2": (pa.int64(), lambda r: r.choice([0, 1])),
    "h": (pa.string(), lambda r: r.choice(["", "a", "ab", "é", "\U0001f600", "zebra-1", "zebra-2"])),
    "k": (pa.string(), lambda r: f"customer-{r.randrange(9):05}"),
    "a": (pa.int64(), lambda r: r.choice([2**53 + 1, 2**53, -(2**62), *range(8)])),
    "b": (pa.int64(), lambda r: r.randrange(12)),
    "c": (pa.float64(), lambda r: r.choice([0.0, -0.0, float("nan"), float("inf"), 0.1, 1.5, 2.5, 7.0])),
    "f": (pa.float32(), lambda r: r.choice([0.5, 1.0, 3.25, 7.0])),
    "d": (pa.date32(), lambda r: _DAY + dt.timedelta(r.randrange(5))),
    "e": (pa.decimal128(12, 2), lambda r: Decimal(r.randrange(900)) / 100),
    "w": (pa.decimal128(30, 4), lambda r: Decimal(10**20) + Decimal(r.randrange(9)) / 10),
    "u": (pa.timestamp("us"), lambda r: dt.datetime(2024, 2, 27) + dt.timedelta(hours=12 * r.randrange(8))),
    "z": (pa.timestamp("us", "UTC"), lambda r: dt.datetime(2024, 3, 31, r.randrange(6), tzinfo=dt.UTC)),
    "p": (pa.bool_(), lambda r: r.random() < 0.5),
}
_COMPARED = (
    ("g", "g2"),
    ("a", "b"),
    ("b", "c"),
    ("b", "e"),
    ("e", "w"),
    ("c", "f"),
    ("h", "k"),
    ("d", "u"),
    ("a", "w"),
)
_ORDERED = ("a", "b", "c", "f", "d", "e", "w", "u", "z", "k")


def random_case(seed: int, *, rules: int = 1, most_rows: int = 60) -> tuple[pa.Table, list[Rule]]:
    """A table with an `id`, duplicates among its other values, and rules about two of its rows."""
    chosen = random.Random(seed)
    rows = chosen.choice([2, 7, 25, most_rows])
    share = chosen.choice([0.0, 0.0, 0.1])
    made: list[dict[str, Any]] = []
    for _ in range(rows):
        if made and chosen.random() < 0.2:
            made.append(chosen.choice(made))
        else:
            made.append({name: None if chosen.random() < share else draw(chosen) for name, (_, draw) in _KINDS.items()})
    columns = {name: pa.array([row[name] for row in made], kind) for name, (kind, _) in _KINDS.items()}
    made_rules = [
        Rule(
            name=f"rule_{seed}_{i}",
            constraint=parse(f"not ({' and '.join(_comparisons(chosen))})"),
            nulls=chosen.choice(list(Nulls)),
        )
        for i in range(rules)
    ]
    return pa.table({"id": pa.array(range(rows), pa.int64()), **columns}), made_rules


def _comparisons(chosen: random.Random) -> list[str]:
    found = []
    for _ in range(chosen.choice([0, 1, 1, 2])):
        found.append(_compared(chosen, ("=",), ("g", "g2", "h", "k", "p", "d", "e", "w", "c")))
    for _ in range(chosen.choice([0, 1, 2, 2, 3])):
        found.append(_compared(chosen, ("<", "<=", ">", ">="), _ORDERED))
    for _ in range(chosen.choice([0, 0, 0, 1, 2])):
        found.append(_compared(chosen, ("!=",), ("g", "h", "b", "p", "c", "w")))
    if chosen.random() < 0.2:
        found.append(chosen.choice(["s.b > 3", "t.b != 4", "s.g = 0", "t.c < 5.0", "s.h != 'a'", "s.e <= 4.5"]))
    if not any("t." in one and "s." in one for one in found):
        found.append(_compared(chosen, ("<", "!="), ("b", "a")))
    return found


def _compared(chosen: random.Random, operators: tuple[str, ...], names: tuple[str, ...]) -> str:
    operator = chosen.choice(operators)
    if chosen.random() < 0.3:
        pairs = [pair for pair in _COMPARED if operator in ("=", "!=") or pair not in (("g", "g2"), ("h", "k"))]
        left, right = chosen.choice(pairs)
        return f"s.{left} {operator} t.{right}" if chosen.random() < 0.5 else f"s.{right} {operator} t.{left}"
    name = chosen.choice(names)
    return f"s.{name} {operator} t.{name}"
