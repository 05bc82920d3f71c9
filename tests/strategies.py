"""Hypothesis strategies for tables and rules: every type, with nulls, NaN, ties, duplicates and odd names."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from refute.language.constraint import DenialConstraint
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row

_MOMENT = dt.datetime(2020, 1, 1)
_UTC = dt.UTC


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of column: which Arrow types hold it, and a small pool of values, so ties are common."""

    family: str
    arrow: pa.DataType
    pool: tuple[Any, ...]
    constants: tuple[Any, ...]


KINDS = (
    Kind(
        "number", pa.int64(), (-1, 0, 1, 2, 3, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)), (0, 1, 2**53 + 1, Decimal("1.5"))
    ),
    Kind("number", pa.int32(), (-1, 0, 1, 2, 3), (0, 1, 2)),
    Kind("number", pa.uint64(), (0, 1, 2, 2**63, 2**64 - 1), (1, 2**63)),
    Kind(
        "number",
        pa.float64(),
        (-1.5, -0.0, 0.0, 1.0, 2.0, 2.0**53, 0.1, float("nan"), float("inf")),
        (0, 1.0, Decimal("2"), Decimal("0.1"), 2**53 + 1),
    ),
    Kind("number", pa.float32(), (-0.5, -0.0, 0.0, 0.1, 1.0, 2.5, float("nan")), (1, 2.5, Decimal("0.1"), 0.1)),
    Kind(
        "number",
        pa.decimal128(38, 10),
        tuple(map(Decimal, ("0", "1", "1.5", "9007199254740993", "-2.0000000001"))),
        (1, Decimal("1.5")),
    ),
    Kind("number", pa.decimal128(9, 2), tuple(map(Decimal, ("0.00", "1.00", "1.50", "-3.25"))), (1, Decimal("1.50"))),
    Kind("boolean", pa.bool_(), (False, True), (True,)),
    Kind(
        "string",
        pa.string(),
        ("", "a", "A", "b", "ab", "é", "\U0001f600", "longer than eight bytes", "a\0", "nan"),
        ("a", "é"),
    ),
    Kind("string", pa.dictionary(pa.int32(), pa.string()), ("", "a", "b", "ab", "zz"), ("a",)),
    Kind("temporal", pa.date32(), tuple(dt.date(2020, 1, day) for day in (1, 2, 3)), (dt.date(2020, 1, 2), _MOMENT)),
    Kind(
        "temporal",
        pa.timestamp("us"),
        tuple(_MOMENT + dt.timedelta(hours=12 * h) for h in range(5)),
        (dt.date(2020, 1, 2),),
    ),
    Kind("temporal", pa.timestamp("ms"), tuple(_MOMENT + dt.timedelta(hours=12 * h) for h in range(5)), (_MOMENT,)),
    Kind(
        "zoned",
        pa.timestamp("us", "UTC"),
        tuple((_MOMENT + dt.timedelta(days=d)).replace(tzinfo=_UTC) for d in range(3)),
        (_MOMENT.replace(tzinfo=_UTC),),
    ),
)
NAMES = ("a", "b", "c", "Zip Code", "s", "t", "naïve", "a.b", "select", "we`ird")


@dataclass(frozen=True, slots=True)
class Case:
    """A table and a rule that fits it."""

    table: pa.Table
    rule: DenialConstraint
    nulls: str


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 14, kinds: tuple[Kind, ...] = KINDS) -> tuple[pa.Table, dict[str, Kind]]:
    """A table of two to five columns with its kinds. Columns of one family are likely to occur twice."""
    count = draw(st.integers(2, 5))
    names = draw(st.permutations(NAMES))[:count]
    chosen = [draw(st.sampled_from(kinds)) for _ in names]
    if draw(st.booleans()):
        chosen = [chosen[i // 2 * 2] for i in range(count)]
    size = draw(st.integers(0, max_rows))
    columns = {}
    for name, kind in zip(names, chosen, strict=True):
        pool = draw(st.lists(st.sampled_from(kind.pool), min_size=1, max_size=4))
        cell = st.sampled_from(pool)
        values = draw(st.lists(st.none() | cell if draw(st.booleans()) else cell, min_size=size, max_size=size))
        columns[name] = pa.array(values, type=kind.arrow)
    return pa.table(columns), dict(zip(names, chosen, strict=True))


@st.composite
def rules(draw: st.DrawFn, kinds: dict[str, Kind], max_predicates: int = 5) -> DenialConstraint:
    """A rule over these columns that binds without a type error."""
    return DenialConstraint(
        tuple(draw(predicates(kinds)) for _ in range(draw(st.integers(1, max_predicates)))),
    )


@st.composite
def predicates(draw: st.DrawFn, kinds: dict[str, Kind]) -> Predicate:
    """A predicate over these columns: mostly one column across rows, sometimes cross-column, one-row or constant."""
    name = draw(st.sampled_from(sorted(kinds)))
    op = draw(st.sampled_from(list(Operator)))
    shape = draw(st.sampled_from(("same", "same", "same", "cross", "cross", "row", "constant")))
    left = Column(draw(st.sampled_from((Row.S, Row.S, Row.T))), name)
    if shape == "constant":
        return Predicate.of(left, op, Constant(draw(st.sampled_from(kinds[name].constants))))
    if shape == "same":
        return Predicate.of(left, op, left.swapped())
    partners = [other for other in sorted(kinds) if kinds[other].family == kinds[name].family]
    other = Column(left.row if shape == "row" else left.row.other, draw(st.sampled_from(partners)))
    return Predicate.of(left, op, other)


@st.composite
def cases(draw: st.DrawFn, max_rows: int = 14, kinds: tuple[Kind, ...] = KINDS) -> Case:
    """A table, a rule over it and a null mode."""
    table, chosen = draw(tables(max_rows=max_rows, kinds=kinds))
    return Case(table, draw(rules(chosen)), draw(st.sampled_from(("sql", "equal"))))
