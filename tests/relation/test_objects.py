"""Columns of Python objects: what Python calls equal and ordered is equal and ordered, or the column is refused."""

from __future__ import annotations

import datetime as dt
import enum
import itertools
import math
import uuid
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import refute as rf
from refute.errors import SchemaError
from refute.relation import Family, Relation

LISBON, EAST = ZoneInfo("Europe/Lisbon"), dt.timezone(dt.timedelta(hours=3))


class Level(enum.IntEnum):
    LOW = 1


class Name(str):
    __slots__ = ()


NUMBERS: tuple[Any, ...] = (
    *(
        0,
        1,
        -1,
        Level.LOW,
        2**53,
        2**53 + 1,
        2**63 - 1,
        2**63,
        -(2**63),
        -(2**63) - 1,
        2**64 - 1,
        2**64,
        10**75,
        10**80,
    ),
    *(np.int8(1), np.int64(2**53 + 1), np.uint64(2**64 - 1), np.float64(0.1), np.float32(0.1), np.float16(1.5)),
    *(0.0, -0.0, 1.0, 0.1, 1.5, 2.0**53, 2.0**63, 2.0**64, 1e300, 5e-324, math.inf, -math.inf),
    *map(Decimal, ("0", "-0", "1", "1.0", "0.1", "1.5", "1e40", "1e-40", "123456789.123456789", "1E+2", "Infinity")),
    *(True, False, np.True_),
)
MOMENTS: tuple[Any, ...] = (
    dt.date(2020, 1, 1),
    dt.date(2020, 1, 2),
    dt.datetime(2020, 1, 1),
    dt.datetime(2020, 1, 1, 5),
    dt.datetime(1, 1, 1),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    dt.datetime(2020, 1, 1, 3, tzinfo=EAST),
    dt.datetime(2020, 6, 1, tzinfo=LISBON),
    pd.Timestamp("2020-01-01"),
    pd.Timestamp("2020-01-01T00:00:00.000000001"),
    pd.Timestamp("2020-01-01T00:00:00.000000002"),
    pd.Timestamp("2020-01-01T00:00:00.000000001", tz="UTC"),
    pd.Timestamp("2020-01-01T03:00:00.000000001", tz=EAST),
    pd.Timestamp("2020-01-01", tz="Europe/Lisbon"),
)
OTHERS: tuple[Any, ...] = (
    *("", "a", Name("a"), np.str_("a"), "é", "1", "2020-01-01"),
    *(b"a", b"", [1], (1,), {"a": 1}, {1}, 1j, Fraction(1, 3), uuid.UUID(int=1), pd.Period("2020"), object),
    *(dt.time(1), dt.time(1, 0, 0, 1), dt.time(1, tzinfo=dt.UTC)),
    *(dt.timedelta(1), dt.timedelta(microseconds=1), dt.timedelta.max, dt.timedelta.min),
    *(pd.Timedelta(1), pd.Timedelta(2), pd.Timedelta(1000), pd.Timedelta(days=1)),
    *(np.timedelta64(1, "ns"), np.timedelta64(1, "D")),
)
REFUSED = (  # alone, since no column of Arrow holds them, or none that rules read
    *(b"a", b"", [1], (1,), {"a": 1}, {1}, 1j, Fraction(1, 3), uuid.UUID(int=1), pd.Period("2020"), object),
    *(10**80, Decimal("Infinity"), dt.time(1, tzinfo=dt.UTC), dt.timedelta.max),
)


def frames(values: Sequence[Any]) -> list[Any]:
    """The values as columns of objects of every package."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return [
        pd.DataFrame({"a": pd.Series(cells, dtype=object)}),
        pl.DataFrame({"a": pl.Series(values, dtype=pl.Object)}),
    ]


def codes(frame: Any) -> list[int] | None:
    """Order-preserving codes of the column, or None where it is refused."""
    try:
        return [int(code) for code in Relation.of(frame).encode("a", ordered=True).values]
    except SchemaError:
        return None


def judged(x: Any, y: Any) -> tuple[bool, bool | None]:
    """Whether x == y, and whether x < y, None where Python does not say."""
    x, y = plain(x), plain(y)
    try:
        return bool(x == y), bool(x < y)
    except TypeError:
        return bool(x == y), None


def plain(value: Any) -> Any:
    """A scalar of NumPy as Python has it: NumPy itself compares numbers of two types through floats."""
    if isinstance(value, np.timedelta64):
        return pd.Timedelta(value)
    return value.item() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("pool", [NUMBERS, MOMENTS, OTHERS], ids=["numbers", "moments", "others"])
def test_every_two_objects_compare_as_in_python_or_are_refused(pool: tuple[Any, ...]) -> None:
    for x, y in itertools.product(pool, pool):
        equal, less = judged(x, y)
        for frame in frames([x, y]):
            found = codes(frame)
            if found is not None:
                assert less is not None, (x, y)
                assert (found[0] == found[1], found[0] < found[1]) == (equal, less), (x, y)
            assert (found is None) == (codes(frame[::-1]) is None), (x, y)  # whichever comes first


@pytest.mark.parametrize("value", [*NUMBERS, *MOMENTS, *OTHERS], ids=repr)
def test_an_object_of_a_type_that_rules_read_is_not_refused(value: Any) -> None:
    refused = any(value is one or (type(value) is type(one) and value == one) for one in REFUSED)
    for frame in frames([value, None, value]):
        assert codes(frame) == (None if refused else [0, -1, 0])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)], "date and datetime without a time zone"),
        (
            [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
            "datetime with a time zone and datetime wi",
        ),
        ([1, "x", None, 2.5], "float, int and str"),
        (["a", b"a"], "bytes and str"),
        ([True, 1], "bool and int"),
        ([Decimal("Infinity"), Decimal(1)], "Decimal and an infinite Decimal"),
        ([Decimal("0.1"), 0.1], "Decimal and float"),
        ([10**80, 1], "int and int of many digits"),
        ([dt.time(1), dt.time(1, tzinfo=dt.UTC)], "time with a time zone and time without a time zone"),
    ],
)
def test_the_error_names_the_column_and_the_types_found(values: list[Any], words: str) -> None:
    for frame in frames(values):
        for ask in (rf.count, rf.verify, rf.check):
            with pytest.raises(SchemaError, match=f"Column 'a' has no single type that holds .* {words}"):
                ask(frame, "unique(a)")


NULLS = [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN"), np.datetime64("NaT", "ns")]


@pytest.mark.parametrize(
    "value",
    ["a", True, 1, 2**63, 1.5, Decimal("1.5"), dt.date(2020, 1, 1), pd.Timestamp(1), dt.timedelta(1), dt.time(1)],
)
def test_nulls_of_every_kind_are_null_beside_every_type(value: Any) -> None:
    fitting = list(NULLS)
    for frame in frames([*fitting, value, value]):
        assert codes(frame) == [-1] * len(fitting) + [0, 0]
    for frame in frames([None, float("nan"), pd.NA, pd.NaT]):
        assert Relation.of(frame).type_of("a").family is Family.NULL


def test_a_large_column_of_each_type_keeps_every_value() -> None:
    start = pd.Timestamp("2020-01-01")
    for values in (
        [start + pd.Timedelta(i) for i in range(3000)],
        [dt.datetime(2020, 1, 1) + dt.timedelta(microseconds=i) for i in range(3000)],
        [2**63 + i for i in range(3000)],
        [Decimal(i).scaleb(-20) for i in range(3000)],
    ):
        for frame in frames(values):
            assert rf.count(frame, "unique(a)") == 0
            assert rf.count(frame, "not (s.a < t.a)") == 3000 * 2999 // 2


def test_what_stands_in_the_last_row_decides_as_what_stands_in_the_first() -> None:
    """Verification looks at the first rows first, whose objects alone could have a type that the column has not."""
    values: list[Any] = [1] * 20_000
    for frame in frames([*values, "x"]):
        with pytest.raises(SchemaError, match="int and str"):
            rf.verify(frame, "unique(a)")


def test_categories_of_objects_are_converted_exactly() -> None:
    nano = pd.Categorical([pd.Timestamp(1), pd.Timestamp(2), None, pd.Timestamp(1)])
    assert codes(pd.DataFrame({"a": nano})) == [0, 1, -1, 0]
    moments = pd.Series([pd.Timestamp(1), pd.Timestamp(2), None], dtype=object).astype("category")
    assert codes(pd.DataFrame({"a": moments})) == [0, 1, -1]
    assert rf.count(pd.DataFrame({"a": pd.Categorical([2**63, 2**64, 2**63, 2**64 + 1])}), "unique(a)") == 2
    with pytest.raises(SchemaError, match=r"'a' has no single type .* date and datetime"):
        rf.count(pd.DataFrame({"a": pd.Categorical([dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5)])}), "unique(a)")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.arrays.SparseArray([0, 0, 1]), [0, 0, 1]),
        (pd.arrays.SparseArray([math.nan, 0.5, 1.5]), [-1, 0, 10]),
        (pd.array([1, None, 2**63], dtype="UInt64"), [0, -1, 2**63 - 1]),
        (pd.array([1, None, 2**62], dtype="Int64"), [0, -1, 2**62 - 1]),
        (pd.array([0.5, None, 1.5], dtype="Float64"), [0, -1, 10]),
        (pd.array([True, None, False], dtype="boolean"), [1, -1, 0]),
        (pd.array(["b", None, "a"], dtype="string[python]"), [1, -1, 0]),
        (pd.array(["b", None, "a"], dtype="string[pyarrow]"), [1, -1, 0]),
        (pd.array([Decimal("1.5"), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2))), [0, -1]),
        (pd.array(["b", "a"], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))), [1, 0]),
        (np.array([2, 1, "NaT"], dtype="M8[s]"), [1, 0, -1]),
    ],
    ids=str,
)
def test_types_that_pandas_adds_keep_their_values(column: Any, expected: list[int]) -> None:
    ranks = {code: rank for rank, code in enumerate(sorted(set(expected) - {-1}))}
    found = Relation.of(pd.DataFrame({"a": column})).encode("a", ordered=True, dense=True)
    assert found.values.tolist() == [ranks.get(code, -1) for code in expected]


def test_integers_of_128_bits_are_exact() -> None:
    for kind in (pl.Int128, pl.UInt128):
        frame = pl.DataFrame({"a": pl.Series([2**100, 2**100 + 1, 1, None, 2**100], dtype=kind)})
        assert rf.count(frame, "unique(a)") == 2
        assert rf.count(frame, "not (s.a < t.a)") == 5


@pytest.mark.parametrize(
    "column",
    [
        np.array([1j, 1j]),
        np.array([1, 1], dtype=np.longdouble),
        pd.period_range("2020", periods=2),
        pd.Series(["\ud800", "\ud800"], dtype=object),
        pd.Series(["\ud800", "\ud800"], dtype="string[python]"),
        pd.Series([1j, object()], dtype=object),
        pd.Series([1, "x"], dtype=object),
        pd.Series([[1], {"a": 2}], dtype=object),
    ],
    ids=lambda column: f"{column.dtype} {column[0]!r}",
)
def test_a_column_of_anything_hinders_only_rules_that_read_it(column: Any) -> None:
    frame = pd.DataFrame({"a": column, "b": [1, 1]})
    with pytest.raises(SchemaError, match="Column 'a'"):
        rf.check(frame, "unique(a)")
    report = rf.check(frame, "unique(b)")
    assert report.results[0].finding.violations == 2
    assert report.to_json()
    assert list(report.rows.columns) == ["a", "b", "refute"]
    assert len(report.split(blame="all")[1]) == 2
    assert rf.discover(frame)
    assert rf.discover(frame, where="b = 1")


def test_polars_columns_of_anything_hinder_only_rules_that_read_them() -> None:
    frame = pl.DataFrame(
        {
            "a": pl.Series([1, "x"], dtype=pl.Object),
            "deep": pl.Series([[1], [2]], dtype=pl.List(pl.Int128)),
            "wide": pl.Series([1, 2], dtype=pl.Int128),
            "b": [1, 1],
        }
    )
    for name in ("a", "deep"):
        with pytest.raises(SchemaError, match=f"Column '{name}'"):
            rf.check(frame, f"unique({name})")
    report = rf.check(frame, "unique(b)")
    assert report.results[0].finding.violations == 2
    assert report.results[0].values is not None
    assert report.rows.schema["wide"] == pl.Int128
    assert report.split(blame="all")[1].columns == ["a", "deep", "wide", "b"]
    assert rf.discover(frame, where="wide >= 1")
    assert rf.check(frame.select("b", "wide").lazy(), "unique(b)").rows.width == 3


def test_columns_with_several_levels_of_names_and_repeated_names_are_told_apart() -> None:
    frame = pd.DataFrame([[1, 2], [1, 3]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))
    assert rf.count(frame, "unique(`('a', 'b')`)") == 2
    assert len(rf.check(frame, "unique(`('a', 'b')`)").rows) == 2
    twice = pd.DataFrame([[1, 2, 5], [1, 3, 5]], columns=["a", "b", "b"])
    assert len(rf.check(twice, "unique(a)").rows) == 2
    with pytest.raises(SchemaError, match="more than one column 'b'"):
        rf.count(twice, "unique(b)")


def test_offsets_of_parts_of_a_second_count() -> None:
    moments = [dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(microseconds=us))) for us in (0, 1)]
    assert rf.count(pd.DataFrame({"a": pd.Series(moments, dtype=object)}), "unique(a)") == 0


def test_a_nan_or_nat_of_any_kind_is_null_beside_values_of_another() -> None:
    for null in (Decimal("NaN"), np.datetime64("NaT", "us"), np.timedelta64("NaT", "us"), float("nan")):
        assert rf.count(pd.DataFrame({"a": pd.Series(["x", null, "x"], dtype=object)}), "unique(a)") == 2


def test_zeros_of_any_exponent_and_very_long_durations_are_values() -> None:
    zeros = pd.Series([Decimal("0E+100"), Decimal("0.0"), 0], dtype=object)
    assert rf.count(pd.DataFrame({"a": zeros}), "unique(a)") == 6
    spans = pd.Series([dt.timedelta(days=5 * 10**8), dt.timedelta(days=1)], dtype=object)
    assert rf.count(pd.DataFrame({"a": spans}), "not (s.a < t.a)") == 1
