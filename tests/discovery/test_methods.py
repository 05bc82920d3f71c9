"""All methods give the same rules, on every kind of table and in both null modes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from refute.discovery.evidence.agreements import Agreement
from refute.discovery.evidence.counted import Evidence
from refute.discovery.guided.reduction import Among
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Progress, SearchMethod, options_of
from refute.discovery.pairs import Chosen
from refute.discovery.search import discover
from refute.discovery.space.predicates import space_for
from refute.discovery.table import LocalTable
from refute.discovery.tuning import Tuning
from refute.discovery.work import Budget
from refute.language.render import render_text
from refute.relation import Relation
from strategies import tables
from thorough import examples


def rules(table: pa.Table, method: str, tuning: Tuning | None = None, **options: Any) -> list[str]:
    found = discover(table, method=method, threads=2, tuning=tuning or IMPATIENT, **options)
    assert found.complete
    return [render_text(rule.constraint) for rule in found.rules]


class Watched(LocalPairs):
    """Pairs that note which few of them a search has seen instead of all that agree."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: list[Agreement] = []

    def seen(self, pairs: Agreement, budget: Budget) -> tuple[Evidence, bool]:
        self.asked.append(pairs)
        return super().seen(pairs, budget)


IMPATIENT = Tuning(
    prefix=3,
    gauge=5,
    drawn=4,
    many_open=2,
    few_looks=0,
    many_values=2,
    wave=3,
    recut=10,
    few_pairs=6,
    partners=1,
    batch_pairs=16,
)
"""Small limits, so small tables exercise every step of the guided search and of Hydra."""


@given(
    tables(max_rows=14),
    st.sampled_from(("sql", "equal")),
    st.booleans(),
    st.sampled_from((0, 0, 2)),
    st.sampled_from(("guided", "hydra")),
)
@examples(60)
def test_methods_agree(drawn: tuple[pa.Table, object], nulls: str, one_row: bool, constants: int, method: str) -> None:
    table = drawn[0].select(drawn[0].column_names[:3])
    options: dict[str, Any] = {"nulls": nulls, "one_row": one_row, "constants": constants, "max_predicates": 3}
    options |= {"shared_values": 0.0, "average_ratio": 0.0}
    assert rules(table, method, **options) == rules(table, "tiles", **options)


@pytest.mark.parametrize("method", ["guided", "hydra"])
@pytest.mark.parametrize("seed", range(4))
def test_methods_agree_on_tables_with_errors(method: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    size = 300
    group = random.integers(0, 25, size)
    value = group * 3 + random.integers(0, 3, size)
    label = np.char.add("g", (group // 5).astype(str))
    label[random.integers(0, size, 4)] = "wrong"
    table = pa.table({"group": group, "value": value, "label": label, "noise": random.integers(0, 40, size)})
    assert rules(table, method) == rules(table, "tiles")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cross", [False, True])
@pytest.mark.parametrize("nulls", ["sql", "equal"])
def test_rows_that_stand_for_others_settle_the_same_rules(nulls: str, cross: bool, seed: int) -> None:
    random = np.random.default_rng(seed)
    size = 250
    state = random.integers(0, 4, size)
    zips = (state * 100 + random.integers(0, 60, size)).astype(object)
    zips[random.integers(0, size, 3)] = None if nulls == "equal" else 7
    table = pa.table(
        {
            "state": state,
            "zip": pa.array(zips.tolist(), pa.int64()),
            "salary": random.integers(0, 5, size),
            "tax": state * 2 + random.integers(0, 2, size),
            "name": np.char.add("n", random.integers(0, 200, size).astype(str)),
        }
    )
    # Settling always pays, but never at first.
    tuning = replace(IMPATIENT, witness_cost=1.0, peeled=0, first_pairs=0, first_pairs_of_row=0, gauge=size)
    options = options_of(nulls=nulls, cross_columns=cross, shared_values=0.0, average_ratio=0.0, threads=2)
    relation = Relation.of(table)
    space = space_for(LocalTable(relation), options)[0]
    pairs = Watched(relation, space, options, tuning)
    outcome = searched(pairs, replace(options, method=SearchMethod.GUIDED), Budget(options), tuning)
    expected = searched(pairs, replace(options, method=SearchMethod.TILES), Budget(options), tuning)
    assert outcome.complete
    assert np.array_equal(outcome.boxes, expected.boxes)
    assert pairs.asked


class Hasty(LocalPairs):
    """Pairs that are stopped when rows are asked for that stand for all, and count what is asked from then on."""

    budget: Budget
    asked = 0

    def reduced(self, chosen: Chosen, read: Chosen) -> tuple[Among, Agreement]:
        self.asked += 1
        self.budget.interrupt()
        return super().reduced(chosen, read)

    def agreeing(self, chosen: Chosen, budget: Budget) -> tuple[Evidence, bool]:
        self.asked += budget.expired
        return super().agreeing(chosen, budget)


def test_a_stopped_search_looks_for_no_more_rows_that_agree() -> None:
    random = np.random.default_rng(0)
    state, size = random.integers(0, 4, 250), 250
    table = pa.table(
        {
            "state": state,
            "zip": state * 100 + random.integers(0, 60, size),
            "salary": random.integers(0, 5, size),
            "tax": state * 2 + random.integers(0, 2, size),
            "name": np.char.add("n", random.integers(0, 200, size).astype(str)),
        }
    )
    tuning = replace(IMPATIENT, witness_cost=1.0, peeled=0, first_pairs=0, first_pairs_of_row=0, gauge=size)
    options = options_of(cross_columns=False, method="guided", threads=1)
    relation = Relation.of(table)
    pairs = Hasty(relation, space_for(LocalTable(relation), options)[0], options, tuning)
    pairs.budget = Budget(options)
    outcome = searched(pairs, options, pairs.budget, tuning)
    assert not outcome.complete
    assert pairs.asked == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_stopped_hydra_returns_rules_that_hold(seed: int) -> None:
    random = np.random.default_rng(seed)
    size = 400
    group = random.integers(0, 30, size)
    table = pa.table(
        {
            "group": group,
            "value": group * 3 + random.integers(0, 3, size),
            "rank": np.argsort(random.random(size)),
            "label": np.char.add("g", (group // 5).astype(str)),
            "noise": random.integers(0, 40, size),
        }
    )
    phases: list[str] = []

    def stop(progress: Progress) -> None:
        phases.append(progress.phase)
        if progress.phase == "completion" and phases.count("completion") == 40:
            raise KeyboardInterrupt

    found = discover(table, method="hydra", threads=1, progress=stop, tuning=IMPATIENT)
    assert found.partial
    some = {rule.text for rule in found.rules}
    assert some
    assert some < set(rules(table, "tiles"))


@pytest.mark.parametrize("method", ["guided", "hydra"])
def test_a_column_that_is_null_in_nearly_all_rows_is_compared_too(method: str) -> None:
    table = pa.table({"a": pa.array([-1, *[None] * 5], pa.int64()), "b": pa.array([-1] * 6, pa.int64())})
    options: dict[str, Any] = {"shared_values": 0.0, "average_ratio": 0.0, "max_predicates": 3}
    assert rules(table, method, **options) == rules(table, "tiles", **options)
