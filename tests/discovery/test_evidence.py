"""Evidence of wide spaces: points of many words are read, ordered, added up and looked up as by plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.discovery.evidence.counted import Evidence, merged
from refute.discovery.guided.guided import _contained
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.space.predicates import space_for
from refute.discovery.space.slots import PredicateSpace, Slot
from refute.discovery.space.states import BOTH_NULL, EQUAL, GREATER, LESS, ONE_NULL, kind_of
from refute.discovery.table import LocalTable
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Row
from refute.relation import Relation
from thorough import examples

ORDERED = kind_of(ordered=True, nullable=False, nulls=Nulls.SQL, operators=tuple(Operator))
WIDE = PredicateSpace(tuple(Slot(Column(Row.S, f"c{k}"), Column(Row.T, f"c{k}"), ORDERED) for k in range(60)))


def atom(left: object, right: object) -> int:
    if left is None or right is None:
        return BOTH_NULL if left is right else ONE_NULL
    return EQUAL if left == right else LESS if left < right else GREATER  # type: ignore[operator]


@pytest.mark.parametrize("nulls", list(Nulls))
@pytest.mark.parametrize("cross", [False, True])
def test_a_wide_space_sees_every_pair_in_both_roles(cross: bool, nulls: Nulls) -> None:
    random = np.random.default_rng(5)
    names = [f"c{k}" for k in range(9 if cross else 70)]
    columns = {}
    for place, name in enumerate(names):
        values = random.integers(0, 3, 12).tolist()
        cells = [None if place % 4 == 0 and random.random() < 0.2 else value for value in values]
        column = pa.array(cells, pa.int64())
        columns[name] = column if place % 3 else column.cast(pa.string())
    options = Options(cross_columns=cross, one_row=cross, shared_values=0.0, average_ratio=0.0, nulls=nulls, threads=2)
    relation = Relation.of(pa.table(columns))
    space, _ = space_for(LocalTable(relation), options)
    assert space.words > 1
    found, complete = LocalPairs(relation, space, options).everything(Budget(options))
    assert complete
    rows = pa.table(columns).to_pylist()
    expected: Counter[tuple[int, ...]] = Counter()
    for i, s in enumerate(rows):
        for j, t in enumerate(rows):
            if i != j:
                pair = {Row.S: s, Row.T: t}
                states = []
                for slot in space.slots:
                    assert isinstance(slot.right, Column)
                    left, right = pair[slot.left.row][slot.left.name], pair[slot.right.row][slot.right.name]
                    states.append(slot.kind.state_of_atom[atom(left, right)])
                expected[tuple(states)] += 1
    assert dict(zip(map(tuple, found.states.tolist()), found.counts.tolist(), strict=True)) == expected


@st.composite
def wide_points(draw: st.DrawFn, most: int = 60) -> np.ndarray:
    """Points of several words that often begin alike, and often repeat."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    size, alike, values = draw(st.integers(0, most)), draw(st.integers(0, 60)), draw(st.integers(1, 3))
    states = random.integers(0, values, (size, 60)).astype(np.uint8)
    states[:, :alike] = 0
    if size and draw(st.booleans()):
        states = states[random.integers(0, size, size)]
    return WIDE.points(states)


@given(wide_points())
@examples(60)
def test_points_that_repeat_are_added_up_in_ascending_order(points: np.ndarray) -> None:
    counts = np.arange(len(points)) - 5  # evidence that is taken away counts below zero
    expected: Counter[tuple[int, ...]] = Counter()
    for row, count in zip(points.tolist(), counts.tolist(), strict=True):
        expected[tuple(row)] += count
    found = Evidence.of(WIDE, points, counts)
    assert [tuple(row) for row in found.points.tolist()] == sorted({tuple(row) for row in points.tolist()})
    assert found.counts.tolist() == [expected[tuple(row)] for row in found.points.tolist()]


@given(wide_points(), wide_points())
@examples(60)
def test_points_are_known_where_they_are_among_the_known(some: np.ndarray, others: np.ndarray) -> None:
    known = Evidence.of(WIDE, others, np.ones(len(others), np.int64))
    both = merged(WIDE, [known, Evidence.of(WIDE, some, np.ones(len(some), np.int64))])
    held = {tuple(row) for row in known.points.tolist()}
    assert _contained(both.points, known.points).tolist() == [tuple(row) in held for row in both.points.tolist()]


@pytest.mark.parametrize("alike", [0, 15])
@pytest.mark.parametrize("highest", [62, 63])
def test_many_points_are_ordered_whatever_bits_they_use(highest: int, alike: int) -> None:
    random = np.random.default_rng(highest + alike)
    points = random.integers(0, 1 << 63, (20_000, WIDE.words), np.uint64) >> np.uint64(1)
    points[:, 0] |= random.integers(0, 2, len(points), np.uint64) << np.uint64(highest)
    points[:, 0] &= ~np.uint64(0) << np.uint64(4 * alike)
    points[10_000:] = points[:10_000]
    found = Evidence.of(WIDE, points, np.ones(len(points), np.int64))
    assert found.points.tolist() == sorted(points[:10_000].tolist())
    assert (found.counts == 2).all()


@pytest.mark.parametrize("rows", [150, 600])
def test_a_wide_space_counts_more_clues_than_it_had_room_for(rows: int) -> None:
    values = np.random.default_rng(rows).integers(0, 3, (70, 150))[:, np.arange(rows) % 150]
    relation = Relation.of(pa.table({f"c{k}": column for k, column in enumerate(values)}))
    options = Options(cross_columns=False, threads=1)
    pairs = LocalPairs(relation, space_for(LocalTable(relation), options)[0], options)
    assert pairs.book.facts.s_bits.shape[0] > 2
    found, complete = pairs.everything(Budget(options))
    copies = rows // 150
    assert complete
    assert len(found) == 150 * 149 + (copies > 1)
    assert sorted(found.counts.tolist())[:-1] == [copies**2] * (150 * 149 - (copies == 1))
    assert found.counts.max() == (150 * copies * (copies - 1) if copies > 1 else 1)
