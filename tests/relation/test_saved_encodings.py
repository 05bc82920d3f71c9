"""Encodings that are saved and restored: they give the same keys as those that never stopped."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.errors import DataError, SchemaError
from refute.relation.keys.dictionary import SPAN
from refute.relation.keys.encoding import Encoding
from refute.relation.keys.keys import Keys
from refute.relation.keys.state import EncodingState
from relation.test_remembered_codes import batches, narrowed


def through_files(state: EncodingState) -> EncodingState:
    """The state as it comes back from Parquet and JSON."""

    def through(array: pa.Array) -> pa.ChunkedArray:
        file = io.BytesIO()
        pq.write_table(pa.table({"c": array}), file)
        return pq.read_table(file).column("c")

    return EncodingState(through(state.strings), through(state.labels), json.loads(json.dumps(state.facts)))


def same(one: Keys, other: Keys) -> bool:
    return one.generation == other.generation and all(
        np.array_equal(a, b)
        for a, b in ((one.values, other.values), (one.valid, other.valid), (one.unknown, other.unknown))
    )


@given(batches(), st.sampled_from((SPAN, 2**7, 2**9)), st.randoms(use_true_random=False))
def test_a_restored_encoding_goes_on_with_the_same_keys(drawn: Any, span: int, random: Any) -> None:
    kinds, columns = drawn
    kinds = kinds if random.random() < 0.9 else []
    lasting = narrowed(Encoding(kinds), span)
    restored = narrowed(Encoding(kinds), span)
    states: list[EncodingState] = []
    for sample in columns:
        ordered, extend = random.random() < 0.5, random.random() < 0.8
        try:
            expected = lasting.codes(sample.column, ordered=ordered, extend=extend)
        except SchemaError:  # of a type that keys were not made for, where the first column decided that
            continue
        assert same(expected, restored.codes(sample.column, ordered=ordered, extend=extend))
        if random.random() < 0.7:
            state = restored.state(states[-1].facts if states else None)
            states.append(through_files(state) if random.random() < 0.3 else state)
            if random.random() < 0.3:
                states = [EncodingState.joined(states)]
            restored = Encoding.restored(kinds, *states)
            assert restored.generation == lasting.generation
    for sample in columns:
        for ordered in (False, True):
            try:
                expected = lasting.codes(sample.column, ordered=ordered)
            except SchemaError:
                continue
            assert same(expected, restored.codes(sample.column, ordered=ordered))


def test_what_is_saved_of_a_batch_is_what_was_new_in_it() -> None:
    encoding = Encoding([pa.string()])
    encoding.codes(pa.array(["b", "d"]), ordered=True, extend=True)
    whole = encoding.state()
    assert whole.strings.to_pylist() == [b"b", b"d"]
    encoding.extend(pa.array(["c", "b"]))
    unlabelled = encoding.state(since=whole.facts)
    assert (unlabelled.strings.to_pylist(), unlabelled.first_string, len(unlabelled.labels)) == ([b"c"], 2, 0)
    encoding.codes(pa.array(["a"]), ordered=True, extend=True)
    later = encoding.state(since=unlabelled.facts)
    assert (later.strings.to_pylist(), later.first_string) == ([b"a"], 3)
    assert (len(later.labels), later.first_label) == (2, 2)
    assert whole.strings.to_pylist() == [b"b", b"d"]


def test_labels_that_were_replaced_are_saved_again_but_strings_are_not() -> None:
    encoding = narrowed(Encoding([pa.string()]), 2**7)
    encoding.codes(pa.array(["a", "c"]), ordered=True, extend=True)
    state = encoding.state()
    length = 0
    while encoding.generation == state.generation:
        length += 1
        encoding.codes(pa.array(["b" * length]), ordered=True, extend=True)
    later = encoding.state(since=state.facts)
    assert (later.first_string, len(later.strings)) == (2, length)
    assert (later.first_label, len(later.labels)) == (0, 2 + length)
    assert later.generation == encoding.generation > state.generation


def test_a_state_stays_as_it_is_while_more_becomes_known() -> None:
    encoding = narrowed(Encoding([pa.string()]), 2**9)
    encoding.codes(pa.array(["a", "c"]), ordered=True, extend=True)
    state = encoding.state()
    before = (state.strings.to_pylist(), state.labels.to_pylist())
    for i in range(60):
        encoding.codes(pa.array([f"b{i}{'x' * 99}"]), ordered=True, extend=True)
    assert (state.strings.to_pylist(), state.labels.to_pylist()) == before
    assert encoding.generation > 0


def test_types_alone_are_saved_where_they_tell_keys() -> None:
    encoding = Encoding([pa.uint64()])
    state = encoding.state()
    assert len(state.strings) == len(state.labels) == 0
    column = pa.array([0, 7, 2**64 - 1], pa.uint64())
    assert same(Encoding.restored([], state).codes(column), encoding.codes(column))


def test_what_does_not_fit_together_is_refused() -> None:
    encoding = Encoding([pa.string()])
    encoding.extend(pa.array(["a"]))
    first = encoding.state()
    encoding.extend(pa.array(["b"]))
    second = encoding.state(since=first.facts)
    encoding.extend(pa.array(["c"]))
    third = encoding.state(since=second.facts)
    assert Encoding.restored([pa.large_string()], first, second, third).codes(pa.array(["c"])).values.tolist() == [2]
    with pytest.raises(DataError, match="its first part is missing"):
        Encoding.restored([pa.string()], second)
    with pytest.raises(DataError, match="from all parts"):
        Encoding.restored([pa.string()], first, third)
    with pytest.raises(DataError, match="incomplete"):
        Encoding.restored([pa.string()], EncodingState(first.strings.slice(1), first.labels, first.facts))
    with pytest.raises(DataError, match="version 9"):
        Encoding.restored([pa.string()], EncodingState(first.strings, first.labels, {**first.facts, "version": 9}))
    with pytest.raises(DataError, match="nulls"):
        Encoding.restored([pa.string()], EncodingState(pa.array([None], pa.binary()), first.labels, first.facts))
    with pytest.raises(SchemaError, match="The saved keys are for string, not for int64"):
        Encoding.restored([pa.int64()], first)
