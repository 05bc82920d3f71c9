"""What is tracked equals a search from scratch in the same space, whatever rows come and go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from refute.discovery.options import options_of
from refute.discovery.tuning import STANDARD
from refute.tracking.meeting.planning import planned
from refute.tracking.ways import Ways
from thorough import THOROUGH, examples
from tracking.changing import INCDC, TUNINGS, WAYS, Followed, Shape, options, shapes

WIDE = Shape(("whole",) * 5, (3,) * 5, (False, True, False, False, True))


class Changing(RuleBasedStateMachine):
    """Rows come, go and are replaced, down to none and back."""

    followed: Followed
    ways = WAYS

    @initialize(data=st.data(), shape=shapes(), given=options(), size=st.sampled_from((0, 1, 2, 8, 25)))
    def begin(self, data: Any, shape: Shape, given: Any, size: int) -> None:
        ways = data.draw(self.ways)
        nulls = data.draw(st.booleans())
        rows = data.draw(st.lists(shape.rows(nulls=nulls), min_size=size, max_size=size))
        self.followed = Followed(shape, rows, given, ways, data.draw(TUNINGS))

    @rule(data=st.data())
    def insert(self, data: Any) -> None:
        self.followed.change([], data.draw(st.lists(self.followed.shape.rows(), min_size=1, max_size=6)))

    @rule(data=st.data())
    def insert_what_is_there(self, data: Any) -> None:
        if self.followed.rows:
            row = data.draw(st.sampled_from(list(self.followed.rows.values())))
            self.followed.change([], [row] * data.draw(st.integers(1, 3)))

    @rule(data=st.data())
    def delete(self, data: Any) -> None:
        if self.followed.rows:
            slots = st.lists(st.sampled_from(list(self.followed.rows)), min_size=1, max_size=8, unique=True)
            self.followed.change(data.draw(slots), [])

    @rule(left=st.integers(0, 3))
    def delete_most(self, left: int) -> None:
        self.followed.change(list(self.followed.rows)[left:], [])

    @rule(data=st.data())
    def replace(self, data: Any) -> None:
        if self.followed.rows:
            slots = st.lists(st.sampled_from(list(self.followed.rows)), min_size=1, max_size=5, unique=True)
            gone = data.draw(slots)
            rows = st.lists(self.followed.shape.rows(), min_size=len(gone), max_size=len(gone))
            self.followed.change(gone, data.draw(rows))

    @precondition(lambda self: hasattr(self, "followed"))
    @invariant()
    def all_is_as_from_scratch(self) -> None:
        self.followed.check()


Changing.TestCase.settings = examples(30, stateful_step_count=20 if THOROUGH else 6)
TestChanging = Changing.TestCase


class ChangingByIndexes(Changing):
    """The same where rows that come are found by the indexes of IncDC."""

    ways = INCDC


ChangingByIndexes.TestCase.settings = examples(30, stateful_step_count=20 if THOROUGH else 6)
TestChangingByIndexes = ChangingByIndexes.TestCase


@given(st.data(), WAYS, st.sampled_from(("sql", "equal")))
@examples(4)
def test_points_of_several_words_are_tracked_alike(data: Any, ways: Ways, nulls: str) -> None:
    given_options = options_of(shared_values=0.0, average_ratio=0.0, one_row=True, nulls=nulls, max_predicates=2)
    alike = [(number,) * 5 for number in (1, 2)]  # so that all columns share values
    rows = data.draw(st.lists(WIDE.rows(), min_size=4, max_size=10))
    followed = Followed(WIDE, [*alike, *rows], given_options, ways)
    assert followed.tracking.space.words > 1
    assert followed.tracking.rows.layout.words > 2
    followed.check()
    followed.change([0, 3], data.draw(st.lists(WIDE.rows(), min_size=1, max_size=4)))
    followed.check()
    followed.change(list(followed.rows)[::2], [])
    followed.check()


@given(st.data(), shapes(), options(), WAYS)
@examples(25)
def test_rows_that_come_and_go_leave_no_trace(data: Any, shape: Shape, given_options: Any, ways: Ways) -> None:
    rows = data.draw(st.lists(shape.rows(), min_size=2, max_size=15))
    more = data.draw(st.lists(shape.rows(), min_size=1, max_size=8))
    followed = Followed(shape, rows, given_options, ways)
    space, boxes, counts = followed.tracking.space, followed.tracking.boxes, followed.counts()
    followed.change([], more)
    followed.change(list(followed.rows)[-len(more) :], [])
    if followed.tracking.space is space and followed.tracking.is_whole:
        assert np.array_equal(followed.tracking.boxes, boxes)
        assert followed.counts() == counts


@given(st.data(), shapes(), options(), WAYS)
@examples(25)
def test_a_change_may_be_taken_apart(data: Any, shape: Shape, given_options: Any, ways: Ways) -> None:
    rows = data.draw(st.lists(shape.rows(), min_size=0, max_size=12))
    more = data.draw(st.lists(shape.rows(), min_size=2, max_size=10))
    at_once, apart, turned = (Followed(shape, rows, given_options, ways) for _ in range(3))
    at_once.change([], more)
    half = len(more) // 2
    apart.change([], more[:half])
    apart.change([], more[half:])
    turned.change([], more[::-1])
    assert np.array_equal(at_once.tracking.boxes, apart.tracking.boxes)
    assert np.array_equal(at_once.tracking.boxes, turned.tracking.boxes)


@given(st.data(), shapes(), st.sampled_from((0.01, 0.1, 0.3)), st.sampled_from(("g1", "g2", "g3")))
@examples(15)
def test_rules_within_an_error_are_tracked_too(data: Any, shape: Shape, error: float, measure: str) -> None:
    given_options = options_of(shared_values=0.0, average_ratio=0.0, error=error, measure=measure, max_predicates=3)
    followed = Followed(shape, data.draw(st.lists(shape.rows(), min_size=2, max_size=10)), given_options, Ways())
    followed.check()
    followed.change([0], data.draw(st.lists(shape.rows(), min_size=1, max_size=5)))
    followed.check()
    followed.change(list(followed.rows)[:2], [])
    followed.check()


def test_many_rows_that_are_gone_are_forgotten() -> None:
    shape = Shape(("whole", "text"), (6, 3), (False, True))
    rows = [(number % 6, f"v{number % 3}") for number in range(12)]
    followed = Followed(shape, rows, options_of(), Ways(spare=4, counted=False, witnesses=2, scratch=9.0))
    for turn in range(12):
        followed.change(list(followed.rows)[:4], [(turn % 5, None), (turn % 6, "v1"), (3, "v0"), (turn % 2, "v2")])
        followed.check()
    assert followed.tracking.rows.n < 40


def test_a_change_of_most_rows_is_a_search_anew() -> None:
    shape = Shape(("whole", "text"), (6, 3), (False, True))
    followed = Followed(shape, [(1, "v0"), (2, "v1"), (2, "v0")], options_of(), Ways(spare=2))
    followed.change([0], [(number, None) for number in range(5)])
    followed.check()


def test_a_table_that_has_grown_is_tracked_in_the_way_of_large_ones() -> None:
    shape = Shape(("whole", "text"), (30, 6), (False, False))
    few = replace(STANDARD, few_rows=8, soon=0.0)
    followed = Followed(shape, [(1, "v0"), (2, "v1")], options_of(), Ways(), few)
    counted = [followed.tracking.is_counted]
    for size in (6, 20):
        followed.change([], [(number, f"v{number % 6}") for number in range(size)])
        counted.append(followed.tracking.is_counted)
    assert counted == [True, True, False]
    followed.check()
    followed.change([0, 3], [(7, "v0")])
    followed.check()


@pytest.mark.parametrize(("worse", "anew"), [(0.5, True), (2.0, True), (90.0, False)])
def test_a_cover_by_which_rows_meet_too_many_others_is_chosen_anew(worse: float, anew: bool) -> None:
    shape = Shape(("whole", "whole"), (900, 900), (False, False))
    rows = [(number, number % 60) for number in range(120)]  # the first column tells all rows apart
    followed = Followed(shape, rows, options_of(cross_columns=False), Ways(counted=False, moved=0.5, worse=worse))
    followed.change([], [(7, 100 + number) for number in range(50)])  # now many agree in it, and none in the second
    begun = followed.tracking.rows
    followed.change([0], [(8, 400 + number) for number in range(80)])
    followed.check()
    followed.change([1], [(9, 500)])
    followed.check()
    work = followed.tracking.cover.work + followed.tracking.residual.work
    plan = planned(followed.tracking.space, followed.tracking.rows, followed.tracking.boxes)
    assert (followed.tracking.rows is not begun) == anew, (work, plan)


@pytest.mark.parametrize(("values", "counted"), [(450, False), (3, True)])
def test_rows_of_small_tables_meet_those_that_agree_where_these_are_few(values: int, counted: bool) -> None:
    shape = Shape(("whole", "text"), (900, 9), (False, False))
    rows = [(number % values, f"v{number % values % 9}") for number in range(900)]
    followed = Followed(shape, rows, options_of(), Ways())
    assert followed.tracking.is_counted is counted
    followed.change([5, 6], [(7, "v8"), (901, "v1")])
    followed.check()
    followed.change([0, 900], [(7, "v7")])
    followed.check()
    assert followed.tracking.is_counted is counted


@pytest.mark.parametrize("counted", [True, False])
def test_a_change_that_threads_gave_up_is_an_interrupt(counted: bool) -> None:
    shape = Shape(("whole", "text"), (6, 3), (False, False))
    rows = [(number % 6, f"v{number % 3}") for number in range(12)]
    followed = Followed(shape, rows, options_of(), Ways(counted=counted))
    followed.tracking._budget.interrupt()
    with pytest.raises(KeyboardInterrupt):
        followed.change([0], [(5, "v0")])
