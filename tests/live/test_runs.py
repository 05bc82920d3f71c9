"""The index `runs` against all pairs; runs and levels of runs by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes import rule_sets, run
from refute.index.levels import Levels, Merging, Upkeep
from refute.index.run import Asking, Bound, Run, RunShape
from refute.language.operators import Operator
from refute.live.index import Longs, Watched
from refute.live.runs import RunsIndex
from thorough import examples

SMALL = Merging(ratio=2, least=1, at_once=4)  # so few rows are enough for merges that go on for a while
HOLDS = {
    Operator.EQ: np.equal,
    Operator.NE: np.not_equal,
    Operator.LT: np.less,
    Operator.LE: np.less_equal,
    Operator.GT: np.greater,
    Operator.GE: np.greater_equal,
}
ORDERS = [op for op in Operator if op is not Operator.EQ]
EVERYBODY = np.ones(10_000, np.uint8)


@examples(200)
@given(st.data(), rule_sets(), st.sampled_from([SMALL, Merging()]))
def test_what_appears_and_vanishes_is_what_all_pairs_say(
    data: st.DataObject, rules: tuple[Watched, ...], merging: Merging
) -> None:
    run(RunsIndex(rules, merging), rules, data, steps=8)


@examples(100)
@given(st.data(), rule_sets())
def test_rules_that_admit_the_same_rows_share_them_and_find_the_same(
    data: st.DataObject, rules: tuple[Watched, ...]
) -> None:
    shared = tuple(replace(rule, filters=((), ())) for rule in rules)
    run(RunsIndex(shared, SMALL), shared, data, steps=8, masks=False)


def naive(columns: Sequence[Longs], bounds: Sequence[Bound], shape: RunShape, slots: Longs) -> set[tuple[int, int]]:
    """The pairs of a point and a row of its group within its bounds, one by one; points and rows are the same."""
    found = set()
    for p in range(len(slots)):
        held = slots != slots[p]
        for column in columns[: shape.n_equal]:
            held &= column == column[p]
        for axis, op, cell in bounds:
            held &= HOLDS[op](columns[shape.n_equal + axis], columns[cell][p])
        found |= {(int(slots[p]), int(slot)) for slot in slots[held]}
    return found


@pytest.mark.parametrize("groups", [1, 7, 400, 100_000])
@pytest.mark.parametrize("values", [2, 50, 10**6])
@pytest.mark.parametrize(
    "shape", [RunShape(0, 2), RunShape(1, 0), RunShape(1, 1), RunShape(2, 2), RunShape(1, 3)], ids=str
)
def test_a_run_finds_by_groups_and_zones_what_a_look_at_all_rows_finds(
    shape: RunShape, groups: int, values: int
) -> None:
    random = np.random.default_rng(groups + values + shape.width)
    n = 600
    columns = [random.integers(0, groups, n) for _ in range(shape.n_equal)]
    columns += [random.integers(-values, values, n) for _ in range(shape.n_axes)]
    slots = random.permutation(n)
    built = Run.build(shape, columns, slots)
    for _ in range(4):
        ops = [ORDERS[place] for place in random.integers(0, len(ORDERS), shape.n_axes)]
        bounds: list[Bound] = [(axis, op, shape.n_equal + axis) for axis, op in enumerate(ops)]
        query = Asking.of(shape, bounds).by(built.arrays.lines)
        expected = naive(columns, bounds, shape, slots)
        total, (points, others) = built.pairs(query, EVERYBODY, 1 << 40)
        assert total == len(expected)
        assert set(zip(query.lines[points, -1].tolist(), others.tolist(), strict=True)) == expected
        selves = 0 if any(not op.accepts(0) for op in ops) else n
        assert built.counts(query).sum() == len(expected) + selves


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=60))
def test_levels_hold_what_came_and_was_not_taken_back(rows: list[tuple[int, int]]) -> None:
    shape = RunShape(1, 1)
    levels = Levels(shape, merging=SMALL)
    alive = np.zeros(len(rows) + 1, np.uint8)
    for slot, (group, value) in enumerate(rows):
        levels.add(Run.build(shape, [np.array([group]), np.array([value])], np.array([slot])))
        alive[slot] = 1
        if slot % 3 == 2:  # the row before goes
            group, value = rows[slot - 1]
            levels.add(Run.build(shape, [np.array([group]), np.array([value])], np.array([~(slot - 1)])))
            alive[slot - 1] = 0
    assert len(levels) == alive.sum()
    levels.settle()
    assert sum(map(len, levels.runs)) >= alive.sum()
    assert len(levels) == alive.sum()


def test_large_merges_of_levels_that_share_their_upkeep_take_turns() -> None:
    shape, upkeep = RunShape(1, 1), Upkeep()
    many = [Levels(shape, (), Merging(at_once=1 << 10), upkeep) for _ in range(4)]
    random = np.random.default_rng(4)
    most = 0
    for start in range(0, 60_000, 500):
        for levels in many:
            levels.add(Run.build(shape, list(random.integers(0, 1 << 40, (2, 500))), np.arange(start, start + 500)))
            held = [merge.nbytes for one in many for merge in upkeep.of(one) if len(merge.one) > 20_000]
            most = max(most, sum(size > 0 for size in held))
    assert most == 1
    for levels in many:
        levels.settle()
        assert len(levels) == sum(map(len, levels.runs)) == 60_000


def test_no_addition_waits_for_a_large_merge() -> None:
    shape = RunShape(1, 1)
    levels = Levels(shape)
    random = np.random.default_rng(3)
    for start in range(0, 400_000, 1000):
        cells = random.integers(0, 1 << 40, (2, 1000))
        levels.add(Run.build(shape, list(cells), np.arange(start, start + 1000)))
        sizes = sorted(map(len, levels.runs), reverse=True)
        assert len(sizes) <= 8
    assert len(levels) == 400_000
