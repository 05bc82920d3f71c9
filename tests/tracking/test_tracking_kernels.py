"""Each kernel of tracking against its twin in plain Python."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from refute.discovery.evidence.tiles import ClueTally
from refute.discovery.options import options_of
from refute.discovery.space.predicates import space_for
from refute.discovery.table import LocalTable
from refute.kernels.tracking.groups import (
    Outermost,
    drop_outermost,
    find_ends_again,
    keep_outermost,
    stand_ins,
)
from refute.kernels.tracking.points import (
    count_holding,
    find_points,
    first_around,
    first_inside,
    forget_pairs,
    mark_apart,
    smallest_sets,
)
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
    space = space_for(LocalTable(Relation.of(table)), options)[0]
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
            number = groups.numbers(np.array([row]), (0, 1))
            if None in cells and not agree:
                assert number.tolist() == [-1]
                continue
            (begin,), (end,) = groups.spans(number)
            members = groups.members[begin:end].tolist()
            assert sorted(members) == sorted(other for other, theirs in known.items() if theirs == cells)


@given(WORDS, WORDS)
@examples(60)
def test_what_only_one_side_has(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    some, others = sorted(set(some)), sorted(set(others))
    alone, others_alone = np.empty(len(some), np.bool_), np.empty(len(others), np.bool_)
    mark_apart(words(some), words(others), alone, others_alone)
    assert alone.tolist() == [one not in others for one in some]
    assert others_alone.tolist() == [one not in some for one in others]


@given(
    WORDS, st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 7), st.integers(0, 7)), max_size=9)
)
@examples(60)
def test_how_many_boxes_hold_a_pair(boxes: list[tuple[int, int]], pairs: list[tuple[int, int, int, int]]) -> None:
    turned = np.array([n % 2 == 1 for n in range(len(boxes))], np.bool_)
    ahead, back = [pair[:2] for pair in pairs], [pair[2:] for pair in pairs]
    out = np.empty(len(pairs), np.int64)
    count_holding(words(boxes), turned, words(ahead), words(back), out)
    for one, other, found in zip(ahead, back, out.tolist(), strict=True):
        roles = [is_inside(one, box) + (n % 2 * is_inside(other, box)) for n, box in enumerate(boxes)]
        assert found == sum(roles)


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=3), max_size=6),
    st.sets(st.integers(0, 5)),
)
@examples(60)
def test_pairs_of_rows_that_are_gone_are_forgotten(listed: list[list[tuple[int, int]]], gone: set[int]) -> None:
    witnesses = np.full((len(listed), 3), -1, np.int64)
    for n, pairs in enumerate(listed):
        witnesses[n, : len(pairs)] = [s << 32 | t for s, t in pairs]
    forget_pairs(witnesses, np.array([row not in gone for row in range(6)]))
    for pairs, found in zip(listed, witnesses.tolist(), strict=True):
        left = [s << 32 | t for s, t in pairs if s not in gone and t not in gone]
        assert found == left + [-1] * (3 - len(left))


@given(st.data(), st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), max_size=40), st.booleans())
@examples(80)
def test_the_outermost_rows_stand_for_their_groups(data: Any, cells: list[tuple[int, int]], by_value: bool) -> None:
    """Rows come and go in parts; who stands for a group is only asked now and then."""
    groups = np.array([group for group, _ in cells], np.int64)
    codes = np.array([[value] for _, value in cells], np.int32).reshape(len(cells), 1)
    column = 0 if by_value else -1
    ends = data.draw(st.sampled_from((2, 3, 4)))
    kept = Outermost(np.zeros(3, np.int32), *np.full((2, 3, 2, ends), -1, np.int32))
    hurt, alive = np.zeros(3, np.bool_), np.zeros(len(cells), np.bool_)
    come = 0
    for _ in range(data.draw(st.integers(1, 6))):
        more = np.arange(come, min(len(cells), come + data.draw(st.integers(0, 15))))
        come += len(more)
        alive[more] = True
        keep_outermost(kept, more, groups[more], codes, column)
        if alive.any():
            there = np.flatnonzero(alive).tolist()
            gone = np.array(sorted(data.draw(st.sets(st.sampled_from(there), max_size=10))), np.int64)
            alive[gone] = False
            drop_outermost(kept, gone, groups[gone], hurt)
        if data.draw(st.booleans()):
            continue
        find_ends_again(kept, hurt, groups[:come], alive, codes, column)
        assert not hurt.any()
        found = np.empty((3, 2), np.int32)
        stand_ins(kept, np.arange(3), found)
        for group in range(3):
            rows = [row for row in np.flatnonzero(alive).tolist() if cells[row][0] == group]
            standing = [row for row in found[group].tolist() if row >= 0]
            assert kept.size[group] == len(rows)
            assert set(standing) <= set(rows)
            assert len(set(standing)) == len(standing) == min(2, len(rows))
            values = [cells[row][1] for row in rows]
            if by_value and rows:
                assert {cells[row][1] for row in standing} >= {min(values), max(values)}


def test_rows_equal_to_those_that_stand_for_a_group_do_not_take_their_places() -> None:
    """Else each of them would have to meet all others that stand for some."""
    codes = np.array([[value] for value in (5, 7, 5, 7, 5, 7, 6, 4)], np.int32)
    kept = Outermost(np.zeros(1, np.int32), *np.full((2, 1, 2, 4), -1, np.int32))
    found = np.empty((1, 2), np.int32)
    stood = []
    for row in range(len(codes)):
        keep_outermost(kept, np.array([row]), np.zeros(1, np.int64), codes, 0)
        stand_ins(kept, np.zeros(1, np.int64), found)
        stood.append(found[0].tolist())
    assert stood == [[0, -1], *[[0, 1]] * 6, [7, 1]]


@given(st.data(), st.lists(st.tuples(*(st.integers(-2, 2),) * 3), min_size=1, max_size=9), st.integers(1, 8))
@examples(40)
def test_clues_of_members_are_those_of_their_pairs(data: Any, cells: list[tuple[int, int, int]], most: int) -> None:
    table = pa.table({name: pa.array([row[k] for row in cells], pa.int64()) for k, name in enumerate("abc")})
    options = options_of(cross_columns=False)
    space = space_for(LocalTable(Relation.of(table)), options)[0]
    rows = TrackedRows(space, options.nulls, {name: pa.int64() for name in "abc"})
    coded = rows.coded(Relation.of(table))
    assert coded is not None
    numbers = rows.take_in(coded[0], Relation.of(table), np.arange(len(cells)))
    asking = np.array(data.draw(st.lists(st.sampled_from(numbers.tolist()), min_size=1, max_size=most)), np.int64)
    members = np.array(data.draw(st.lists(st.sampled_from(numbers.tolist()), min_size=1, max_size=most)), np.int32)
    facts = rows.facts(asking)
    tally = ClueTally(facts, keeps_pairs=True)
    ranges = np.array([[0, len(asking), 0, len(members)]], np.int64)
    tally.add_members(facts, rows.kept, np.arange(len(asking)), members, ranges)
    clues, counts = tally.clues()
    points = map(tuple, rows.layout.points(clues)[: len(clues)].tolist())
    found = Counter(dict(zip(points, counts.tolist(), strict=True)))
    states = [
        [(cells[s][k] > cells[t][k]) - (cells[s][k] < cells[t][k]) for k in range(3)] for s in asking for t in members
    ]
    expected = Counter(tuple(sign) for sign in states)
    assert sorted(found.values()) == sorted(expected.values())
    assert found.total() == len(asking) * len(members)
