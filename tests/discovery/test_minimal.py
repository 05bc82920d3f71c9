"""Rules that follow from others are dropped as comparing each rule with each would drop them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from refute.discovery.evidence.unordered import UnorderedPairs
from refute.discovery.inversion.closing import Closing
from refute.discovery.inversion.inverted import inverted, inverted_approximately
from refute.discovery.inversion.minimal import is_plain, minimal, sort_keys
from refute.discovery.inversion.minimal_rules import MinimalRules
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.space.predicates import space_for
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.space.turned import asked_boxes, asked_of, both_ways
from refute.discovery.table import LocalTable
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.language.operators import Operator
from refute.relation import Relation

OPERATORS = (
    tuple(Operator),
    (Operator.EQ, Operator.NE),
    (Operator.EQ, Operator.LT, Operator.GE),  # without mirror images
    (Operator.LE, Operator.NE),
)


def each_with_each(rules: np.ndarray, mirrors: np.ndarray, closures: np.ndarray, *_: object) -> np.ndarray:
    """The slow twin of `implied`: every rule, whatever follows from it, against every other."""

    implies = np.zeros((len(rules), len(rules)), np.bool_)
    for a, closure in enumerate(closures):
        for turned in (rules, mirrors):
            implies[:, a] |= ~(closure & ~turned).any(axis=1)
    np.fill_diagonal(implies, False)
    earlier = np.triu(np.ones_like(implies))
    return np.asarray((implies & (earlier.astype(np.bool_) | ~implies.T)).any(axis=0))


def random_table(random: np.random.Generator) -> pa.Table:
    """Two to four columns of few values that are likely to be compared with each other, some with nulls."""
    rows = int(random.integers(2, 10))
    columns = {}
    for name in "abcd"[: random.integers(2, 5)]:
        values = random.integers(0, random.integers(2, 5), rows).tolist()
        holes = random.random(rows) < random.choice([0.0, 0.0, 0.3])
        kind = pa.int64() if random.random() < 0.7 else pa.string()
        cells = [None if hole else (v if kind == pa.int64() else str(v)) for v, hole in zip(values, holes, strict=True)]
        columns[name] = pa.array(cells, kind)
    return pa.table(columns)


def problems(seed: int, count: int) -> Iterator[tuple[PredicateSpace, np.ndarray, frozenset[str]]]:
    """The predicate spaces of random tables, all maximal boxes of their evidence, and the columns with nulls."""
    random = np.random.default_rng(seed)
    for number in range(count):
        table = random_table(random)
        options = Options(
            shared_values=0.0,
            average_ratio=0.0,
            one_row=bool(random.integers(2)),
            constants=int(random.choice([0, 0, 2])),
            operators=OPERATORS[number % len(OPERATORS)],
            max_predicates=int(random.integers(2, 5)),
            nulls=[Nulls.SQL, Nulls.EQUAL][number // len(OPERATORS) % 2],
            threads=2,
        )
        relation = Relation.of(table)
        whole = both_ways(space_for(LocalTable(relation), options)[0])
        space = asked_of(whole)
        budget = Budget(options)
        evidence = LocalPairs(relation, whole, options).everything(budget)[0]
        most, longest = int(random.choice([0, 0, 2])), options.max_predicates
        if most:
            pairs = UnorderedPairs.of(evidence)
            assert pairs is not None
            boxes, *_ = inverted_approximately(pairs, most, budget, longest)
        else:
            boxes = asked_boxes(whole, inverted(whole, evidence.states, budget, longest)[0])
        nullable = frozenset(name for name in table.column_names if table[name].null_count)
        yield space, boxes[:: 1 + len(boxes) // 250], nullable


def minimal_slowly(space: PredicateSpace, boxes: np.ndarray, nullable: frozenset[str]) -> np.ndarray:
    """The slow twin of `minimal`, for spaces that are not plain."""
    boxes = boxes[np.lexsort(sort_keys(space, boxes).T[::-1])]
    possible, closures = Closing(space, nullable).closed(boxes, Budget(Options(threads=1)))
    return np.asarray(boxes[possible][~each_with_each(*closures[:3])])


@pytest.mark.parametrize("seed", range(4))
def test_the_same_rules_stay_in_the_same_order_as_by_comparing_each_with_each(seed: int) -> None:
    budget = Budget(Options(threads=2))
    searched = dropped = 0
    for space, boxes, nullable in problems(seed, 60):
        tuning = Tuning(block=[1, 3, 16][len(boxes) % 3], fan=2 + len(boxes) % 2, chunk=7)
        quickly = minimal(space, boxes, budget, nullable, tuning)
        slowly = minimal_slowly(space, boxes, nullable)
        if is_plain(space, nullable):  # there, boxes that lack their mirror images go too
            assert {box.tobytes() for box in quickly} <= {box.tobytes() for box in slowly}
            continue
        assert np.array_equal(quickly, slowly)
        searched += len(boxes) > 1
        dropped += len(boxes) - len(slowly)
    assert searched > 40
    assert dropped > 1000


def test_few_rules_are_searched_for_what_implies_them() -> None:
    random = np.random.default_rng(1)
    table = pa.table({name: random.integers(0, 6, 40) for name in "abcde"} | {"f": random.integers(0, 90, 40)})
    options = Options(threads=2, max_predicates=4)
    relation = Relation.of(table)
    space = space_for(LocalTable(relation), options)[0]
    budget = Budget(options)
    boxes = inverted(space, LocalPairs(relation, space, options).everything(budget)[0].states, budget, 4)[0]
    assert len(minimal(space, boxes, budget, frozenset())) > 100
    infers = Closing(space, frozenset()).closed(boxes, budget)[1].infers
    assert 0 < np.count_nonzero(infers) < len(infers)  # the others are maximal boxes already


@pytest.mark.parametrize("seed", range(4))
def test_boxes_that_come_and_go_leave_the_rules_that_all_boxes_give(seed: int) -> None:
    random = np.random.default_rng(seed)
    budget = Budget(Options(threads=2))
    returned = 0
    for space, boxes, nullable in problems(seed, 40):
        tuning = Tuning(block=[1, 3, 16][len(boxes) % 3], fan=2, chunk=7)
        rules = MinimalRules(space, nullable, tuning)
        there = np.zeros(len(boxes), np.bool_)
        shown: set[bytes] = set()
        for _ in range(8):
            after = random.random(len(boxes)) < random.choice([0.0, 0.3, 0.9, 1.0])
            some = random.random(len(boxes)) < random.choice([0.02, 0.3, 1.0])
            after = np.where(some, after, there)
            twice = there & after & (random.random(len(boxes)) < 0.1)  # go and come at once
            lost, gained = rules.change(boxes[there & ~after | twice], boxes[after & ~there | twice], budget)
            expected = minimal(space, boxes[after], budget, nullable)
            assert np.array_equal(rules.boxes, expected)
            assert len(rules) == len(expected)
            now = {box.tobytes() for box in expected}
            assert {box.tobytes() for box in lost} == shown - now
            assert {box.tobytes() for box in gained} == now - shown
            returned += bool(len(gained)) and not (after & ~there).any()
            there, shown = after, now
    assert returned > 5  # rules came back when the boxes they followed from went


def test_numbers_out_of_use_are_given_up() -> None:
    budget = Budget(Options(threads=1))
    space, boxes, nullable = max(problems(1, 30), key=lambda problem: len(problem[1]))
    rules = MinimalRules(space, nullable)
    rules.change(boxes[:0], boxes, budget)
    kept = rules.boxes
    for _ in range(3 + 3000 // len(boxes)):
        lost, gained = rules.change(boxes, boxes, budget)
        assert not len(lost)
        assert not len(gained)
    assert len(rules._boxes) < 2 * len(boxes) + 1024
    assert np.array_equal(rules.boxes, kept)
    with pytest.raises(AssertionError, match="exists already"):
        rules.change(boxes[:0], boxes[:1], budget)


def test_rules_of_a_million_comparisons_are_the_same_by_batches() -> None:
    random = np.random.default_rng(5)
    table = pa.table({name: random.integers(0, 5, 40) for name in "abcde"})
    options = Options(threads=2, max_predicates=4)
    relation = Relation.of(table)
    space = space_for(LocalTable(relation), options)[0]
    budget = Budget(options)
    boxes = inverted(space, LocalPairs(relation, space, options).everything(budget)[0].states, budget, 4)[0]
    assert len(boxes) > 1000
    rules = MinimalRules(space, frozenset())
    for start in range(0, len(boxes), 97):
        rules.change(boxes[:0], boxes[start : start + 97], budget)
    assert np.array_equal(rules.boxes, minimal(space, boxes, budget, frozenset()))
