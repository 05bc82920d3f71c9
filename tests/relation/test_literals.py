"""What a number in a rule means beside a column of floats."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import refute as rf
from refute.relation.masks.constants import nearest_float


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_a_decimal_means_the_float_that_the_column_holds_for_it(kind: pa.DataType) -> None:
    table = pa.table({"rate": pa.array([0.1, 0.3, 0.7], kind)})
    assert rf.count(table, "row(rate <= 0.1)") == 2
    assert rf.count(table, "row(rate != 0.7)") == 1
    assert rf.count(table, "row(rate = 0.3)") == 2
    assert rf.count(table, "row(rate >= 0.1)") == 0


def test_an_integer_means_itself_beside_floats() -> None:
    table = pa.table({"a": pa.array([2.0**53, 2.0**53 + 2])})
    assert rf.count(table, f"not (s.a = {2**53 + 1})") == 0
    assert rf.count(table, f"not (s.a < {2**53 + 1})") == 1


def test_a_float_literal_means_itself_beside_narrower_floats() -> None:
    table = pa.table({"a": pa.array([0.1], pa.float32())})
    assert rf.count(table, "not (s.a = 1e-1)") == 0
    assert rf.count(table, "not (s.a > 1e-1)") == 1


def test_a_decimal_beyond_the_range_means_itself() -> None:
    table = pa.table({"a": pa.array([float("inf"), 3e38], pa.float32())})
    far = "1" + "0" * 45 + ".5"
    assert rf.count(table, f"not (s.a = {far})") == 0
    assert rf.count(table, f"not (s.a > {far})") == 1
    assert rf.count(table, f"not (s.a < {far})") == 1


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**37), max_value=10**37))
def test_the_nearest_float_is_the_nearest(literal: Decimal) -> None:
    assert nearest_float(literal, pa.float64()) == float(literal)
    for kind, bits in ((pa.float32(), 32), (pa.float64(), 64)):
        found = nearest_float(literal, kind)
        assert found is not None
        assert Fraction(found) == Fraction(oracle.nearest(literal, bits))
    assert np.float32(nearest_float(literal, pa.float32()) or 0.0) == nearest_float(literal, pa.float32())


def test_halves_go_to_the_even_float_without_rounding_twice() -> None:
    above_half = Decimal(1) + Decimal(2) ** -24 + Decimal(2) ** -60  # the nearest double is the middle of two singles
    assert nearest_float(above_half, pa.float32()) == 1 + 2**-23
    assert nearest_float(Decimal(1) + Decimal(2) ** -24, pa.float32()) == 1.0
