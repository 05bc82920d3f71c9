"""Predicates are ordered, and algorithms chosen, by what the sketches say."""

from __future__ import annotations

import numpy as np
import pytest

from problems import within
from refute.detect.refine import Tuning
from refute.detect.refine.order import greedy_hll, pair_cardinality, plan, stage_of
from refute.detect.refine.stages import Algorithm, Kind, Purpose, Stage
from refute.kernels.refinement.hyperloglog import estimate, sketch
from refute.plan.problem import Comparison

ROWS = 20_000


def column(values: int, seed: int = 0) -> Comparison:
    found = np.random.default_rng(seed).integers(0, values, ROWS).astype(np.int32)
    return Comparison(found, found, values, (values, seed), name=f"of_{values}")


def equality(comparison: Comparison) -> Stage:
    return stage_of(Kind.EQUAL, comparison, None)


@pytest.mark.parametrize("distinct", [0, 1, 100, 3000, 20_000, 300_000])
def test_a_sketch_counts_distinct_values_to_a_few_percent(distinct: int) -> None:
    values = np.repeat(np.random.default_rng(1).permutation(distinct) * 977, 2)
    assert estimate(sketch(values)) == pytest.approx(distinct, rel=0.08, abs=1)


def test_sketches_of_parts_merge_into_the_sketch_of_the_whole() -> None:
    values = np.arange(50_000)
    parts = np.maximum(sketch(values[:20_000]), sketch(values[20_000:]))
    assert (parts == sketch(values)).all()


def test_pairs_of_columns_are_estimated_within_a_factor_of_three() -> None:
    for left, right in ((10, 20), (100, 100), (3, 5000)):
        first, second = column(left, 1), column(right, 2)
        true = len(np.unique(first.s.astype(np.int64) * right + second.s))
        assert true / 3 <= pair_cardinality(equality(first), equality(second)) <= 3 * true


def test_two_equalities_go_by_ascending_values_and_more_by_greedy_rank() -> None:
    few, some, many = (equality(column(values, values)) for values in (5, 300, 15_000))
    assert greedy_hll([many, few], ROWS) == [few, many]
    assert greedy_hll([many, some, few], ROWS)[0] is some  # the pair (some, many) leaves the fewest rows over


def test_equalities_come_first_and_to_count_inequalities_last() -> None:
    problem = within(ROWS, (column(50),), (column(9), column(8, 1)), (column(7),), False)
    counted, listed = (plan(problem, purpose, Tuning()) for purpose in (Purpose.COUNT, Purpose.LIST))
    assert [stage.kind for stage in counted.stages] == [Kind.EQUAL, Kind.DIFFER, Kind.ORDER, Kind.ORDER]
    assert [stage.kind for stage in listed.stages] == [Kind.EQUAL, Kind.ORDER, Kind.ORDER, Kind.DIFFER]
    assert counted.reflexive == 1
    assert [str(step) for step in counted.steps()][1:3] == [
        "keep the pairs that agree on of_50, by a hash table",
        "keep the pairs that differ in of_7, by a hash table",
    ]


def test_values_decide_between_the_inequality_algorithms() -> None:
    def algorithms(*values: int) -> list[Algorithm]:
        order = tuple(column(v, i) for i, v in enumerate(values))
        return [s.algorithm for s in plan(within(ROWS, (), order, (), False), Purpose.COUNT, Tuning()).stages]

    assert algorithms(4, 5000) == [Algorithm.HSM, Algorithm.HSM]
    assert algorithms(100, 5000) == [Algorithm.BHSM, Algorithm.HSM]
    assert algorithms(100, 5000, 9000) == [Algorithm.BHSM, Algorithm.IEJOIN]


def test_the_side_with_fewer_values_is_built() -> None:
    wide, narrow = column(15_000).s, column(300).s
    assert not stage_of(Kind.EQUAL, Comparison(wide, narrow, 15_000), None).build_s
    assert stage_of(Kind.EQUAL, Comparison(narrow, wide, 15_000), None).build_s
