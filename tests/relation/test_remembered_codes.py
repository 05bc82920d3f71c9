"""Encodings that remember, against plain Python: in whatever parts and order rows come, keys compare as values do."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.errors import DataError, SchemaError
from refute.kernels.encode.dictionary import UNKNOWN
from refute.relation import Relation
from refute.relation.encode.strings import strings_of
from refute.relation.keys.dictionary import SPAN, Dictionary
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.keys import NULL_KEY, Keys
from refute.relation.keys.spaces import Far, Listed
from relation.columns import KINDS, Sample, samples

REALMS = sorted({kind.realm for kind in KINDS})


@dataclass
class Twin:
    """All keys that were ever given, with the values they stand for; slow and plain."""

    equal: dict[Any, int] = field(default_factory=dict)
    ordered: dict[int, dict[Any, int]] = field(default_factory=dict)  # by generation

    def check(self, keys: Keys, values: list[Any]) -> None:
        """Holds keys of values that are all known against those given before."""
        assert len(keys) == len(values)
        assert len(keys.unknown) == 0
        assert keys.values.dtype == np.int64
        assert valid(keys) == [value is not None for value in values]
        known = self.ordered.setdefault(keys.generation, {}) if keys.ordered else self.equal
        for key, value in zip(keys.values.tolist(), values, strict=True):
            if value is not None:
                assert known.setdefault(value, key) == key
        assert len(set(known.values())) == len(known)
        if keys.ordered:
            assert [known[value] for value in sorted(known)] == sorted(known.values())


def valid(keys: Keys) -> list[bool]:
    return keys.valid.astype(bool).tolist() if len(keys.valid) else [True] * len(keys)


REMEMBERED = (  # types that are kept in a dictionary together, if only in part
    (pa.string(), pa.large_string(), pa.string_view()),
    (pa.float64(), pa.int64(), pa.decimal128(9, 2)),
    (pa.float64(), pa.decimal128(38, 10), pa.uint64()),
    (pa.float32(), pa.decimal256(60, 5), pa.int8()),
    (pa.decimal128(38, 0), pa.decimal128(38, 10), pa.int64()),
    (pa.uint64(), pa.int64()),
    (pa.date32(), pa.timestamp("s"), pa.timestamp("ns")),
)


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[pa.DataType], list[Sample]]:
    """Comparable types, and columns of them as they come one after the other."""
    if draw(st.booleans()):
        mix = draw(st.sampled_from(REMEMBERED))
        kinds = [kind for kind in KINDS if kind.arrow in mix]
    else:
        realm = draw(st.sampled_from(REALMS))
        alike = st.sampled_from([kind for kind in KINDS if kind.realm == realm])
        kinds = draw(st.lists(alike, min_size=1, max_size=3))
    return [kind.arrow for kind in kinds], [
        draw(samples(draw(st.sampled_from(kinds)), draw(st.integers(1, 7)))) for _ in range(draw(st.integers(2, 5)))
    ]


def narrowed(encoding: Encoding, span: int) -> Encoding:
    """An encoding whose dictionary, if it has one, soon runs out of labels."""
    if isinstance(encoding._space, Listed | Far):
        encoding._space._dictionary = Dictionary(span)
    return encoding


@given(batches(), st.sampled_from((SPAN, 2**7, 2**9)), st.randoms(use_true_random=False))
def test_keys_compare_as_values_do_whatever_comes_when(drawn: Any, span: int, random: Any) -> None:
    kinds, columns = drawn
    encoding = narrowed(Encoding(kinds), span)
    twin = Twin()
    for end, sample in enumerate(columns, start=1):
        if random.random() < 0.5:
            encoding.extend(sample.column)
        ordered = random.random() < 0.5
        twin.check(encoding.codes(sample.column, ordered=ordered, extend=True), sample.values)
        for known in random.sample(columns[:end], end):
            ordered = random.random() < 0.5
            twin.check(encoding.codes(known.column, ordered=ordered), known.values)
        assert encoding.extend(sample.column) == 0
    for sample in columns:
        twin.check(encoding.codes(sample.column, ordered=True), sample.values)
        twin.check(encoding.codes(sample.column), sample.values)


@given(batches(), st.sampled_from((SPAN, 2**7)), st.randoms(use_true_random=False))
def test_rows_that_come_alone_have_the_keys_of_their_values(drawn: Any, span: int, random: Any) -> None:
    kinds, columns = drawn
    encoding = narrowed(Encoding(kinds), span)
    twin = Twin()
    rows = [(sample, row) for sample in columns for row in range(len(sample.values))] * 2
    random.shuffle(rows)
    for sample, row in rows:
        ordered = random.random() < 0.5
        twin.check(encoding.codes(sample.column.slice(row, 1), ordered=ordered, extend=True), [sample.values[row]])
    for sample in columns:
        twin.check(encoding.codes(sample.column, ordered=True), sample.values)
        twin.check(encoding.codes(sample.column), sample.values)


ALONE = {
    pa.float64(): st.floats(),
    pa.float32(): st.floats(width=32),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.large_string(): st.text(max_size=3),
}


@given(st.data(), st.sampled_from(list(ALONE)), st.booleans())
def test_a_row_alone_has_the_key_that_it_has_among_others(data: Any, kind: pa.DataType, ordered: bool) -> None:
    column = pa.array(data.draw(st.lists(ALONE[kind] | st.none(), min_size=1, max_size=9)), kind)
    encoding = Encoding([kind])
    keys = encoding.codes(column, ordered=ordered, extend=True)
    for row in range(len(column)):
        for _ in range(2):  # what came alone once may be looked up in another way
            alone = encoding.codes(column.slice(row, 1), ordered=ordered)
            assert valid(alone) == valid(keys)[row : row + 1]
            if valid(keys)[row]:
                assert alone.values.tolist() == keys.values[row : row + 1].tolist()


@given(batches(), st.booleans())
def test_fitting_is_extending_by_each_column(drawn: Any, ordered: bool) -> None:
    _, columns = drawn
    typed = [s for s in columns if not pa.types.is_null(s.column.type)]
    fitted = Encoding.fit([s.column for s in typed])
    extended = Encoding([s.column.type for s in typed])
    for sample in typed:
        extended.extend(sample.column)
    for sample in typed:
        one, other = (e.codes(sample.column, ordered=ordered) for e in (fitted, extended))
        assert valid(one) == valid(other) == [value is not None for value in sample.values]
        assert one.values[np.array(valid(one), dtype=bool)].tolist() == other.values[valid(other)].tolist()


@given(batches(), st.sampled_from((SPAN, 2**7)))
def test_what_is_not_known_is_equal_to_nothing_that_is_and_in_its_place(drawn: Any, span: int) -> None:
    kinds, columns = drawn
    encoding = narrowed(Encoding(kinds), span)
    half = len(columns) // 2
    for sample in columns[:half]:
        encoding.extend(sample.column)
    known = {value for sample in columns[:half] for value in sample.values if value is not None}
    for sample in columns[half:]:
        same = encoding.codes(sample.column)
        order = encoding.codes(sample.column, ordered=True)
        for row in np.flatnonzero(valid(same)).tolist():
            for old in columns[:half]:
                old_same, old_order = encoding.codes(old.column), encoding.codes(old.column, ordered=True)
                for place, value in enumerate(old.values):
                    if value is not None:
                        assert (same.values[row] == old_same.values[place]) == (sample.values[row] == value)
                        assert (order.values[row] < old_order.values[place]) == (sample.values[row] < value)
                        assert (order.values[row] > old_order.values[place]) == (sample.values[row] > value)
        assert same.unknown.tolist() == order.unknown.tolist()
        assert all(sample.values[row] not in known for row in same.unknown)
        assert all(sample.values[row] is not None for row in same.unknown)


@given(batches())
def test_null_as_a_value_equals_null_alone_and_values_keep_their_keys(drawn: Any) -> None:
    kinds, columns = drawn
    encoding = Encoding(kinds)
    given_keys: dict[Any, int] = {}
    for sample in columns:
        plain = encoding.codes(sample.column, extend=True)
        clash = NULL_KEY in plain.values[np.array(valid(plain), dtype=bool)]
        if clash:
            with pytest.raises(DataError, match="the one 64-bit number"):
                encoding.codes(sample.column, nulls_as_value=True)
            continue
        keys = encoding.codes(sample.column, extend=True, nulls_as_value=True)
        assert len(keys.valid) == 0
        for key, same, value in zip(keys.values.tolist(), plain.values.tolist(), sample.values, strict=True):
            assert key == (NULL_KEY if value is None else same)
            assert given_keys.setdefault(value, key) == key
    assert len(set(given_keys.values())) == len(given_keys)


@pytest.mark.parametrize(
    ("kind", "number"), [(pa.int64(), -(2**63)), (pa.uint64(), 2**63), (pa.timestamp("ns"), -(2**63))]
)
def test_one_number_of_64_bits_cannot_stand_beside_null_as_a_value(kind: pa.DataType, number: int) -> None:
    encoding = Encoding([kind])
    column = pa.array([0, None, number], kind)
    with pytest.raises(DataError, match=r"Row 2 holds .* the one 64-bit number"):
        encoding.codes(column, nulls_as_value=True)
    assert encoding.codes(column.slice(0, 2), nulls_as_value=True).values.tolist() == [0, NULL_KEY]
    assert len(set(encoding.codes(pa.array([0, 2**63 - 1, number], kind)).values.tolist())) == 3


@given(batches())
def test_keys_of_one_column_are_codes_for_methods_over_tables(drawn: Any) -> None:
    kinds, columns = drawn
    encoding = Encoding(kinds)
    for sample in columns:
        encoding.extend(sample.column)
        found = encoding.codes(sample.column, ordered=True).encoded()
        assert found.nulls == sample.values.count(None)
        pairs = [pair for pair in zip(found.values.tolist(), sample.values, strict=True) if pair[1] is not None]
        assert all(0 <= code < found.size <= 2**62 for code, _ in pairs)
        assert all((a < b) == (x < y) and (a == b) == (x == y) for a, x in pairs for b, y in pairs)


@given(batches(), st.booleans())
def test_codes_without_gaps_are_the_ranks_of_the_keys_that_are_remembered(drawn: Any, ordered: bool) -> None:
    _, samples_of_one = drawn
    columns = [pa.chunked_array([s.column]) if isinstance(s.column, pa.Array) else s.column for s in samples_of_one]
    views = (pa.string_view(), pa.dictionary(pa.int32(), pa.string_view()))  # which tables hold as strings
    columns = [one.cast(pa.large_string()) if one.type in views else one for one in columns]
    encoding = Encoding.fit(columns)
    keys = [encoding.codes(column, ordered=True) for column in columns]
    present = [np.array(valid(one), np.bool_) for one in keys]
    distinct = np.unique(np.concatenate([one.values[held] for one, held in zip(keys, present, strict=True)]))
    for one, held, encoded in zip(keys, present, Encoding.of_table(columns, ordered=True, dense=True), strict=True):
        assert encoded.size == len(distinct)
        assert encoded.values.tolist() == np.where(held, np.searchsorted(distinct, one.values), -1).tolist()
    if ordered:
        return
    unordered = [encoding.codes(column) for column in columns]
    codes = Encoding.of_table(columns, ordered=False, dense=False)
    pairs = {
        (int(key), int(code))
        for one, held, encoded in zip(unordered, present, codes, strict=True)
        for key, code in zip(one.values[held], encoded.values[held], strict=True)
    }
    assert len(pairs) == len({key for key, _ in pairs}) == len({code for _, code in pairs})


@given(
    st.lists(
        st.lists(st.text("ab\0é", max_size=20) | st.text("a", min_size=250, max_size=300), max_size=9), max_size=9
    ),
    st.sampled_from((SPAN, 2**8, 2**9)),
)
def test_labels_keep_their_order_and_their_values_within_a_generation(batches: list[list[str]], span: int) -> None:
    known = Dictionary(span)
    numbers: dict[str, int] = {}
    labels: dict[str, int] = {}
    generation = 0
    for batch in batches:
        strings = strings_of(pa.array(batch, pa.string()))
        found = known.add(strings)
        for text, number in zip(batch, found.tolist(), strict=True):
            assert numbers.setdefault(text, number) == number
        given_labels = known.labels(found, strings).tolist()
        if known.generation > generation:
            generation, labels = known.generation, {}
        for text, label in zip(batch, given_labels, strict=True):
            assert labels.setdefault(text, label) == label
        assert [labels[text] for text in sorted(labels)] == sorted(set(labels.values()))
    assert known.known == len(numbers)
    assert [entry.decode() for entry in known.strings().to_pylist()] == list(numbers)


@pytest.mark.parametrize(
    "order", ["random", "rising", "falling", "rising in the midst", "long common starts", "shorter starts", "zeros"]
)
def test_many_strings_in_many_batches_stay_in_order(order: str) -> None:
    rng = np.random.default_rng(3)
    n = 20_000
    texts = [f"{i:06d}" for i in range(n)]
    if order == "random":
        texts = [texts[i] for i in rng.permutation(n)]
    elif order == "falling":
        texts.reverse()
    elif order == "rising in the midst":
        texts = ["zz", "zy", "00", *texts]
    elif order == "long common starts":
        texts = ["x" * 50 + texts[i][:3] + "y" * 30 + texts[i][3:] for i in rng.permutation(n)]
    elif order == "shorter starts":  # what all strings begin with in common gets less and less
        texts = [f"{'x' * (99 - i // 200)}{'ay'[i % 2]}{texts[j]}" for i, j in enumerate(rng.permutation(n))]
    elif order == "zeros":  # of which some only differ in zeros at their ends
        texts = [f"{i // 7:03d}" + "\0" * (i % 7) + ("a" if i % 2 else "") for i in rng.permutation(n)]
        texts = list(dict.fromkeys(texts))
    known = Dictionary()
    sizes = rng.integers(1, 400, len(texts))
    at = 0
    for size in sizes:
        strings = strings_of(pa.array(texts[at : at + size]))
        known.labels(known.add(strings), strings)
        at += size
        if at >= len(texts):
            break
    everything = strings_of(pa.array(texts))
    numbers, unknown = known.find(everything)
    assert unknown == 0
    assert numbers.tolist() == list(range(len(texts)))
    labels = known.labels(numbers, everything)
    assert np.argsort(labels).tolist() == sorted(range(len(texts)), key=texts.__getitem__)
    assert known.generation <= 3


@pytest.mark.parametrize("per_string", [1, 3])
def test_strings_keep_their_numbers_while_the_table_moves(per_string: int) -> None:
    rng = np.random.default_rng(5)
    texts = [rng.bytes(5).hex() for _ in range(9_000)]
    known = Dictionary(step=5, per_string=per_string)
    moving = 0
    at = 0
    while at < len(texts):
        end = at + int(rng.integers(1, 60))
        assert known.add(strings_of(pa.array(texts[at:end]))).tolist() == list(range(at, min(end, len(texts))))
        at = min(end, len(texts))
        some = rng.integers(0, len(texts), 50)
        found, unknown = known.find(strings_of(pa.array([texts[i] for i in some])))
        assert found.tolist() == [i if i < at else UNKNOWN for i in some]
        assert unknown == np.count_nonzero(some >= at)
        moving += len(known._old) > 0
    assert moving > 50
    assert known.find(strings_of(pa.array(texts)))[0].tolist() == list(range(len(texts)))


def test_a_full_gap_gives_new_labels_and_says_so() -> None:
    encoding = narrowed(Encoding([pa.string()]), 2**7)
    encoding.extend(pa.array(["a", "c"]))
    before = encoding.codes(pa.array(["a", "c"]), ordered=True)
    for length in range(1, 20):
        encoding.extend(pa.array(["b" * length]))
        encoding.codes(pa.array(["a"]), ordered=True)
    after = encoding.codes(pa.array(["a", "b", "bb", "c"]), ordered=True)
    assert after.generation == encoding.generation > before.generation
    assert np.all(np.diff(after.values) > 0)
    assert encoding.codes(pa.array(["a", "c"])).values.tolist() == [0, 1]


def test_numbers_have_keys_that_follow_from_their_types() -> None:
    def keys(values: list[Any], kind: pa.DataType, *kinds: pa.DataType) -> list[Any]:
        encoding = Encoding([kind, *kinds])
        assert encoding.extend(pa.array(values, kind)) == 0
        assert encoding.nbytes == 0
        return list(encoding.codes(pa.array(values, kind), ordered=True).values.tolist())

    assert keys([-(2**63), 0, 7], pa.int64()) == [-(2**63), 0, 7]
    assert keys([0, 2**64 - 1], pa.uint64()) == [-(2**63), 2**63 - 1]
    assert keys([Decimal("1.50")], pa.decimal128(9, 2)) == [150]
    assert keys([3], pa.int32(), pa.decimal128(12, 3)) == [3000]
    assert keys([1], pa.date32(), pa.timestamp("s")) == [86_400]
    zero, minus_zero, one, low = keys([0.0, -0.0, 1.0, -2.5], pa.float64())
    assert low < zero == minus_zero < one


def test_a_far_number_has_its_place_beyond_the_near_ones() -> None:
    values = [-(10**30), -(10**25), -5, 0, 2**61 - 1, 2**61, 2**63, 10**30]
    column = pa.array([Decimal(value) for value in values], pa.decimal128(38, 0))
    encoding = Encoding([column.type])
    near = encoding.codes(column.slice(2, 3), ordered=True)
    assert near.values.tolist() == values[2:5]
    assert encoding.codes(column).unknown.tolist() == [0, 1, 5, 6, 7]
    assert encoding.codes(column, extend=True).values.tolist()[2:5] == values[2:5]
    assert len(set(encoding.codes(column).values.tolist())) == len(values)
    assert np.all(np.diff(encoding.codes(column, ordered=True).values) > 0)


def test_what_is_not_known_lies_between_what_is() -> None:
    encoding = Encoding.fit([pa.array(["b", "d", "f"])])
    b, d, f = encoding.codes(pa.array(["b", "d", "f"]), ordered=True).values
    a, c, e, g = encoding.codes(pa.array(["a", "c", "e", "g"]), ordered=True).values
    assert a < b < c < d < e < f < g
    assert set(encoding.codes(pa.array(["a", "c"])).values.tolist()).isdisjoint([0, 1, 2])


def test_floats_and_numbers_that_they_nearly_are_have_different_keys() -> None:
    texts = ["0.1", "0.2", "0.3", "1234567.89", "-0.07", "99999999999999999999999999.01"]
    texts += [f"{sign}90071992547409.{cents}" for sign in ("", "-") for cents in range(88, 98)]  # about 2^53 cents
    decimals = pa.array([Decimal(text) for text in texts], pa.decimal128(38, 2))
    floats = pa.array([float(text) for text in texts] + [0.25])
    quarter = pa.array([Decimal("0.25")], pa.decimal128(38, 2))
    encoding = Encoding.fit([decimals, floats, quarter])
    values = [Fraction(Decimal(t)) for t in texts] + [Fraction(float(t)) for t in texts] + [Fraction(1, 4)] * 2
    keys = [*encoding.codes(decimals).values, *encoding.codes(floats).values, *encoding.codes(quarter).values]
    assert [(a == b) for a in keys for b in keys] == [(x == y) for x in values for y in values]
    ordered = [key for c in (decimals, floats, quarter) for key in encoding.codes(c, ordered=True).values]
    assert [(a < b) for a in ordered for b in ordered] == [(x < y) for x in values for y in values]


def test_types_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SchemaError, match="cannot be compared with each other"):
        Encoding([pa.int64(), pa.string()])
    with pytest.raises(SchemaError, match="numbers, strings"):
        Encoding([pa.list_(pa.int64())])
    encoding = Encoding([pa.decimal128(9, 2)])
    with pytest.raises(SchemaError, match="finer"):
        encoding.codes(pa.array([Decimal("0.001")], pa.decimal128(9, 3)))
    with pytest.raises(SchemaError, match="out of range"):
        encoding.codes(pa.array([Decimal(10**30)], pa.decimal128(38, 0)))
    with pytest.raises(SchemaError, match="string"):
        encoding.codes(pa.array(["1.00"]))
    with pytest.raises(SchemaError, match="floats"):
        Encoding([pa.float64()]).codes(pa.array([1]))
    for kind in (pa.int64(), pa.decimal128(38, 10)):
        with pytest.raises(SchemaError, match="whole numbers"):
            Encoding([kind]).codes(pa.array([1.5]))


def test_an_encoding_of_nulls_takes_the_type_that_comes_first() -> None:
    encoding = Encoding.fit([pa.nulls(3)])
    assert encoding.codes(pa.nulls(2)).valid.tolist() == [0, 0]
    assert encoding.extend(pa.array(["b", None, "a", "b"])) == 2
    assert encoding.codes(pa.array(["a", "b", None])).values.tolist()[:2] == [1, 0]


def test_the_encoding_of_a_relation_knows_its_columns_and_later_rows() -> None:
    relation = Relation.of(pa.table({"a": ["x", None, "z"], "b": ["y", "x", "x"]}))
    encoding = relation.encoding(("a", "b"))
    assert relation.encoding(("b", "a")) is encoding
    later = pa.array(["y", "w", None])
    assert encoding.codes(later).unknown.tolist() == [1]
    assert encoding.extend(later) == 1
    keys = encoding.codes(pa.array(["w", "x", "y", "z"]), ordered=True)
    assert np.all(np.diff(keys.values) > 0)


@given(batches(), st.integers(0, 6), st.booleans(), st.booleans(), st.booleans())
def test_first_rows_have_the_codes_that_the_whole_table_has(
    drawn: Any, n: int, ordered: bool, dense: bool, dense_before: bool
) -> None:
    sample = drawn[1][0]
    whole = Relation.of(pa.table({"c": sample.column}))
    all_codes = whole.encode("c", ordered=ordered, dense=dense_before)
    found = whole.head(n).encode("c", ordered=ordered, dense=dense)
    values = sample.values[:n]
    assert found.nulls == values.count(None)
    if not dense:
        assert found.values.tolist() == all_codes.values[:n].tolist()
    pairs = [pair for pair in zip(found.values.tolist(), values, strict=True) if pair[1] is not None]
    assert all(0 <= code < found.size for code, _ in pairs)
    assert not dense or {code for code, _ in pairs} == set(range(found.size))
    assert all((a == b) == (x == y) for a, x in pairs for b, y in pairs)
    if ordered:
        assert all((a < b) == (x < y) for a, x in pairs for b, y in pairs)
