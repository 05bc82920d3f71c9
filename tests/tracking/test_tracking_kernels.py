"""Each kernel of tracking against its twin in plain Python."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from refute.discovery.options import options_of
from refute.discovery.space.predicates import predicate_space
from refute.discovery.table import LocalTable
from refute.kernels.tracking.points import find_points, first_around, first_inside, smallest_sets
from refute.language.nulls import Nulls
from refute.relation import Relation
from refute.tracking.codes import NULL, Codes
from refute.tracking.meeting.groups import RowGroups
from refute.tracking.rows import TrackedRows
from thorough import examples

WORDS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=12)


def words(listed: list[tuple[int, int]]) -> np.ndarray:
    return np.array(listed, np.uint64).reshape(len(listed), 2)


def is_inside(inner: tuple[int, int], outer: tuple[int, int]) -> bool:
    return all(a & ~b == 0 for a, b in zip(inner, outer, strict=True))


@given(WORDS, WORDS)
@examples(60)
def test_points_are_found_where_they_are_or_belong(points: list[tuple[int, int]], asked: list[tuple[int, int]]) -> None:
    points = sorted(set(points))
    out = np.empty(len(asked), np.int64)
    find_points(words(points), words(asked), out)
    for one, place in zip(asked, out.tolist(), strict=True):
        if one in points:
            assert points.index(one) == place
        else:
            assert sorted([*points, one]).index(one) == -1 - place


@given(WORDS, WORDS)
@examples(60)
def test_what_is_inside_what(boxes: list[tuple[int, int]], points: list[tuple[int, int]]) -> None:
    held, around = np.empty(len(boxes), np.int64), np.empty(len(points), np.int64)
    first_inside(words(boxes), words(points), held)
    first_around(words(points), words(boxes), around)
    for box, place in zip(boxes, held.tolist(), strict=True):
        assert place == next((n for n, point in enumerate(points) if is_inside(point, box)), -1)
    for point, place in zip(points, around.tolist(), strict=True):
        assert place == next((n for n, box in enumerate(boxes) if is_inside(point, box)), -1)


@given(WORDS)
@examples(60)
def test_smallest_sets_hold_no_other(sets: list[tuple[int, int]]) -> None:
    sets.sort(key=lambda one: sum(word.bit_count() for word in one))
    out = np.empty(len(sets), np.int64)
    kept = [sets[n] for n in out[: smallest_sets(words(sets), out)].tolist()]
    assert kept == [
        one
        for n, one in enumerate(sets)
        if not any(is_inside(other, one) for other in sets[:n])
        and not any(other != one and is_inside(other, one) for other in sets)
    ]


KEYS = st.lists(st.integers(-40, 40) | st.integers(-(2**62), 2**62), max_size=9)
CELLS = st.tuples(st.integers(0, 4), st.none() | st.integers(0, 2))


@given(st.lists(KEYS, max_size=6), st.integers(12, 90))
@examples(80)
def test_codes_compare_as_keys_do_also_when_they_move(batches: list[list[int]], span: int) -> None:
    codes = Codes(span)
    keys: list[int] = []
    held = np.empty(0, np.int32)
    for batch in batches:
        found, moved = codes.of(np.array(batch, np.int64), held.copy)
        held = np.concatenate([held if moved is None else moved.of(held), found])
        keys += batch
        assert NULL not in held
        assert np.array_equal(np.unique(keys, return_inverse=True)[1], np.unique(held, return_inverse=True)[1])


@given(st.lists(st.tuples(st.lists(CELLS, max_size=9), st.integers(0, 6)), max_size=8), st.booleans())
@examples(60)
def test_groups_have_the_rows_that_agree(batches: list[tuple[list[tuple[int, int | None]], int]], agree: bool) -> None:
    table = pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.int64())})
    options = options_of(cross_columns=False, nulls="equal" if agree else "sql")
    space = predicate_space(LocalTable(Relation.of(table)), options)[0]
    rows = TrackedRows(space, options.nulls, {name: pa.int64() for name in "ab"})
    groups = RowGroups(rows, (0, 1), nulls_agree=options.nulls is Nulls.EQUAL)
    known: dict[int, tuple[int, int | None]] = {}
    for came, going in batches:
        relation = Relation.of(
            pa.table({n: pa.array([row[k] for row in came], pa.int64()) for k, n in enumerate("ab")})
        )
        coded = rows.coded(relation)
        assert coded is not None
        numbers = rows.take_in(coded[0], relation, np.arange(rows.n, rows.n + len(came)))
        groups.add(numbers)
        known |= dict(zip(numbers.tolist(), came, strict=True))
        gone = np.array(list(known)[:going], np.int64)
        groups.drop(gone)
        rows.let_go(gone)
        known = {row: cells for row, cells in known.items() if row not in gone.tolist()}
        for row, cells in known.items():
            number = groups.numbers(rows.codes_of(np.array([row]), (0, 1)))
            if None in cells and not agree:
                assert number.tolist() == [-1]
                continue
            (begin,), (end,) = groups.spans(number)
            members = groups.members[begin:end].tolist()
            assert sorted(members) == sorted(other for other, theirs in known.items() if theirs == cells)
