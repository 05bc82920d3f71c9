"""Rules that follow from others are dropped as comparing each rule with each would drop them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from refute.discovery.inversion import implied as implied_module
from refute.discovery.inversion import minimal as minimal_module
from refute.discovery.inversion.inverted import inverted, inverted_approximately
from refute.discovery.inversion.minimal import minimal
from refute.discovery.local import LocalPairs
from refute.discovery.options import Options
from refute.discovery.space.predicates import predicate_space
from refute.discovery.space.slots import PredicateSpace
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
        space = predicate_space(LocalTable(relation), options)[0]
        budget = Budget(options)
        evidence = LocalPairs(relation, space, options).everything(budget)[0]
        most, longest = int(random.choice([0, 0, 2])), options.max_predicates
        boxes, _ = (
            inverted_approximately(space, evidence, most, budget, longest)
            if most
            else inverted(space, evidence.states, budget, longest)
        )
        nullable = frozenset(name for name in table.column_names if table[name].null_count)
        yield space, boxes[:: 1 + len(boxes) // 250], nullable


@pytest.mark.parametrize("seed", range(4))
def test_the_same_rules_stay_in_the_same_order_as_by_comparing_each_with_each(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(Options(threads=2))
    searched = dropped = 0
    for space, boxes, nullable in problems(seed, 60):
        tuning = Tuning(block=[1, 3, 16][len(boxes) % 3], fan=2 + len(boxes) % 2, chunk=7)
        quickly = minimal(space, boxes, budget, nullable, tuning)
        with monkeypatch.context() as patch:
            patch.setattr(minimal_module, "implied", each_with_each)
            slowly = minimal(space, boxes, budget, nullable)
        assert np.array_equal(quickly, slowly)
        searched += not space.is_symmetric and len(boxes) > 1
        dropped += len(boxes) - len(slowly)
    assert searched > 40
    assert dropped > 1000


def test_few_rules_are_searched_for_what_implies_them(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    table = pa.table({name: random.integers(0, 6, 40) for name in "abcde"} | {"f": random.integers(0, 90, 40)})
    options = Options(threads=2, max_predicates=4)
    relation = Relation.of(table)
    space = predicate_space(LocalTable(relation), options)[0]
    budget = Budget(options)
    boxes = inverted(space, LocalPairs(relation, space, options).everything(budget)[0].states, budget, 4)[0]
    asked: list[tuple[int, int]] = []

    def spy(*arguments: np.ndarray) -> np.ndarray:
        asked.append((len(arguments[3]), len(arguments[0])))
        return implied_module.implied(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(minimal_module, "implied", spy)
    assert len(minimal(space, boxes, budget, frozenset())) > 100
    ((searched, rules),) = asked
    assert 0 < searched < rules  # those from which nothing further follows are maximal boxes already
