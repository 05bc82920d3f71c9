"""Inversion from scratch and inversion kept up to date agree with each other and with the definition."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.inversion.cube import cube_masks
from refute.discovery.inversion.inverted import cut, hitting_masks, inverted, inverted_approximately
from refute.discovery.options import Options
from refute.discovery.space.slots import PredicateSpace, Slot, mirror_masks
from refute.discovery.space.states import kind_of
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.language.predicate import Column, Row
from thorough import examples


@st.composite
def problems(draw: st.DrawFn) -> tuple[PredicateSpace, np.ndarray]:
    """A space of one to four slots of any kind, and points in it."""
    slots = []
    for k in range(draw(st.integers(1, 4))):
        operators = draw(st.sets(st.sampled_from(list(Operator)), min_size=1)) if draw(st.booleans()) else set(Operator)
        kind = kind_of(
            ordered=draw(st.booleans()),
            nullable=draw(st.booleans()),
            nulls=draw(st.sampled_from(list(Nulls))),
            operators=tuple(op for op in Operator if op in operators),
        )
        if kind.operators:
            slots.append(Slot(Column(Row.S, f"c{k}"), Column(Row.T, f"c{k}"), kind))
    space = PredicateSpace(tuple(slots))
    cells = [st.integers(0, len(slot.kind.states) - 1) for slot in slots]
    points = draw(st.lists(st.tuples(*cells), min_size=1, max_size=12)) if slots else []
    return space, np.array(points, np.uint8).reshape(len(points), len(slots))


def by_definition(space: PredicateSpace, states: np.ndarray, longest: int | None) -> set[tuple[int, ...]]:
    """Every maximal box of conjunctions that holds no point, as masks per slot."""
    kinds = [slot.kind for slot in space.slots]
    valid = [
        box
        for box in product(*([*kind.conjunctions, kind.full] for kind in kinds))
        if not any(all(mask >> state & 1 for mask, state in zip(box, point, strict=True)) for point in states.tolist())
    ]
    return {
        box
        for box in valid
        if not any(o != box and all(a & b == a for a, b in zip(box, o, strict=True)) for o in valid)
        and (longest is None or sum(len(k.conjunctions.get(m, ())) for k, m in zip(kinds, box, strict=True)) <= longest)
    }


def as_masks(space: PredicateSpace, boxes: np.ndarray) -> set[tuple[int, ...]]:
    listed = [tuple(masks) for masks in space.masks(boxes).tolist()]
    assert len(listed) == len(set(listed))
    return set(listed)


@pytest.mark.parametrize("search", [cube_masks, hitting_masks])
@given(problems(), st.none() | st.integers(1, 3))
@examples(150)
def test_both_searches_find_exactly_the_maximal_boxes(
    search: Callable[..., tuple[np.ndarray, bool]], problem: tuple[PredicateSpace, np.ndarray], longest: int | None
) -> None:
    space, states = problem
    if not space.slots:
        return
    masks, complete = search(
        space, states, Budget(Options(threads=1)), 99 if longest is None else longest, Tuning(), halved=False
    )
    assert complete
    listed = [tuple(row) for row in masks.tolist()]
    assert len(listed) == len(set(listed))
    assert set(listed) == by_definition(space, states, longest)


@pytest.mark.parametrize("ordered", [4, 9])
def test_both_searches_agree_on_many_points_halved_or_not(ordered: int) -> None:
    random = np.random.default_rng(ordered)
    kinds = [
        kind_of(ordered=k < ordered, nullable=k % 3 == 1, nulls=Nulls.SQL, operators=tuple(Operator)) for k in range(9)
    ]
    space = PredicateSpace(
        tuple(Slot(Column(Row.S, f"c{k}"), Column(Row.T, f"c{k}"), kind) for k, kind in enumerate(kinds))
    )
    states = np.stack([random.integers(0, len(kind.states), 200) for kind in kinds], axis=1).astype(np.uint8)
    turned = np.stack([np.array(kind.mirror, np.uint8)[states[:, k]] for k, kind in enumerate(kinds)], axis=1)
    states = np.unique(np.concatenate([states, turned]), axis=0)
    for halved in (False, True):
        found = [
            search(space, states, Budget(Options(threads=2)), 7, Tuning(), halved=halved)[0]
            for search in (cube_masks, hitting_masks)
        ]
        if halved:  # each may have kept the other one of a box and its mirror image
            found = [np.concatenate([masks, mirror_masks(space, masks)]) for masks in found]
        assert len(found[0]) > 100
        first, second = (np.unique(masks, axis=0) for masks in found)
        assert np.array_equal(first, second)


@given(problems(), st.none() | st.integers(1, 3), st.sampled_from((0, 2000)))
@examples(150)
def test_inversion_finds_exactly_the_maximal_boxes(
    problem: tuple[PredicateSpace, np.ndarray], longest: int | None, split: int
) -> None:
    space, states = problem
    if not space.slots:
        return
    boxes, complete = inverted(space, states, Budget(Options(threads=1)), longest)
    assert complete
    assert as_masks(space, boxes) == by_definition(space, states, longest)
    limit = longest or 1 << 40
    masks, _ = hitting_masks(space, states, Budget(Options(threads=1)), limit, Tuning(split=split), halved=False)
    assert {tuple(row) for row in masks.tolist()} == by_definition(space, states, longest)


@given(problems(), st.integers(1, 11), st.none() | st.integers(1, 3), st.sampled_from((0, 12)))
@examples(150)
def test_cutting_by_new_points_equals_inversion_from_scratch(
    problem: tuple[PredicateSpace, np.ndarray], known: int, longest: int | None, few: int
) -> None:
    space, states = problem
    if not space.slots:
        return
    budget = Budget(Options(threads=1))
    before, _ = inverted(space, states[:known], budget, longest)
    after, _ = inverted(space, states, budget, longest)
    found = cut(space, before, space.points(states[known:]), longest, tuning=Tuning(few_points=few))
    assert np.array_equal(found, after)


@given(problems(), st.none() | st.integers(1, 3))
@examples(100)
def test_half_of_the_search_is_enough_for_mirrored_points(
    problem: tuple[PredicateSpace, np.ndarray], longest: int | None
) -> None:
    space, states = problem
    if not space.slots:
        return
    turned = np.stack([np.array(s.kind.mirror, np.uint8)[states[:, k]] for k, s in enumerate(space.slots)], axis=1)
    both = np.unique(np.concatenate([states, turned]), axis=0)
    budget = Budget(Options(threads=1))
    half, _ = inverted(space, both, budget, longest, mirrored=True)
    whole, _ = inverted(space, both, budget, longest)
    assert np.array_equal(half, whole)


def test_a_split_search_finds_what_one_search_finds() -> None:
    random = np.random.default_rng(3)
    kind = kind_of(ordered=True, nullable=False, nulls=Nulls.SQL, operators=tuple(Operator))
    space = PredicateSpace(tuple(Slot(Column(Row.S, f"c{k}"), Column(Row.T, f"c{k}"), kind) for k in range(12)))
    states = np.unique(random.integers(0, 3, (4000, 12)).astype(np.uint8), axis=0)
    split, _ = inverted(space, states, Budget(Options(threads=2)), 4)
    whole, _ = inverted(space, states[:1500], Budget(Options(threads=1)), 4)
    assert np.array_equal(split, cut(space, whole, space.points(states[1500:]), 4))


@given(problems(), st.integers(0, 8), st.none() | st.integers(1, 3), st.data())
@examples(150)
def test_approximate_inversion_finds_exactly_the_maximal_boxes_within_the_error(
    problem: tuple[PredicateSpace, np.ndarray], most: int, longest: int | None, data: st.DataObject
) -> None:
    space, states = problem
    if not space.slots:
        return
    counts = data.draw(st.lists(st.integers(1, 5), min_size=len(states), max_size=len(states)))
    turned = states[data.draw(st.lists(st.integers(0, len(states) - 1), min_size=len(states), max_size=len(states)))]
    pairs = UnorderedPairs(space, space.points(states), space.points(turned), np.array(counts, np.int64))
    kinds = [slot.kind for slot in space.slots]

    def holds(box: tuple[int, ...], point: list[int]) -> bool:
        return all(mask >> state & 1 for mask, state in zip(box, point, strict=True))

    def weight(box: tuple[int, ...]) -> int:
        either = [holds(box, one) or holds(box, two) for one, two in zip(states.tolist(), turned.tolist(), strict=True)]
        return sum(count for count, inside in zip(counts, either, strict=True) if inside)

    valid = [box for box in product(*([*kind.conjunctions, kind.full] for kind in kinds)) if weight(box) <= most]
    expected = {
        box
        for box in valid
        if not any(o != box and all(a & b == a for a, b in zip(box, o, strict=True)) for o in valid)
        and box != tuple(kind.full for kind in kinds)
        and (longest is None or sum(len(k.conjunctions.get(m, ())) for k, m in zip(kinds, box, strict=True)) <= longest)
    }
    tuning = Tuning(split=data.draw(st.sampled_from((0, 2000))))
    budget = Budget(Options(threads=1))
    found, ordered, unordered, complete = inverted_approximately(pairs, most, budget, longest, tuning=tuning)
    assert complete
    assert as_masks(space, found) == expected
    assert unordered.tolist() == [weight(tuple(row)) for row in space.masks(found).tolist()]
    assert [counts.tolist() for counts in pairs.inside(found)] == [ordered.tolist(), unordered.tolist()]


@pytest.mark.parametrize("most", [3, 40])
def test_a_split_approximate_search_finds_what_one_search_finds(most: int) -> None:
    random = np.random.default_rng(most)
    kind = kind_of(ordered=True, nullable=False, nulls=Nulls.SQL, operators=tuple(Operator))
    space = PredicateSpace(tuple(Slot(Column(Row.S, f"c{k}"), Column(Row.T, f"c{k}"), kind) for k in range(7)))
    here, there = (space.points(random.integers(0, 3, (600, 7)).astype(np.uint8)) for _ in range(2))
    pairs = UnorderedPairs(space, here, there, random.integers(1, 9, len(here)))
    split, *_ = inverted_approximately(pairs, most, Budget(Options(threads=2)))
    whole, *_ = inverted_approximately(pairs, most, Budget(Options(threads=1)), tuning=Tuning(split=10**9))
    assert len(whole) > 100
    assert np.array_equal(split, whole)
