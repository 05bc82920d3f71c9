"""Evidence follows its rows: it adds and subtracts, and given rows against all are what a change of rows changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discovery.test_evidence import WIDE, atom, wide_points
from discovery.test_tiles import NULLS, small_tables
from refute.discovery.evidence.agreements import equal_masks
from refute.discovery.evidence.counted import Counts, Evidence
from refute.discovery.evidence.tiles import ClueTally, evidence_of
from refute.discovery.local import LocalPairs
from refute.discovery.methods import searched
from refute.discovery.options import Options, SearchMethod
from refute.discovery.space.predicates import space_for
from refute.discovery.space.slots import PredicateSpace
from refute.discovery.table import LocalTable
from refute.discovery.work import Budget
from refute.language.nulls import Nulls
from refute.language.predicate import Column, Row
from refute.relation import Relation
from thorough import examples


def counted(evidence: Evidence) -> dict[tuple[int, ...], int]:
    listed = [tuple(point) for point in evidence.points.tolist()]
    assert listed == sorted(set(listed))
    return dict(zip(listed, evidence.counts.tolist(), strict=True))


def seen(points: np.ndarray, seed: int) -> Evidence:
    counts: Counts = np.random.default_rng(seed).integers(1, 4, len(points))
    return Evidence.of(WIDE, points, counts)


SOME = st.builds(seen, wide_points(most=12), st.integers(0, 99))


@given(SOME, SOME, SOME)
@examples(60)
def test_evidence_adds_and_subtracts_like_counts(a: Evidence, b: Evidence, c: Evidence) -> None:
    nothing = Evidence.empty(WIDE)
    totals = {point: counted(a).get(point, 0) + counted(b).get(point, 0) for point in {*counted(a), *counted(b)}}
    assert counted(a + b) == totals
    assert counted(a + b) == counted(b + a)
    assert counted((a + b) + c) == counted(a + (b + c))
    assert counted(a + nothing) == counted(a - nothing) == counted(a)
    assert counted((a + b) - b) == counted(a)
    assert counted((a - b) + b) == counted(a)
    assert counted(a - (b + c)) == counted((a - b) - c)
    assert not len(a - a)
    assert 0 not in counted(a - b).values()


@given(small_tables(max_rows=7), NULLS, st.booleans(), st.lists(st.integers(0, 6), max_size=5))
@examples(60)
def test_given_rows_against_all_are_what_the_rows_add(
    table: pa.Table, nulls: Nulls, within: bool, rows: list[int]
) -> None:
    options = Options(nulls=nulls, shared_values=0.0, average_ratio=0.0, one_row=within, threads=2)
    relation = Relation.of(table)
    space = space_for(LocalTable(relation), options)[0]
    budget = Budget(options)
    pairs = LocalPairs(relation, space, options)
    chosen = np.array([row for row in rows if row < table.num_rows], np.int64)
    gained, complete = pairs.against(chosen, budget)
    assert complete
    left = table.take(pa.array(np.setdiff1d(np.arange(table.num_rows), chosen)))
    before = LocalPairs(Relation.of(left), space, options).everything(budget)[0]
    after = pairs.everything(budget)[0]
    assert counted(gained) == counted(after - before)
    assert counted(before + gained) == counted(after)


def test_rows_that_were_not_all_looked_at_say_so() -> None:
    table = pa.table({"a": [1, 2, 3], "b": [1, 1, 2]})
    options = Options(threads=1)
    relation = Relation.of(table)
    pairs = LocalPairs(relation, space_for(LocalTable(relation), options)[0], options)
    budget = Budget(options)
    budget.interrupt()
    assert not pairs.against(np.array([0, 2]), budget)[1]


def point_of(row: dict[str, object], other: dict[str, object], space: PredicateSpace) -> tuple[int, ...]:
    """The states of a pair, as plain Python sees them."""
    pair = {Row.S: row, Row.T: other}
    states = []
    for slot in space.slots:
        assert isinstance(slot.right, Column)
        left, right = pair[slot.left.row][slot.left.name], pair[slot.right.row][slot.right.name]
        states.append(slot.kind.state_of_atom[atom(left, right)])
    return tuple(states)


def check_pairs(evidence: Evidence, rows: list[dict[str, object]]) -> None:
    """Every point has a pair of different rows, and lies where that pair does."""
    if not len(evidence):
        return
    assert evidence.pairs is not None
    assert evidence.pairs.shape == (len(evidence), 2)
    for (s, t), states in zip(evidence.pairs.tolist(), evidence.states.tolist(), strict=True):
        assert s != t
        assert point_of(rows[s], rows[t], evidence.space) == tuple(states)


@given(small_tables(max_rows=8), NULLS, st.booleans(), st.integers(0, 99))
@examples(60)
def test_every_point_keeps_a_pair_of_its_own(table: pa.Table, nulls: Nulls, within: bool, seed: int) -> None:
    options = Options(nulls=nulls, shared_values=0.0, average_ratio=0.0, one_row=within, threads=2, seed=seed)
    relation, rows = Relation.of(table), table.to_pylist()
    space = space_for(LocalTable(relation), options)[0]
    budget = Budget(options)
    pairs = LocalPairs(relation, space, options, keeps_pairs=True)
    everything = pairs.everything(budget)[0]
    check_pairs(everything, rows)
    for number, equal in enumerate(equal_masks(space)):
        if equal:
            check_pairs(pairs.agreeing(frozenset([number]), budget)[0], rows)
            check_pairs(pairs.drawn(number), rows)
    gained = pairs.against(np.array([0, table.num_rows - 1]), budget)[0]
    check_pairs(gained, rows)
    check_pairs(everything + gained + pairs.random(20) + Evidence.empty(space), rows)
    check_pairs(everything.widened(space.widened(table.column_names)), rows)
    assert (everything - gained).pairs is None
    plain = LocalPairs(relation, space, options)
    assert plain.everything(budget)[0].pairs is None
    assert counted(plain.everything(budget)[0]) == counted(everything)
    assert (everything + plain.random(20)).pairs is None or not len(everything)


@pytest.mark.parametrize("columns", [3, 40])
def test_pairs_kept_are_the_same_whichever_thread_saw_them(columns: int) -> None:
    random = np.random.default_rng(1)
    table = pa.table({f"c{k}": random.integers(0, 3, 60) * (k < 3) for k in range(columns)})
    options = Options(cross_columns=False, threads=1)
    relation = Relation.of(table)
    space = space_for(LocalTable(relation), options)[0]
    book = LocalPairs(relation, space, options, keeps_pairs=True).book
    assert (book.facts.s_bits.shape[0] > 2) == (columns == 40)
    tasks = [np.array([[row, row + 1, 0, 60]]) for row in range(60)[::-1]]  # so that lower pairs come later
    found = []
    for threads in (1, 2, 5):
        tallies = [ClueTally(book.facts, keeps_pairs=True) for _ in range(threads)]
        for number, task in enumerate(tasks):
            random.choice(np.array(tallies, object)).add(book.facts, task, task=number)
        found.append(evidence_of(book, tallies))
        check_pairs(found[-1], table.to_pylist())
        assert counted(found[-1]) == counted(LocalPairs(relation, space, options).everything(Budget(options))[0])
    assert found[0].pairs is not None
    assert found[0].pairs.min(axis=1).max() > 40  # those of early tasks
    for other in found[1:]:
        assert other.pairs is not None
        assert np.array_equal(found[0].pairs, other.pairs)


def test_a_guided_search_hands_on_a_pair_for_each_evidence() -> None:
    random = np.random.default_rng(3)
    group = random.integers(0, 60, 400)
    table = pa.table({"g": group, "h": group // 3, "v": random.integers(0, 6, 400), "w": random.integers(0, 9, 400)})
    options = Options(cross_columns=False, method=SearchMethod.GUIDED, threads=2)
    relation = Relation.of(table)
    pairs = LocalPairs(relation, space_for(LocalTable(relation), options)[0], options, keeps_pairs=True)
    outcome = searched(pairs, options, Budget(options))
    assert outcome.complete
    assert len(outcome.evidence) > 10
    check_pairs(outcome.evidence, table.to_pylist())
