"""One-row predicates and conditions against plain Python, across all types that compare."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import nearest
from refute.errors import SchemaError
from refute.language.conditions import And, Compare, Condition, IsNull, Not, Or, evaluate
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row, Value
from refute.relation import Relation
from relation.columns import KINDS, Sample, samples

EPOCH = dt.datetime(1970, 1, 1)
NUMBERS: st.SearchStrategy[Value] = (
    st.sampled_from((0, 1, -1, 2**53 + 1, 2**63, 2**64 - 1, -(2**63), 10**40, -(10**400)))
    | st.sampled_from((0.0, -0.0, 0.1, 2.5, 2.0**53, 2.0**63, math.inf, -math.inf, 1e300))
    | st.sampled_from(tuple(map(Decimal, ("0", "0.1", "1.5", "-2.50", "9007199254740993", "1e-30", "1e400"))))
    | st.integers(-9, 9)
)
MOMENTS: st.SearchStrategy[Value] = st.integers(-9, 9).map(lambda n: EPOCH + dt.timedelta(hours=12 * n)) | st.integers(
    -9, 9
).map(lambda n: dt.date(1970, 1, 1) + dt.timedelta(days=n))
ZONED: st.SearchStrategy[Value] = st.integers(-5, 5).map(
    lambda n: (
        (EPOCH + dt.timedelta(microseconds=n * 500))
        .replace(tzinfo=dt.UTC)
        .astimezone(dt.timezone(dt.timedelta(hours=n)))
    )
)
CONSTANTS: dict[str, st.SearchStrategy[Value]] = {
    "number": NUMBERS,
    "boolean": st.booleans(),
    "string": st.sampled_from(("", "a", "ab", "é", "x" * 70, "00001", "Ann", "a\0")),
    "moment": MOMENTS,
    "zoned": ZONED,
}


def meaning(value: Value, kind: pa.DataType) -> Any:
    """What a literal compares as, in the units of the generated columns."""
    if isinstance(value, dt.datetime):
        start = EPOCH if value.tzinfo is None else EPOCH.replace(tzinfo=dt.UTC)
        return Fraction((value - start) // dt.timedelta(microseconds=1), 10**6)
    if isinstance(value, dt.date):
        return Fraction((value - EPOCH.date()).days * 86_400)
    if isinstance(value, Decimal) and kind in (pa.float32(), pa.float64()) and abs(value) < 10**38:
        return Fraction(nearest(value, kind.bit_width))
    return Fraction(value) if isinstance(value, Decimal) else value


def compare(left: Any, op: Operator, right: Any, nulls: Nulls) -> bool:
    if left is None or right is None:
        if nulls is Nulls.SQL or op.is_order:
            return False
        return (left is right) == (op is Operator.EQ)
    return op.accepts((left > right) - (left < right))


def of(left: str, op: Operator, right: str | Constant) -> Predicate:
    return Predicate(Column(Row.S, left), op, right if isinstance(right, Constant) else Column(Row.S, right))


@st.composite
def column_and_constant(draw: st.DrawFn) -> tuple[Sample, Value]:
    realm = draw(st.sampled_from(sorted(CONSTANTS)))
    kind = draw(st.sampled_from([kind for kind in KINDS if kind.realm == realm]))
    return draw(samples(kind, draw(st.integers(0, 9)))), draw(CONSTANTS[realm])


@st.composite
def two_columns(draw: st.DrawFn) -> tuple[Sample, Sample]:
    realm = draw(st.sampled_from(sorted({kind.realm for kind in KINDS})))
    kinds = [kind for kind in KINDS if kind.realm == realm]
    rows = draw(st.integers(0, 9))
    first, second = (draw(samples(draw(st.sampled_from(kinds)), rows)) for _ in range(2))
    return first, second


@given(column_and_constant(), st.sampled_from(Operator), st.sampled_from(Nulls))
def test_a_column_against_a_constant_is_exact(case: tuple[Sample, Value], op: Operator, nulls: Nulls) -> None:
    sample, constant = case
    relation = Relation.of(pa.table({"a": sample.column}))
    expected = [compare(value, op, meaning(constant, sample.column.type), nulls) for value in sample.values]
    assert relation.mask(of("a", op, Constant(constant)), nulls).tolist() == expected


@given(two_columns(), st.sampled_from(Operator), st.sampled_from(Nulls))
def test_two_columns_of_a_row_are_compared_exactly(case: tuple[Sample, Sample], op: Operator, nulls: Nulls) -> None:
    first, second = case
    relation = Relation.of(pa.table({"a": first.column, "b": second.column}))
    expected = [compare(a, op, b, nulls) for a, b in zip(first.values, second.values, strict=True)]
    assert relation.mask(of("a", op, "b"), nulls).tolist() == expected


COMPARISONS = st.builds(
    Compare,
    st.builds(
        of,
        st.just("a"),
        st.sampled_from(Operator),
        st.just("b") | st.integers(0, 3).map(Constant),
    ),
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    COMPARISONS | st.builds(IsNull, st.sampled_from("ab"), st.booleans()),
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: And(tuple(parts)))
        | st.lists(inner, min_size=1, max_size=3).map(lambda parts: Or(tuple(parts)))
    ),
    max_leaves=6,
)
SMALL = st.none() | st.integers(0, 3)


@given(CONDITIONS, st.lists(st.tuples(SMALL, SMALL), max_size=9))
def test_a_condition_selects_the_rows_for_which_it_is_true(
    condition: Condition, rows: list[tuple[int | None, int | None]]
) -> None:
    table = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    expected = [evaluate(condition, {"a": a, "b": b}) is True for a, b in rows]
    assert Relation.of(table).condition_mask(condition).tolist() == expected


@pytest.mark.parametrize(
    ("column", "constant", "expected"),
    [
        (pa.array([1]), "1", "Cannot compare 'a' (int64) with the string '1'"),
        (pa.array(["1"]), 1, "Cannot compare 'a' (string) with the integer 1"),
        (pa.array([True]), 1, "Cannot compare 'a' (bool) with the integer 1"),
        (pa.array([dt.date(2020, 1, 1)]), "2020-01-01", "Write it like date '2020-01-31'"),
        (pa.array([EPOCH], pa.timestamp("us", "UTC")), dt.date(2020, 1, 1), "time zone"),
        (pa.array([EPOCH]), EPOCH.replace(tzinfo=dt.UTC), "time zone"),
    ],
)
def test_a_constant_of_another_kind_is_an_error_that_names_both(
    column: pa.Array, constant: Value, expected: str
) -> None:
    with pytest.raises(SchemaError) as error:
        Relation.of(pa.table({"a": column})).mask(of("a", Operator.EQ, Constant(constant)))
    assert expected in str(error.value)
