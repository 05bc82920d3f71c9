"""Plans: what would be done, said before anything is."""

from __future__ import annotations

import pyarrow as pa
import pytest

import refute as rf
from refute.detect import methods
from refute.plan.method import MethodName

TABLE = pa.table({"g": [i % 7 for i in range(5000)], "a": list(range(5000)), "b": [i * 7 % 31 for i in range(5000)]})


@pytest.fixture
def nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: MethodName) -> methods.Method:
        raise AssertionError(f"explain ran {name}")

    monkeypatch.setattr("refute.detect.detector.method_of", refuse)


@pytest.mark.usefixtures("nothing_runs")
def test_a_plan_says_shape_method_order_work_and_worst_case() -> None:
    text = str(rf.explain(TABLE, "not (s.g = t.g and s.a > t.a and s.b < t.b)"))
    for part in (
        "shape",
        "1 equality, 2 order comparisons",
        "method    sweep",
        "steps",
        "1. encode",
        "worst",
    ):
        assert part in text
    assert "5,000 rows" in text


@pytest.mark.usefixtures("nothing_runs")
def test_a_forced_method_is_planned_with_its_own_steps() -> None:
    rule = "not (s.g = t.g and s.a > t.a and s.b < t.b)"
    assert "k-d tree" in str(rf.explain(TABLE, rule, method="range_search"))
    assert "cluster pairs" in str(rf.explain(TABLE, rule, method="refine"))


@pytest.mark.usefixtures("nothing_runs")
def test_a_rule_about_one_row_is_planned_as_the_scan_that_reports_call_it() -> None:
    table = pa.table({"a": [1, 2]})
    (result,) = rf.check(table, "row(a > 1)")
    assert f"method    {result.finding.method}, 2 rows\n" in str(rf.explain(table, "row(a > 1)"))


def test_rules_say_what_they_share() -> None:
    plan = rf.explain(TABLE, ["g -> b", "not (s.g = t.g and s.a < t.a)"])
    assert len(plan.rules) == 2
    assert "column g: encoded once for 2 rules" in str(plan)


def test_a_plan_is_data() -> None:
    (rule,) = rf.explain(TABLE, "row(a > 1)").rules
    assert rule.shape.single
    assert rule.worst == "n rows"
    assert rule.rows == 5000
