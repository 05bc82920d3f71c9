"""Distinct rows with multiplicities answer as the rows themselves would."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
import refute as rf
from refute.detect.detector import Detector
from refute.detect.summary import SummaryTuning
from refute.detect.weighted import can_weigh, weighted_partners
from refute.language.nulls import Nulls
from refute.language.rulebook import Rule
from refute.plan.compile import compile_rule
from refute.relation import Relation
from strategies import Case, cases
from thorough import examples


@examples(300)
@given(case=cases(max_rows=7), data=st.data())
def test_weights_stand_for_copies_of_rows(case: Case, data: st.DataObject) -> None:
    compiled = compile_rule(Relation.of(case.table), Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls)))
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


@examples(200)
@given(case=cases(max_rows=9))
def test_tables_of_few_distinct_rows_are_answered_from_these(case: Case) -> None:
    truth = oracle.violations(case.table, case.rule, case.nulls)
    rule = Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls))
    always = SummaryTuning(least_rows=0, simple_rows=0, few_repeats=1, many_repeats=1)
    detector = Detector(Relation.of(case.table), summaries=always)
    assert detector.count(rule) == len(truth)
    finding = detector.measure(rule)
    assert finding.violations == len(truth)
    assert finding.rows == len(oracle.rows_in_violation(truth))


def test_a_large_table_of_few_distinct_rows_has_the_counts_of_the_sweep() -> None:
    rng = np.random.default_rng(3)
    wide = np.array([-1e300, 0.1, 1e300, np.nan])
    table = pa.table(
        {"a": rng.integers(0, 5, 60_000), "b": rng.choice(wide, 60_000), "c": rng.choice(["x", "y"], 60_000)}
    )
    for text in ("not (s.a = t.a and s.b != t.b)", "not (s.a < t.a and s.b >= t.b and s.c != t.c)", "not (s.b = t.b)"):
        assert rf.count(table, text) == rf.count(table, text, method="sweep")
        (quick,), (swept,) = rf.check(table, text), rf.check(table, text, method="sweep")
        assert (quick.finding.violations, quick.finding.rows) == (swept.finding.violations, swept.finding.rows)
    assert "distinct rows" in str(rf.explain(table, "not (s.a < t.a and s.b >= t.b and s.c != t.c)")), (
        "numbers lie far apart"
    )
