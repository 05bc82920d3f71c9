"""How far a rule is broken: the limits of an error in whole numbers, and the rows that stand in the way of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from refute.discovery.options import Measure, Options
from refute.discovery.space.slots import PredicateSpace
from refute.language.nulls import Nulls
from refute.relation import Relation

if TYPE_CHECKING:
    from refute.plan.problem import Problem

Longs = NDArray[np.int64]


def most_within(error: float, total: int) -> int:
    """The largest number of `total` whose share is within the error: the largest n with `n / total <= error`."""
    most = int(Fraction(float(error)) * total)
    while (most + 1) / total <= error:  # a share is the float nearest to it, as an error is
        most += 1
    return most


def most_pairs(options: Options, n_rows: int, space: PredicateSpace) -> int:
    """The most pairs, counted once, that can break a rule whose error is within the limit."""
    if options.measure is Measure.G1:
        return most_within(options.error, n_rows * (n_rows - 1) // 2)
    rows = most_within(options.error, n_rows)
    if options.measure is Measure.G2 and all(slot.is_pair for slot in space.slots):
        return rows * (rows - 1) // 2  # all of them among these rows
    return rows * (2 * n_rows - rows - 1) // 2  # one of these rows in each


class RowMeasure:
    """Counts the rows that stand in the way of rules: by g2 those in a violation, by g3 those to blame."""

    def __init__(self, relation: Relation, space: PredicateSpace, nulls: Nulls) -> None:
        self._relation = relation
        self._space = space
        self._nulls = nulls

    def rows(self, masks: Sequence[int], measure: Measure) -> int:
        """The rows that stand in the way of the rule of a box."""
        from refute.language.rulebook import Rule

        rule = Rule(name="candidate", constraint=self._space.constraint(masks), nulls=self._nulls)
        if measure is Measure.G2:
            from refute.detect.detector import Detector

            return int(np.count_nonzero(Detector(self._relation).partners(rule).in_violation))
        from refute.blame.rows import fewest_to_blame  # which loads kernels that few searches need

        return fewest_to_blame(self._relation, rule, _partners)


def _partners(problem: Problem) -> tuple[Longs, Longs]:
    from refute.detect.methods import sweep
    from refute.plan.share import Share

    return sweep().partners(problem, Share(threads=1))
