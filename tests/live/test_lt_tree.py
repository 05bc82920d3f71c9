"""The method `lt_tree` against all pairs, whatever its choices; its trees, orders and prefixes by themselves."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from indexes import COLUMNS, NO_LIMIT, Row, Truth, assert_found, batch_of, predicates, rule_sets, run, watched
from refute.errors import DataError
from refute.language.operators import Operator
from refute.live.indexes.index import Compared, Found, Index, Watched
from refute.live.indexes.lt_tree import LtTreeIndex, PredicateOrder, Scheduling, Tuning
from refute.live.indexes.lt_tree.admission import Barred
from refute.live.indexes.lt_tree.balance import NIL, TreeNode, rotate_left, rotate_right
from refute.live.indexes.lt_tree.pair_store import PairStore
from refute.live.indexes.lt_tree.predicate_order import PredicateOrdering, class_of
from refute.live.indexes.lt_tree.prefixes import Prefix, best_prefix, common_prefixes
from refute.live.indexes.lt_tree.schedule import Schedule
from refute.live.indexes.lt_tree.tree import LtTree
from refute.live.indexes.nested_loop import NestedLoopIndex
from thorough import examples

TUNINGS = [
    Tuning(predicate_order=order, scheduling=scheduling, batches=batches)
    for order, scheduling, batches in product(PredicateOrder, Scheduling, (True, False))
]


@examples(150)
@given(st.data(), rule_sets(), st.sampled_from(TUNINGS))
def test_what_appears_and_vanishes_is_what_all_pairs_say(
    data: st.DataObject, rules: tuple[Watched, ...], tuning: Tuning
) -> None:
    run(LtTreeIndex(rules, tuning), rules, data, steps=8)


@st.composite
def overlapping(draw: st.DrawFn) -> tuple[Watched, ...]:
    """Rules that begin alike, by predicates that many pairs satisfy."""
    often = predicates.filter(lambda one: one.op in (Operator.NE, Operator.LE, Operator.GE))
    start = draw(st.lists(often, min_size=2, max_size=3, unique=True))
    ends = draw(st.lists(st.lists(predicates, max_size=2), min_size=2, max_size=4))
    return tuple(Watched(f"r{number}", (*start, *end)) for number, end in enumerate(ends))


@examples(60)
@given(st.data(), overlapping(), st.booleans())
def test_rules_that_share_prefixes_find_what_they_find_by_themselves(
    data: st.DataObject, rules: tuple[Watched, ...], batches: bool
) -> None:
    index = LtTreeIndex(rules, Tuning(predicate_order=PredicateOrder.GIVEN, batches=batches))
    assert index.schedule.prefixes
    run(index, rules, data, steps=6)


def test_candidates_that_are_handed_over_are_those_that_each_rule_admits() -> None:
    rules = watched("0=0 1=1", "0=0 1=1 2!=2", "0=0 1=1 2<=2")
    index = LtTreeIndex(rules)
    assert index.schedule.prefixes
    yes, no = (True, True), (False, False)
    roles = {0: [no, yes, (True, False)], 1: [yes, yes, yes], 2: [yes, (False, True), no]}
    truth = Truth(rules)
    for slot, row in enumerate([(0, 0, 0), (0, 0, 1), (0, 0, 1)]):
        before = [truth.pairs(rule) for rule in range(3)]
        truth.rows[slot], truth.roles[slot] = row, roles[slot]
        found = index.insert(batch_of({slot: row}, roles, 3), [NO_LIMIT] * 3)
        for rule, one in enumerate(found):
            assert_found(one, truth.pairs(rule) - before[rule], NO_LIMIT)


@examples(60)
@given(st.data(), rule_sets())
def test_nested_loops_say_what_all_pairs_say(data: st.DataObject, rules: tuple[Watched, ...]) -> None:
    run(NestedLoopIndex(rules), rules, data, steps=8)


def test_a_row_too_far_for_a_bitmap_is_refused_and_changes_nothing() -> None:
    rules = watched("0=0")
    index = LtTreeIndex(rules)
    far = batch_of({1: (0, 0, 0), 2**32: (0, 0, 0)}, {1: [(True, True)], 2**32: [(True, True)]}, 1)
    with pytest.raises(DataError, match=r"holds 4,294,967,296 rows, and row 4,294,967,296"):
        index.insert(far, [NO_LIMIT])
    with pytest.raises(DataError, match="Choose another method"):
        index.probe(far, [NO_LIMIT])
    last = batch_of({2**32 - 1: (0, 0, 0)}, {2**32 - 1: [(True, True)]}, 1)
    assert index.insert(last, [NO_LIMIT])[0].count == 0


def test_pairs_beyond_the_limit_are_not_stored_and_still_vanish_exactly() -> None:
    rules = watched("0=0")
    index = LtTreeIndex(rules)
    roles = {slot: [(True, True)] for slot in range(200)}
    rows: dict[int, Row] = dict.fromkeys(range(200), (0, 0, 0))
    empty = index.nbytes
    assert index.insert(batch_of(rows, roles, 1), [10]) == [Found(200 * 199, None)]
    assert index.nbytes < empty + 2000
    some = {slot: rows.pop(slot) for slot in range(198)}
    assert index.delete(batch_of(some, roles, 1), [10]) == [Found(200 * 199 - 2, None)]
    (found,) = index.delete(batch_of(rows, roles, 1), [10])
    assert_found(found, {(198, 199), (199, 198)}, 10)


@pytest.mark.parametrize("make", [LtTreeIndex, NestedLoopIndex])
def test_a_row_that_is_kept_can_be_looked_at_and_never_pairs_with_itself(make: Callable[..., Index]) -> None:
    rules = watched("0=0", "0<=1")
    rows: dict[int, Row] = {0: (1, 1, 0), 1: (1, 0, 0)}
    truth = Truth(rules, rows, {slot: [(True, True)] * 2 for slot in rows})
    index = make(rules)
    index.insert(batch_of(rows, truth.roles, 2), [NO_LIMIT] * 2)
    found = index.probe(batch_of({1: rows[1]}, truth.roles, 2), [NO_LIMIT] * 2)
    for rule, one in enumerate(found):
        assert_found(one, {pair for pair in truth.pairs(rule) if 1 in pair}, NO_LIMIT)


@pytest.mark.parametrize("tuning", [Tuning(), Tuning(batches=False)])
def test_rows_that_go_together_are_compared_again_without_those_that_went(tuning: Tuning) -> None:
    rules = watched("0<1", "1>=0", "0!=1")
    rows: dict[int, Row] = dict(enumerate([(0, 9, 0), (1, 8, 0), (2, 0, 0), (3, 5, 0), (4, 1, 0), (9, 9, 0)]))
    truth = Truth(rules, rows, {slot: [(True, True)] * 3 for slot in rows})
    index, batch = LtTreeIndex(rules, tuning), batch_of(rows, truth.roles, 3)
    expected = [truth.pairs(rule) for rule in range(3)]
    assert index.insert(batch, [0] * 3) == [Found(len(pairs), None) for pairs in expected]
    for found, pairs in zip(index.delete(batch, [NO_LIMIT] * 3), expected, strict=True):
        assert_found(found, pairs, NO_LIMIT)


def test_a_store_has_all_pairs_again_once_the_rows_of_unlisted_ones_are_gone() -> None:
    store = PairStore()
    store.add(Found(6, None), np.array([0, 1, 2]))
    store.add(Found(2, (np.array([3, 4]), np.array([4, 3]))), np.array([3, 4]))
    store.take(BitMap([0, 1]), NO_LIMIT)
    assert store.loose == BitMap([2])
    store.take(BitMap([2]), NO_LIMIT)
    assert not store.loose
    assert_found(store.take(BitMap([4]), NO_LIMIT), {(3, 4), (4, 3)}, NO_LIMIT)
    assert store.take(BitMap([3]), NO_LIMIT).count == 0
    assert store.nbytes == 0


def checked(tree: LtTree) -> None:
    """Asserts the rules of a red-black tree, and that each LT-set has the rows of the left subtree."""

    def walk(node: TreeNode, low: float, high: float) -> tuple[int, BitMap]:
        if node is NIL:
            return 1, BitMap()
        assert low < node.value < high
        assert node.rows
        assert not (node.is_red and (node.left.is_red or node.right.is_red))
        assert all(child is NIL or child.parent is node for child in (node.left, node.right))
        blacks, left = walk(node.left, low, node.value)
        others, right = walk(node.right, node.value, high)
        assert blacks == others
        assert node.below == left
        return blacks + (not node.is_red), left | right | node.rows

    assert not tree.root.is_red
    walk(tree.root, -np.inf, np.inf)
    assert not NIL.is_red
    assert NIL.left is NIL.right is NIL.parent is NIL
    assert not NIL.rows
    assert not NIL.below


@examples(60)
@given(st.data(), st.sampled_from([3, 12, 2**62]))
def test_a_tree_stays_balanced_and_its_sets_right(data: st.DataObject, top: int) -> None:
    tree, values = LtTree(), dict[int, int]()
    for slot in range(data.draw(st.integers(0, 60))):
        if values and data.draw(st.integers(0, 9)) < 4:
            gone = data.draw(st.sampled_from(sorted(values)))
            tree.discard(values.pop(gone), gone)
        else:
            values[slot] = data.draw(st.integers(-top, top))
            tree.add(values[slot], slot)
        checked(tree)
    assert len(tree) == len({*values.values()})
    assert [node.value for node in tree.nodes()] == sorted({*values.values()})
    for value in {*values.values(), 0, top, -top - 1}:
        below, equal = tree.below(value)
        assert below == BitMap(slot for slot, own in values.items() if own < value)
        assert (equal or BitMap()) == BitMap(slot for slot, own in values.items() if own == value)
        assert tree.equal(value) == equal
        low = data.draw(st.integers(-top - 1, value))
        assert tree.between(low, value) == BitMap(slot for slot, own in values.items() if low <= own < value)


def test_rows_that_come_sorted_make_no_deep_tree() -> None:
    tree = LtTree()
    for slot in range(1000):
        tree.add(slot, slot)
    checked(tree)
    depth, level = 0, [tree.root]
    while level:
        depth += 1
        level = [child for node in level for child in (node.left, node.right) if child is not NIL]
    assert depth <= 2 * np.log2(1001)
    for slot in range(0, 1000, 2):
        tree.discard(slot, slot)
    checked(tree)
    assert tree.below(500)[0] == BitMap(range(1, 500, 2))


def test_a_rotation_and_its_reverse_change_one_left_set_each() -> None:
    tree = LtTree()
    for slot, value in enumerate([50, 25, 70, 10, 30]):  # figure 1, and a right subtree of 25
        tree.add(value, slot)
    root = tree.root
    rotate_right(tree, root)
    assert tree.root.value == 25
    assert (tree.root.below, root.below) == (BitMap([3]), BitMap([4]))
    rotate_left(tree, tree.root)
    assert tree.root is root
    assert root.below == BitMap([1, 3, 4])


def order_of(predicates: list[Compared], sizes: dict[int, int]) -> list[str]:
    """Predicates in their order, by columns of these numbers of distinct values."""
    ordering = PredicateOrdering(predicates, lambda one: max(sizes[one.s], sizes[one.t]), PredicateOrder.CARDINALITY)
    return [f"{one.s}{one.op.symbol}{one.t}" for one in (predicates[number] for number in ordering.by_rank)]


def test_predicates_come_by_class_and_within_each_by_the_number_of_values() -> None:
    (rule,) = watched("0<1 1<1 0>=0 2!=0 1!=1 0!=0 0=1 1=1 2=2 0=0")
    sizes = {0: 5, 1: 50, 2: 20}
    assert order_of(list(rule.compared), sizes) == [
        "1=1",
        "2=2",
        "0=0",
        "0=1",
        "0!=0",
        "1!=1",
        "2!=0",
        "0>=0",
        "1<1",
        "0<1",
    ]


@examples(60)
@given(st.data())
def test_the_order_is_right_at_any_time_and_looked_at_only_when_it_could_change(data: st.DataObject) -> None:
    predicates_ = data.draw(st.lists(predicates, min_size=1, max_size=8, unique=True))
    sizes = {column: data.draw(st.integers(0, 9)) for column in range(COLUMNS)}

    def cardinality(one: Compared) -> int:
        return max(sizes[one.s], sizes[one.t])

    order = data.draw(st.sampled_from([PredicateOrder.CARDINALITY, PredicateOrder.WORST]))
    ordering = PredicateOrdering(predicates_, cardinality, order)
    for _ in range(data.draw(st.integers(0, 30))):
        step = data.draw(st.sampled_from([1, -1]))
        for column in data.draw(st.sets(st.integers(0, COLUMNS - 1))):
            sizes[column] = max(sizes[column] + step, 0)
        before, sorts = list(ordering.by_rank), ordering.sorts
        assert ordering.changed() == (ordering.sorts > sorts)
        ranks = [(class_of(one), cardinality(one) * (-1 if class_of(one) < 3 else 1)) for one in predicates_]
        ranked = [ranks[number] for number in ordering.by_rank]
        assert ranked == sorted(ranks, reverse=order is PredicateOrder.WORST)
        if ordering.sorts > sorts:
            assert ordering.by_rank != before


def test_columns_that_lie_apart_are_not_looked_at_for_as_many_rows() -> None:
    (rule,) = watched("0=0 1=1 0<0 0>0")
    sizes = {0: 10, 1: 4}
    ordering = PredicateOrdering(rule.compared, lambda one: sizes[one.s], PredicateOrder.CARDINALITY)
    for _ in range(6):
        sizes[1] += 1
        assert not ordering.changed()
    assert (ordering.looks, ordering.sorts) == (0, 1)
    sizes[1] += 1
    assert ordering.changed()
    assert (ordering.looks, ordering.sorts) == (1, 2)


def test_the_prefixes_of_the_papers_example_are_chosen() -> None:
    plans = [(2, 4, 5, 6), (2, 3, 4, 5), (1, 2, 3)]  # table 2
    first, second, third = (best_prefix(rule, plans) for rule in range(3))
    assert first == Prefix(0, (2, 4, 5), (1,))
    assert first.benefit == 2
    assert second == Prefix(1, (2, 3), (2,))
    assert second.benefit == 1
    assert third is None
    assert common_prefixes(plans, [0, 1, 2]) == [first]


@examples(100)
@given(st.lists(st.lists(st.integers(0, 5), unique=True).map(lambda plan: tuple(sorted(plan))), max_size=7))
def test_who_hands_candidates_on_takes_none(plans: list[tuple[int, ...]]) -> None:
    chosen = common_prefixes(plans, range(len(plans)))
    owners = [prefix.owner for prefix in chosen]
    takers = [rule for prefix in chosen for rule in prefix.takers]
    assert len({*owners, *takers}) == len(owners) + len(takers)
    for owner, predicates_, rules in chosen:
        assert plans[owner][: len(predicates_)] == predicates_
        assert rules
        assert all({*predicates_} <= {*plans[rule]} for rule in rules)


def test_rules_that_begin_late_in_the_order_are_executed_first() -> None:
    rules = watched("0=0 1=1", "1=1 2<2", "2<2")
    sizes = {0: 9, 1: 5, 2: 3}
    schedule = Schedule(rules, lambda one: sizes[one.s], Tuning())
    assert schedule.executed == [2, 1, 0]
    first = schedule.first_order()
    assert first is not None
    assert first.s == 2


def test_a_schedule_follows_the_numbers_of_values() -> None:
    rules = watched("0=0 1=1")
    index = LtTreeIndex(rules)
    plans = [index.schedule.plans]
    for slot in range(4):
        index.insert(batch_of({slot: (0, slot, 0)}, {slot: [(True, True)]}, 1), [NO_LIMIT])
    plans.append(index.schedule.plans)
    assert plans == [[(0, 1)], [(1, 0)]]


def test_nothing_is_kept_of_rows_that_went() -> None:
    barred = Barred(1)
    batch = batch_of({0: (0, 0, 0), 7: (1, 1, 1)}, {0: [(True, False)], 7: [(False, True)]}, 1)
    barred.add(batch)
    assert (barred.s, barred.t) == ([BitMap([7])], [BitMap([0])])
    barred.discard(BitMap([0, 7]))
    assert not barred.s[0]
    assert not barred.t[0]
