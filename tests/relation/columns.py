"""Arrow columns of every type and layout, with the plain Python values they stand for."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

EPOCH = dt.datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Kind:
    """An Arrow type, what its values compare with, and a strategy for what is stored."""

    realm: str
    arrow: pa.DataType
    stored: st.SearchStrategy[Any]
    unit: Fraction = Fraction(1)  # what one stored step is worth; seconds for times


def _ints(low: int, high: int) -> st.SearchStrategy[int]:
    few = [value for value in (low, low + 1, -1, 0, 1, 2, 5, 2**53, 2**53 + 1, high - 1, high) if low <= value <= high]
    return st.sampled_from(few) | st.integers(max(low, -9), min(high, 9)) | st.integers(low, high)


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    digits = _ints(-most, most) | st.integers(-30, 30).map(lambda n: max(-most, min(most, n * 10 ** (scale // 2))))
    return digits.map(lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -scale)))


_FLOATS = (
    st.sampled_from((0.0, -0.0, 1.0, 2.0, 0.1, -0.1, 2.5, 1e300, 5e-324, 2.0**53, 2.0**63))
    | st.sampled_from((math.inf, -math.inf, math.nan))
    | st.integers(-300, 300).map(lambda n: n / 100)
    | st.integers(-5, 5).map(float)
    | st.floats()
)
_WHOLE_FLOATS = st.integers(-20, 20).map(float)
_PRICES = st.integers(-500, 500).map(lambda n: n / 100)


def _midnights(worth: Fraction) -> st.SearchStrategy[int]:
    return st.integers(-9, 9).map(lambda n: int(n * 43_200 / worth))


_TEXT = (
    st.sampled_from(("", "a", "A", "b", "ab", "a\0", "é", "\U0001f600", "\uffff", "nan", "x" * 70, "x" * 71))
    | st.text(max_size=3)
    | st.text("ab01", max_size=12)
)
_CODES = st.integers(0, 99999).map(lambda n: f"{n:05d}")
_NAMES = st.lists(st.sampled_from(("Ann", "Bob", " ", "Carla", "de", "Évora")), max_size=9).map("".join)

KINDS = (
    *(
        Kind("number", kind, _ints(low, high))
        for kind, low, high in (
            (pa.int8(), -(2**7), 2**7 - 1),
            (pa.uint8(), 0, 2**8 - 1),
            (pa.int16(), -(2**15), 2**15 - 1),
            (pa.uint16(), 0, 2**16 - 1),
            (pa.int32(), -(2**31), 2**31 - 1),
            (pa.uint32(), 0, 2**32 - 1),
            (pa.int64(), -(2**63), 2**63 - 1),
            (pa.uint64(), 0, 2**64 - 1),
        )
    ),
    Kind("number", pa.int64(), st.integers(-5, 5)),
    Kind("number", pa.float64(), _FLOATS),
    Kind("number", pa.float64(), _WHOLE_FLOATS),
    Kind("number", pa.float64(), _PRICES),
    Kind("number", pa.float32(), st.floats(width=32) | _WHOLE_FLOATS),
    Kind("number", pa.float16(), st.floats(width=16)),
    Kind("number", pa.decimal128(9, 2), _decimals(9, 2)),
    Kind("number", pa.decimal128(38, 10), _decimals(38, 10)),
    Kind("number", pa.decimal128(38, 0), _decimals(38, 0)),
    Kind("number", pa.decimal256(60, 5), _decimals(60, 5)),
    Kind("boolean", pa.bool_(), st.booleans()),
    *(Kind("string", kind, _TEXT) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    Kind("string", pa.string(), _CODES),
    Kind("string", pa.string(), _NAMES),
    Kind("moment", pa.date32(), _ints(-(2**31), 2**31 - 1), Fraction(86_400)),
    Kind("moment", pa.date64(), st.integers(-9, 9).map(lambda day: day * 86_400_000), Fraction(1, 1000)),
    *(
        Kind("moment", pa.timestamp(unit), _ints(-(2**63), 2**63 - 1) | _midnights(worth), worth)
        for unit, worth in (
            ("s", Fraction(1)),
            ("ms", Fraction(1, 10**3)),
            ("us", Fraction(1, 10**6)),
            ("ns", Fraction(1, 10**9)),
        )
    ),
    Kind("zoned", pa.timestamp("us", "UTC"), st.integers(-5, 5), Fraction(1, 10**6)),
    Kind("zoned", pa.timestamp("ms", "Europe/Lisbon"), st.integers(-5, 5), Fraction(1, 10**3)),
    Kind("time", pa.time32("s"), st.integers(0, 9)),
    Kind("time", pa.time64("ns"), st.integers(0, 9).map(lambda n: n * 500_000_000), Fraction(1, 10**9)),
    Kind("duration", pa.duration("ms"), st.integers(-9, 9), Fraction(1, 1000)),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A column and the value of each row: None for null, else something that Python compares exactly."""

    column: pa.ChunkedArray
    values: list[Any]


def meaning(stored: Any, kind: Kind) -> Any:
    """What a stored value compares as."""
    if stored is None or (isinstance(stored, float) and math.isnan(stored)):
        return None
    if isinstance(stored, str) or (isinstance(stored, float) and math.isinf(stored)):
        return stored
    return Fraction(stored) * kind.unit


@st.composite
def samples(draw: st.DrawFn, kind: Kind, rows: int) -> Sample:
    """A column of a kind in some layout: sliced, in chunks, dictionary-encoded, or all null."""
    if draw(st.integers(0, 14)) == 0:
        return Sample(pa.chunked_array([pa.nulls(rows)]), [None] * rows)
    pool = draw(st.lists(st.none() | kind.stored, min_size=1, max_size=6))
    stored = draw(st.lists(st.sampled_from(pool), min_size=rows, max_size=rows))
    values = [meaning(value, kind) for value in stored]
    if draw(st.integers(0, 3)) == 0 and not pa.types.is_string_view(kind.arrow):
        return Sample(draw(_dictionaries(stored, pool, kind)), values)
    parts = []
    for part in draw(_cuts(stored)):
        before, after = draw(st.integers(0, 9)), draw(st.integers(0, 2))
        padded = [pool[0]] * before + part + [pool[-1]] * after
        parts.append(pa.array(padded, type=kind.arrow).slice(before, len(part)))
    return Sample(pa.chunked_array(parts, type=kind.arrow), values)


@st.composite
def _cuts(draw: st.DrawFn, values: list[Any]) -> list[list[Any]]:
    at = sorted(draw(st.lists(st.integers(0, len(values)), max_size=2)))
    return [values[first:last] for first, last in zip([0, *at], [*at, len(values)], strict=True)]


@st.composite
def _dictionaries(draw: st.DrawFn, stored: list[Any], pool: list[Any], kind: Kind) -> pa.ChunkedArray:
    """A dictionary-encoded column whose chunks differ in their dictionaries, which repeat values and hold nulls."""
    parts = []
    for part in draw(_cuts(stored)):
        entries = draw(st.permutations([*pool, *pool, None]))
        indices = []
        for value in part:
            places = [i for i, entry in enumerate(entries) if entry is value]
            indices.append(draw(st.sampled_from([*places, None] if value is None else places)))
        dictionary = pa.array(entries, type=kind.arrow)
        parts.append(pa.DictionaryArray.from_arrays(pa.array(indices, type=pa.int16()), dictionary))
    return pa.chunked_array(parts, type=pa.dictionary(pa.int16(), kind.arrow))
