"""The index `runs` against all pairs; runs and levels of runs by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from indexes import rule_sets, run
from refute.index.levels import Levels, Merge, Merging, Upkeep
from refute.index.run import Asking, Bound, Few, Held, Run, RunShape, lines_of
from refute.language.operators import Operator
from refute.live.indexes.index import Longs, Watched
from refute.live.indexes.runs import RunsIndex
from thorough import examples

SMALL = Merging(ratio=2, least=1, at_once=4, few=0)  # so few rows are enough for merges that go on for a while
MIXED = Merging(ratio=2, least=1, at_once=4, few=2, newest=5)  # and some rows come as they are
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
@given(st.data(), rule_sets(), st.sampled_from([SMALL, MIXED, Merging()]))
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
    run(RunsIndex(shared, data.draw(st.sampled_from([SMALL, MIXED]))), shared, data, steps=8, masks=False)


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


def drawn(random: np.random.Generator, shape: RunShape, n: int, groups: int, values: int) -> list[NDArray[np.int64]]:
    """Columns of a shape, the first of them of groups."""
    columns = [random.integers(0, groups, n) for _ in range(shape.n_equal)]
    return columns + [random.integers(-values, values, n) for _ in range(shape.n_axes)]


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
    columns = drawn(random, shape, n, groups, values)
    slots = random.permutation(n)
    lines = lines_of(shape, columns, slots)
    built = Run.of(shape, lines)
    for _ in range(4):
        ops = [ORDERS[place] for place in random.integers(0, len(ORDERS), shape.n_axes)]
        bounds: list[Bound] = [(axis, op, shape.n_equal + axis) for axis, op in enumerate(ops)]
        asking = Asking.of(shape, bounds)
        expected = naive(columns, bounds, shape, slots)
        selves = 0 if any(not op.accepts(0) for op in ops) else n
        halves: tuple[Held, Held] = Run.of(shape, lines[:200]), Few(shape, lines[200:])
        for parts in ((built,), halves):
            found = set()
            for part in parts:
                total, pairs = part.pairs(asking, built.lines, EVERYBODY, 1 << 40)
                assert total == len(pairs[0])
                found |= set(zip(*pairs.tolist(), strict=True))
            assert found == expected
            assert sum(part.counts(asking, built.lines).sum() for part in parts) == len(expected) + selves


@pytest.mark.parametrize("wrong", [0, 3, 40])
@pytest.mark.parametrize("values", [20, 10**6])
@pytest.mark.parametrize("ops", [(Operator.LT, Operator.GT), (Operator.GE, Operator.LT)])
def test_points_find_what_others_of_their_group_did_not_ask_for(
    ops: tuple[Operator, Operator], values: int, wrong: int
) -> None:
    """One axis rises with the other, but in a few rows, so a point mostly finds what the one before it found."""
    shape, n = RunShape(1, 2), 900
    random = np.random.default_rng(values + wrong)
    first = random.integers(0, values, n)
    second = first // 3
    second[random.integers(0, n, wrong)] = random.integers(-values, 2 * values, wrong)
    columns = [random.integers(0, 3, n), first, second]
    lines, slots = lines_of(shape, columns, np.arange(n)), np.arange(n)
    below: list[Bound] = [(axis, op, 1 + axis) for axis, op in enumerate(ops)]
    above: list[Bound] = [(axis, op.mirrored, 1 + axis) for axis, op in enumerate(ops)]
    both = Asking.of(shape, below).with_other(Asking.of(shape, above))
    assert both is not None
    expected = naive(columns, below, shape, slots)
    expected_above = {(row, point) for point, row in naive(columns, above, shape, slots)}
    times = 10  # each point comes, as few points remember nothing
    for points in (Run.of(shape, lines).lines, random.permutation(lines)):
        held = Run.of(shape, lines)
        points = np.repeat(points, times, axis=0)
        total, pairs = held.pairs(both, points, EVERYBODY, 1 << 40)
        found = list(zip(*pairs.tolist(), strict=True))
        assert total == len(found) == times * (len(expected) + len(expected_above))
        assert set(found) == expected | expected_above
        alive = EVERYBODY.copy()
        alive[::2] = 0
        assert held.pairs(both, points, alive, 1 << 40)[0] == times * sum(
            1 for way, turned in ((expected, 1), (expected_above, 0)) for pair in way if alive[pair[turned]]
        )
        selves = sum(n for op in (ops, [op.mirrored for op in ops]) if all(one.accepts(0) for one in op))
        assert held.counts(both, points).sum() == total + times * selves


@pytest.mark.parametrize("groups", [1, 7, 400])
@pytest.mark.parametrize("values", [2, 10**6])
@pytest.mark.parametrize("shape", [RunShape(0, 1), RunShape(1, 0), RunShape(1, 2), RunShape(2, 1)], ids=str)
def test_a_run_is_the_same_in_whichever_order_its_lines_come_or_are_merged(
    shape: RunShape, groups: int, values: int
) -> None:
    random = np.random.default_rng(groups + values + shape.width)
    n = 10_000
    columns = drawn(random, shape, n, groups, values)
    lines = lines_of(shape, columns, np.arange(n))
    built = Run.of(shape, lines)
    merges = [Merge(Run.of(shape, lines[:cut]), Run.of(shape, lines[cut:])) for cut in (1, 3_000, 9_990)]
    for merge, step in zip(merges, (1 << 62, 5_000, 1_000), strict=True):
        while not merge.go_on(step):
            pass
    for other in (Run.of(shape, random.permutation(lines)), *(merge.made() for merge in merges)):
        for name in ("lines", "starts", "zones"):
            assert np.array_equal(getattr(built.arrays, name), getattr(other.arrays, name))
    groups_of, by = built.lines[:, : shape.n_equal], built.lines[:, shape.n_equal :][:, [0, -1]].tolist()
    alike = [bool((groups_of[k] == groups_of[k - 1]).all()) for k in range(1, n)]
    assert n - sum(alike) == len({tuple(line) for line in groups_of.tolist()})  # each group lies together
    assert all(by[k] < by[k + 1] for k, same in enumerate(alike) if same)


def test_points_that_ask_in_a_second_way_are_told_after_the_row() -> None:
    shape = RunShape(1, 1)
    lines = lines_of(shape, [np.zeros(3, np.int64), np.array([5, 7, 9])], np.arange(3))
    below, above = (Asking.of(shape, [(0, op, 1)]) for op in (Operator.LT, Operator.GT))
    both = below.with_other(above)
    assert both is not None
    for held in (Run.of(shape, lines), Few(shape, lines)):
        total, pairs = held.pairs(both, lines, EVERYBODY, 100)
        assert total == 6
        assert sorted(zip(*pairs.tolist(), strict=True)) == [(1, 0), (1, 0), (2, 0), (2, 0), (2, 1), (2, 1)]
        assert held.counts(both, lines).tolist() == [0, 1, 2, 2, 1, 0]


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=60), st.sampled_from([SMALL, MIXED]))
def test_levels_hold_what_came_and_was_not_taken_back(rows: list[tuple[int, int]], merging: Merging) -> None:
    shape = RunShape(1, 1)
    levels = Levels(shape, merging=merging)
    alive = np.zeros(len(rows) + 1, np.uint8)

    def add(slot: int, row: int) -> None:
        lines = lines_of(shape, [np.array([cell]) for cell in rows[row]], np.array([slot]))
        levels.add(levels.of(lines))

    for slot in range(len(rows)):
        add(slot, slot)
        alive[slot] = 1
        if slot % 3 == 2:  # the row before goes
            add(~(slot - 1), slot - 1)
            alive[slot - 1] = 0
    assert len(levels) == alive.sum()
    assert len(Levels(shape, levels.all_runs())) == alive.sum()
    levels.settle()
    assert levels.size >= alive.sum()
    assert len(levels) == alive.sum()


def test_large_merges_of_levels_that_share_their_upkeep_take_turns() -> None:
    shape, upkeep = RunShape(1, 1), Upkeep()
    many = [Levels(shape, (), Merging(at_once=1 << 10), upkeep) for _ in range(4)]
    random = np.random.default_rng(4)
    most = 0
    for start in range(0, 60_000, 500):
        for levels in many:
            cells = list(random.integers(0, 1 << 40, (2, 500)))
            levels.add(Run.of(shape, lines_of(shape, cells, np.arange(start, start + 500))))
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
        levels.add(Run.of(shape, lines_of(shape, list(cells), np.arange(start, start + 1000))))
        sizes = sorted(map(len, levels.runs), reverse=True)
        assert len(sizes) <= 8
    assert len(levels) == 400_000
