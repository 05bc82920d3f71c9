"""Rows in blocks, each asked alone about a change, together say all that one process would know."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.discovery.evidence.counted import merged
from refute.discovery.options import Options
from refute.discovery.work import Budget
from refute.kernels.tracking.points import first_around
from refute.relation import Relation
from refute.spark.tracking.meeting import BlockQuestion, MovedRows, all_met, met
from refute.tracking.evidence.known import among
from refute.tracking.meeting.residual import required, settled
from refute.tracking.tracking import Tracking
from refute.tracking.ways import Ways
from thorough import examples
from tracking.changing import WAYS, Shape, from_scratch, options, shapes

pytestmark = pytest.mark.spark  # of its folder; no session is asked for


@st.composite
def moments(draw: st.DrawFn) -> tuple[Shape, list[tuple[object, ...]], list[int], list[int]]:
    """Rows of a shape; the block of each, those that come are in none; those that go."""
    shape = draw(shapes())
    rows = draw(st.lists(shape.rows(), min_size=2, max_size=24))
    blocks = draw(st.lists(st.integers(-1, 2), min_size=len(rows), max_size=len(rows)))
    old = [n for n, block in enumerate(blocks) if block >= 0]
    going = draw(st.lists(st.sampled_from(old), unique=True, max_size=4)) if old else []
    return shape, rows, blocks, going


@examples(25)
@given(moments(), options(), WAYS, st.sampled_from((0, 0, 1, 9)))
def test_blocks_tell_all_that_a_change_does(
    moment: tuple[Shape, list[tuple[object, ...]], list[int], list[int]],
    given_options: Options,
    ways: Ways,
    most: int,
) -> None:
    shape, rows, blocks, going = moment
    if given_options.error:
        return
    placed = np.array(blocks)
    old, coming = np.flatnonzero(placed >= 0), np.flatnonzero(placed < 0)
    whole = Relation.of(shape.table(rows))
    tracking = Tracking(Relation.of(shape.table([rows[n] for n in old])), old, given_options, ways=ways)
    space = tracking.space.widened([name for name in tracking.space_columns if whole.null_count(name)])
    if not tracking.space.slots or not len(tracking.known):
        return
    tracking._widen(space)
    names = list(tracking.space_columns)
    sets = [one for one in tracking.cover.sets if one.same][:most]
    open_ones = ~settled([one.chosen for one in sets], required(space, tracking.boxes))
    question = BlockQuestion(
        space,
        given_options.nulls,
        given_options.max_predicates,
        tuple(one.chosen for one in sets),
        tracking.boxes[open_ones],
        ways.classes,
        ways.standing,
    )

    def taken(numbers: np.ndarray) -> pa.Table:
        return shape.table([rows[n] for n in numbers]).select(names)

    gone = np.array(going, np.int64)
    moved = MovedRows(taken(gone), gone, taken(coming), coming)
    stay = np.setdiff1d(old, gone)
    budget = Budget(given_options)
    parts = []
    for number in range(3):
        own = stay[placed[stay] == number]
        parts.append(met(question, taken(own), own, moved, among=number == 0, budget=budget))
    found = all_met(space, parts)

    def counted(numbers: np.ndarray) -> dict[tuple[int, ...], int]:
        evidence = from_scratch(Relation.of(taken(numbers)), space, given_options).evidence
        return dict(zip(map(tuple, evidence.points.tolist()), evidence.counts.tolist(), strict=True))

    before, between, after = counted(old), counted(stay), counted(np.union1d(stay, coming))
    for part, more, less in ((found.lost, before, between), (found.gained, after, between)):
        told = dict(zip(map(tuple, part.points.tolist()), part.counts.tolist(), strict=True))
        for one in sets:
            for point in {*more, *less}:
                if one.holds(np.array([point], np.uint64))[0]:
                    assert told.get(point, 0) == more.get(point, 0) - less.get(point, 0)
    seen = merged(space, [found.gained, found.seen])
    assert set(map(tuple, seen.points.tolist())) <= set(after)
    true = np.array(sorted(after), np.uint64).reshape(-1, space.words)
    fresh = true[~among(true, tracking.known.points)]
    boxes = tracking.maximal.cut(
        tracking.boxes,
        seen.points[~among(seen.points, tracking.known.points)],
        merged(space, [seen, tracking.known.evidence()]).points,
    )
    around = np.empty(len(fresh), np.int64)
    first_around(np.ascontiguousarray(fresh), np.ascontiguousarray(boxes), around)
    came = [point for point, box in zip(fresh.tolist(), around.tolist(), strict=True) if box >= 0]
    assert not came, "a pair of a row that came lies in a box that is left"
    pairs = seen.pairs if seen.pairs is not None else np.empty((0, 2), np.int64)
    for point, pair in zip(seen.points.tolist(), pairs, strict=True):
        assert tuple(point) in counted(pair)
