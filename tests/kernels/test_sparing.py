"""What stands in for kernels that are not compiled says what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import refute as rf
from refute.data import RULES, TABLE
from refute.kernels.compiled import njit
from refute.kernels.encode import few as by_numpy
from refute.kernels.encode import integers, strings
from refute.kernels.sort.distinct import numbered
from refute.kernels.sort.grouping import matching_keys, number_groups
from refute.kernels.sort.ranking import dense_ranks
from refute.kernels.sort.repeats import repeated_positions
from refute.kernels.sort.sorting import sorted_positions
from refute.kernels.sparing import SparedKernel, Sparing, sparing_by
from refute.relation.encode.dense import dense_codes
from refute.relation.encode.strings import strings_of
from strategies import Case, cases

STRINGS, INTEGERS = cast(Any, strings), cast(Any, integers)
KEYS = st.lists(st.integers(0, 9) | st.integers(0, 2**40), max_size=40).map(lambda keys: np.array(keys, np.int64))


class Always(Sparing):
    """Spares every kernel, whether it is compiled or not."""

    def spares(self, kernel: object, values: int) -> bool:
        return True

    def call(self, kernel: SparedKernel, args: tuple[Any, ...]) -> Any:
        return kernel.uncompiled(*args)


class Both(Always):
    """Asks each kernel both ways and compares what it gives and what it writes."""

    def __init__(self) -> None:
        self.asked: set[SparedKernel] = set()

    def call(self, kernel: SparedKernel, args: tuple[Any, ...]) -> Any:
        self.asked.add(kernel)
        copies = tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args)
        expected, found = kernel.compiled(*copies), kernel.uncompiled(*args)
        name = kernel.py_func.__qualname__
        same(name, found, expected)
        for arg, copy in zip(args, copies, strict=True):
            if isinstance(arg, np.ndarray):
                np.testing.assert_array_equal(arg, copy, err_msg=name)
        return found


def same(name: str, found: Any, expected: Any) -> None:
    """Fails unless both are the same numbers or arrays, of one type where they are arrays."""
    if isinstance(expected, tuple):
        for one, other in zip(found, expected, strict=True):
            same(name, one, other)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)
    else:
        assert found == expected, name


def answers(report: rf.Report) -> list[dict[str, Any]]:
    """What a report says of each rule, but for the time it took."""
    return [{**rule, "seconds": 0} for rule in json.loads(report.to_json())["rules"]]


def both_ways(call: Callable[[], Any]) -> None:
    with sparing_by(Sparing(few=0)):
        expected = call()
    with sparing_by(Always()):
        found = call()
    same(getattr(call, "__name__", ""), found, expected)


def test_the_sample_is_answered_the_same_both_ways_call_by_call() -> None:
    both = Both()
    with sparing_by(both):
        report = rf.check(TABLE, rf.load_rules(RULES), engine="local")
        shown = str(report)
        suspects = report.suspects.to_arrow()
        proposed = rf.propose(TABLE, engine="local")
    with sparing_by(Sparing(few=0)):
        plain = rf.check(TABLE, rf.load_rules(RULES), engine="local")
        assert answers(plain) == answers(report)
        assert plain.suspects.to_arrow() == suspects
        assert rf.propose(TABLE, engine="local").to_yaml() == proposed.to_yaml()
    assert "zip_fixes_city" in shown
    assert len(both.asked) > 40


@given(cases())
def test_small_tables_are_answered_the_same_both_ways_call_by_call(case: Case) -> None:
    expected = rf.count(case.table, case.rule)
    with sparing_by(Both()):
        assert rf.count(case.table, case.rule) == expected
        assert rf.verify(case.table, case.rule).holds == (expected == 0)
        found = rf.suspects(case.table, [case.rule]).to_arrow()
    assert found == rf.suspects(case.table, [case.rule]).to_arrow()


@given(KEYS, KEYS, st.booleans())
def test_sorts_and_groups_are_the_same_both_ways(s: np.ndarray, t: np.ndarray, twin: bool) -> None:
    t = s if twin else t
    size = int(max(s.max(initial=0), t.max(initial=0))) + 1
    both_ways(lambda: sorted_positions(s, size))
    both_ways(lambda: sorted_positions(s, size, turned=True))
    both_ways(lambda: number_groups(s, t))
    both_ways(lambda: dense_ranks(s, t, size))
    both_ways(lambda: numbered(s, len(s)))
    both_ways(lambda: matching_keys(s, t))
    both_ways(lambda: repeated_positions(lambda part: s[part], len(s)))
    with sparing_by(Always()):
        groups, ranks = number_groups(s, s), dense_ranks(s, s, size)
        assert groups[0] is groups[1]
        assert ranks[0] is ranks[1]


@pytest.mark.parametrize("rows", [10, 3000, 9000, 30_000])
@pytest.mark.parametrize("share", [1, 4, 40])
def test_the_keys_that_may_repeat_are_the_same_both_ways(rows: int, share: int) -> None:
    keys = np.random.default_rng(rows * share).integers(0, rows * share, rows) * 2**20
    both_ways(lambda: repeated_positions(lambda part: keys[part], len(keys)))
    both_ways(lambda: matching_keys(keys, keys[::3].copy() + 2**20))
    both_ways(lambda: sorted_positions(keys, int(keys.max()) + 1))


@given(st.lists(st.lists(st.integers(-1, 5) | st.integers(-1, 2**50), max_size=20), min_size=1, max_size=3))
def test_dense_codes_are_the_same_both_ways(columns: list[list[int]]) -> None:
    codes = [np.array(column, np.int64) for column in columns]
    size = max((int(part.max(initial=-1)) for part in codes), default=-1) + 1
    both_ways(lambda: tuple(dense_codes(codes, size)[0]))
    both_ways(lambda: dense_codes(codes, size)[1])


@given(st.lists(st.text("a\x00\u00e9\U0001f600z", max_size=20) | st.none(), max_size=20), st.integers(0, 2))
def test_strings_are_read_the_same_both_ways(values: list[str | None], word: int) -> None:
    part = strings_of(pa.array(values, pa.string()))
    columns = part.offsets, part.data, part.valid
    same("longest", by_numpy.longest(*columns), STRINGS.longest.compiled(*columns))
    width = int(part.offsets[1] - part.offsets[0]) if values else 0
    same("has_width", by_numpy.has_width(part.offsets, width), STRINGS.has_width.compiled(part.offsets, width))
    arguments = part.data, part.offsets, part.valid, word
    found, expected = by_numpy.varying_bits(*arguments), STRINGS.varying_bits.compiled(*arguments)
    same("varying_bits", found, expected)
    runs = np.array([[0, 0xFF], [40, 0xFF00]], np.uint64)
    codes = [np.arange(len(values), dtype=np.int64) for _ in range(2)]
    by_numpy.append_bits(*arguments, runs, 16, codes[0])
    STRINGS.append_bits.compiled(*arguments, runs, 16, codes[1])
    same("append_bits", *codes)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64])
@given(data=st.data())
def test_bounds_and_shifts_are_the_same_both_ways(kind: type[np.integer[Any]], data: st.DataObject) -> None:
    limits = np.iinfo(kind)
    values = np.array(data.draw(st.lists(st.integers(int(limits.min), int(limits.max)), max_size=9)), kind)
    flags = data.draw(st.lists(st.integers(0, 1), min_size=len(values), max_size=len(values)) | st.just([]))
    valid = np.array(flags, np.uint8)
    same("bounds", by_numpy.bounds(values, valid), tuple(map(int, INTEGERS.bounds.compiled(values, valid))))
    signed = values.view(np.int64) if kind is np.uint64 else values
    factor, shift = data.draw(st.tuples(*2 * [st.integers(-(2**63), 2**63 - 1)]))
    found = [np.empty(len(values), np.int64) for _ in range(2)]
    by_numpy.affine(signed, valid, factor, shift, found[0])
    INTEGERS.affine.compiled(signed, valid, factor, shift, found[1])
    same("affine", *found)


def test_a_kernel_is_compiled_once_it_has_been_asked_for_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_CACHE_DIR", str(tmp_path))

    @njit(cache=True, nogil=True, plain=True)
    def total(values: np.ndarray) -> int:
        found = 0
        for i in range(len(values)):
            found += values[i]
        return found

    few, many = np.arange(10), np.arange(1000)
    with sparing_by(Sparing(few=100, budget=10**9)):
        assert total(few) == 45
        assert not cast(Any, total).signatures
    with sparing_by(Sparing(few=100, budget=1000)):  # of which each call takes 64 at least
        assert [total(few) for _ in range(20)] == [45] * 20
        assert len(cast(Any, total).signatures) == 1
        assert total(many) == 499_500


def test_a_number_that_does_not_fit_is_an_error_without_machine_code() -> None:
    @njit(cache=True, nogil=True, plain=True)
    def doubled(values: np.ndarray) -> None:
        for i in range(len(values)):
            values[i] = values[i] * 2

    with sparing_by(Always()), pytest.raises(ValueError, match="memoryview"):
        doubled(np.array([2**62], np.int64))
