"""Plans as data: what they say, and that saying it searches nothing. Their steps are held by `test_plans.py`."""

from __future__ import annotations

import pyarrow as pa
import pytest

import refute as rf
from refute.detect.detector import Detector
from refute.detect.explaining import plan_rules
from refute.language.rulebook import RuleBook
from refute.plan.method import MethodName
from refute.plan.step import Step
from refute.relation import Relation

TABLE = pa.table(
    {"g": [i % 7 for i in range(20_000)], "a": list(range(20_000)), "b": [i * 7 % 31 for i in range(20_000)]}
)
RULE = "not (s.g = t.g and s.a > t.a and s.b < t.b)"
RULES = (
    RULE,
    "unique(a)",
    "g -> b",
    "row(a > 1)",
    "not (s.g != t.g and s.b != t.b)",
    "not (s.a > t.b and s.b < t.a and s.g != t.g)",
)


def test_a_plan_says_shape_method_rows_and_worst_case() -> None:
    lines = str(rf.explain(TABLE, RULE)).splitlines()
    assert lines[0] == "answered in this process"
    assert lines[2].endswith(RULE)
    assert lines[4:6] == [
        "  shape     pairs of rows, 1 equality, 2 order comparisons",
        "  method    sweep, 20,000 rows",
    ]
    assert lines[-1] == "  worst     n log n"


@pytest.mark.parametrize("method", MethodName)
def test_planning_takes_no_step(method: MethodName) -> None:
    taken: list[Step] = []
    detector = Detector(Relation.of(TABLE), method=method, listener=taken.append)
    plan = plan_rules(detector, list(RuleBook.of(list(RULES))))
    assert all(rule.verify and rule.count for rule in plan.rules if not rule.shape.single)
    assert not taken
    detector.verify(RuleBook.of(RULE)[0])
    assert taken  # so that the listener above would have heard


@pytest.mark.parametrize("method", ["range_search", "refine"])
def test_a_forced_method_is_named_and_planned_with_its_own_steps(method: str) -> None:
    (forced,), (own,) = rf.explain(TABLE, RULE, method=method).rules, rf.explain(TABLE, RULE).rules
    assert forced.method == method
    assert forced.verify != own.verify
    assert forced.count != own.count


def test_a_rule_about_one_row_is_planned_as_the_scan_that_reports_call_it() -> None:
    table = pa.table({"a": [1, 2]})
    (result,) = rf.check(table, "row(a > 1)")
    (plan,) = rf.explain(table, "row(a > 1)").rules
    assert (plan.method, plan.rows) == (result.finding.method, 2)
    assert plan.worst == "n rows"


def test_rules_say_what_they_share() -> None:
    plan = rf.explain(TABLE, ["g -> b", "not (s.g = t.g and s.a < t.a)"])
    assert len(plan.rules) == 2
    assert plan.notes == ("shared between rules", "  column g: encoded once for 2 rules")
    assert str(plan).endswith("\n\nshared between rules\n  column g: encoded once for 2 rules")


def test_rules_that_share_nothing_have_no_notes() -> None:
    assert rf.explain(TABLE, ["g -> b", "unique(a)"]).notes == ()
