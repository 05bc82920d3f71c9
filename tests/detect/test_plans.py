"""The steps of a plan: those in `plans.txt`, and those that run.

`plans.txt` has blocks of a shape (rows, and the distinct values of each column), a rule with the method, and the plan.
`PYTHONPATH=tests python tests/detect/test_plans.py` writes it again; what changes is to be read before it is committed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems import problems
from random_cases import random_case
from refute.detect import range_search, refine, sweep
from refute.detect.detector import Detector
from refute.detect.explaining import plan_rules
from refute.detect.range_search import IndexKind, RangeOptions
from refute.language.rulebook import RuleBook
from refute.plan.method import MethodName
from refute.plan.problem import Problem
from refute.plan.share import Share
from refute.plan.step import UNFOUND, Step
from refute.relation import Relation
from shapes import table_of
from thorough import examples

FILE = Path(__file__).parent / "plans.txt"
METHODS = (MethodName.AUTO, MethodName.RANGE_SEARCH, MethodName.REFINE)


@dataclass(frozen=True)
class Planned:
    """One block of the file."""

    shape: str
    rule: str
    method: MethodName
    plan: str

    @classmethod
    def of(cls, block: str) -> Planned:
        """The block as written."""
        shape, rule, method, *plan = block.strip().splitlines()
        return cls(shape, rule, MethodName.of(method), "\n".join(plan))

    def planned(self) -> str:
        """What is printed for it on a machine of two cores, without the rule."""
        detector = Detector(Relation.of(table_of(self.shape)), method=self.method, threads=2)
        printed = str(plan_rules(detector, list(RuleBook.of(self.rule))))
        return "\n".join(line for line in printed.splitlines() if line.startswith(("  ", "    "))).rstrip()

    def __str__(self) -> str:
        return "\n".join((self.shape, self.rule, self.method.value, self.plan))


def blocks() -> list[Planned]:
    """All blocks of the file."""
    return [Planned.of(block) for block in FILE.read_text(encoding="utf-8").split("\n\n")]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: f"{block.method.value}: {block.rule}")
def test_a_rule_over_a_shape_of_data_has_the_plan_that_is_written_down(block: Planned) -> None:
    assert block.planned().splitlines() == block.plan.splitlines()


def test_a_table_has_the_shape_that_is_written_down() -> None:
    table = table_of("1,000 rows: g 7, a 1000 up")
    assert table.num_rows == 1000
    assert [len(set(table[name].to_pylist())) for name in ("g", "a")] == [7, 1000]


def assert_as_planned(planned: list[Step], taken: list[Step], *, ended: bool = False, found: bool = True) -> None:
    """Assert that what was taken is what was planned, but for steps whose condition was not met.

    `ended`: an early step may have given the answer. Where no pair was `found`, all first rows were looked at in vain.
    """

    def due(step: Step) -> bool:
        return not step.when or (not found and step.when == UNFOUND)

    left = iter(planned)
    for step in taken:
        next_one = next((other for other in left if other == step or due(other)), None)
        assert next_one == step, f"taken: {step}; planned: {next_one}"
    assert ended or not any(map(due, left))


tunings = st.builds(
    sweep.Tuning,
    cells=st.sampled_from((0, 0.2, 2.0)),
    few=st.sampled_from((0, 160)),
    packed=st.sampled_from((0, 32)),
    tree_steps=st.sampled_from((0, 400)),
    divided=st.sampled_from((0, 1 << 14)),
    patience=st.sampled_from((0, 32)),
    subsets=st.sampled_from((0, 1, 10)),
    probe=st.sampled_from((0, 1)),
    parallel=st.sampled_from((0, 200_000)),
)


@examples(500)
@given(problems(), tunings, st.booleans(), st.sampled_from((1, 2)))
def test_sweep_takes_the_steps_it_plans(problem: Problem, tuning: sweep.Tuning, first_rows: bool, threads: int) -> None:
    taken: list[Step] = []
    listening, deaf = Share(threads, listener=taken.append), Share(threads)
    planned = list(sweep.exists_steps(problem, deaf, first_rows=first_rows, tuning=tuning))
    found = sweep.exists(problem, listening, first_rows=first_rows, tuning=tuning)
    assert_as_planned(planned, taken, ended=found is not None, found=found is not None)
    taken.clear()
    planned = list(sweep.count_steps(problem, deaf, tuning=tuning))
    number = sweep.count(problem, listening, tuning=tuning)
    assert_as_planned(planned, taken, ended=number == 0)


@examples(300)
@given(problems(), tunings)
def test_sweep_marks_rows_by_the_steps_it_plans(problem: Problem, tuning: sweep.Tuning) -> None:
    taken: list[Step] = []
    planned = list(sweep.involved_steps(problem, tuning=tuning))
    number, _, _ = sweep.involved(problem, Share(listener=taken.append), tuning=tuning)
    assert_as_planned(planned, taken, ended=number == 0)
    taken.clear()
    planned = list(sweep.partners_steps(problem, tuning=tuning))
    sweep.partners(problem, Share(listener=taken.append), tuning=tuning)
    assert_as_planned(planned, taken, ended=number == 0)


@examples(200)
@given(problems(max_order=3, max_differ=2), st.sampled_from(IndexKind))
def test_range_search_takes_the_steps_it_plans(problem: Problem, index: IndexKind) -> None:
    taken: list[Step] = []
    share, options = Share(listener=taken.append), RangeOptions(index=index)
    planned = list(range_search.exists_steps(problem, None, options))
    found = range_search.exists(problem, share, options)
    assert_as_planned(planned, taken, ended=found is not None, found=found is not None)
    taken.clear()
    planned = list(range_search.count_steps(problem, None, options))
    range_search.count(problem, share, options)
    assert_as_planned(planned, taken)
    taken.clear()
    planned = list(range_search.partners_steps(problem, None, options))
    range_search.partners(problem, share, options)
    assert_as_planned(planned, taken)


@examples(100)
@given(problems(max_order=3, max_differ=2), st.sampled_from((1, 1 << 16)))
def test_refine_takes_the_steps_it_plans(problem: Problem, bitmap_rows: int) -> None:
    taken: list[Step] = []
    share, tuning = Share(listener=taken.append), refine.Tuning(bitmap_rows=bitmap_rows)
    planned = list(refine.exists_steps(problem, None, tuning=tuning))
    refine.exists(problem, share, tuning=tuning)
    assert_as_planned(planned, taken)
    taken.clear()
    planned = list(refine.count_steps(problem, None, tuning=tuning))
    refine.count(problem, share, tuning=tuning)
    assert_as_planned(planned, taken)
    taken.clear()
    planned = list(refine.partners_steps(problem, None, tuning=tuning))
    refine.partners(problem, share, tuning=tuning)
    assert_as_planned(planned, taken)


@pytest.mark.parametrize("rows", [60, 18_000, 60_000])
@pytest.mark.parametrize("seed", range(12))
def test_a_detector_takes_the_steps_it_plans_for_random_rules(seed: int, rows: int) -> None:
    few, rules = random_case(seed, rules=2)
    table = few.take(pa.array(np.arange(rows) % few.num_rows))
    method = METHODS[seed % 3] if rows == 60 else MethodName.AUTO
    for rule in rules:
        taken: list[Step] = []
        planning, listening = (Detector(Relation.of(table), method=method, listener=taken.append) for _ in range(2))
        verify, count = list(planning.verify_steps(rule)), list(planning.count_steps(rule))
        extent = list(planning.extent_steps(rule))
        assert not taken
        verdict = listening.verify(rule)
        assert_as_planned(verify, taken, ended=not verdict.holds, found=not verdict.holds)
        verified = len(taken)
        taken.clear()
        listening.measure(rule)
        assert_as_planned([] if verdict.holds else extent, taken[verified:])
        taken.clear()
        number = listening.count(rule)
        assert_as_planned(count, taken, ended=number == 0)


@pytest.mark.parametrize(
    "text", ["not (s.a = t.a and s.b != t.b and s.c < t.c)", "not (s.a = t.a and s.b < t.b and s.c != t.c)"]
)
def test_a_first_pair_is_searched_once_for_a_count(text: str) -> None:
    places = np.random.default_rng(1).permutation(20_000)
    table = pa.table({"a": places, "b": 2 * places, "c": places % 5_000})
    (rule,) = RuleBook.of(text)
    taken: list[Step] = []
    detector = Detector(Relation.of(table), listener=taken.append)
    planned = [str(step) for step in detector.count_steps(rule)]
    searches = [step for step in planned if step.startswith("to see whether there is a pair")]
    assert len([step for step in searches if "in the first" not in step]) == 1
    assert len(planned) > len(searches)
    assert detector.count(rule) == 0


if __name__ == "__main__":
    written = [Planned(block.shape, block.rule, block.method, block.planned()) for block in blocks()]
    FILE.write_text("\n\n".join(map(str, written)) + "\n", encoding="utf-8")
