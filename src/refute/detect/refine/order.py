"""The order of predicates and their algorithms, from column sketches (FACET, section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from refute.detect.refine.stages import Algorithm, Kind, Pipeline, Purpose, Stage, leading_reflexive
from refute.detect.refine.tuning import Tuning
from refute.kernels.refinement.hyperloglog import estimate, sketch
from refute.plan.problem import Comparison, Ints, Problem
from refute.plan.share import Share

_EXACT = 256  # encodings of at most this many codes are small whatever occurs of them
_SAMPLE = 100  # one row in so many is sampled for pairs of columns (section 7.1)
_LEAST_SAMPLE = 4096


def cardinality(values: Ints, size: int, share: Share | None, key: object) -> float:
    """The estimated number of distinct values of one side of a comparison."""
    if size <= _EXACT or len(values) == 0:
        return float(min(size, len(values)))

    def build() -> float:
        return min(float(size), float(len(values)), estimate(sketch(values)))

    return build() if share is None or key is None else share.get(("refine", "cardinality", key), build)


def pair_cardinality(first: Stage, second: Stage) -> float:
    """The estimated number of distinct pairs of values of two single-column stages.

    A sample's estimate, corrected by how far the same estimator is off the sketches of the single columns, as in
    Freitag and Neumann 2019 (section 6.1), and kept between the bounds that the columns give.
    """
    x, y = first.comparisons[0].s, second.comparisons[0].s
    n = len(x)
    step = max(1, min(_SAMPLE, n // _LEAST_SAMPLE))
    x, y = (np.unique(values[::step], return_inverse=True)[1] for values in (x, y))
    found = _estimated(x.astype(np.int64) * (int(y.max(initial=0)) + 1) + y, n)
    off = [stage.cardinality / max(1.0, _estimated(codes, n)) for stage, codes in ((first, x), (second, y))]
    least = max(first.cardinality, second.cardinality)
    return min(max(found * float(np.sqrt(off[0] * off[1])), least), float(n), first.cardinality * second.cardinality)


def _pair_cardinality(first: Stage, second: Stage, share: Share | None) -> float:
    """The same, computed once per pair of labels."""
    labels = (first.comparisons[0].label, second.comparisons[0].label)
    if share is None or None in labels:
        return pair_cardinality(first, second)
    return share.get(("refine", "pair cardinality", *labels), lambda: pair_cardinality(first, second))


def _estimated(sample: Ints, n: int) -> float:
    """The guaranteed-error estimate of distinct values among n rows: singletons of the sample stand for sqrt(n/r)."""
    _, counts = np.unique(sample, return_counts=True)
    single = int(np.count_nonzero(counts == 1))
    return float(np.sqrt(n / max(1, len(sample))) * single + (len(counts) - single))


def greedy_hll(stages: Sequence[Stage], n: int, share: Share | None = None) -> list[Stage]:
    """Single-column equalities in the order of GreedyHLL (section 6.2).

    Pairs of predicates are taken by ascending rank: the share of rows that a pair leaves over, times the tenth root
    of the table entries that it costs. Within a pair, the column with fewer values comes first.
    """
    by_values = sorted(stages, key=lambda stage: stage.cardinality)
    if len(by_values) <= 2:
        return by_values
    ranks = []
    for i, j in combinations(range(len(by_values)), 2):
        together = _pair_cardinality(by_values[i], by_values[j], share)
        ranks.append(((n - together) / max(1, n) * (by_values[i].cardinality + together) ** 0.1, i, j))
    order = dict.fromkeys(index for _, i, j in sorted(ranks) for index in (i, j))
    return [by_values[index] for index in order]


def stage_of(kind: Kind, comparison: Comparison, share: Share | None, *, sketched: bool = True) -> Stage:
    """The comparison as a stage, by hash or HSM, with its cardinality and build side.

    Without `sketched` the cardinality is only a bound: enough for a single column without rivals in its class.
    """
    label = comparison.label
    if comparison.s is comparison.t and not sketched:
        bound = float(min(comparison.size, len(comparison.s)))
        return Stage(kind, Algorithm.HSM if kind is Kind.ORDER else Algorithm.HASH, (comparison,), bound)
    s = cardinality(comparison.s, comparison.size, share, None if label is None else (label, "s"))
    t = s
    if comparison.t is not comparison.s:
        t = cardinality(comparison.t, comparison.size, share, None if label is None else (label, "t"))
    algorithm = Algorithm.HSM if kind is Kind.ORDER else Algorithm.HASH
    return Stage(kind, algorithm, (comparison,), max(s, t), s <= t)


def plan(problem: Problem, purpose: Purpose, tuning: Tuning, share: Share | None = None) -> Pipeline:
    """The pipeline of a problem: equalities, then inequalities, then non-equalities (section 6.2).

    To count, non-equalities come before inequalities: a signed batch of equal values costs no more than an equality,
    and the last inequality's sets are never read.
    """
    equal, differ, order = (
        [stage_of(kind, comparison, share, sketched=len(comparisons) > 1) for comparison in comparisons]
        for kind, comparisons in (
            (Kind.EQUAL, problem.equal),
            (Kind.DIFFER, problem.differ),
            (Kind.ORDER, problem.order),
        )
    )
    ordered = _equalities(equal, problem, share)
    differ = sorted(differ, key=lambda stage: (not stage.single_column, stage.cardinality))
    inequalities = sorted(order, key=lambda stage: stage.cardinality)
    if purpose is Purpose.COUNT:
        stages = [*ordered, *differ, *inequalities]
    else:
        stages = [*ordered, *inequalities, *differ]
    chosen = choose_algorithms(stages, tuning)
    return Pipeline(chosen, leading_reflexive(chosen, problem.aligned))


def _equalities(stages: Sequence[Stage], problem: Problem, share: Share | None) -> list[Stage]:
    """Single-column equalities first while pairs are reflexive, then by the smaller cardinality."""
    single = [stage for stage in stages if problem.aligned and stage.single_column]
    rest = [stage for stage in stages if not (problem.aligned and stage.single_column)]
    return greedy_hll(single, problem.s.size, share) + sorted(rest, key=lambda stage: stage.cardinality)


def choose_algorithms(stages: Sequence[Stage], tuning: Tuning) -> tuple[Stage, ...]:
    """The stages with HSM, BHSM or IEJoin chosen for each inequality (section 6.2)."""
    chosen = [
        inequality(stage, number + 1 < len(stages), tuning) if stage.kind is Kind.ORDER else stage
        for number, stage in enumerate(stages)
    ]
    if len(stages) > 1 and stages[-2].kind is stages[-1].kind is Kind.ORDER:
        both = paired(stages[-2], stages[-1], tuning)
        if both is not None:
            chosen[-2:] = [both]
    return tuple(chosen)


def inequality(stage: Stage, followed: bool, tuning: Tuning) -> Stage:
    """The inequality by HSM or BHSM.

    The sets of a last stage are never read, so HSM is the cheapest there. Before another stage BHSM keeps them small,
    unless the values are few.
    """
    algorithm = Algorithm.BHSM if followed and stage.cardinality > tuning.hsm_values else Algorithm.HSM
    if tuning.force in (Algorithm.HSM, Algorithm.BHSM):
        algorithm = tuning.force
    return replace(stage, algorithm=algorithm)


def paired(first: Stage, second: Stage, tuning: Tuning) -> Stage | None:
    """Two last inequalities in one stage by IEJoin, where both have many values; else None.

    The one of more values leads, as its cut of heads and tails is the sharper.
    """
    pays = min(first.cardinality, second.cardinality) >= tuning.iejoin_values
    if not (pays if tuning.force is None else tuning.force is Algorithm.IEJOIN):
        return None
    comparisons = second.comparisons + first.comparisons
    return Stage(Kind.ORDER, Algorithm.IEJOIN, comparisons, max(first.cardinality, second.cardinality))
