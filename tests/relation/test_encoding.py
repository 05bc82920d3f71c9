"""Encodings against plain Python: equal where values are equal, ordered as they are, whatever type and layout."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.language.operators import Operator
from refute.language.predicate import Column, Constant, Predicate, Row
from refute.relation import Encoded, Relation
from relation.columns import KINDS, Sample, samples

REALMS = sorted({kind.realm for kind in KINDS})


@st.composite
def comparable_samples(draw: st.DrawFn, most: int = 3) -> list[Sample]:
    realm = draw(st.sampled_from(REALMS))
    kinds = [kind for kind in KINDS if kind.realm == realm]
    rows = draw(st.integers(0, 9))
    return [draw(samples(draw(st.sampled_from(kinds)), rows)) for _ in range(draw(st.integers(1, most)))]


def check(encoded: tuple[Encoded, ...], values: list[list[Any]], ordered: bool, dense: bool) -> None:
    for one, column in zip(encoded, values, strict=True):
        assert one.values.dtype in (np.int32, np.int64)
        assert one.ordered >= ordered
        assert one.dense >= dense
        assert len(one) == len(column)
        assert one.size == encoded[0].size <= 2**62
        assert one.nulls == column.count(None)
        assert [code < 0 for code in one.values] == [value is None for value in column]
    pairs = [
        (int(code), value)
        for one, column in zip(encoded, values, strict=True)
        for code, value in zip(one.values, column, strict=True)
        if value is not None
    ]
    assert all(0 <= code < encoded[0].size for code, _ in pairs)
    if encoded[0].dense:
        assert {code for code, _ in pairs} == set(range(encoded[0].size))
    for code, value in pairs:
        for other_code, other in pairs:
            assert (code == other_code) == (value == other)
            if encoded[0].ordered:
                assert (code < other_code) == (value < other)


@given(comparable_samples(), st.booleans(), st.booleans())
def test_codes_compare_as_values_do(columns: list[Sample], ordered: bool, dense: bool) -> None:
    table = pa.table({f"c{i}": sample.column for i, sample in enumerate(columns)})
    relation = Relation.of(table)
    names = tuple(table.column_names)
    check(relation.encode_joint(names, ordered=ordered, dense=dense), [c.values for c in columns], ordered, dense)
    for name, sample in zip(names, columns, strict=True):
        check((relation.encode(name, ordered=ordered, dense=dense),), [sample.values], ordered, dense)
        assert relation.is_null(name).tolist() == [value is None for value in sample.values]
        assert relation.null_count(name) == sample.values.count(None)


@given(comparable_samples(1), st.integers(0, 9), st.booleans())
def test_the_head_of_a_relation_is_encoded_as_a_table_of_its_own(columns: list[Sample], n: int, dense: bool) -> None:
    relation = Relation.of(pa.table({"c": columns[0].column}))
    relation.encode("c", ordered=True)
    head = relation.head(n)
    assert head.n_rows == min(n, relation.n_rows)
    check((head.encode("c", ordered=True, dense=dense),), [columns[0].values[:n]], True, dense)


RNG = np.random.default_rng(7)
LARGE = {
    "small range": RNG.integers(-50, 50, 5000),
    "wide range, few values": RNG.choice(RNG.integers(-(2**62), 2**62, 90), 5000),
    "wide range, many values": RNG.integers(-(2**61), 2**61, 60000),
    "full range": RNG.integers(-(2**63), 2**63 - 1, 60000),
    "one far away": np.append(RNG.integers(0, 2**16, 60000), 2**61),
    "middle range": RNG.integers(0, 2**41, 60000),
    "prices": RNG.integers(-(10**7), 10**7, 60000) / 100,
    "reals": RNG.normal(size=60000),
    "reals with repeats": RNG.choice(RNG.normal(size=9000) * 1e200, 60000),
    "tiny and huge": np.exp(RNG.uniform(-700, 700, 60000)) * RNG.choice([-1, 1], 60000),
    "single precision": RNG.normal(size=60000).astype(np.float32),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_numeric_columns_rank_as_numpy_ranks_them(name: str) -> None:
    values = LARGE[name]
    null = RNG.random(len(values)) < 0.1
    for mask in (None, null):
        kept = values if mask is None else values[~mask]
        ranks = np.unique(kept).searchsorted(values)
        relation = Relation.of(pa.table({"c": pa.array(values, mask=mask)}))
        found = relation.encode("c", ordered=True, dense=True)
        assert np.array_equal(found.values, ranks if mask is None else np.where(mask, -1, ranks))
        sparse = Relation.of(relation.arrow).encode("c", ordered=True)
        order = np.argsort(sparse.values, kind="stable")
        assert np.array_equal(found.values[order], np.sort(found.values))
        assert np.array_equal(np.diff(sparse.values[order]) > 0, np.diff(found.values[order]) > 0)


UNSIGNED = [2**53 + 1, 2**53 + 3, 2**53 + 9, 2**63 - 1, 2**63, 2**63 + 1, 2**63 + 2000, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("with_null", [False, True])
@pytest.mark.parametrize("first", range(len(UNSIGNED)))
def test_unsigned_integers_that_no_float_holds_are_exact(first: int, with_null: bool) -> None:
    for last in range(first + 1, len(UNSIGNED) + 1):
        values = UNSIGNED[first:last] + [None] * with_null
        signed = [value if value is not None and value < 2**63 else None for value in values]
        table = pa.table({"u": pa.array(values, pa.uint64()), "i": pa.array(signed, pa.int64())})
        for dense in (False, True):
            relation = Relation.of(table)
            check((relation.encode("u", ordered=True, dense=dense),), [values], True, dense)
            check(relation.encode_joint(("u", "i"), ordered=True, dense=dense), [values, signed], True, dense)
        for literal in UNSIGNED:
            predicate = Predicate(Column(Row.S, "u"), Operator.LT, Constant(literal))
            assert relation.mask(predicate).tolist() == [v is not None and v < literal for v in values]


def test_floats_rank_exactly_among_decimals_that_they_nearly_are() -> None:
    cents = RNG.integers(-(10**14), 10**14, 2000) >> RNG.integers(0, 45, 2000)
    near = cents / 100
    floats = [
        *near,
        *np.nextafter(near, np.inf),
        *np.nextafter(near, -np.inf),
        *(near * 1e-9),
        1e300,
        -math.inf,
        5e-324,
    ]
    decimals = [Decimal(int(c)).scaleb(-2) for c in cents]
    rows = len(floats)
    table = pa.table(
        {
            "f": floats,
            "d": pa.array(decimals + [None] * (rows - len(decimals)), pa.decimal128(18, 2)),
            "i": pa.array([int(c) // 100 for c in cents] + [None] * (rows - len(cents)), pa.int64()),
        }
    )
    found = Relation.of(table).encode_joint(("d", "f", "i"), ordered=True, dense=True)
    values = [list(map(_exactly, table.column(name).to_pylist())) for name in ("d", "f", "i")]
    rank = {value: code for code, value in enumerate(sorted({v for column in values for v in column} - {None}))}
    for one, column in zip(found, values, strict=True):
        assert one.values.tolist() == [-1 if value is None else rank[value] for value in column]


def _exactly(value: Any) -> Any:
    return value if value is None or value in (math.inf, -math.inf) else Fraction(value)


LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZé0123456789"))
WORDS = {
    "codes": [f"{n:05d}" for n in RNG.integers(0, 99999, 20000)],
    "keys with a common start": [f"Customer#{n:09d}" for n in RNG.integers(0, 10**8, 20000)],
    "random words": ["".join(RNG.choice(LETTERS, size)) for size in RNG.integers(0, 40, 6000)],
    "long words, few": [f"word {n} " * 12 for n in RNG.integers(0, 300, 6000)],
    "long words, many": [f"word {n} " * 12 for n in RNG.permutation(6000)],
}


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("name", WORDS)
def test_large_string_columns_rank_by_code_point(name: str, ordered: bool) -> None:
    words = WORDS[name]
    rank = {word: code for code, word in enumerate(sorted(set(words)))}
    found = Relation.of(pa.table({"c": words})).encode("c", ordered=ordered, dense=True)
    if found.ordered:
        assert found.values.tolist() == [rank[word] for word in words]
    else:
        assert not ordered
        pairs = set(zip(words, found.values.tolist(), strict=True))
        assert len(pairs) == len(rank) == found.size


def test_strings_that_are_only_compared_for_equality_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyarrow.compute.sort_indices", None)
    found = Relation.of(pa.table({"c": WORDS["long words, few"]})).encode("c", ordered=False)
    assert not found.ordered
