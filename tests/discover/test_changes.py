"""Evidence follows its rows: it adds and subtracts, and given rows against all are what a change of rows changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from discover.test_evidence import WIDE, wide_points
from discover.test_tiles import NULLS, small_tables
from refute.discover.evidence import Counts, Evidence
from refute.discover.local import LocalPairs
from refute.discover.options import Options
from refute.discover.predicates import predicate_space
from refute.discover.table import LocalTable
from refute.discover.work import Budget
from refute.language.nulls import Nulls
from refute.relation import Relation


def counted(evidence: Evidence) -> dict[tuple[int, ...], int]:
    listed = [tuple(point) for point in evidence.points.tolist()]
    assert listed == sorted(set(listed))
    return dict(zip(listed, evidence.counts.tolist(), strict=True))


def seen(points: np.ndarray, seed: int) -> Evidence:
    counts: Counts = np.random.default_rng(seed).integers(1, 4, len(points))
    return Evidence.of(WIDE, points, counts)


SOME = st.builds(seen, wide_points(most=12), st.integers(0, 99))


@given(SOME, SOME, SOME)
@settings(max_examples=60)
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
@settings(max_examples=60)
def test_given_rows_against_all_are_what_the_rows_add(
    table: pa.Table, nulls: Nulls, within: bool, rows: list[int]
) -> None:
    options = Options(nulls=nulls, shared_values=0.0, average_ratio=0.0, one_row=within, threads=2)
    relation = Relation.of(table)
    space = predicate_space(LocalTable(relation), options)[0]
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
    pairs = LocalPairs(relation, predicate_space(LocalTable(relation), options)[0], options)
    budget = Budget(options)
    budget.interrupt()
    assert not pairs.against(np.array([0, 2]), budget)[1]
