"""Every method gives exactly what the definition gives, on every kind of table and rule."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given

import oracle
import refute as rf
from refute.detect.local import LocalEngine
from refute.language.nulls import Nulls
from refute.language.render import SqlWriter
from refute.language.rulebook import Rule
from refute.plan.method import MethodName
from strategies import Case, cases
from thorough import examples

METHODS = ("auto", "sweep", "range_search", "refine")


def _rule(case: Case) -> Rule:
    return Rule(name="rule", constraint=case.rule, nulls=Nulls(case.nulls))


@pytest.mark.parametrize("method", METHODS)
@examples(250)
@given(case=cases())
def test_verify_count_partners_and_pairs_agree_with_the_definition(method: str, case: Case) -> None:
    truth = oracle.violations(case.table, case.rule, case.nulls)
    engine = LocalEngine(case.table, method=MethodName.of(method))
    rule = _rule(case)
    verdict = engine.verify(rule)
    assert verdict.holds == (not truth)
    if verdict.witness is not None:
        found = verdict.witness[:1] if case.rule.is_single_row else tuple(verdict.witness)
        assert found in truth
    assert engine.count(rule) == len(truth)
    (timed,) = engine.measure([rule], counts=True)
    assert timed.finding.violations == len(truth)
    assert timed.finding.rows == len(oracle.rows_in_violation(truth))
    listed = rf.violations(case.table, rule, method=method)
    assert sorted(listed) == truth


@examples(100)
@given(case=cases())
def test_a_limit_gives_that_many_true_violations_or_all(case: Case) -> None:
    truth = oracle.violations(case.table, case.rule, case.nulls)
    for limit in (1, 2, 5):
        listed = list(rf.violations(case.table, _rule(case), limit))
        assert len(listed) == len(set(listed)) == min(limit, len(truth))
        assert set(listed) <= set(truth)


@examples(150)
@given(case=cases())
def test_the_annotated_rows_name_each_role_and_its_partners(case: Case) -> None:
    truth = oracle.violations(case.table, case.rule, case.nulls)
    rows = rf.check(case.table, [_rule(case)]).rows
    for number, breaches in enumerate(rows.column("refute").to_pylist()):
        expected = []
        for role, position in (("s", 0), ("t", 1)):
            partners = sum(len(pair) > position and pair[position] == number for pair in truth)
            if partners:
                expected.append({"rule": "rule", "role": role, "partners": partners})
        assert breaches == expected


def test_duckdb_counts_the_same_on_a_table_of_a_thousand_rows() -> None:
    table = pa.table(
        {"a": [i % 7 for i in range(1000)], "b": [i * i % 31 for i in range(1000)], "c": [i % 13 for i in range(1000)]}
    )
    for text in (
        "not (s.a = t.a and s.b > t.b and s.c < t.c)",
        "not (s.a != t.a and s.b != t.b)",
        "not (s.a <= t.b and s.a < t.c)",
        "not (s.a = t.a and s.b >= t.b)",
        "not (s.a = t.c and s.b <= t.b and s.c > 5)",
    ):
        query = SqlWriter(table="data").count_query(Rule.of(text))
        connection = duckdb.connect()
        connection.register("data", table)
        ((expected,),) = connection.execute(query).fetchall()
        assert rf.count(table, text) == expected
