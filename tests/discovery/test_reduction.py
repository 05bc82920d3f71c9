"""A rule has a witness among all rows iff it has one among the rows that stand for all."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from refute.discovery.evidence.sampling import pair_evidence
from refute.discovery.guided.hunting import Witnesses
from refute.discovery.guided.reduction import Reduction
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Options, SearchMethod
from refute.discovery.pairs import Hunt
from refute.discovery.space.predicates import space_for
from refute.discovery.space.slots import mirror_masks
from refute.discovery.table import LocalTable
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.kernels.evidence.outermost import outermost
from refute.language.nulls import Nulls
from refute.relation import Relation

small = st.integers(0, 4)


@given(st.lists(st.tuples(st.integers(0, 2), small, small), min_size=1, max_size=30))
def test_the_outermost_points_have_every_lowest_and_highest_value_beside_a_barred_colour(
    drawn: list[tuple[int, int, int]],
) -> None:
    keys, values, colours = (np.array(column, np.int64) for column in zip(*drawn, strict=True))
    kept = outermost(keys, values, colours, len(keys))
    assert kept.tolist() == sorted(set(kept.tolist()))
    for key, barred in product(set(keys.tolist()), range(-1, 5)):
        everyone = np.flatnonzero((keys == key) & (colours != barred))
        chosen = kept[(keys[kept] == key) & (colours[kept] != barred)]
        assert len(chosen) >= min(len(everyone), 1 if barred >= 0 else 2)
        if len(everyone):
            assert values[chosen].min() == values[everyone].min()
            assert values[chosen].max() == values[everyone].max()


def test_too_many_keys_have_no_outermost_points() -> None:
    keys = np.arange(10)
    assert not len(outermost(keys, keys, keys, 9))
    assert outermost(keys, keys, keys, 10).tolist() == list(range(10))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("nulls", [None, Nulls.SQL, Nulls.EQUAL])
def test_witnesses_are_found_iff_some_pair_breaks_the_rule(seed: int, nulls: Nulls | None) -> None:
    tuning = Tuning(projected=2, reduced=2, many_values=5)
    random = np.random.default_rng(seed)
    size = 80
    zips = random.integers(0, 9, size).astype(object)
    if nulls is not None:
        zips[random.integers(0, size, 3)] = None
    city = np.where(random.random(size) < 0.15, random.integers(0, 9, size), random.integers(0, 3, size))
    options = Options(cross_columns=False, nulls=nulls or Nulls.SQL)
    relation = Relation.of(
        pa.table(
            {
                "zip": pa.array(zips.tolist(), pa.int64()),
                "city": np.char.add("c", city.astype(str)),
                "state": random.integers(0, 2, size),
                "rate": random.integers(0, 3, size) + random.integers(0, 2, size) * (city > 2),
            }
        )
    )
    space = space_for(LocalTable(relation), options)[0]
    pairs = LocalPairs(relation, space, options)
    points = pairs.everything(Budget(options))[0].points
    reduction = Reduction(relation, space, tuning)
    witnesses = Witnesses(relation, space, reduction, tuning)
    full = tuple(slot.kind.full for slot in space.slots)
    rules = list(product(*((slot.kind.full, *slot.kind.conjunctions) for slot in space.slots)))
    reduced = 0
    for place in random.choice(len(rules), 200, replace=False):
        if rules[place] == full:
            continue
        masks = np.array(rules[place], np.uint8)
        enough = reduction.enough(masks)
        reduced += enough is not None and len(enough) <= size // 2
        box = space.boxes(masks[None])
        inside = ~(points & ~box).any(axis=1)
        found = witnesses.find(masks)
        assert (found is not None) == inside.any(), space.constraint(masks.tolist())
        if found is not None:
            both = pair_evidence(pairs.book, *np.array(found)[:, None]).points
            assert (~(both & ~box).any(axis=1)).any()
    assert reduced > 0


class Hunted(LocalPairs):
    """Pairs that note which boxes were searched for witnesses, and which are their mirror images."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.hunted: set[bytes] = set()
        self.mirrored: set[bytes] = set()

    def hunt(self, masks: NDArray[np.uint8], budget: Budget) -> Hunt:
        swapped = mirror_masks(self.space, masks)
        self.hunted.update(one.tobytes() for one in masks)
        self.mirrored.update(one.tobytes() for one in swapped[(masks != swapped).any(axis=1)])
        return super().hunt(masks, budget)


def test_one_of_each_mirrored_pair_of_rules_is_searched() -> None:
    random = np.random.default_rng(3)
    a = random.integers(0, 6, 3_000)
    table = pa.table({"a": a, "b": a // 2, "c": a + random.integers(0, 3, 3_000), "d": random.integers(0, 4, 3_000)})
    tuning = Tuning(first_pairs=0, first_pairs_of_row=0, pair_cost=1e6)  # so that nothing is settled
    options = Options(cross_columns=False, method=SearchMethod.GUIDED)
    relation = Relation.of(table)
    pairs = Hunted(relation, space_for(LocalTable(relation), options)[0], options, tuning)
    found = searched(pairs, options, Budget(options), tuning)
    expected = searched(pairs, replace(options, method=SearchMethod.TILES), Budget(options))
    assert found.complete
    assert np.array_equal(found.boxes, expected.boxes)
    assert not found.settled
    assert pairs.mirrored
    assert not pairs.hunted & pairs.mirrored
