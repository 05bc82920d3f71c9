"""Distinct rows with multiplicities answer as the rows themselves would."""

from __future__ import annotations

import numpy as np
import oracle
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import Case, cases

from refute.detect.weighted import can_weigh, weighted_partners
from refute.language.nulls import Nulls
from refute.plan.compile import compile_rule
from refute.relation import Relation


@settings(max_examples=300, deadline=None)
@given(case=cases(max_rows=7), data=st.data())
def test_weights_stand_for_copies_of_rows(case: Case, data: st.DataObject) -> None:
    compiled = compile_rule(Relation.of(case.table), case.rule, Nulls(case.nulls))
    assume(compiled.problem is not None)
    assert compiled.problem is not None
    assume(can_weigh(compiled.problem) and compiled.problem.equal + compiled.problem.order + compiled.problem.differ)
    n = case.table.num_rows
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)), dtype=np.int64)
    copies = np.repeat(np.arange(n), weights)
    truth = oracle.violations(case.table.take(pa.array(copies)), case.rule, case.nulls)
    found = weighted_partners(compiled.problem, weights)
    assert found.violations == len(truth)
    assert found.rows == len(oracle.rows_in_violation(truth))
